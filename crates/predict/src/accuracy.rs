//! The accuracy of predictions in each regime, from records that the runs were not fitted to.

use crate::evaluation::{MeasuredScores, NamedPredictions, rows_of};
use crate::predictions::Predictions;
use crate::scorer::{OpenRuns, Threads};
use crate::{Scorer as _, Scores, TrainedGenes};
use knockout_base::error::Result;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Part, Regime};
use serde::Serialize;
use std::collections::BTreeSet;

/// Source of the accuracy of a regime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccuracySource {
    /// Records of the regime in the test part.
    TestPart,
    /// Folds that were held out of the training part: of genes, and for known genes of sets.
    Folds,
    /// Unknown: no training sample has as many genes.
    OtherSizes,
    /// Nothing is known.
    Unknown,
}

/// The accuracy of a regime, for sets of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegimeAccuracy {
    /// Genes of a set.
    pub genes: usize,
    /// The regime.
    pub regime: Regime,
    /// Pearson's correlation.
    pub pearson: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// Records that it was measured on; of folds, predictions: one for each fold that held a record out.
    pub records: usize,
    /// Where it comes from.
    pub source: AccuracySource,
}

/// Minimum number of test records of a regime for an estimate.
const FEWEST_RECORDS: usize = 50;
/// Records of the test part that even a slow model predicts at once.
const MOST_SLOW_RECORDS: usize = 5_000;

impl RegimeAccuracy {
    /// Finds the accuracy of every regime and of every size of sets: from the test part where it has such records, otherwise
    /// from the folds of a run. Figures of other set sizes are never used.
    ///
    /// A slow model does not predict a large test part again: predictions that `evaluate` left are read.
    pub fn of(opened: &OpenRuns, orders: &[usize]) -> Result<Vec<Self>> {
        let OpenRuns { dataset, split, .. } = opened;
        let (samples, rows) = (&dataset.samples, split.rows(Part::Test));
        let trained = TrainedGenes::of(samples, dataset.cell.genes().len(), split);
        let trained_orders = opened.trained_orders();
        let predictions = test_predictions(opened)?;
        let by_regime = trained.by_regime(samples, rows);
        let of_test = |genes: usize, regime: Regime| {
            let (records, predictions) = (by_regime.get(&regime)?, predictions.as_ref()?);
            let has_size = |record: &&usize| samples.genes(rows[**record] as usize).len() == genes;
            let records: Vec<usize> = records.iter().filter(has_size).copied().collect();
            let rows: Vec<u32> = records.iter().map(|&record| rows[record]).collect();
            let measured = MeasuredScores::of_rows(samples, &rows, &trained);
            let predictions: Vec<f64> = records.iter().map(|&record| predictions[record]).collect();
            let model = NamedPredictions { name: "", predictions: &predictions };
            let scheme = split.spec().scheme.name();
            // The same resamples as those of `evaluate`, so that a figure has one interval.
            let row = rows_of(&[model], &measured, scheme, Part::Test, &Bootstrap::default()).swap_remove(0);
            let found = Self {
                genes,
                regime,
                pearson: row.metrics.pearson,
                low: row.low,
                high: row.high,
                records: rows.len(),
                source: AccuracySource::TestPart,
            };
            (rows.len() >= FEWEST_RECORDS).then_some(found)
        };
        let of_size = |&genes: &usize| {
            Regime::ALL.map(|regime| {
                of_test(genes, regime).unwrap_or_else(|| of_folds(opened, &trained_orders, genes, regime))
            })
        };
        Ok(orders.iter().flat_map(of_size).collect())
    }
}

/// Predictions of the test part; `None` if they would take long and are not there yet.
pub(crate) fn test_predictions(opened: &OpenRuns) -> Result<Option<Vec<f64>>> {
    let (samples, rows) = (&opened.dataset.samples, opened.split.rows(Part::Test));
    let scorer = opened.scorer();
    if scorer.threads() == Threads::One || rows.len() <= MOST_SLOW_RECORDS {
        let sets: GeneSets = rows.iter().map(|&row| samples.genes(row as usize)).collect();
        let mut scores = Scores::default();
        scorer.score(sets.view(), &mut scores)?;
        return Ok(Some(scores.mean));
    }
    let [run] = &opened.runs[..] else { return Ok(None) };
    let kept = Predictions::load(&run.description().folder().join(Predictions::file_name(Part::Test))).ok();
    Ok(kept.filter(|kept| kept.rows == rows).map(|kept| kept.predictions))
}

/// The accuracy that training estimated by folds of genes, if all its samples have this size.
fn of_folds(
    opened: &OpenRuns,
    trained_orders: &BTreeSet<usize>,
    genes: usize,
    regime: Regime,
) -> RegimeAccuracy {
    let numbers = match &opened.runs[..] {
        [run] if trained_orders.iter().eq([&genes]) => Some(&run.weights().state.numbers),
        _ => None,
    };
    let number =
        |name: &str| numbers?.get(&format!("regimes.{}.{name}", regime.name())).map(|number| number.0);
    let pearson = number("pearson");
    let source = match pearson {
        Some(_) => AccuracySource::Folds,
        None if !trained_orders.contains(&genes) => AccuracySource::OtherSizes,
        None => AccuracySource::Unknown,
    };
    RegimeAccuracy {
        genes,
        regime,
        pearson,
        low: number("low"),
        high: number("high"),
        records: number("records").map_or(0, |records| records as usize),
        source,
    }
}
