//! Evaluations as text. A figure that is not defined is a dash.

use knockout_base::stats::bootstrap::Difference;
use knockout_data::screen::{Bounds, Ceiling, NoCeiling, RepeatAlleles};
use knockout_predict::evaluation::{Comparison, Figure, Row, Spread, Unseen};
use knockout_report::page::{Column, Table};
use knockout_report::units::count;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Heading of an evaluation.
pub(crate) fn heading(
    rows: &[Row],
    split: &str,
    split_seed: u64,
    part: &str,
    unseen: Option<Unseen>,
) -> String {
    let samples = rows.first().map_or(0, |row| row.metrics.count);
    let mut text =
        format!("{part} part of the {split} split (seed {split_seed}): {} samples\n", count(samples));
    if let Some(unseen) = unseen {
        writeln!(
            text,
            "genes of it that never occur in training: {} (in {} of its samples)",
            count(unseen.genes),
            count(unseen.records)
        )
        .ok();
    }
    text.push('\n');
    text
}

/// One line per model.
pub(crate) fn rows(rows: &[Row]) -> String {
    let mut table = Table::new([
        Column::text("model"),
        Column::number("Pearson"),
        Column::text("95 % interval"),
        Column::number("Spearman"),
        Column::number("MSE"),
        Column::number("RMSE"),
        Column::number("MAE"),
        Column::number("samples"),
    ]);
    for row in rows {
        let metrics = &row.metrics;
        let interval = row.low.zip(row.high);
        table.row(vec![
            row.name.clone(),
            correlation(metrics.pearson),
            interval.map_or_else(dash, |(low, high)| format!("[{low:.4}, {high:.4}]")),
            correlation(metrics.spearman),
            error(metrics.mse),
            error(metrics.rmse),
            error(metrics.mae),
            count(metrics.count),
        ]);
    }
    table.to_text()
}

/// Bounds of a model: the bound of synthetic data, and how well repeated measurements agree or why that is unknown.
pub(crate) fn bounds(bounds: &Bounds) -> String {
    let attainable = bounds.attainable_pearson;
    let attainable =
        attainable.map(|r| format!("attainable Pearson {r:.4}: the expected maximum of any model"));
    let lines: Vec<String> = attainable.into_iter().chain(ceiling_sentence(bounds)).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n\n")) }
}

/// Describes the prior knowledge that a model uses beyond the screen and the networks.
pub(crate) fn prior_knowledge_sentence(uses: &BTreeSet<String>) -> String {
    let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
    format!(
        "it also uses {}; such knowledge of genes may have been inferred from interactions like these",
        uses.join(", ")
    )
}

/// States the ceiling of a screen, or why it has none.
pub(crate) fn ceiling_sentence(bounds: &Bounds) -> Option<String> {
    if let Some(Ceiling { repeat_pearson, low, high, sets, model_pearson, alleles }) = &bounds.ceiling {
        let unstated = match alleles {
            RepeatAlleles::Unstated => "; the alleles are not stated and some may differ",
            _ => "",
        };
        return Some(format!(
            "ceiling: measuring again gives Pearson {repeat_pearson:.4} [{low:.4}, {high:.4}] ({} gene sets measured \
             twice{unstated}); a model without error would have about {model_pearson:.4}",
            count(*sets)
        ));
    }
    let reason = match bounds.no_ceiling? {
        NoCeiling::NoRepeats => "too few gene sets were measured twice",
        NoCeiling::DifferentAlleles => {
            "gene sets were measured twice only with different alleles, which is not a repeated measurement"
        }
        NoCeiling::UnrecordedAlleles => {
            "the dataset was imported before alleles were kept apart; import it again to see whether there is one"
        }
    };
    Some(format!("ceiling unknown: {reason}"))
}

/// Paired differences, one line each.
pub(crate) fn comparisons(comparisons: &[Comparison], rows: &[Row], resamples: usize) -> String {
    let mut text = String::new();
    for Comparison { name, against, pearson, mse } in comparisons {
        let pearson = pearson.map_or_else(
            || "a correlation is undefined".to_owned(),
            |d| difference("Pearson", &d, ["better", "worse"]),
        );
        let mse = mse.map_or_else(String::new, |d| difference("; MSE", &d, ["worse", "better"]));
        writeln!(text, "{name} minus {against}: {pearson}{mse}").ok();
    }
    if text.is_empty() {
        return text;
    }
    let units = rows.first().map_or("records", |row| row.resampled.title());
    format!("\npaired bootstrap over {units}, {} resamples\n{text}", count(resamples))
}

/// A difference and its finding: the first word where it lies above 0, the second where below.
fn difference(figure: &str, d: &Difference, [above, below]: [&str; 2]) -> String {
    let finding = match (d.low > 0.0, d.high < 0.0) {
        (true, _) => above,
        (_, true) => below,
        _ => "no significant difference",
    };
    format!("{figure} {:+.4} [{:+.4}, {:+.4}]: {finding}", d.difference, d.low, d.high)
}

/// Spread over seeds, one line per model and figure.
pub(crate) fn spreads(spreads: &[Spread]) -> String {
    let mut table = Table::new([
        Column::text("spread of"),
        Column::text("figure"),
        Column::text("over seeds of"),
        Column::number("mean"),
        Column::number("sd"),
        Column::number("lowest"),
        Column::number("highest"),
        Column::number("seeds"),
    ]);
    for spread in spreads {
        let (figure, shown): (&str, fn(Option<f64>) -> String) = match spread.metric {
            Figure::Pearson => ("Pearson", correlation),
            Figure::Spearman => ("Spearman", correlation),
            Figure::Mse => ("MSE", error),
            Figure::Rmse => ("RMSE", error),
            Figure::Mae => ("MAE", error),
        };
        let mut row = vec![spread.name.clone(), figure.to_owned(), spread.over.to_owned()];
        row.extend([spread.mean, spread.sd, spread.low, spread.high].map(shown));
        row.push(spread.seeds.len().to_string());
        table.row(row);
    }
    table.to_text()
}

/// Formats a correlation with four decimals, or a dash.
pub(crate) fn correlation(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.4}"))
}

/// An error to four digits whatever the scale of the scores, or a dash.
fn error(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| {
        let digits = if value > 0.0 { value.log10().floor() } else { 0.0 };
        let places = (3.0 - digits).clamp(0.0, 12.0) as usize;
        format!("{value:.places$}")
    })
}

fn dash() -> String {
    "–".to_owned()
}
