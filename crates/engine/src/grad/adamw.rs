//! `AdamW`, with clipping by the global norm.

use crate::grad::{Gradients, Parameters};
use crate::kernel::{Buffer, Real};
use rayon::prelude::*;

/// Hyperparameters of `AdamW`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWConfig {
    /// β₁, decay rate of the first moment.
    pub beta1: f64,
    /// β₂, decay rate of the second moment.
    pub beta2: f64,
    /// ε, added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay, in units of the learning rate.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 1e-6 }
    }
}

/// Adam's moments of one parameter.
#[derive(Debug, Clone)]
pub struct Moments<T: Real> {
    /// m, running mean of the gradient.
    pub first: Buffer<T>,
    /// v, running mean of the squared gradient.
    pub second: Buffer<T>,
}

/// The optimiser and its state.
#[derive(Debug, Clone)]
pub struct AdamW<T: Real> {
    /// Hyperparameters.
    pub config: AdamWConfig,
    /// Number of steps taken.
    pub step: u64,
    /// Moments of each parameter, in the parameters' order.
    pub moments: Vec<Moments<T>>,
}

/// Values updated by one task.
const CHUNK: usize = 1 << 14;

impl<T: Real> AdamW<T> {
    /// State before the first step.
    pub fn new(config: AdamWConfig, parameters: &Parameters<T>) -> Self {
        let zeros = |len| parameters.pool().zeros(len);
        let moments = parameters
            .iter()
            .map(|entry| Moments { first: zeros(entry.values().len()), second: zeros(entry.values().len()) })
            .collect();
        Self { config, step: 0, moments }
    }

    /// Takes one step with gradients multiplied by `factor` (clipping, accumulation).
    ///
    /// p ← p (1 − lr·decay); m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; p ← p − lr · m̂ / (√v̂ + ε)
    pub fn update(
        &mut self,
        parameters: &mut Parameters<T>,
        gradients: &Gradients<T>,
        learning_rate: f64,
        factor: f64,
    ) {
        self.step += 1;
        let exponent = i32::try_from(self.step).unwrap_or(i32::MAX);
        let AdamWConfig { beta1, beta2, epsilon, weight_decay } = self.config;
        let (correct1, correct2) = (1.0 - beta1.powi(exponent), 1.0 - beta2.powi(exponent));
        let (beta1, beta2, one_minus_beta1, one_minus_beta2) =
            (T::of(beta1), T::of(beta2), T::of(1.0 - beta1), T::of(1.0 - beta2));
        let (shrink, rate) = (T::of(1.0 - learning_rate * weight_decay), T::of(learning_rate / correct1));
        let (root2, epsilon, factor) = (T::of(correct2.sqrt()), T::of(epsilon), T::of(factor));
        for (index, moments) in self.moments.iter_mut().enumerate() {
            let gradient = gradients.parameter(index);
            parameters
                .values_mut(index)
                .par_chunks_mut(CHUNK)
                .zip(moments.first.par_chunks_mut(CHUNK).zip(moments.second.par_chunks_mut(CHUNK)))
                .zip(gradient.par_chunks(CHUNK))
                .for_each(|((values, (first, second)), gradient)| {
                    for (((value, m), v), &g) in values.iter_mut().zip(first).zip(second).zip(gradient) {
                        let g = g * factor;
                        *m = beta1 * *m + one_minus_beta1 * g;
                        *v = beta2 * *v + one_minus_beta2 * g * g;
                        *value = *value * shrink - rate * *m / ((*v).sqrt() / root2 + epsilon);
                    }
                });
        }
    }
}

/// The factor that clips gradients of global norm `norm` to `limit`: min(1, limit / (norm + 10⁻⁶)).
pub fn clip_factor(norm: f64, limit: f64) -> f64 {
    (limit / (norm + 1e-6)).min(1.0)
}
