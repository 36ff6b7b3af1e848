//! Kineto (PyTorch profiler) and Chrome traces: events with exact times, a reader that handles damage, a writer, and a
//! recorder.
//!
//! [`read`] takes bytes, plain or packed (gzip, zstd, xz, bzip2, zip), and delivers every event in file order to a [`Sink`]. Texts are
//! [`Symbol`]s and (`pid`, `tid`) pairs as [`LaneId`]s, which are indices of tables; the tables
//! are in the [`ReadOutcome`]. Times are whole nanoseconds, parsed from the decimal text, never through a float.
//!
//! ```
//! use knockout_trace::{TraceEvent, ReadOptions, Sink, read};
//!
//! #[derive(Default)]
//! struct Busy { nanos: i64 }
//! impl Sink for Busy {
//!     fn event(&mut self, event: &TraceEvent<'_>) {
//!         if let Some((start, end)) = event.span() {
//!             self.nanos += end - start;
//!         }
//!     }
//! }
//!
//! let text = br#"{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": "7", "ts": 0.5, "dur": 1.001}]}"#;
//! let mut busy = Busy::default();
//! let outcome = read(&text[..], ReadOptions::default(), &mut busy)?;
//! assert_eq!((outcome.events, busy.nanos), (1, 1001));
//! # Ok::<(), knockout_trace::ReadError>(())
//! ```
//!
//! [`Recorder`] makes such traces: spans and counters of this program, on any thread. [`TraceFile`] writes them, and
//! [`meter::Meter`] records the phases of training steps on a [`meter::Schedule`].
//!
//! | module | content |
//! |---|---|
//! | `format` | events, lanes, symbols, times, and the damage that a file may have |
//! | `read` | bytes to events: source, block, scan, lex, fields, deliver; on one thread or several |
//! | `write` | events to bytes |
//! | `recorder` | spans and counters in memory, and their trace file |
//! | [`meter`] | steps and their phases, and the schedule of recorded steps |
//!
//! The crate does not depend on models or analyses.

mod format;
mod intern;
mod lock;
pub mod meter;
mod read;
mod recorder;
mod write;

pub use format::{
    ArgKey, ArgSet, ArgValue, Args, Damage, DamageKind, Document, EventType, Id, Irregularity,
    IrregularityKind, Lane, LaneId, LaneTable, Packing, ReadError, Skipped, Symbol, Symbols, TraceEvent,
};
pub use read::{CONVERTED, ReadOptions, ReadOutcome, Selection, Selector, Sink, field_range, read, repair};
pub use recorder::{
    BACKGROUND, Clock, FOREGROUND, FakeClock, RESIDENT_BYTES, Record, RecordState, RecordedEvent, Recorder,
    RecorderOptions, ResidentMemory, Sizes, SpanGuard, SpanName, SystemClock, TraceFile, Written,
};
pub use write::{TraceSpan, TraceWriter};

/// File name extensions of traces.
const TRACE_NAMES: [&str; 6] = [".json", ".json.gz", ".json.zst", ".json.xz", ".json.bz2", ".json.zip"];

/// Returns whether a file has the extension of a trace, without regard to case.
pub fn is_trace_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TRACE_NAMES.iter().any(|end| name.ends_with(end))
}

/// Values nested deeper than this are damage, as for `serde_json`.
pub const MAX_DEPTH: usize = 127;
/// One event, or one value of the document, longer than this is damage: memory is bounded.
pub const MAX_VALUE_BYTES: usize = 256 << 20;
