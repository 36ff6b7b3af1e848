//! Models compared on the splits of one dataset and scheme.

use super::cell::predictions_name;
use super::{BenchmarkRequest, CellResult, ModelKind, cell_folder};
use crate::trials::trial::TrialEnd;
use knockout_base::error::Result;
use knockout_base::stats::bootstrap::Statistic;
use knockout_data::screen::{Bounds, Dataset, Part, Scheme, Split};
use knockout_predict::baseline::Baseline;
use knockout_predict::evaluation::{MeasuredScores, Metric, SeedSpread};
use knockout_predict::predictions::Predictions;
use serde::Serialize;
use std::cmp::Ordering;
use std::sync::Arc;

/// A table: one dataset, one scheme, all models.
#[derive(Debug, Clone, Serialize)]
pub struct Leaderboard {
    /// Name of the dataset's folder.
    pub dataset: String,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// The scheme of the splits.
    pub split: &'static str,
    /// Samples of the dataset.
    pub samples: usize,
    /// Samples of the test part, of the first split.
    pub test: usize,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// Models, the best first.
    pub rows: Vec<LeaderboardRow>,
    /// Models and schemes that were left out, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Bounds of the accuracy of any model.
    #[serde(flatten)]
    pub bounds: Bounds,
}

/// A model or scheme that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The model or the scheme.
    pub name: String,
    /// Reason it was left out.
    pub why: String,
}

/// A model's figures over all splits.
#[derive(Debug, Clone, Serialize)]
pub struct LeaderboardRow {
    /// The model or baseline.
    pub name: String,
    /// Kind of the model.
    pub kind: ModelKind,
    /// Mean test Pearson over splits; `None` where it is undefined in all.
    pub pearson: Option<f64>,
    /// Their sample standard deviation; `None` with fewer than two.
    pub sd: Option<f64>,
    /// Of one split the lower end of the bootstrap interval, of several the lowest.
    pub low: Option<f64>,
    /// Upper end, or the highest.
    pub high: Option<f64>,
    /// Mean Spearman.
    pub spearman: Option<f64>,
    /// Mean CPU time of a split, in seconds.
    pub cpu_seconds: f64,
    /// Whether every split was trained to its end, and not to the end of the budget.
    pub is_finished: bool,
    /// Its Pearson minus that of the stack on the same records; `None` for the stack itself, and without one.
    pub against_stack: Option<Against>,
    /// The figures of every split.
    pub splits: Vec<CellResult>,
}

/// Paired differences to another model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Against {
    /// Mean difference of Pearson over splits.
    pub difference: f64,
    /// Of one split the lower end of the paired bootstrap interval, of several the lowest difference.
    pub low: f64,
    /// Upper end, or the highest.
    pub high: f64,
    /// Splits in which the paired interval lies above 0.
    pub better: usize,
    /// Splits in which it lies below 0.
    pub worse: usize,
    /// Splits in which both are defined.
    pub compared: usize,
}

impl Leaderboard {
    pub(super) fn of(
        folder_name: &str,
        dataset: &Dataset,
        scheme: Scheme,
        request: &BenchmarkRequest,
        splits: &[Arc<Split>],
        results: &[Vec<CellResult>],
        left_out: Vec<LeftOut>,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for (model, results) in request.models.iter().zip(results) {
            if results.is_empty() {
                continue;
            }
            let mut row = LeaderboardRow::of(model.kind(), results);
            if row.name != Baseline::Stack.name() {
                row.against_stack = against_stack(folder_name, dataset, request, splits, results)?;
            }
            rows.push(row);
        }
        rows.sort_by(LeaderboardRow::rank);
        Ok(Self {
            dataset: folder_name.to_owned(),
            data_hash: dataset.manifest.data_hash(),
            split: scheme.name(),
            samples: dataset.samples.len(),
            test: splits.first().map_or(0, |split| split.rows(Part::Test).len()),
            seeds: splits.iter().map(|split| split.spec().seed).collect(),
            rows,
            left_out,
            bounds: dataset.manifest.bounds(),
        })
    }
}

impl LeaderboardRow {
    /// Orders the better of two first. A mean over fewer splits cannot be compared with the others, and comes last.
    fn rank(&self, other: &Self) -> Ordering {
        let pearson = |row: &Self| row.pearson.unwrap_or(f64::NEG_INFINITY);
        let by_splits = other.defined_splits().cmp(&self.defined_splits());
        by_splits.then(pearson(other).total_cmp(&pearson(self))).then_with(|| self.name.cmp(&other.name))
    }

    /// Returns the number of splits that the mean Pearson is over: it is undefined where predictions are constant.
    pub fn defined_splits(&self) -> usize {
        self.splits.iter().filter(|split| Metric::Pearson.of(&split.test).is_some()).count()
    }

    fn of(kind: ModelKind, results: &[CellResult]) -> Self {
        let seeds: Vec<u64> = results.iter().map(|result| result.seed).collect();
        let name = results[0].name.clone();
        let over = |figure: Metric| {
            let values = results.iter().map(|result| figure.of(&result.test)).collect();
            SeedSpread::of(&name, figure, "splits", seeds.clone(), values)
        };
        let pearson = over(Metric::Pearson);
        let (low, high) = match results {
            [one] => (one.low, one.high),
            _ => (pearson.low, pearson.high),
        };
        Self {
            kind,
            pearson: pearson.mean,
            sd: pearson.sd,
            low,
            high,
            spearman: over(Metric::Spearman).mean,
            cpu_seconds: results.iter().map(|result| result.cpu_seconds).sum::<f64>() / results.len() as f64,
            is_finished: results.iter().all(|result| result.end == TrialEnd::Finished),
            against_stack: None,
            splits: results.to_vec(),
            name,
        }
    }
}

/// Paired differences to the stack, over the splits that both have.
fn against_stack(
    folder_name: &str,
    dataset: &Dataset,
    request: &BenchmarkRequest,
    splits: &[Arc<Split>],
    results: &[CellResult],
) -> Result<Option<Against>> {
    let mut differences = Vec::new();
    for result in results {
        let Some(split) = splits.iter().find(|split| split.spec().seed == result.seed) else { continue };
        let folder = cell_folder(request, folder_name, split.spec().scheme, result.seed);
        let stack = predictions_name(Baseline::Stack.name());
        if !folder.has(&stack) {
            continue;
        }
        let stack = Predictions::load_from(&folder, &stack)?;
        let own = Predictions::load_from(&folder, &predictions_name(&result.name))?;
        if own.unlike(&stack).is_empty() {
            let measured = MeasuredScores::of(dataset, split, Part::Test);
            let pair: [&[f64]; 2] = [&own.predictions, &stack.predictions];
            let resampled = request.bootstrap.resample(&measured.shared.resampling, &measured.scores, &pair);
            differences.extend(resampled.difference(Statistic::Pearson, 0, 1));
        }
    }
    let Some(first) = differences.first() else { return Ok(None) };
    let values = || differences.iter().map(|found| found.difference);
    let (low, high) = match differences.len() {
        1 => (first.low, first.high),
        _ => (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)),
    };
    Ok(Some(Against {
        difference: values().sum::<f64>() / differences.len() as f64,
        low,
        high,
        better: differences.iter().filter(|found| found.low > 0.0).count(),
        worse: differences.iter().filter(|found| found.high < 0.0).count(),
        compared: differences.len(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_train::metrics::Metrics;

    fn row(name: &str, predictions: [[f64; 3]; 2]) -> LeaderboardRow {
        let cell = |(seed, predictions): (u64, [f64; 3])| CellResult {
            schema: 1,
            name: name.to_owned(),
            seed,
            identity: String::new(),
            end: TrialEnd::Finished,
            budget_seconds: None,
            cpu_seconds: 1.0,
            epochs: None,
            validation_pearson: None,
            test: Metrics::of(&predictions, &[1.0, 2.0, 4.0]),
            low: None,
            high: None,
            unsealed: false,
        };
        let cells: Vec<CellResult> = (0..).zip(predictions).map(cell).collect();
        LeaderboardRow::of(ModelKind::Solved, &cells)
    }

    #[test]
    fn a_mean_over_fewer_splits_is_not_the_best() {
        let constant = row("constant on one split", [[1.0, 2.0, 4.0], [1.0; 3]]);
        let whole = row("whole", [[1.0, 2.0, 1.5], [1.0, 2.0, 1.0]]);
        let better = row("better", [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
        assert!(constant.pearson > better.pearson && constant.defined_splits() == 1);
        let mut rows = [constant, whole, better];
        rows.sort_by(LeaderboardRow::rank);
        assert_eq!(rows.map(|row| row.name), ["better", "whole", "constant on one split"]);
    }
}
