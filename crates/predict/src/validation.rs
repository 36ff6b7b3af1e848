//! Predictions of the validation part of a run, beside a reference.

use crate::baseline::{Baseline, Baselines};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_train::metrics::Metrics;

/// Predicted and measured scores of a validation part.
#[derive(Debug, Clone)]
pub struct ValidationPredictions {
    /// Measured scores.
    pub measured: Vec<f64>,
    /// Predictions, in the same order.
    pub predicted: Vec<f64>,
    /// Pearson correlation of the additive ridge on the same samples, which uses gene identities only; `None` where undefined.
    pub ridge_pearson: Option<f64>,
}

impl ValidationPredictions {
    /// Sets predictions of the validation part beside its scores, and fits the additive ridge to the training part.
    pub fn of(dataset: &Dataset, split: &Split, predicted: Vec<f64>) -> Self {
        let rows = split.rows(Part::Val);
        let measured: Vec<f64> = rows.iter().map(|&row| dataset.samples.scores()[row as usize]).collect();
        let ridge = Baselines::new(&dataset.samples, dataset.cell.genes().len(), split)
            .and_then(|baselines| baselines.fit(Baseline::AdditiveRidge, rows, 0, &|_| ()));
        let ridge_pearson = ridge.ok().and_then(|fitted| Metrics::of(&fitted.predictions, &measured).pearson);
        Self { measured, predicted, ridge_pearson }
    }
}
