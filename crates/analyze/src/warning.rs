//! What a reader should know before trusting the figures.

use crate::assemble::Parts;
use crate::counts;
use crate::findings::FileFindings;

/// Warnings about one file, in a fixed order.
pub(crate) fn of_file(parts: &Parts<'_>, findings: &FileFindings) -> Vec<String> {
    let totals = parts.totals;
    let mut out = counts::warnings(parts.outcome, &totals.counts);
    let mut say = |count: u64, code: &str, sentence: &str| {
        if count > 0 {
            out.push(format!("{code}: {count} {sentence}"));
        }
    };
    say(
        totals.extreme_times,
        "time_out_of_range",
        "events have times more than 73 years from zero; they are in no sum",
    );
    say(
        parts.unmatched,
        "unmatched_begin_end",
        "begin or end events (ph B, E) have no partner and were left out",
    );
    let clipped = findings.lanes.iter().map(|lane| lane.overlapping_not_nested).sum();
    say(
        clipped,
        "overlaps",
        "events overlap another on their lane without nesting; each instant was counted once, for the earlier event",
    );
    let cut = parts.lanes.iter().filter(|lane| lane.tree.cut).count() as u64;
    say(cut, "stacks_shortened", "lanes have so many different stacks that deep ones were shortened");
    let dropped = parts.outcome.document.get("droppedRecords").and_then(serde_json::Value::as_u64);
    if let Some(dropped) = dropped.filter(|dropped| *dropped > 0) {
        out.push(format!(
            "records_dropped: {dropped} spans and counters were not recorded because memory for them ran out; record fewer steps"
        ));
    }
    if parts.steps.pairs_full {
        out.push(
            "no_spread_by_operation: there are so many steps and operations that their times were not kept apart"
                .to_owned(),
        );
    }
    out
}
