//! The interface of a loss's options, and checks that several losses share.

use super::composite::BufferOptions;
use super::loss_trait::Loss;
use super::schedule::{BufferWeight, Temperature};
use crate::limits;
use knockout_base::error::Result;
use knockout_engine::kernel::Real;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Options of one loss: the keys beside `name` in `model.loss`.
pub trait LossOptions:
    Serialize + DeserializeOwned + Default + Clone + fmt::Debug + Send + Sync + 'static
{
    /// Name in configurations.
    const NAME: &'static str;

    /// Checks everything that can be checked before anything is computed.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns whether the loss of a batch is more than the mean of the losses of its samples.
    fn couples_samples(&self) -> bool {
        false
    }

    /// Returns whether it reads a representation of each sample beside its score.
    fn needs_representation(&self) -> bool {
        false
    }

    /// Builds the loss. The options have been checked.
    fn build<T: Real>(&self, shape: LossShape) -> Box<dyn Loss<T>>;
}

/// Facts of the model that a loss is built for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LossShape {
    /// Width of the representation of a sample; 0 without any.
    pub width: usize,
    /// Seed of the run, which keys random choices.
    pub seed: u64,
}

fn require(holds: bool, key: &str, value: f64, rule: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(limits::out_of_range(&format!("the loss: {key}"), value, rule)) }
}

/// The weight of a term: 0 leaves it out.
pub(super) fn lambda(key: &'static str, value: f64) -> Result<()> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds, key, value, "a weight is a number from 0 up")
}

pub(super) fn dimension_weights(weights: &[f64]) -> Result<()> {
    for &weight in weights {
        lambda("dimension_weights", weight)?;
    }
    let sum: f64 = weights.iter().sum();
    require(sum > 0.0, "the sum of dimension_weights", sum, "one of them must be above 0")
}

pub(super) fn temperature(temperature: Temperature) -> Result<()> {
    let (first, last) = match temperature {
        Temperature::Constant { first } => (first, first),
        Temperature::Exponential { first, last, .. } | Temperature::Cosine { first, last, .. } => {
            (first, last)
        }
    };
    for value in [first, last] {
        let holds = value.is_finite() && value > 0.0;
        require(holds, "temperature", value, "a temperature is a number above 0")?;
    }
    Ok(())
}

pub(super) fn buffer(options: Option<BufferOptions>) -> Result<()> {
    let Some(BufferOptions { size, weight, .. }) = options else { return Ok(()) };
    require(
        (1..=1 << 24).contains(&size),
        "buffer.size",
        size as f64,
        "a buffer holds from 1 to 16777216 rows; leave it out instead of 0",
    )?;
    match weight {
        BufferWeight::Constant { weight } => {
            let holds = (0.0..=1.0).contains(&weight);
            require(holds, "buffer.weight", weight, "it is a share from 0 to 1")
        }
        BufferWeight::Rising { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{LossOptions, MleWassSupCrOptions, PointDistOptions};

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
            let error = options.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("the loss: {key} is ")), "{error}");
        }
        let options = PointDistOptions { lambda_dist: f64::INFINITY, ..PointDistOptions::default() };
        let error = options.check().unwrap_err().to_string();
        assert_eq!(error, "the loss: lambda_dist is inf, but a weight is a number from 0 up");
    }
}
