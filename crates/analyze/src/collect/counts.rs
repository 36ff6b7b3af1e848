//! Counts of events, which every analysis begins with. Independent of categories.

use knockout_trace::{Phase, TraceEvent};
use std::collections::BTreeMap;

/// Numbers of events of a file by kind and by usable duration.
#[derive(Clone, Debug)]
pub struct EventCounts {
    by_phase: [u64; 256],
    /// Complete events with usable times and a positive duration: the ones in every sum.
    pub positive: u64,
    /// Complete events of no duration.
    pub zero: u64,
    /// Complete events with a negative duration.
    pub negative: u64,
    /// Complete events without a usable start or duration.
    pub without_times: u64,
    /// Earliest start and latest end of the positive ones.
    pub span_nanos: Option<(i64, i64)>,
}

impl Default for EventCounts {
    fn default() -> Self {
        Self { by_phase: [0; 256], positive: 0, zero: 0, negative: 0, without_times: 0, span_nanos: None }
    }
}

impl EventCounts {
    /// Counts an event; returns its span if it belongs in the sums.
    #[inline]
    pub fn event(&mut self, event: &TraceEvent<'_>) -> Option<(i64, i64)> {
        self.by_phase[usize::from(event.phase.0)] += 1;
        if event.phase != Phase::COMPLETE {
            return None;
        }
        if let Some((start, end)) = event.span() {
            self.positive += 1;
            let (first, last) = self.span_nanos.unwrap_or((start, end));
            self.span_nanos = Some((first.min(start), last.max(end)));
            return Some((start, end));
        }
        match (event.start_nanos, event.duration_nanos) {
            (Some(_), Some(0)) => self.zero += 1,
            (Some(_), Some(_)) => self.negative += 1,
            _ => self.without_times += 1,
        }
        None
    }

    /// Events by the `ph` field as it is written.
    pub fn by_phase(&self) -> BTreeMap<String, u64> {
        let phases = self.by_phase.iter().zip(0..=u8::MAX).filter(|(count, _)| **count > 0);
        phases.map(|(count, phase)| (Phase(phase).text(), *count)).collect()
    }

    /// Events of one kind.
    pub(crate) fn of_phase(&self, phase: Phase) -> u64 {
        self.by_phase[usize::from(phase.0)]
    }

    /// Complete events, whatever their times.
    pub fn complete(&self) -> u64 {
        self.of_phase(Phase::COMPLETE)
    }

    /// Latest end minus earliest start, in nanoseconds.
    pub fn wall_nanos(&self) -> u64 {
        self.span_nanos.map_or(0, |(first, last)| first.abs_diff(last))
    }
}
