//! Reads a trace and prints how many events it has and how long its spans are together; nothing more, so that its
//! time is the reader's.
//!
//! `cargo run --release -p knockout-trace --example totals -- TRACE [THREADS] [BLOCK_KIB] [args]`

use knockout_trace::{ArgKey, ArgSet, ReadOptions, Sink, TraceEvent, read};
use std::fs::File;
use std::num::NonZeroUsize;

#[derive(Default)]
struct Totals {
    wants: ArgSet,
    spans: u64,
    nanos: i128,
    streams: u64,
}

impl Sink for Totals {
    fn wants(&self) -> ArgSet {
        self.wants
    }

    fn event(&mut self, event: &TraceEvent<'_>) {
        if let Some((start, end)) = event.span() {
            self.spans += 1;
            self.nanos += i128::from(end) - i128::from(start);
        }
        self.streams += u64::from(event.args.get(ArgKey::Stream).is_some());
    }
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(1).ok_or("which trace?")?;
    let threads = args.get(2).map_or(Ok(1), |text| text.parse())?;
    let block_kib: usize = args.get(3).map_or(Ok(256), |text| text.parse())?;
    let mut totals = Totals::default();
    if args.get(4).is_some() {
        totals.wants = ArgSet::of(&[ArgKey::Stream, ArgKey::Correlation, ArgKey::Device, ArgKey::Bytes]);
    }
    let options = ReadOptions {
        threads: NonZeroUsize::new(threads).ok_or("at least one thread")?,
        block_bytes: block_kib << 10,
    };
    let outcome = read(File::open(path)?, options, &mut totals)?;
    println!(
        "{} events, {} spans, {} ns, {} with a stream, {} symbols, {} lanes, damage {:?}, irregularities {:?}",
        outcome.events,
        totals.spans,
        totals.nanos,
        totals.streams,
        outcome.symbols.len(),
        outcome.lanes.len(),
        outcome.damage,
        outcome.irregularities
    );
    Ok(())
}
