//! A run and a comparison of runs for a terminal: conditions first, then figures with their spread.

use crate::analysis::warnings;
use crate::compare::{Unit, comparison_rows, headline};
use crate::sentence::{run_comparison_warning, run_finding, run_warning};
use crate::table::Table;
use crate::units::{bytes, count, percent, rate, shortened, time};
use knockout_analyze::profile::{PhaseRow, RunComparison, RunProfile};
use std::fmt::Write as _;

/// Seconds with a fitting unit.
pub(crate) fn seconds(value: f64) -> String {
    time(value * 1e6)
}

/// The findings of a run as text.
pub fn run_text(profile: &RunProfile) -> String {
    let mut out = String::new();
    let mut conditions = Table::new(&["<", "<"]);
    for (name, value) in profile.conditions.entries().into_iter().filter(|(_, value)| !value.is_empty()) {
        conditions.row(vec![name.to_owned(), shortened(&value, 70)]);
    }
    out.push_str("Conditions\n");
    conditions.print(&mut out);
    writeln!(
        out,
        "\n{} steps measured ({} of warm-up and {} outside the window left out), {} samples\n\
         {} per step (median {}, middle half {} to {}), {} of CPU time\n\
         {} per sample, {} samples/s",
        count(profile.steps),
        count(profile.warmed),
        count(profile.skipped),
        count(profile.samples),
        seconds(profile.wall_s_per_step),
        seconds(profile.step.median_s),
        seconds(profile.step.low_quartile_s),
        seconds(profile.step.high_quartile_s),
        seconds(profile.cpu_s_per_step),
        seconds(profile.wall_s_per_sample),
        rate(profile.samples_per_s),
    )
    .unwrap_or_default();
    for verdict in &profile.verdict {
        writeln!(out, "- {}", run_finding(verdict)).unwrap_or_default();
    }
    phases(&mut out, "Phases of a step", &profile.phases);
    phases(&mut out, "Parts of phases, inside their time", &profile.parts);
    phases(&mut out, "Threads that work ahead, beside the step", &profile.background);
    if let Some(peak) = profile.peak_rss_bytes {
        writeln!(out, "\nMost memory: {}", bytes(peak as i64)).unwrap_or_default();
    }
    warnings(&mut out, profile.warnings.iter().map(run_warning));
    out
}

fn phases(out: &mut String, heading: &str, rows: &[PhaseRow]) {
    if rows.is_empty() {
        return;
    }
    let mut table =
        Table::new(&["<", "per batch", "share", "per sample", "median", "middle half", "memory after"]);
    for row in rows {
        table.row(vec![
            shortened(&row.name, 48),
            seconds(row.wall_s),
            percent(row.share),
            seconds(row.wall_s_per_sample),
            seconds(row.spread.median_s),
            format!("{} to {}", seconds(row.spread.low_quartile_s), seconds(row.spread.high_quartile_s)),
            row.rss_bytes.map(|rss| bytes(rss as i64)).unwrap_or_default(),
        ]);
    }
    out.push('\n');
    out.push_str(heading);
    out.push('\n');
    table.print(out);
}

/// A comparison of runs as text.
pub fn run_compare_text(comparison: &RunComparison) -> String {
    let headline = headline(&comparison.rows, Unit::Each("sample"), comparison.comparable);
    let mut out = format!("{headline}\n\na  {}\nb  {}\n", comparison.a, comparison.b);
    if comparison.differences.is_empty() {
        out.push_str("\nConditions are equal\n");
    } else {
        out.push_str("\nConditions that differ\n");
        let mut table = Table::new(&["<", "<a", "<b", "<"]);
        for row in &comparison.differences {
            let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { shortened(text, 40) };
            let note = match &row.what {
                what if comparison.varied.contains(what) => "intended",
                what if comparison.unlike.contains(what) => "makes times differ by itself",
                _ => "",
            };
            table.row(vec![row.what.clone(), or_dash(&row.a), or_dash(&row.b), note.to_owned()]);
        }
        table.print(&mut out);
    }
    if comparison.comparable {
        out.push_str("\nratios are b / a, with the bounds the spread over steps allows\n");
        comparison_rows(&mut out, "Per sample", comparison.rows.iter());
        comparison_rows(&mut out, "Per iteration", comparison.iterations.iter());
    } else {
        out.push_str(
            "\nNo ratio: these conditions make times differ by themselves. Measure alike, or say with\n",
        );
        writeln!(out, "`--vary {}` that the difference is the point.", comparison.unlike.join(","))
            .unwrap_or_default();
    }
    warnings(&mut out, comparison.warnings.iter().map(run_comparison_warning));
    out
}
