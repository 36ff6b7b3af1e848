//! Records spans and counters of this program, cheaply enough to stay compiled in.
//!
//! A [`Recorder`] is a handle that is passed along; there is no global one. Off, a span costs a test of a pointer; on,
//! two readings of the clock and a write to memory that belongs to the thread.
//!
//! ```
//! use knockout_trace::{Recorder, RecorderOptions};
//!
//! let recorder = Recorder::new(RecorderOptions::default());
//! {
//!     let _outer = recorder.span("solve");
//!     let _inner = recorder.span("multiply").shape(&[28, 64]).bytes(7168);
//! }
//! assert_eq!(recorder.drain().len(), 2);
//! ```

mod buffer;
mod clock;
mod file;
mod memory;
mod name;

pub use buffer::{Record, RecordedEvent, Sizes};
pub use clock::{Clock, FakeClock, SystemClock};
pub use file::{TraceFile, Written};
pub use memory::{RESIDENT_BYTES, ResidentMemory};
pub use name::SpanName;

use buffer::{Buffers, Retention};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Category of spans of the program's main flow.
pub const FOREGROUND: &str = "knockout";
/// Category of spans of threads that work ahead of the main flow.
pub const BACKGROUND: &str = "knockout_background";

/// Treatment of spans that begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordState {
    /// They are not recorded.
    Skip,
    /// They are recorded and dropped: caches, pools and buffers fill.
    Warm,
    /// They are recorded.
    Record,
}

/// Options of a recorder.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// Zero-based rank of this process.
    pub rank: usize,
    /// Number of processes.
    pub world: usize,
    /// Records kept in memory until they are drained, about 100 bytes each; beyond that they are counted and dropped.
    pub most_records: usize,
    /// Clock of all records.
    pub clock: Arc<dyn Clock>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { rank: 0, world: 1, most_records: 1 << 20, clock: Arc::new(SystemClock::new()) }
    }
}

/// Handle to a recording, or to nothing. Clones record into the same buffers, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    buffers: Arc<Buffers>,
    clock: Arc<dyn Clock>,
    state: AtomicU8,
    rank: usize,
    world: usize,
}

const SKIP: u8 = RecordState::Skip as u8;
const WARM: u8 = RecordState::Warm as u8;

impl Recorder {
    /// Creates a recorder that records from now on.
    pub fn new(options: RecorderOptions) -> Self {
        let buffers = Arc::new(Buffers::new(options.most_records));
        let state = AtomicU8::new(RecordState::Record as u8);
        let RecorderOptions { rank, world, clock, .. } = options;
        Self { shared: Some(Arc::new(Shared { buffers, clock, state, rank, world: world.max(1) })) }
    }

    /// Creates a recorder that does nothing, at nearly no cost.
    pub const fn off() -> Self {
        Self { shared: None }
    }

    /// Whether a span that begins now would be kept in memory.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.recording().is_some()
    }

    #[inline]
    fn recording(&self) -> Option<(&Arc<Shared>, Retention)> {
        let shared = self.shared.as_ref()?;
        match shared.state.load(Ordering::Relaxed) {
            SKIP => None,
            WARM => Some((shared, Retention::Discard)),
            _ => Some((shared, Retention::Keep)),
        }
    }

    /// Sets the treatment of spans that begin from now on.
    pub fn set_state(&self, state: RecordState) {
        if let Some(shared) = &self.shared {
            shared.state.store(state as u8, Ordering::Relaxed);
        }
    }

    /// Begins a span that ends when the guard is dropped, on this thread.
    #[inline]
    pub fn span(&self, name: impl Into<SpanName>) -> SpanGuard {
        self.span_in(FOREGROUND, name)
    }

    /// Starts a span in a category; [`BACKGROUND`] is for threads that work ahead.
    #[inline]
    pub fn span_in(&self, category: &'static str, name: impl Into<SpanName>) -> SpanGuard {
        let live = self.recording().map(|(shared, retention)| Live {
            shared: Arc::clone(shared),
            name: name.into(),
            category,
            start_nanos: shared.clock.now_nanos(),
            retention,
            sizes: None,
        });
        SpanGuard { live, _stays_on_its_thread: PhantomData }
    }

    /// Records a span whose times were taken by [`Recorder::now_nanos`] or the same clock.
    pub fn past_span(
        &self,
        category: &'static str,
        name: impl Into<SpanName>,
        start_nanos: u64,
        end_nanos: u64,
    ) {
        if let Some((shared, retention)) = self.recording() {
            let duration_nanos = end_nanos.saturating_sub(start_nanos);
            let event = RecordedEvent::Span { name: name.into(), category, duration_nanos, sizes: None };
            shared.buffers.push(start_nanos, event, retention);
        }
    }

    /// Records the value of a counter.
    #[inline]
    pub fn counter(&self, name: &'static str, value: u64) {
        if let Some((shared, retention)) = self.recording() {
            let now = shared.clock.now_nanos();
            shared.buffers.push(now, RecordedEvent::Counter { name, value }, retention);
        }
    }

    /// The recorder's time; `None` when it is off.
    #[inline]
    pub fn now_nanos(&self) -> Option<u64> {
        self.shared.as_ref().map(|shared| shared.clock.now_nanos())
    }

    /// The clock; `None` when it is off.
    pub fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.shared.as_ref().map(|shared| Arc::clone(&shared.clock))
    }

    /// The calling thread's number in the records; `None` when it is off.
    pub fn thread(&self) -> Option<u32> {
        self.shared.as_ref()?.buffers.thread()
    }

    /// Threads that recorded, as pairs: the operating system's number, where it gives one, and that in the records.
    pub fn os_threads(&self) -> Vec<(u32, u32)> {
        self.shared.as_ref().map(|shared| shared.buffers.os_threads()).unwrap_or_default()
    }

    /// Takes the records so far, of all threads; records of the warm-up are dropped.
    pub fn drain(&self) -> Vec<Record> {
        self.shared.as_ref().map(|shared| shared.buffers.drain()).unwrap_or_default()
    }

    /// Returns whether more than half of the capacity is used.
    pub fn is_half_full(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.buffers.is_half_full())
    }

    /// Returns the number of records lost so far because the buffers were full.
    pub fn dropped(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.buffers.dropped())
    }
}

#[derive(Debug)]
struct Live {
    shared: Arc<Shared>,
    name: SpanName,
    category: &'static str,
    start_nanos: u64,
    retention: Retention,
    sizes: Option<Box<Sizes>>,
}

/// A span that lasts until this is dropped.
#[derive(Debug)]
#[must_use = "a span lasts until its guard is dropped: `let _span = …`"]
pub struct SpanGuard {
    live: Option<Live>,
    /// The record goes to the thread that ends the span, so that must be the one that began it.
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl SpanGuard {
    /// Adds the shape of an input; once for each.
    pub fn shape(mut self, shape: &[usize]) -> Self {
        if let Some(live) = &mut self.live {
            live.sizes.get_or_insert_default().shapes.push(shape.to_vec());
        }
        self
    }

    /// Adds the shape of the output.
    pub fn output(mut self, shape: &[usize]) -> Self {
        if let Some(live) = &mut self.live {
            live.sizes.get_or_insert_default().output = shape.to_vec();
        }
        self
    }

    /// Adds the number of bytes that are read or written.
    pub fn bytes(mut self, bytes: u64) -> Self {
        if let Some(live) = &mut self.live {
            live.sizes.get_or_insert_default().bytes = Some(bytes);
        }
        self
    }

    /// Ends the span.
    pub fn end(self) {}
}

impl Drop for SpanGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(live) = self.live.take() {
            live.end();
        }
    }
}

impl Live {
    fn end(self) {
        let Self { shared, name, category, start_nanos, retention, sizes } = self;
        let duration_nanos = shared.clock.now_nanos().saturating_sub(start_nanos);
        let event = RecordedEvent::Span { name, category, duration_nanos, sizes };
        shared.buffers.push(start_nanos, event, retention);
    }
}

#[cfg(test)]
mod tests;
