//! How far predictions can be trusted: those of the test part beside what was measured there.

use crate::scorer::OpenRuns;
use crate::{Scorer as _, Scores};
use knockout_base::error::Result;
use knockout_data::cell::GeneSets;
use knockout_data::screen::Part;
use knockout_train::metrics::Metrics;

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
    /// Predicts the test part of the runs' split.
    pub fn of(opened: &OpenRuns) -> Result<Self> {
        let (samples, rows) = (&opened.dataset.samples, opened.split.rows(Part::Test));
        let sets: GeneSets = rows.iter().map(|&row| samples.genes(row as usize)).collect();
        let measured: Vec<f64> = rows.iter().map(|&row| samples.scores()[row as usize]).collect();
        let mut scores = Scores::default();
        opened.scorer().score(sets.view(), &mut scores)?;
        let metrics = Metrics::of(&scores.mean, &measured);
        let groups = groups(&scores.mean, &measured);
        Ok(Self { measured, predicted: scores.mean, metrics, groups })
    }
}

fn groups(predicted: &[f64], measured: &[f64]) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..predicted.len()).collect();
    order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]));
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
    fn groups_go_from_low_to_high() {
        let predicted: Vec<f64> = (0..40).rev().map(f64::from).collect();
        let measured: Vec<f64> = predicted.iter().map(|value| 2.0 * value).collect();
        let groups = super::groups(&predicted, &measured);
        assert_eq!((groups.len(), groups[0], groups[9]), (10, (1.5, 3.0), (37.5, 75.0)));
        assert_eq!(super::groups(&[1.0, 2.0], &[0.0, 1.0]), [(1.0, 0.0), (2.0, 1.0)]);
        assert!(super::groups(&[], &[]).is_empty());
    }
}
