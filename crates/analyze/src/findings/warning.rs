//! Reasons to distrust the figures of a trace. Values only: the sentences are written in
//! `knockout-report`.

use crate::collect::counts::EventCounts;
use knockout_trace::{Damage, Irregularity, ReadOutcome, Skipped};

/// A reason to distrust a trace's figures.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceWarning {
    /// Reading stopped before the end of the file.
    Damaged(Damage),
    /// Reading continued behind damage in the middle.
    Skipped(Skipped),
    /// The reader repaired values that are not JSON.
    Repaired(Irregularity),
    /// The list of events has no closing bracket.
    UnclosedList,
    /// The list of events is empty.
    NoEvents,
    /// So many events or lanes are of a kind.
    Counted(Counted, u64),
    /// Times of operations were not kept apart by step.
    NoSpreadByOperation,
    /// `trace convert` left events out, and how: figures are those of the rest.
    Converted(String),
    /// So many steps overlap another of their name: ranks in one file.
    RanksMerged(u64),
    /// The first or the last step lacks spans that the others have: the recording began or ended inside of them. Its name, and the
    /// microseconds of its operators outside any phase.
    StepCut(String, f64),
}

/// Kind of events that is worth a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Times beyond 64-bit nanoseconds.
    TimesOutOfRange,
    /// Times so far from zero that durations overflow.
    ExtremeTimes,
    /// Complete events without a usable start or duration.
    WithoutDuration,
    /// Complete events with a negative duration.
    NegativeDuration,
    /// Times finer than a nanosecond.
    FinerThanNanos,
    /// Members of the list that are not objects.
    NotEvents,
    /// Begin or end events without a partner.
    UnmatchedBeginEnd,
    /// Begin and end events, which the reference rules do not use.
    BeginEndNotUsed,
    /// Events that overlap another on their lane without nesting.
    Overlaps,
    /// Lanes with too many different stacks.
    StacksShortened,
    /// Lanes with too many operators or functions of autograd.
    BackwardLeftOut,
    /// Records that the recorder had no memory for.
    RecordsDropped,
    /// Further traces in the zip archive.
    OtherMembers,
}

impl TraceWarning {
    /// Stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Damaged(damage) => damage.kind.code(),
            Self::Skipped(_) => "skipped",
            Self::Repaired(repair) => repair.kind.code(),
            Self::UnclosedList => "unclosed_list",
            Self::NoEvents => "no_events",
            Self::NoSpreadByOperation => "no_spread_by_operation",
            Self::Converted(_) => "converted",
            Self::RanksMerged(_) => "ranks_merged",
            Self::StepCut(..) => "step_cut",
            Self::Counted(kind, _) => match kind {
                Counted::TimesOutOfRange | Counted::ExtremeTimes => "time_out_of_range",
                Counted::WithoutDuration => "events_without_duration",
                Counted::NegativeDuration => "negative_duration",
                Counted::FinerThanNanos => "times_finer_than_1_ns",
                Counted::NotEvents => "not_events",
                Counted::UnmatchedBeginEnd => "unmatched_begin_end",
                Counted::BeginEndNotUsed => "begin_end_not_used",
                Counted::Overlaps => "overlaps",
                Counted::StacksShortened => "stacks_shortened",
                Counted::BackwardLeftOut => "backward_left_out",
                Counted::RecordsDropped => "records_dropped",
                Counted::OtherMembers => "other_members",
            },
        }
    }
}

/// Appends those kinds that occur.
pub(crate) fn extend_counted<const N: usize>(out: &mut Vec<TraceWarning>, counts: [(Counted, u64); N]) {
    let occurring = counts.into_iter().filter(|(_, count)| *count > 0);
    out.extend(occurring.map(|(kind, count)| TraceWarning::Counted(kind, count)));
}

/// Returns the warnings that follow from reading a file, in a fixed order.
pub(crate) fn of_reading(outcome: &ReadOutcome, counts: &EventCounts) -> Vec<TraceWarning> {
    let mut out: Vec<TraceWarning> = outcome.damage.iter().cloned().map(TraceWarning::Damaged).collect();
    out.extend(outcome.skipped.clone().map(TraceWarning::Skipped));
    out.extend(outcome.irregularities.iter().cloned().map(TraceWarning::Repaired));
    out.extend(outcome.unclosed_list.then_some(TraceWarning::UnclosedList));
    extend_counted(
        &mut out,
        [
            (Counted::TimesOutOfRange, outcome.times_out_of_range),
            (Counted::WithoutDuration, counts.without_times),
            (Counted::NegativeDuration, counts.negative),
            (Counted::FinerThanNanos, outcome.times_finer_than_nanos),
            (Counted::NotEvents, outcome.not_events),
            (Counted::OtherMembers, outcome.other_members),
        ],
    );
    out.extend((outcome.events == 0).then_some(TraceWarning::NoEvents));
    out
}
