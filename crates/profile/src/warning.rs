//! What a reader should know before trusting the figures.

use crate::assemble::Parts;
use crate::findings::FileFindings;

/// Warnings about one file, in a fixed order.
pub(crate) fn of_file(parts: &Parts<'_>, findings: &FileFindings) -> Vec<String> {
    let mut out = Vec::new();
    let mut say = |count: u64, text: &dyn Fn(u64) -> String| {
        if count > 0 {
            out.push(text(count));
        }
    };
    let totals = parts.totals;
    say(u64::from(totals.events == 0), &|_| "the trace holds no events".to_owned());
    say(totals.without_times, &|n| format!("{n} complete events have no usable ts or dur; they are in no sum"));
    say(totals.negative, &|n| format!("{n} complete events have a negative duration; they are in no sum"));
    say(totals.extreme_times, &|n| {
        format!("{n} events have times more than 73 years from zero; they are in no sum")
    });
    say(parts.unmatched, &|n| format!("{n} begin or end events (ph B, E) have no partner; they were left out"));
    let clipped = findings.lanes.iter().map(|lane| lane.overlapping_not_nested).sum();
    say(clipped, &|n| {
        format!("{n} events overlap another on their lane without nesting; each instant was counted once, for the earlier")
    });
    let cut = parts.lanes.iter().filter(|lane| lane.tree.cut).count() as u64;
    say(cut, &|n| format!("{n} lanes have so many different stacks that deep ones were shortened"));
    say(u64::from(parts.steps.pairs_full), &|_| {
        "so many steps and operations that spreads by operation were left out".to_owned()
    });
    out
}
