//! Weighted sum of squared error, Wasserstein distance and supervised contrastive regression.

use super::buffer::CircularBuffer;
use super::composite::{BufferOptions, BufferedRows, CONTRAST, DISTRIBUTION, Distribution, add, normalised};
use super::loss_trait::{BatchRows, Loss, LossGradients, LossPhase, Terms};
use super::options::{self, LossOptions, LossShape};
use super::schedule::Temperature;
use super::supcr::supcr;
use super::wasserstein::Transport;
use super::weighted_mse::weighted_mse;
use knockout_base::error::Result;
use knockout_base::random::Rng;
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// Settings of [`MleWassSupCr`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MleWassSupCrOptions {
    /// Weight of the squared error.
    pub lambda_mse: f64,
    /// Weight of the Wasserstein term.
    pub lambda_wasserstein: f64,
    /// Weight of the contrastive term.
    pub lambda_supcr: f64,
    /// Weight of each dimension of the targets; normalised to sum 1.
    pub dimension_weights: Vec<f64>,
    /// Distance between distributions.
    pub transport: Transport,
    /// Of the contrastive term, with buffers or without.
    pub temperature: Temperature,
    /// `None`: no buffers.
    pub buffer: Option<BufferOptions>,
}

impl Default for MleWassSupCrOptions {
    fn default() -> Self {
        Self {
            lambda_mse: 1.0,
            lambda_wasserstein: 0.1,
            lambda_supcr: 0.0,
            dimension_weights: vec![1.0],
            transport: Transport::default(),
            temperature: Temperature::default(),
            buffer: Some(BufferOptions::default()),
        }
    }
}

/// `λ_mse · MSE + λ_w · Wasserstein + λ_s · SupCR(embeddings)`
///
/// The squared error sees the current batch only; the other two see it mixed with their buffers. The Wasserstein term takes
/// the share of stored rows that the buffer weight w gives, the contrastive one appends all and is multiplied by
/// 1 − w + w/2. With several dimensions of labels the contrastive term is the mean over those with two labels or more.
#[derive(Debug, Clone)]
pub struct MleWassSupCr<T> {
    options: MleWassSupCrOptions,
    distribution: Distribution<T>,
    /// Embeddings and labels.
    contrast: Option<BufferedRows<T>>,
    width: usize,
}

impl LossOptions for MleWassSupCrOptions {
    const NAME: &'static str = "mle_wass_supcr";

    fn check(&self) -> Result<()> {
        options::lambda("lambda_mse", self.lambda_mse)?;
        options::lambda("lambda_wasserstein", self.lambda_wasserstein)?;
        options::lambda("lambda_supcr", self.lambda_supcr)?;
        options::dimension_weights(&self.dimension_weights)?;
        options::temperature(self.temperature)?;
        options::buffer(self.buffer)
    }

    fn couples_samples(&self) -> bool {
        true
    }

    fn needs_representation(&self) -> bool {
        self.lambda_supcr != 0.0
    }

    fn build<T: Real>(&self, shape: LossShape) -> Box<dyn Loss<T>> {
        Box::new(MleWassSupCr::new(self.clone(), shape.width, shape.seed))
    }
}

/// Options of the Wasserstein distance alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WassersteinOptions {
    /// Distance between distributions.
    pub transport: Transport,
    /// `None`: no buffer.
    pub buffer: Option<BufferOptions>,
}

impl LossOptions for WassersteinOptions {
    const NAME: &'static str = "wasserstein";

    fn check(&self) -> Result<()> {
        options::buffer(self.buffer)
    }

    fn couples_samples(&self) -> bool {
        true
    }

    fn build<T: Real>(&self, shape: LossShape) -> Box<dyn Loss<T>> {
        let options = MleWassSupCrOptions {
            lambda_mse: 0.0,
            lambda_wasserstein: 1.0,
            transport: self.transport,
            buffer: self.buffer,
            ..MleWassSupCrOptions::default()
        };
        options.build(shape)
    }
}

/// Options of supervised contrastive regression alone. It trains representations, not the scores made from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SupCrOptions {
    /// Temperature of the similarities.
    pub temperature: Temperature,
    /// `None`: no buffer.
    pub buffer: Option<BufferOptions>,
}

impl LossOptions for SupCrOptions {
    const NAME: &'static str = "supcr";

    fn check(&self) -> Result<()> {
        options::temperature(self.temperature)?;
        options::buffer(self.buffer)
    }

    fn couples_samples(&self) -> bool {
        true
    }

    fn needs_representation(&self) -> bool {
        true
    }

    fn build<T: Real>(&self, shape: LossShape) -> Box<dyn Loss<T>> {
        let options = MleWassSupCrOptions {
            lambda_mse: 0.0,
            lambda_wasserstein: 0.0,
            lambda_supcr: 1.0,
            temperature: self.temperature,
            buffer: self.buffer,
            ..MleWassSupCrOptions::default()
        };
        options.build(shape)
    }
}

impl<T: Real> MleWassSupCr<T> {
    /// Creates the loss of a model whose representations have `width` numbers; `seed` keys the choice of stored rows. The options
    /// have been checked.
    pub fn new(options: MleWassSupCrOptions, width: usize, seed: u64) -> Self {
        let dimensions = options.dimension_weights.len();
        let memory = |lambda: f64, width| {
            options
                .buffer
                .filter(|_| lambda != 0.0)
                .map(|buffer| BufferedRows::new(buffer, width, dimensions))
        };
        let distribution = Distribution {
            transport: options.transport,
            weights: normalised(&options.dimension_weights),
            memory: memory(options.lambda_wasserstein, dimensions),
            seed,
        };
        Self { contrast: memory(options.lambda_supcr, width), distribution, options, width }
    }

    fn contrast(&mut self, batch: &BatchRows<'_, T>, temperature: f64, gradient: &mut [T]) -> f64 {
        let (width, dimensions) = (self.width, self.distribution.weights.len());
        gradient.fill(T::ZERO);
        let mut loss = |embeddings: &[T], labels: &[T], scale: f64| {
            let mut slope = vec![T::ZERO; gradient.len()];
            let of_dimension =
                |d: usize| labels.iter().skip(d).step_by(dimensions).copied().collect::<Vec<T>>();
            let live: Vec<Vec<T>> = (0..dimensions)
                .map(of_dimension)
                .filter(|labels| labels.iter().filter(|label| !label.is_nan()).count() >= 2)
                .collect();
            let scale = scale / live.len().max(1) as f64;
            let mut total = 0.0;
            for labels in &live {
                total += scale * supcr(embeddings, width, labels, temperature, &mut slope).to_f64();
                add(gradient, scale, &slope);
            }
            total
        };
        let Some(memory) = self.contrast.as_mut().filter(|_| batch.phase != LossPhase::Validate) else {
            return loss(batch.embeddings, batch.targets, 1.0);
        };
        let weight = memory.options.weight.at(batch.epoch);
        let scale = 1.0 - weight + 0.5 * weight;
        // All rows are taken, so nothing is drawn.
        let mut rng = Rng::new(self.distribution.seed, "contrast buffer");
        let rows = (batch.embeddings, batch.targets);
        let mix = memory.mix(rows, |count| count, &mut rng, batch.phase, |z, labels| loss(z, labels, scale));
        mix.unwrap_or(0.0)
    }
}

impl<T: Real> Loss<T> for MleWassSupCr<T> {
    fn operation(&self) -> &'static str {
        "loss.mle_wass_supcr"
    }

    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    ) {
        gradients.predictions.fill(T::ZERO);
        gradients.embeddings.fill(T::ZERO);
        let mut slope = vec![T::ZERO; gradients.predictions.len()];
        let options = &self.options;
        if options.lambda_mse != 0.0 {
            let weights = &self.distribution.weights;
            let (value, per) = terms.compute("loss.mse_loss", || {
                weighted_mse(batch.predictions, batch.targets, weights, &mut slope)
            });
            terms.term("mse_loss", value.to_f64(), options.lambda_mse);
            terms.dimensions("mse_loss", &per);
            add(gradients.predictions, options.lambda_mse, &slope);
        }
        if options.lambda_wasserstein != 0.0 {
            let (value, per) =
                terms.compute("loss.wasserstein_loss", || self.distribution.evaluate(batch, &mut slope));
            terms.term("wasserstein_loss", value.to_f64(), options.lambda_wasserstein);
            terms.dimensions("wasserstein_loss", &per);
            add(gradients.predictions, options.lambda_wasserstein, &slope);
        }
        if options.lambda_supcr != 0.0 {
            let temperature = options.temperature.at(batch.epoch);
            let mut slope = vec![T::ZERO; gradients.embeddings.len()];
            let value = terms.compute("loss.supcr_loss", || self.contrast(batch, temperature, &mut slope));
            terms.term("supcr_loss", value, self.options.lambda_supcr);
            terms.note("temperature", temperature);
            add(gradients.embeddings, self.options.lambda_supcr, &slope);
        }
        if let Some(buffer) = self.options.buffer {
            terms.note("buffer_weight", buffer.weight.at(batch.epoch));
        }
    }

    fn buffers(&self) -> Vec<(&'static str, &CircularBuffer<T>)> {
        let distribution = self.distribution.memory.iter().map(|memory| (DISTRIBUTION, &memory.buffer));
        distribution.chain(self.contrast.iter().map(|memory| (CONTRAST, &memory.buffer))).collect()
    }

    fn buffers_mut(&mut self) -> Vec<(&'static str, &mut CircularBuffer<T>)> {
        let distribution =
            self.distribution.memory.iter_mut().map(|memory| (DISTRIBUTION, &mut memory.buffer));
        distribution.chain(self.contrast.iter_mut().map(|memory| (CONTRAST, &mut memory.buffer))).collect()
    }
}
