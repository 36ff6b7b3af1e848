//! The loss of single rows and the distance of distributions, added up.

use super::buffer::CircularBuffer;
use super::composite::{BufferOptions, BufferedRows, DISTRIBUTION, Distribution, add, normalised};
use super::log_cosh::{Reduction, log_cosh};
use super::loss_trait::{BatchRows, Loss, LossGradients, Terms};
use super::options::{self, LossOptions, LossShape};
use super::wasserstein::Transport;
use super::weighted_mse::weighted_mse;
use knockout_base::error::Result;
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// The loss of single rows in [`PointDist`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointLoss {
    /// [`log_cosh`], the mean over all targets.
    #[default]
    LogCosh,
    /// [`weighted_mse`].
    Mse,
}

/// Settings of [`PointDist`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PointDistOptions {
    /// Loss of single rows.
    pub point: PointLoss,
    /// Weight of the loss of single rows.
    pub lambda_point: f64,
    /// Weight of the distance between distributions.
    pub lambda_dist: f64,
    /// Weight of each dimension of the targets; normalised to sum 1.
    pub dimension_weights: Vec<f64>,
    /// Distance between distributions.
    pub transport: Transport,
    /// `None`: no buffer. With one, its weight decides how many of its rows are mixed in.
    pub buffer: Option<BufferOptions>,
}

impl Default for PointDistOptions {
    fn default() -> Self {
        Self {
            point: PointLoss::default(),
            lambda_point: 1.0,
            lambda_dist: 0.0,
            dimension_weights: vec![1.0],
            transport: Transport::default(),
            buffer: None,
        }
    }
}

/// `λ_p · (MSE or log-cosh) + λ_d · Wasserstein`
#[derive(Debug, Clone)]
pub struct PointDist<T> {
    options: PointDistOptions,
    distribution: Distribution<T>,
}

impl LossOptions for PointDistOptions {
    const NAME: &'static str = "point_dist";

    fn check(&self) -> Result<()> {
        options::lambda("lambda_point", self.lambda_point)?;
        options::lambda("lambda_dist", self.lambda_dist)?;
        options::dimension_weights(&self.dimension_weights)?;
        options::buffer(self.buffer)
    }

    fn couples_samples(&self) -> bool {
        self.lambda_dist != 0.0
    }

    fn build<T: Real>(&self, shape: LossShape) -> Box<dyn Loss<T>> {
        Box::new(PointDist::new(self.clone(), shape.seed))
    }
}

impl<T: Real> PointDist<T> {
    /// Creates the loss; `seed` keys the choice of stored rows. The options have been checked.
    pub fn new(options: PointDistOptions, seed: u64) -> Self {
        let dimensions = options.dimension_weights.len();
        let buffer = options.buffer.filter(|_| options.lambda_dist != 0.0);
        let distribution = Distribution {
            transport: options.transport,
            weights: normalised(&options.dimension_weights),
            memory: buffer.map(|buffer| BufferedRows::new(buffer, dimensions, dimensions)),
            seed,
        };
        Self { options, distribution }
    }
}

impl<T: Real> Loss<T> for PointDist<T> {
    fn operation(&self) -> &'static str {
        "loss.point_dist"
    }

    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    ) {
        let mut slope = vec![T::ZERO; gradients.predictions.len()];
        gradients.predictions.fill(T::ZERO);
        gradients.embeddings.fill(T::ZERO);
        let options = &self.options;
        if options.lambda_point != 0.0 {
            let (predictions, targets) = (batch.predictions, batch.targets);
            let value = terms.compute("loss.point_loss", || match options.point {
                PointLoss::LogCosh => log_cosh(predictions, targets, Reduction::Mean, &mut slope),
                PointLoss::Mse => {
                    weighted_mse(predictions, targets, &self.distribution.weights, &mut slope).0
                }
            });
            terms.term("point_loss", value.to_f64(), options.lambda_point);
            add(gradients.predictions, options.lambda_point, &slope);
        }
        if options.lambda_dist != 0.0 {
            let (value, per) =
                terms.compute("loss.dist_loss", || self.distribution.evaluate(batch, &mut slope));
            terms.term("dist_loss", value.to_f64(), options.lambda_dist);
            terms.dimensions("dist_loss", &per);
            add(gradients.predictions, options.lambda_dist, &slope);
        }
    }

    fn buffers(&self) -> Vec<(&'static str, &CircularBuffer<T>)> {
        self.distribution.memory.iter().map(|memory| (DISTRIBUTION, &memory.buffer)).collect()
    }

    fn buffers_mut(&mut self) -> Vec<(&'static str, &mut CircularBuffer<T>)> {
        self.distribution.memory.iter_mut().map(|memory| (DISTRIBUTION, &mut memory.buffer)).collect()
    }
}
