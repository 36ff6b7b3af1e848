//! The warnings about one file.

use crate::attribute::FileSums;
use crate::findings::warning::{Counted, TraceWarning, extend_counted, of_reading};
use crate::findings::{FileFindings, StepFindings};
use knockout_trace::{CONVERTED, Document};
use std::collections::BTreeMap;

/// Returns all warnings about one file, in a fixed order.
pub(crate) fn of_file(file: &FileSums<'_>, findings: &FileFindings) -> Vec<TraceWarning> {
    let mut out = of_reading(file.outcome, &file.totals.counts);
    let dropped = file.outcome.document.get("droppedRecords").and_then(serde_json::Value::as_u64);
    extend_counted(
        &mut out,
        [
            (Counted::ExtremeTimes, file.totals.extreme_times),
            (Counted::UnmatchedBeginEnd, file.unmatched),
            (Counted::Overlaps, findings.lanes.iter().map(|lane| lane.overlapping_not_nested).sum()),
            (Counted::StacksShortened, file.lanes.iter().filter(|lane| lane.tree.cut).count() as u64),
            (Counted::BackwardLeftOut, lanes_without_backward(file, findings)),
            (Counted::RecordsDropped, dropped.unwrap_or(0)),
        ],
    );
    out.extend(file.steps.pairs_full.then_some(TraceWarning::NoSpreadByOperation));
    out.extend(findings.conditions.get(CONVERT).cloned().map(TraceWarning::Converted));
    let merged = overlapping_steps(findings);
    out.extend((merged > 0).then_some(TraceWarning::RanksMerged(merged)));
    let cut = findings.steps.iter().filter(|step| step.is_cut);
    out.extend(cut.map(|step| TraceWarning::StepCut(step.name.clone(), outside_us(file, step))));
    out
}

/// Counts the lanes with too many operators for a backward pass by module. Returns 0 for a trace without modules.
fn lanes_without_backward(file: &FileSums<'_>, findings: &FileFindings) -> u64 {
    if findings.module_tree.is_empty() {
        return 0;
    }
    file.lanes.iter().filter(|lane| lane.autograd.is_left_out()).count() as u64
}

/// Returns the time of a step's operators outside any phase.
pub(crate) fn outside_us(file: &FileSums<'_>, step: &StepFindings) -> f64 {
    let outside = file.rules.outside_phases();
    step.host.iter().find(|row| Some(row.name.as_str()) == outside).map_or(0.0, |row| row.us)
}

/// The condition that records how a trace was made smaller.
pub(crate) const CONVERT: &str = "convert";

/// Returns how `trace convert` made a trace that lacks events, in a line; `None` for a whole one.
pub(crate) fn converted(document: &Document) -> Option<String> {
    let made = document.get(CONVERTED)?.as_object()?;
    // Only plain values: the document may come from anywhere.
    let is_plain = |value: &serde_json::Value| !value.is_object() && value.to_string().len() <= 200;
    // Merging leaves nothing out.
    let plain = made.iter().filter(|(key, value)| *key != "merged" && is_plain(value));
    let parts: Vec<String> = plain.map(|(key, value)| format!("{key} {value}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Counts steps that begin before another of their name has ended: one process has one step at a time.
fn overlapping_steps(findings: &FileFindings) -> u64 {
    let mut ends: BTreeMap<&str, f64> = BTreeMap::new();
    let mut overlapping = 0;
    // Steps come by start.
    for step in &findings.steps {
        let end = step.start_us + step.us;
        let open = ends.entry(&step.name).or_insert(f64::NEG_INFINITY);
        overlapping += u64::from(step.start_us < *open);
        *open = open.max(end);
    }
    overlapping
}
