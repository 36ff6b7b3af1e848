//! How far a new measurement may lie from a prediction.
//!
//! The variance is a constant (noise, and what no model explains) plus a share that falls with how much of the deleted genes training
//! has seen, itself or through their networks. Both are fitted to the squared errors of the validation part, so that intervals
//! are calibrated there; they are no posterior variances of single records.

use crate::least_squares::from_zero_up;
use crate::model::{Choice, Records, SolveError, SolvedTensor, tensor};

/// The variance of errors as a function of the share of a set's genes that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    /// Variance where everything is known.
    known: f32,
    /// What comes to it where nothing is.
    unknown: f32,
    /// Shares of the validation part within one and two (1.96) deviations.
    within_one: f32,
    within_two: f32,
}

impl Spread {
    /// Fits the variance to errors on the validation part; `share` is how much of a set is known, from 0 to 1.
    pub(crate) fn fit(val: &Records, predictions: &[f64], share: impl Fn(&[u32]) -> f64) -> Self {
        let shares: Vec<f64> = val.sets.view().iter().map(share).collect();
        let errors: Vec<f64> =
            predictions.iter().zip(&val.scores).map(|(prediction, score)| score - prediction).collect();
        let (mut gram, mut moments) = (vec![0.0; 4], vec![0.0; 2]);
        for (error, share) in errors.iter().zip(&shares) {
            let features = [1.0, 1.0 - share];
            for i in 0..2 {
                moments[i] += features[i] * error * error;
                for j in 0..2 {
                    gram[2 * i + j] += features[i] * features[j];
                }
            }
        }
        let found = from_zero_up(&gram, &moments);
        let mut spread = Self { known: found[0] as f32, unknown: found[1] as f32, ..Self::default() };
        let within = |times: f64| {
            let inside = errors.iter().zip(&shares);
            let inside = inside.filter(|(error, share)| error.abs() <= times * spread.deviation(**share));
            inside.count() as f32 / errors.len().max(1) as f32
        };
        (spread.within_one, spread.within_two) = (within(1.0), within(1.96));
        spread
    }

    pub(crate) fn deviation(&self, share: f64) -> f64 {
        (f64::from(self.known) + f64::from(self.unknown) * (1.0 - share)).max(0.0).sqrt()
    }

    pub(crate) fn choices(&self, prefix: &str) -> [Choice; 4] {
        let named = |name: &str, value: f64| Choice::new(format!("{prefix}.{name}"), value);
        [
            named("deviation_of_known", self.deviation(1.0)),
            named("deviation_of_unknown", self.deviation(0.0)),
            named("within_one_deviation", f64::from(self.within_one)),
            named("within_two_deviations", f64::from(self.within_two)),
        ]
    }

    pub(crate) fn tensor(&self, name: &str) -> SolvedTensor {
        SolvedTensor::new(name, &[4], vec![self.known, self.unknown, self.within_one, self.within_two])
    }

    pub(crate) fn load(tensors: &[SolvedTensor], name: &str) -> Result<Self, SolveError> {
        match tensor(tensors, name)?.values[..] {
            [known, unknown, within_one, within_two] => Ok(Self { known, unknown, within_one, within_two }),
            _ => Err(SolveError::Tensor { name: name.to_owned() }),
        }
    }
}
