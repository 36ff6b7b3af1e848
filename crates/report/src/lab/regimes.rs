//! Regimes of predictions: accuracy, strong interactions, and measurements within intervals.

use super::accuracy::{correlation, dash, error, interval};
use crate::page::{Column, Section, Table, TableCell, colour};
use crate::units::{count, counted};
use knockout_data::screen::Regime;
use knockout_predict::evaluation::{ModelMetrics, RegimeFigures};
use knockout_predict::{
    AccuracySource, Coverage, CutOffs, FigureEstimate, HitMetrics, IntervalShares, RegimeAccuracy,
    RegimeCoverage,
};

/// Returns the figures of each regime: accuracy where the part has new genes, and strong interactions.
pub(super) fn regime_sections(regimes: &[RegimeFigures]) -> Vec<Section> {
    let Some(first) = regimes.first().and_then(|regime| regime.rows.first()?.hits.as_ref()) else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    if regimes.iter().any(|regime| regime.new_genes > 0) {
        sections.push(Section::new("regimes", "").with(accuracy_table(regimes)));
    }
    sections.push(Section::new("hits", "strong interactions").with(strong_table(regimes, first)));
    sections
}

fn accuracy_table(regimes: &[RegimeFigures]) -> Table {
    let table = Table::new([
        Column::text("regime"),
        Column::text("model"),
        Column::number("Pearson"),
        Column::text("95 % interval"),
        Column::number("Spearman"),
        Column::number("MSE").wide_only(),
        Column::number("samples"),
        Column::number("new genes"),
    ]);
    let row = |(regime, row): (&RegimeFigures, &ModelMetrics)| {
        [
            regime.regime.title().into(),
            model(row),
            correlation(row.metrics.pearson).into(),
            interval(row.low, row.high).into(),
            correlation(row.metrics.spearman).into(),
            error(row.metrics.mse).into(),
            count(row.metrics.count).into(),
            count(regime.new_genes).into(),
        ]
    };
    table.with_rows(each_row(regimes).map(row))
}

fn strong_table(regimes: &[RegimeFigures], HitMetrics { cut_offs, k, .. }: &HitMetrics) -> Table {
    let CutOffs { negative, positive } = cut_offs;
    let table = Table::new([
        Column::text("regime"),
        Column::text("model"),
        Column::text(format!("AUPRC < {negative}")),
        Column::number("share"),
        Column::number("AUROC"),
        Column::number(format!("AUROC > {positive}")).wide_only(),
        Column::number(format!("precision at {k}")),
        Column::text("sign (always negative)").wide_only(),
        Column::number("profiles").wide_only(),
        Column::number("slope").wide_only(),
    ]);
    let row = |(regime, row): (&RegimeFigures, &ModelMetrics)| {
        let HitMetrics {
            negative, positive, precision, sign, always_negative, profile_pearson, slope, ..
        } = row.hits.as_ref()?;
        Some([
            regime.regime.title().into(),
            model(row),
            with_interval(negative.auprc.as_ref()).into(),
            format!("{:.3}", negative.prevalence).into(),
            value(negative.auroc.as_ref()).into(),
            value(positive.auroc.as_ref()).into(),
            value(precision.as_ref()).into(),
            format!("{} ({})", value(sign.as_ref()), three_decimals(*always_negative)).into(),
            three_decimals(*profile_pearson).into(),
            value(slope.as_ref()).into(),
        ])
    };
    table.with_rows(each_row(regimes).filter_map(row))
}

fn each_row(regimes: &[RegimeFigures]) -> impl Iterator<Item = (&RegimeFigures, &ModelMetrics)> {
    regimes.iter().flat_map(|regime| regime.rows.iter().map(move |row| (regime, row)))
}

fn model(row: &ModelMetrics) -> TableCell {
    TableCell::coloured(&row.name[..], colour(&row.name))
}

fn three_decimals(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.3}"))
}

fn value(estimate: Option<&FigureEstimate>) -> String {
    three_decimals(estimate.map(|estimate| estimate.value))
}

fn with_interval(estimate: Option<&FigureEstimate>) -> String {
    let interval = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" [{low:.3}, {high:.3}]"));
    value(estimate) + &interval
}

/// Returns the shares of measurements within the intervals of a model, and within those of its strong negative predictions.
pub(super) fn coverage_sentences(coverage: &Coverage) -> Vec<String> {
    let Coverage { name, within_68, within_95, regimes } = coverage;
    let (one, wide) = (100.0 * within_68, 100.0 * within_95);
    let all = format!(
        "{name}: {one:.1} % of the measurements lie within its 68 % interval, {wide:.1} % within its 95 % interval"
    );
    let strong = regimes.iter().filter_map(|RegimeCoverage { regime, strong, cut_off, .. }| {
        let IntervalShares { records, within_68, within_95 } = strong.as_ref()?;
        let (one, wide, regime) = (100.0 * within_68, 100.0 * within_95, regime.title());
        let records = counted(*records, "sample");
        Some(format!("  {regime}, predictions below {cut_off}: {one:.1} % and {wide:.1} % ({records})"))
    });
    [all].into_iter().chain(strong).collect()
}

/// Describes the accuracy of each size of sets and regime, and where it was measured.
pub(super) fn accuracy_sentences(accuracy: &[RegimeAccuracy]) -> Vec<String> {
    let is_one_size = accuracy.iter().all(|found| found.genes == accuracy[0].genes);
    let of_size = |found: &[RegimeAccuracy]| -> Vec<String> {
        let genes = counted(found[0].genes, "gene");
        let size = format!("sets of {genes}");
        if found.iter().all(|found| found.source == AccuracySource::OtherSizes) {
            return vec![format!(
                "{size}: unknown; no training sample has {genes}, and figures of other sizes do not apply"
            )];
        }
        let prefix = if is_one_size { String::new() } else { format!("{size}, ") };
        found.iter().map(|found| format!("{prefix}{}", accuracy_sentence(found))).collect()
    };
    accuracy.chunk_by(|a, b| a.genes == b.genes).flat_map(of_size).collect()
}

/// Describes the accuracy of a regime.
pub(super) fn accuracy_sentence(accuracy: &RegimeAccuracy) -> String {
    let RegimeAccuracy { regime, pearson, low, high, records, source, genes } = accuracy;
    let source = match source {
        AccuracySource::TestPart => format!("test part, {}", counted(*records, "sample")),
        // A sample is predicted once for each fold that holds out one of its genes.
        AccuracySource::Folds => {
            let held_out = if *regime == Regime::Known { "sets" } else { "genes" };
            let predictions = counted(*records, "prediction");
            format!("folds of {held_out} held out of training, {predictions}")
        }
        AccuracySource::OtherSizes => {
            let genes = counted(*genes, "gene");
            return format!("{}: unknown; no training sample has {genes}", regime.title());
        }
        AccuracySource::Unknown => {
            let advice = match regime {
                Regime::Known => "`knockout evaluate` measures it for a single run",
                Regime::OneNew | Regime::SeveralNew => "train on a split that has it (--split gene-disjoint)",
            };
            return format!("{}: unknown; {advice}", regime.title());
        }
    };
    let interval = low.zip(*high).map_or_else(String::new, |(low, high)| format!(" [{low:.4}, {high:.4}]"));
    let pearson = pearson.map_or_else(|| "undefined".to_owned(), |pearson| format!("{pearson:.4}"));
    format!("{}: {pearson}{interval} ({source})", regime.title())
}
