//! Two experiments beside each other: cells of the same name, and models within each.

use crate::compare::{changes, differences, rows_section, title};
use crate::page::{Column, Page, Section, Table, TableCell};
use crate::sentence::{estimate, measured_text};
use crate::units::{counted, percent, time, two};
use knockout_analyze::profile::RunRow;
use knockout_analyze::profile::experiment::ExperimentComparison;
use std::fmt::Write as _;

/// Renders a comparison of experiments as text.
pub fn experiment_compare_text(comparison: &ExperimentComparison) -> String {
    let page = page(comparison);
    let mut out = String::new();
    for finding in &page.findings {
        writeln!(out, "{finding}").ok();
    }
    writeln!(out, "\na  {}\nb  {}", side(comparison, true), side(comparison, false)).ok();
    out.push_str("ratios are b / a, with the bounds that the spread over rounds allows\n");
    out + &page.sections_to_text()
}

/// Renders a comparison of experiments as one HTML file.
pub fn experiment_compare_html(comparison: &ExperimentComparison) -> String {
    page(comparison).to_html()
}

/// Name, rounds and date of a side.
fn side(comparison: &ExperimentComparison, is_a: bool) -> String {
    let (a, b) = &comparison.measured;
    let (name, rounds, measured) =
        if is_a { (&comparison.a, comparison.rounds.0, a) } else { (&comparison.b, comparison.rounds.1, b) };
    let measured = measured.as_ref().map(|measured| format!("; {}", measured_text(measured)));
    format!("{name}, {}{}", counted(rounds, "round"), measured.unwrap_or_default())
}

/// The change of a cell in a sentence.
fn sentence(row: &RunRow) -> Option<String> {
    let (ratio, low, high) = (row.ratio?, row.low?, row.high?);
    let sure = match () {
        () if !row.is_interval() => "too few rounds for an interval",
        () if low > 1.0 => "slower",
        () if high < 1.0 => "faster",
        () => "no measurable difference",
    };
    let change = if ratio > 1.0 { ratio - 1.0 } else { 1.0 - ratio };
    let word = if ratio > 1.0 { "more" } else { "less" };
    Some(format!(
        "{}: {} per sample in b and {} in a, {} {word} ({} to {} times): {sure}",
        row.name,
        time(row.b),
        time(row.a),
        percent(change),
        two(low),
        two(high)
    ))
}

fn page(comparison: &ExperimentComparison) -> Page {
    let findings: Vec<String> = if comparison.comparable {
        comparison.rows.iter().filter_map(sentence).collect()
    } else {
        vec![format!(
            "The experiments are not comparable, so times have no ratio: cells of the same name differ in {}. Measure alike, or declare \
             the difference intended with `--vary {}`.",
            comparison.unlike.join(", "),
            comparison.unlike.join(",")
        )]
    };
    let remark = |what: &str| match what {
        what if comparison.varied.iter().any(|varied| varied == what) => "intended",
        what if comparison.unlike.iter().any(|unlike| unlike == what) => "makes times differ by itself",
        _ => "",
    };
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(changes("changes", None, comparison.rows.iter()));
    sections.extend(rows_section("samples", "Wall time per sample", comparison.rows.iter()));
    sections.extend(rows_section("cpu", "CPU time per sample", comparison.cpu_rows.iter()));
    sections.extend(models(comparison));
    sections.extend(differences(&comparison.differences, &remark));
    let only = [("a", &comparison.only_in_a), ("b", &comparison.only_in_b)];
    let only = only.into_iter().filter(|(_, cells)| !cells.is_empty());
    let only: Vec<String> =
        only.map(|(side, cells)| format!("only in {side}: {}", cells.join("; "))).collect();
    if !only.is_empty() {
        sections.push(Section::new("only", "Cells of one experiment").with(only));
    }
    Page {
        title: title(&comparison.a, &comparison.b),
        subtitle: format!("a: {} · b: {}", side(comparison, true), side(comparison, false)),
        made_by: "knockout compare".to_owned(),
        footnote: "Ratios are b / a. Rounds of two experiments are not paired.".to_owned(),
        findings,
        sections,
        ..Page::default()
    }
}

/// The ratios of models in each experiment.
fn models(comparison: &ExperimentComparison) -> Option<Section> {
    let columns = [Column::text("cells"), Column::number("in a"), Column::number("in b")];
    let table = Table::new(columns).id("model-table").with_rows(comparison.model_ratios.iter().map(|row| {
        let cell = |ratio| TableCell::number(estimate(ratio, two), ratio.median);
        [TableCell::from(&row.name[..]), cell(&row.a), cell(&row.b)]
    }));
    let note = "Times as long per sample. Each ratio is of cells of one experiment, so it holds whatever differs between the two.";
    (!table.is_empty())
        .then(|| Section::new("models", "Models within each experiment").note(note).with(table))
}
