//! A comparison as HTML.

use super::{file_name, page};
use knockout_profile::{Comparison, Row};
use serde_json::{Value, json};

/// The comparison as one HTML file.
pub fn compare_html(comparison: &Comparison) -> String {
    let row = |row: &Row| json!([row.name, row.about, row.a, row.b, row.ratio, row.low, row.high]);
    let rows = |list: &[Row]| -> Vec<Value> { list.iter().map(row).collect() };
    let data = json!({
        "kind": "comparison",
        "a": comparison.a,
        "b": comparison.b,
        "comparable": comparison.comparable,
        "differences": comparison.differences,
        "rows": rows(&comparison.rows),
        "operations": rows(&comparison.operations),
        "added": rows(&comparison.added),
        "removed": rows(&comparison.removed),
        "warnings": comparison.warnings,
    });
    let title = format!("{} against {}", side(&comparison.b), side(&comparison.a));
    page(&title, &data, &crate::compare_text(comparison))
}

/// What to call one side in the heading; all its files stand below.
fn side(files: &str) -> String {
    match files.split(", ").count() {
        0 | 1 => file_name(files).to_owned(),
        ranks => format!("{ranks} ranks"),
    }
}
