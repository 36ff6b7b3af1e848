//! Validation of loss options before training.

use super::composite::BufferOptions;
use super::schedule::{BufferWeight, Temperature};

/// An invalid option of a loss.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{key} is {value}, but {rule}")]
pub struct LossError {
    /// Key of the option.
    pub key: &'static str,
    /// Value given.
    pub value: String,
    /// Rule that it violates.
    pub rule: &'static str,
}

fn require(holds: Option<()>, key: &'static str, value: f64, rule: &'static str) -> Result<(), LossError> {
    holds.ok_or_else(|| LossError { key, value: value.to_string(), rule })
}

/// The weight of a term: 0 leaves it out.
pub(super) fn lambda(key: &'static str, value: f64) -> Result<(), LossError> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds.then_some(()), key, value, "a weight is a number from 0 up")
}

pub(super) fn dimension_weights(weights: &[f64]) -> Result<(), LossError> {
    for &weight in weights {
        lambda("dimension_weights", weight)?;
    }
    let sum: f64 = weights.iter().sum();
    require((sum > 0.0).then_some(()), "the sum of dimension_weights", sum, "one of them must be above 0")
}

pub(super) fn temperature(temperature: Temperature) -> Result<(), LossError> {
    let (first, last) = match temperature {
        Temperature::Constant { first } => (first, first),
        Temperature::Exponential { first, last, .. } | Temperature::Cosine { first, last, .. } => {
            (first, last)
        }
    };
    for value in [first, last] {
        let holds = value.is_finite() && value > 0.0;
        require(holds.then_some(()), "temperature", value, "a temperature is a number above 0")?;
    }
    Ok(())
}

pub(super) fn buffer(options: Option<BufferOptions>) -> Result<(), LossError> {
    let Some(BufferOptions { size, weight, .. }) = options else { return Ok(()) };
    require(
        (1..=1 << 24).contains(&size).then_some(()),
        "buffer.size",
        size as f64,
        "a buffer holds from 1 to 16777216 rows; leave it out instead of 0",
    )?;
    match weight {
        BufferWeight::Constant { weight } => {
            let holds = (0.0..=1.0).contains(&weight);
            require(holds.then_some(()), "buffer.weight", weight, "it is a share from 0 to 1")
        }
        BufferWeight::Rising { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{MleWassSupCr, MleWassSupCrOptions, PointDist, PointDistOptions};

    #[test]
    fn invalid_options_are_named() {
        let good = MleWassSupCrOptions::default();
        let none = Some(BufferOptions { size: 0, ..BufferOptions::default() });
        let much = BufferWeight::Constant { weight: 1.5 };
        for (options, key) in [
            (MleWassSupCrOptions { lambda_mse: -1.0, ..good.clone() }, "lambda_mse"),
            (MleWassSupCrOptions { lambda_supcr: f64::NAN, ..good.clone() }, "lambda_supcr"),
            (
                MleWassSupCrOptions { dimension_weights: vec![], ..good.clone() },
                "the sum of dimension_weights",
            ),
            (
                MleWassSupCrOptions { dimension_weights: vec![0.0], ..good.clone() },
                "the sum of dimension_weights",
            ),
            (
                MleWassSupCrOptions { temperature: Temperature::Constant { first: 0.0 }, ..good.clone() },
                "temperature",
            ),
            (MleWassSupCrOptions { buffer: none, ..good.clone() }, "buffer.size"),
            (
                MleWassSupCrOptions {
                    buffer: Some(BufferOptions { weight: much, ..BufferOptions::default() }),
                    ..good.clone()
                },
                "buffer.weight",
            ),
        ] {
            assert_eq!(MleWassSupCr::<f32>::new(options, 2, 1).unwrap_err().key, key);
        }
        let error = PointDist::<f32>::new(
            PointDistOptions { lambda_dist: f64::INFINITY, ..PointDistOptions::default() },
            1,
        );
        assert_eq!(error.unwrap_err().to_string(), "lambda_dist is inf, but a weight is a number from 0 up");
    }
}
