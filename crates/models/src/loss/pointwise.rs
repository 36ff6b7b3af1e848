//! Losses that are means over samples.

use super::log_cosh::{Reduction, log_cosh};
use super::loss_trait::{BatchRows, Loss, LossGradients, Terms};
use super::options::{LossOptions, LossShape};
use super::weighted_mse::weighted_mse;
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// Mean over samples of log cosh(prediction − target), see [`log_cosh`]. It has no options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogCosh {}

impl LossOptions for LogCosh {
    const NAME: &'static str = "log_cosh";

    fn build<T: Real>(&self, _: LossShape) -> Box<dyn Loss<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Loss<T> for LogCosh {
    fn operation(&self) -> &'static str {
        "loss.interaction"
    }

    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    ) {
        let value = log_cosh(batch.predictions, batch.targets, Reduction::Mean, gradients.predictions);
        terms.unweighted("interaction", value.to_f64());
    }
}

/// Mean over samples of (prediction − target)², see [`weighted_mse`]. It has no options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanSquaredError {}

impl LossOptions for MeanSquaredError {
    const NAME: &'static str = "mse";

    fn build<T: Real>(&self, _: LossShape) -> Box<dyn Loss<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Loss<T> for MeanSquaredError {
    fn operation(&self) -> &'static str {
        "loss.mse"
    }

    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    ) {
        let (value, _) = weighted_mse(batch.predictions, batch.targets, &[1.0], gradients.predictions);
        terms.unweighted("mse_loss", value.to_f64());
    }
}
