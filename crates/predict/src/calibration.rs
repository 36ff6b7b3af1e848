//! Calibration of predictions: those of the test part beside its measured scores, for sets of the same size.

use crate::hit_metrics::FEWEST_OF_PROFILE;
use crate::predictions::Predictions;
use crate::scorer::OpenRuns;
use crate::{Scorer as _, Scores};
use knockout_base::error::Result;
use knockout_base::stats::pearson;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Part, Samples};
use knockout_train::metrics::Metrics;
use std::collections::BTreeMap;

/// Predictions of the test part beside its scores.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The measured scores.
    pub measured: Vec<f64>,
    /// The predictions.
    pub predicted: Vec<f64>,
    /// How the two agree.
    pub metrics: Metrics,
    /// Mean prediction and mean measured score of groups of equal size, from the lowest predictions to the highest.
    pub groups: Vec<(f64, f64)>,
}

/// Groups of samples by their prediction.
const GROUPS: usize = 10;

impl Calibration {
    /// Predicts the records of the test part whose sets have one of the sizes; `None` if there are none.
    pub fn of(opened: &OpenRuns, orders: &[usize]) -> Result<Option<Self>> {
        let samples = &opened.dataset.samples;
        let has_size = |row: &&u32| orders.contains(&samples.genes(**row as usize).len());
        let rows: Vec<u32> = opened.split.rows(Part::Test).iter().filter(has_size).copied().collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let sets: GeneSets = rows.iter().map(|&row| samples.genes(row as usize)).collect();
        let measured: Vec<f64> = rows.iter().map(|&row| samples.scores()[row as usize]).collect();
        let mut scores = Scores::default();
        opened.scorer().score(sets.view(), &mut scores)?;
        Ok(Some(Self::new(scores.mean, measured)))
    }

    /// Compares predictions with the measured scores of the same records.
    pub fn new(predicted: Vec<f64>, measured: Vec<f64>) -> Self {
        let metrics = Metrics::of(&predicted, &measured);
        let groups = groups(&predicted, &measured);
        Self { measured, predicted, metrics, groups }
    }

    /// Returns recall and precision of the records with the lowest predictions, for growing numbers of them: a record counts if its
    /// score is below the cut-off. Empty if none is.
    pub fn precision_recall(&self, cut_off: f64) -> Vec<(f64, f64)> {
        let order = ascending(&self.predicted);
        let strong = self.measured.iter().filter(|&&score| score < cut_off).count();
        let (mut found, mut curve) = (0, Vec::new());
        for (index, &record) in order.iter().enumerate() {
            if self.measured[record] < cut_off {
                found += 1;
                curve.push((found as f64 / strong as f64, found as f64 / (index + 1) as f64));
            }
        }
        curve
    }
}

/// The accuracy for the records of one gene.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneAccuracy {
    /// Row of the gene table.
    pub gene: u32,
    /// Records of the gene.
    pub records: usize,
    /// Pearson's correlation of predictions with scores.
    pub pearson: f64,
}

impl GeneAccuracy {
    /// Returns the accuracy for each gene with at least 30 records, the highest first.
    pub fn of(samples: &Samples, predictions: &Predictions) -> Vec<Self> {
        let mut records: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (record, &row) in predictions.rows.iter().enumerate() {
            for &gene in samples.genes(row as usize) {
                records.entry(gene).or_default().push(record);
            }
        }
        let of_gene = |(gene, records): (u32, Vec<usize>)| {
            let of = |values: &[f64]| records.iter().map(|&record| values[record]).collect::<Vec<f64>>();
            let pearson = pearson(&of(&predictions.predictions), &of(&predictions.scores))?;
            Some(Self { gene, records: records.len(), pearson })
        };
        let enough = records.into_iter().filter(|(_, records)| records.len() >= FEWEST_OF_PROFILE);
        let mut found: Vec<Self> = enough.filter_map(of_gene).collect();
        found.sort_by(|a, b| b.pearson.total_cmp(&a.pearson).then(a.gene.cmp(&b.gene)));
        found
    }
}

/// Returns the indices of values from the lowest to the highest.
fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

fn groups(predicted: &[f64], measured: &[f64]) -> Vec<(f64, f64)> {
    let order = ascending(predicted);
    let edge = |group: usize| order.len() * group / GROUPS;
    let groups =
        (0..GROUPS).map(|group| &order[edge(group)..edge(group + 1)]).filter(|rows| !rows.is_empty());
    let mean =
        |rows: &[usize], values: &[f64]| rows.iter().map(|&row| values[row]).sum::<f64>() / rows.len() as f64;
    groups.map(|rows| (mean(rows, predicted), mean(rows, measured))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn precision_and_recall_follow_the_lowest_predictions() {
        let measured = vec![-4.0, 0.0, -5.0, 1.0];
        let found = super::Calibration::new(vec![-3.0, -2.0, -1.0, 0.0], measured);
        assert_eq!(found.precision_recall(-3.0), [(0.5, 1.0), (1.0, 2.0 / 3.0)]);
        assert!(found.precision_recall(-9.0).is_empty());
    }

    #[test]
    fn groups_go_from_low_to_high() {
        let predicted: Vec<f64> = (0..40).rev().map(f64::from).collect();
        let measured: Vec<f64> = predicted.iter().map(|value| 2.0 * value).collect();
        let groups = super::groups(&predicted, &measured);
        assert_eq!((groups.len(), groups[0], groups[9]), (10, (1.5, 3.0), (37.5, 75.0)));
        assert_eq!(super::groups(&[1.0, 2.0], &[0.0, 1.0]), [(1.0, 0.0), (2.0, 1.0)]);
        assert!(super::groups(&[], &[]).is_empty());
    }
}
