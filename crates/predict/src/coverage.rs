//! How many measurements lie within the intervals of a model.

use crate::predictions::Predictions;
use serde::Serialize;

/// Shares of a part's measurements within a model's 68 % and 95 % intervals.
#[derive(Debug, Clone, Serialize)]
pub struct Coverage {
    /// Name of the model.
    pub name: String,
    /// Share within one standard deviation.
    pub within_68: f64,
    /// Share within the 95 % interval.
    pub within_95: f64,
}

impl Coverage {
    /// Counts the measurements within one and `wide` standard deviations of their predictions.
    pub fn of(name: &str, predictions: &Predictions, deviations: &[f64], wide: f64) -> Self {
        let within = |times: f64| {
            let errors = predictions.predictions.iter().zip(&predictions.scores);
            let inside = errors.zip(deviations).filter(|((a, b), sd)| (*a - *b).abs() <= times * **sd);
            inside.count() as f64 / deviations.len().max(1) as f64
        };
        Self { name: name.to_owned(), within_68: within(1.0), within_95: within(wide) }
    }
}
