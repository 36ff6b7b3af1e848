//! A comparison as HTML.

use super::{Foot, file_name, page};
use crate::sentence::{run_comparison_warning, trace_comparison_warning};
use knockout_analyze::Comparison;
use knockout_analyze::profile::RunComparison;
use knockout_base::stats::Row;
use serde_json::{Value, json};

/// The comparison as one HTML file.
pub fn compare_html(comparison: &Comparison) -> String {
    let headings = crate::compare::headings(comparison).map(|(title, about)| json!([title, about, about]));
    let data = json!({
        "kind": "comparison",
        "headline": crate::compare::step_headline(comparison),
        "changed": crate::compare::changed_most(comparison),
        "headings": headings,
        "operations_heading": crate::compare::operations_heading(comparison),
        "a": comparison.a,
        "b": comparison.b,
        "comparable": comparison.comparable,
        "differences": comparison.differences,
        "rows": rows(&comparison.rows),
        "operations": rows(&comparison.operations),
        "added": rows(&comparison.added),
        "removed": rows(&comparison.removed),
        "warnings": comparison.warnings.iter().map(trace_comparison_warning).collect::<Vec<_>>(),
    });
    page(&title(&comparison.a, &comparison.b), &data, &crate::compare_text(comparison), &Foot::Trace)
}

/// A comparison of runs as one HTML file.
pub fn run_compare_html(comparison: &RunComparison) -> String {
    let data = comparison_data(comparison);
    page(&title(&comparison.a, &comparison.b), &data, &crate::run_compare_text(comparison), &Foot::Profile)
}

/// What the script draws of a comparison of runs.
pub(super) fn comparison_data(comparison: &RunComparison) -> Value {
    json!({
        "kind": "comparison",
        "headline": crate::compare::headline(&comparison.rows, crate::compare::Unit::Each("sample"), comparison.comparable),
        "headings": [
            ["Per sample", "step", "step"],
            ["CPU time per sample", "cpu", "cpu"],
            ["Phases, per sample", "phases", "phase"],
        ],
        "a": comparison.a,
        "b": comparison.b,
        "comparable": comparison.comparable,
        "differences": comparison.differences,
        "rows": rows(&comparison.rows),
        "operations": [],
        "added": [],
        "removed": [],
        "warnings": comparison.warnings.iter().map(run_comparison_warning).collect::<Vec<_>>(),
    })
}

fn rows<A: serde::Serialize>(list: &[Row<A>]) -> Vec<Value> {
    let bound = |row: &Row<A>, value: Option<f64>| value.filter(|_| row.has_range());
    list.iter()
        .map(|row| {
            json!([row.name, row.about, row.a, row.b, row.ratio, bound(row, row.low), bound(row, row.high)])
        })
        .collect()
}

fn title(a: &str, b: &str) -> String {
    format!("{} against {}", side(b), side(a))
}

/// What to call one side in the heading; all its files stand below.
fn side(files: &str) -> String {
    match files.split(", ").count() {
        0 | 1 => file_name(files).to_owned(),
        ranks => format!("{ranks} ranks"),
    }
}
