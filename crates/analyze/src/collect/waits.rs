//! Waits that the profiler recorded as `cuda_sync` events, and the calls that recorded the events they wait for.

use crate::collect::id::StreamId;

/// Recorded waits beyond this number are not kept; the critical path then infers them from times.
const MAX_WAITS: usize = 1 << 18;

/// Kind of a recorded wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A stream waits for an event of another stream.
    Stream,
    /// A host thread waits for a stream or for an event of it.
    Host,
}

/// A `cuda_sync` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) waiter: Waiter,
    /// Time of the host call.
    pub(crate) start: i64,
    /// Stream that waits, or that a host thread waits for.
    pub(crate) stream: StreamId,
    /// Number of the stream that the event was recorded on.
    pub(crate) on_stream: Option<i64>,
    /// Correlation of the call that recorded the event.
    pub(crate) recorded_by: Option<i64>,
}

/// Recorded waits and event records of one file.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    waits: Vec<Wait>,
    /// Correlation and time of calls that recorded an event.
    records: Vec<(i64, i64)>,
}

impl Waits {
    pub(crate) fn push(&mut self, wait: Wait) {
        if self.waits.len() < MAX_WAITS {
            self.waits.push(wait);
        }
    }

    pub(crate) fn push_record(&mut self, correlation: i64, time: i64) {
        if self.records.len() < MAX_WAITS {
            self.records.push((correlation, time));
        }
    }

    /// Sorts what was collected, so that it can be searched.
    pub(crate) fn freeze(&mut self) {
        self.waits.sort_by_key(|wait| wait.start);
        self.records.sort_unstable();
    }

    /// Returns the recorded waits by time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter()
    }

    /// Returns the first wait of a host thread that begins in a stretch of time.
    pub(crate) fn of_host(&self, from: i64, to: i64) -> Option<&Wait> {
        let first = self.waits.partition_point(|wait| wait.start < from);
        let inside = self.waits.get(first..)?.iter().take_while(|wait| wait.start < to);
        inside.into_iter().find(|wait| wait.waiter == Waiter::Host)
    }

    /// Returns the time of the call that recorded the event of a wait.
    pub(crate) fn recorded_at(&self, wait: &Wait) -> Option<i64> {
        let correlation = wait.recorded_by?;
        let at = self.records.partition_point(|(have, _)| *have < correlation);
        self.records.get(at).filter(|(have, _)| *have == correlation).map(|(_, time)| *time)
    }
}
