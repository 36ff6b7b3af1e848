//! Drives the scanner over a source of bytes and delivers every event, in file order, to a sink. Independent of
//! paths or analyses.

use crate::format::damage::{Damage, Irregularity, Packing, ReadError, Skipped};
use crate::format::document::Document;
use crate::format::lane::LaneTable;
use crate::format::symbol::Symbols;
use crate::read::block::TextBlock;
use crate::read::feed::Feeder;
use crate::read::sink::Sink;
use crate::read::source::TraceSource;
use std::io::Read;
use std::num::NonZeroUsize;

/// Options of reading.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Threads that scan. Results do not depend on it.
    pub threads: NonZeroUsize,
    /// Bytes scanned at a time; memory in use is a few times this per thread.
    pub block_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { threads: NonZeroUsize::MIN, block_bytes: 256 << 10 }
    }
}

/// Result of reading one file, beside the events that went to the sink.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadOutcome {
    /// Objects in the list of events.
    pub events: u64,
    /// Bytes of text, unpacked.
    pub text_bytes: u64,
    /// Set when reading stopped early; the sink has everything before it.
    pub damage: Option<Damage>,
    /// Damage inside the list of events, behind which reading continued.
    pub skipped: Option<Skipped>,
    /// Deviations from JSON that reading could pass.
    pub irregularities: Vec<Irregularity>,
    /// A list of events (without a document around it) that is not closed; the Chrome format allows that.
    pub unclosed_list: bool,
    /// Number of list members that are not objects; they are left out.
    pub not_events: u64,
    /// `ts` or `dur` that 64-bit nanoseconds cannot hold; taken as absent.
    pub times_out_of_range: u64,
    /// `ts` or `dur` finer than a nanosecond; rounded to the nearest, halves to even.
    pub times_finer_than_nanos: u64,
    /// `ts` written with a point or an exponent.
    pub fractional_starts: u64,
    /// Packing of the source; `None` for plain text.
    pub packing: Option<Packing>,
    /// Further traces in a zip archive, which were not read.
    pub other_members: u64,
    /// Fields outside the list of events.
    pub document: Document,
    /// The texts behind the symbols.
    pub symbols: Symbols,
    /// The lanes behind the lane numbers.
    pub lanes: LaneTable,
}

impl ReadOutcome {
    /// Returns whether the text is not a complete, valid document, so that figures are those of a part.
    pub fn is_rescued(&self) -> bool {
        self.damage.is_some() || self.skipped.is_some() || !self.irregularities.is_empty()
    }
}

/// Reads a trace, plain or packed (recognised by its first bytes), and delivers every event to `sink`.
///
/// Damage is not an error. Inside the list of events reading continues at the next event, and [`ReadOutcome::skipped`] counts
/// the loss; where no event follows, [`ReadOutcome::damage`] is where reading ended. An error means that there are no
/// figures at all.
///
/// With several threads each takes a block, guesses where its first event begins and scans from there; in file order
/// the guess is checked against the text before it, and a block guessed wrongly is scanned again. So the events, their
/// order and all identifiers are those of one thread.
pub fn read(
    source: impl Read + Send,
    options: ReadOptions,
    sink: &mut dyn Sink,
) -> Result<ReadOutcome, ReadError> {
    let wants = sink.wants();
    let block_bytes = options.block_bytes.clamp(1, MAX_BLOCK_BYTES);
    let mut feeder = Feeder::new(sink, wants);
    let source = TraceSource::open(source)?;
    let source = if options.threads.get() == 1 {
        feed_alone(source, block_bytes, &mut feeder)?
    } else {
        crate::read::parallel::feed_together(source, block_bytes, options.threads, wants, &mut feeder)?
    };
    let ending = feeder.finish(source.end())?;
    let irregularities = feeder.delivery.take_irregularities();
    let delivery = feeder.delivery;
    Ok(ReadOutcome {
        events: delivery.events,
        text_bytes: ending.text_bytes,
        damage: ending.damage,
        skipped: feeder.skipped,
        irregularities,
        unclosed_list: ending.unclosed_list,
        not_events: delivery.not_events,
        times_out_of_range: delivery.times_out_of_range,
        times_finer_than_nanos: delivery.times_finer_than_nanos,
        fractional_starts: delivery.fractional_starts,
        packing: source.packing(),
        other_members: source.other_members(),
        document: feeder.document,
        symbols: delivery.symbols,
        lanes: delivery.lanes,
    })
}

/// Offsets in a block are 32-bit numbers; larger blocks gain nothing.
const MAX_BLOCK_BYTES: usize = 64 << 20;

fn feed_alone<'a>(
    mut source: TraceSource<'a>,
    block_bytes: usize,
    feeder: &mut Feeder<'_>,
) -> Result<TraceSource<'a>, ReadError> {
    let mut block = TextBlock::new(block_bytes);
    while !feeder.is_stopped() {
        let len = source.fill(block.bytes_mut())?;
        feeder.feed(&block.bytes()[..len]);
        if len < block_bytes {
            break;
        }
    }
    Ok(source)
}
