//! Figures of accuracy: formats, bars with intervals, and sentences about the bounds of any model.

use crate::page::{Bar, BarSegment, Chart, Column, Scatter, Series, TableCell, colour};
use crate::units::{count, counted, figure};
use knockout_data::screen::{Bounds, Ceiling, CeilingBasis, NoCeiling, RepeatAlleles};
use knockout_predict::Calibration;
use knockout_train::metrics::Metrics;
use std::collections::BTreeSet;

/// Meaning of the values of scatter plots.
const SCORE: &str = "score";

/// Formats a correlation with four decimals, or a dash.
pub fn correlation(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.4}"))
}

/// Formats an error with four digits whatever the scale of the scores, or a dash.
pub fn error(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| {
        let digits = if value > 0.0 { value.log10().floor() } else { 0.0 };
        let decimals = (3.0 - digits).clamp(0.0, 12.0) as usize;
        format!("{value:.decimals$}")
    })
}

/// Formats an interval, or a dash.
pub(super) fn interval(low: Option<f64>, high: Option<f64>) -> String {
    low.zip(high).map_or_else(dash, |(low, high)| format!("[{low:.4}, {high:.4}]"))
}

pub(super) fn dash() -> String {
    "–".to_owned()
}

/// States whose figures have no checksum; `None` without any name.
pub(super) fn unsealed_sentence(names: impl IntoIterator<Item = String>) -> Option<String> {
    const MOST_NAMES: usize = 3;
    let names: Vec<String> = names.into_iter().collect();
    let listed = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    (!names.is_empty()).then(|| {
        format!(
            "unsealed: {listed}{more}; without a checksum, as in earlier versions, an edit is not detected"
        )
    })
}

/// Scale of a column of bars that begin at zero.
pub(super) struct BarScale {
    most: f64,
}

impl BarScale {
    /// Returns the scale that ends at the largest of the values.
    pub(super) fn around(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let most = values.into_iter().flatten().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self { most: if most > 0.0 { most } else { 1.0 } }
    }

    /// Returns the column; its heading is the scale.
    pub(super) fn column(&self, quantity: &str) -> Column {
        Column { name: format!("{quantity}, 0 to {:.2}", self.most), ..Column::bar() }
    }

    /// Returns the bar of a value with its interval, coloured by a name. A value below zero has no bar.
    pub(super) fn cell(&self, name: &str, value: Option<f64>, interval: Option<(f64, f64)>) -> TableCell {
        let part = |value: f64| (value / self.most).clamp(0.0, 1.0);
        let segment = |value: f64| BarSegment {
            length: part(value),
            colour: colour(name).to_owned(),
            title: format!("{name} {value:.4}"),
        };
        Bar {
            segments: value.map(segment).into_iter().collect(),
            interval: interval.map(|(low, high)| (part(low), part(high))),
            ..Bar::default()
        }
        .into()
    }
}

/// Returns sentences about the bounds of a model: the bound of synthetic data, and how well repeated measurements agree or why that
/// is unknown.
pub(super) fn bounds(bounds: &Bounds) -> Vec<String> {
    let attainable = bounds.attainable_pearson;
    let attainable =
        attainable.map(|r| format!("attainable Pearson {r:.4}: the expected maximum of any model"));
    attainable.into_iter().chain(ceiling_sentence(bounds)).collect()
}

/// Describes the prior knowledge that a model uses beyond the screen and the networks.
pub fn prior_knowledge_sentence(uses: &BTreeSet<String>) -> String {
    let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
    format!(
        "it also uses {}; such knowledge of genes may have been inferred from interactions like these",
        uses.join(", ")
    )
}

/// States the ceiling of a screen, or why it has none.
pub(super) fn ceiling_sentence(bounds: &Bounds) -> Option<String> {
    if let Some(Ceiling { repeat_pearson, low, high, basis, sets, model_pearson, alleles, unstated_sets }) =
        &bounds.ceiling
    {
        let sets = count(*sets);
        let origin = match (basis, alleles) {
            (CeilingBasis::Repeats, RepeatAlleles::Unstated) => {
                format!("{sets} gene sets measured twice; the alleles are not stated and some may differ")
            }
            (CeilingBasis::Repeats, _) if *unstated_sets > 0 => format!(
                "{sets} gene sets measured twice with stated alleles; {} more state none and do not count: import with `kind=deletion` \
                 if genes without an allele were deleted",
                count(*unstated_sets)
            ),
            (CeilingBasis::Repeats, _) => format!("{sets} gene sets measured twice"),
            (CeilingBasis::StandardErrors, _) => {
                format!("from the standard errors of {sets} scores, without differences between experiments")
            }
        };
        return Some(format!(
            "ceiling: measuring again gives Pearson {repeat_pearson:.4} [{low:.4}, {high:.4}] ({origin}); a model \
             without error would have about {model_pearson:.4}"
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

/// Returns predicted against measured scores.
pub fn scatter(title: impl Into<String>, measured: &[f64], predicted: &[f64]) -> Scatter {
    let metrics = Metrics::of(predicted, measured);
    let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
    Scatter {
        title: title.into(),
        caption: format!(
            "Pearson {}, Spearman {}, {}; a perfect prediction lies on the dashed line",
            figure(metrics.pearson),
            figure(metrics.spearman),
            counted(metrics.count, "sample")
        ),
        unit: SCORE.to_owned(),
        measured: narrow(measured),
        predicted: narrow(predicted),
    }
}

/// Returns mean measured scores by tenths of the prediction.
pub(super) fn groups(calibration: &Calibration) -> Chart {
    let diagonal = calibration.groups.iter().map(|&(predicted, _)| (predicted, predicted));
    Chart {
        title: "How far to trust a prediction: the test part by tenths of the prediction".to_owned(),
        across: "mean prediction (score)".to_owned(),
        up: "mean measured score".to_owned(),
        series: vec![
            Series::new("measured", calibration.groups.iter().copied()),
            Series::new("perfect prediction", diagonal),
        ],
        ..Chart::default()
    }
}
