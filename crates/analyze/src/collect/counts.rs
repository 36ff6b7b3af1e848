//! Counts of events, which every analysis begins with. Independent of categories.

use knockout_trace::{EventType, TraceEvent};
use std::collections::BTreeMap;

/// Numbers of events of a file by kind and by usable duration.
#[derive(Clone, Debug)]
pub struct EventCounts {
    by_event_type: [u64; 256],
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
        Self {
            by_event_type: [0; 256],
            positive: 0,
            zero: 0,
            negative: 0,
            without_times: 0,
            span_nanos: None,
        }
    }
}

impl EventCounts {
    /// Counts an event; returns its span if it belongs in the sums.
    #[inline]
    pub fn event(&mut self, event: &TraceEvent<'_>) -> Option<(i64, i64)> {
        self.by_event_type[usize::from(event.event_type.0)] += 1;
        if event.event_type != EventType::COMPLETE {
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
    pub fn by_event_type(&self) -> BTreeMap<String, u64> {
        let event_types = self.by_event_type.iter().zip(0..=u8::MAX).filter(|(count, _)| **count > 0);
        event_types.map(|(count, byte)| (EventType(byte).text(), *count)).collect()
    }

    /// Events of one kind.
    pub(crate) fn of_event_type(&self, event_type: EventType) -> u64 {
        self.by_event_type[usize::from(event_type.0)]
    }

    /// Complete events, whatever their times.
    pub fn complete(&self) -> u64 {
        self.of_event_type(EventType::COMPLETE)
    }

    /// Latest end minus earliest start, in nanoseconds.
    pub fn wall_nanos(&self) -> u64 {
        self.span_nanos.map_or(0, |(first, last)| first.abs_diff(last))
    }
}
