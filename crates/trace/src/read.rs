//! Drives the scanner over a source of bytes and hands every event, in file order, to a sink. Knows nothing of
//! paths or analyses.

use crate::damage::{Blemish, Damage, ReadError};
use crate::document::Document;
use crate::event::{ArgSet, Event};
use crate::lane::Lanes;
use crate::symbol::Symbols;
use std::io::Read;
use std::num::NonZeroUsize;

/// Receives the events of one file, in file order, on one thread at a time.
pub trait Sink: Send {
    /// The `args` fields to read; asked once, before the first event.
    fn wants(&self) -> ArgSet {
        ArgSet::NONE
    }

    /// One event. Called in file order whatever the number of threads.
    fn event(&mut self, event: &Event<'_>);
}

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Threads that scan. Results do not depend on it.
    pub threads: NonZeroUsize,
    /// Bytes scanned at a time; memory in use is a few times this per thread.
    pub block_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { threads: NonZeroUsize::MIN, block_bytes: 1 << 20 }
    }
}

/// What reading one file gave, beside the events that went to the sink.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Objects in the list of events.
    pub events: u64,
    /// Bytes of text, unpacked.
    pub text_bytes: u64,
    /// Set when reading stopped early; the sink has everything before it.
    pub damage: Option<Damage>,
    /// What is not JSON but could be read past.
    pub blemishes: Vec<Blemish>,
    /// A list of events (without a document around it) that is not closed; the Chrome format allows that.
    pub unclosed_list: bool,
    /// Members of the list that are no objects; left out.
    pub not_events: u64,
    /// `ts` or `dur` that 64-bit nanoseconds cannot hold; taken as absent.
    pub times_out_of_range: u64,
    /// `ts` or `dur` finer than a nanosecond; rounded to the nearest, halves to even.
    pub times_finer_than_nanos: u64,
    /// `ts` written with a point or an exponent.
    pub fractional_starts: u64,
    /// Whether the source was packed.
    pub gzip: bool,
    /// What the file says about itself.
    pub document: Document,
    /// The texts behind the symbols.
    pub symbols: Symbols,
    /// The lanes behind the lane numbers.
    pub lanes: Lanes,
}

impl Outcome {
    /// Whether the text was less than a whole, valid document, so that figures are those of a rescued part.
    pub fn is_rescued(&self) -> bool {
        self.damage.is_some() || !self.blemishes.is_empty()
    }
}

/// Reads a trace, plain or gzip (told by its first bytes), and hands every event to `sink`.
///
/// Damage is not an error: what comes before it was handed out, and [`Outcome::damage`] says where it is. An error
/// means that there are no figures at all.
pub fn read(_source: impl Read + Send, _options: ReadOptions, _sink: &mut dyn Sink) -> Result<Outcome, ReadError> {
    Err(ReadError::Empty)
}
