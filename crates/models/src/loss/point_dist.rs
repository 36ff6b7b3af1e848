//! The loss of single rows and the distance of distributions, added up, with the model's own regularisation.

use super::buffer::CircularBuffer;
use super::composite::{
    BatchRows, BufferOptions, BufferedLoss, DISTRIBUTION, Distribution, LossValue, Memory, Terms, add,
    normalised,
};
use super::log_cosh::{Reduction, log_cosh};
use super::options::{self, LossError};
use super::wasserstein::Transport;
use super::weighted_mse::weighted_mse;
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
    /// Weight of the model's own graph regularisation.
    pub lambda_graph: f64,
    /// Weight of each dimension of the targets; normalised to sum 1.
    pub dimension_weights: Vec<f64>,
    /// Distance between distributions.
    pub transport: Transport,
    /// `None`: no buffer. With one, all its rows are mixed in unless its weight says otherwise.
    pub buffer: Option<BufferOptions>,
}

impl Default for PointDistOptions {
    fn default() -> Self {
        Self {
            point: PointLoss::default(),
            lambda_point: 1.0,
            lambda_dist: 0.0,
            lambda_graph: 0.0,
            dimension_weights: vec![1.0],
            transport: Transport::default(),
            buffer: None,
        }
    }
}

/// `λ_p · (MSE or log-cosh) + λ_d · Wasserstein + λ_g · graph regularisation`
#[derive(Debug, Clone)]
pub struct PointDist<T> {
    options: PointDistOptions,
    distribution: Distribution<T>,
}

impl<T: Real> PointDist<T> {
    /// The loss; `seed` keys the choice of stored rows.
    pub fn new(options: PointDistOptions, seed: u64) -> Result<Self, LossError> {
        options::lambda("lambda_point", options.lambda_point)?;
        options::lambda("lambda_dist", options.lambda_dist)?;
        options::lambda("lambda_graph", options.lambda_graph)?;
        options::dimension_weights(&options.dimension_weights)?;
        options::buffer(options.buffer)?;
        let dimensions = options.dimension_weights.len();
        let buffer = options.buffer.filter(|_| options.lambda_dist != 0.0);
        let distribution = Distribution {
            transport: options.transport,
            weights: normalised(&options.dimension_weights),
            memory: buffer.map(|buffer| Memory::new(buffer, dimensions, dimensions)),
            seed,
        };
        Ok(Self { options, distribution })
    }

    /// Whether a row's loss depends on the other rows of its batch.
    pub(crate) fn couples_rows(&self) -> bool {
        self.options.lambda_dist != 0.0
    }

    /// What the gradient of the graph regularisation is multiplied by.
    pub fn graph_weight(&self) -> f64 {
        self.options.lambda_graph
    }

    /// Value, parts and gradient of one batch; `graph` is the model's graph regularisation, 0 where it has none. Its
    /// gradient is the model's, times [`Self::graph_weight`].
    ///
    /// # Panics
    ///
    /// If the lengths do not fit.
    pub fn evaluate(&mut self, batch: &BatchRows<'_, T>, graph: f64, gradient: &mut [T]) -> LossValue {
        let mut terms = Terms::default();
        let mut slope = vec![T::ZERO; gradient.len()];
        gradient.fill(T::ZERO);
        let options = &self.options;
        if options.lambda_point != 0.0 {
            let (predictions, targets) = (batch.predictions, batch.targets);
            let value = match options.point {
                PointLoss::LogCosh => log_cosh(predictions, targets, Reduction::Mean, &mut slope),
                PointLoss::Mse => {
                    weighted_mse(predictions, targets, &self.distribution.weights, &mut slope).0
                }
            };
            terms.term("point_loss", value.to_f64(), options.lambda_point);
            add(gradient, options.lambda_point, &slope);
        }
        if options.lambda_dist != 0.0 {
            let (value, per) = self.distribution.evaluate(batch, &mut slope);
            terms.term("dist_loss", value.to_f64(), options.lambda_dist);
            terms.dimensions("dist_loss", &per);
            add(gradient, options.lambda_dist, &slope);
        }
        if options.lambda_graph != 0.0 {
            terms.term("graph_reg_loss", graph, options.lambda_graph);
        }
        terms.finish()
    }
}

impl<T: Real> BufferedLoss<T> for PointDist<T> {
    fn buffers(&self) -> Vec<(&'static str, &CircularBuffer<T>)> {
        self.distribution.memory.iter().map(|memory| (DISTRIBUTION, &memory.buffer)).collect()
    }

    fn buffers_mut(&mut self) -> Vec<(&'static str, &mut CircularBuffer<T>)> {
        self.distribution.memory.iter_mut().map(|memory| (DISTRIBUTION, &mut memory.buffer)).collect()
    }
}
