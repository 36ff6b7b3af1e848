//! Counts that every analysis begins with, and the warnings that follow from them. Knows no categories.

use knockout_trace::{Event, Outcome, Phase};
use std::collections::BTreeMap;

/// How many events of which kind a file has, and which of them figures can be made of.
#[derive(Clone, Debug)]
pub struct Counts {
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

impl Default for Counts {
    fn default() -> Self {
        Self { by_phase: [0; 256], positive: 0, zero: 0, negative: 0, without_times: 0, span_nanos: None }
    }
}

impl Counts {
    /// Counts an event; gives its span if it belongs in the sums.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) -> Option<(i64, i64)> {
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
    pub fn of_phase(&self, phase: Phase) -> u64 {
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

/// What a reader of the figures must know about the file, each as `code: sentence`.
pub fn warnings(outcome: &Outcome, counts: &Counts) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(damage) = &outcome.damage {
        let code = damage.kind.code();
        warnings.push(format!("{code}: {damage}; the figures are those of the events before it"));
    }
    warnings.extend(outcome.blemishes.iter().map(|blemish| format!("{}: {blemish}", blemish.kind.code())));
    if outcome.unclosed_list {
        warnings.push(
            "unclosed_list: the list of events has no closing bracket; the Chrome format allows that, but a \
             file cut off between two events looks the same"
                .to_owned(),
        );
    }
    let mut counted = |count: u64, code: &str, sentence: &str| {
        if count > 0 {
            warnings.push(format!("{code}: {count} {sentence}"));
        }
    };
    counted(
        outcome.times_out_of_range,
        "time_out_of_range",
        "times are beyond 64-bit nanoseconds; the events are in no sum",
    );
    counted(
        counts.without_times,
        "events_without_duration",
        "complete events have no usable start or duration and are in no sum",
    );
    counted(
        counts.negative,
        "negative_duration",
        "complete events have a negative duration and are in no sum",
    );
    counted(
        outcome.times_finer_than_nanos,
        "times_finer_than_1_ns",
        "times are finer than a nanosecond and were rounded",
    );
    counted(outcome.not_events, "not_events", "members of the list are no objects and were left out");
    if outcome.events == 0 {
        warnings.push("no_events: the list of events is empty".to_owned());
    }
    warnings
}
