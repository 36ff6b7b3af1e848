//! The distribution term and the buffers that weighted sums of losses share.
//!
//! A term with weight 0 is skipped: neither computed nor reported. Gradients reach the rows of the current batch only;
//! rows out of a buffer are constants.

use super::buffer::{CircularBuffer, WriteOrder, rows_taken};
use super::loss_trait::{BatchRows, LossPhase};
use super::schedule::BufferWeight;
use super::wasserstein::{Transport, wasserstein};
use knockout_base::random::Rng;
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// A buffer's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferOptions {
    /// Rows it can hold.
    pub size: usize,
    /// A buffered term is 0 until it has seen as many rows, the current batch included.
    pub min_samples: usize,
    /// The share of stored rows, by epoch.
    pub weight: BufferWeight,
    /// When the current batch is written.
    pub order: WriteOrder,
}

impl Default for BufferOptions {
    fn default() -> Self {
        let (weight, order) = (BufferWeight::default(), WriteOrder::default());
        Self { size: 1000, min_samples: 100, weight, order }
    }
}

/// A buffer with its settings.
#[derive(Debug, Clone)]
pub(super) struct BufferedRows<T> {
    pub(super) options: BufferOptions,
    pub(super) buffer: CircularBuffer<T>,
}

impl<T: Real> BufferedRows<T> {
    pub(super) fn new(options: BufferOptions, feature_width: usize, label_width: usize) -> Self {
        Self { options, buffer: CircularBuffer::new(options.size, feature_width, label_width) }
    }

    /// Passes the mixed rows to `loss`, unless there are too few. Stores the batch before or after, by `order`; never a part of a batch.
    pub(super) fn mix<R>(
        &mut self,
        (features, labels): (&[T], &[T]),
        take: impl FnOnce(usize) -> usize,
        rng: &mut Rng,
        phase: LossPhase,
        loss: impl FnOnce(&[T], &[T]) -> R,
    ) -> Option<R> {
        let batch = labels.len() / self.buffer.state().label_width;
        let seen = (self.buffer.count() + batch).min(self.options.size);
        let writes = |order: WriteOrder| phase == LossPhase::Train && self.options.order == order;
        if writes(WriteOrder::WriteFirst) {
            self.buffer.write(features, labels);
        }
        let value = (seen >= self.options.min_samples.min(self.options.size)).then(|| {
            let (features, labels) = self.buffer.mixed(features, labels, take(self.buffer.count()), rng);
            loss(&features, &labels)
        });
        if writes(WriteOrder::MixFirst) {
            self.buffer.write(features, labels);
        }
        value
    }
}

/// The distribution term that both composites share.
#[derive(Debug, Clone)]
pub(super) struct Distribution<T> {
    pub(super) transport: Transport,
    /// Normalised to sum 1.
    pub(super) weights: Vec<f64>,
    pub(super) memory: Option<BufferedRows<T>>,
    pub(super) seed: u64,
}

impl<T: Real> Distribution<T> {
    pub(super) fn evaluate(&mut self, batch: &BatchRows<'_, T>, gradient: &mut [T]) -> (T, Vec<Option<T>>) {
        let dimensions = self.weights.len();
        let (transport, weights) = (self.transport, self.weights.as_slice());
        gradient.fill(T::ZERO);
        let mut loss = |predictions: &[T], targets: &[T]| {
            wasserstein(transport, (predictions, targets), dimensions, Some(weights), &mut *gradient)
        };
        let Some(memory) = self.memory.as_mut().filter(|_| batch.phase != LossPhase::Validate) else {
            return loss(batch.predictions, batch.targets);
        };
        let weight = memory.options.weight.at(batch.epoch);
        let rows = batch.targets.len() / dimensions;
        let mut rng = Rng::new(self.seed, &format!("loss buffer, step {}", batch.step));
        memory
            .mix(
                (batch.predictions, batch.targets),
                |count| rows_taken(rows, weight, count),
                &mut rng,
                batch.phase,
                loss,
            )
            .unwrap_or_else(|| (T::ZERO, vec![None; dimensions]))
    }
}

/// Adds weight · x.
pub(super) fn add<T: Real>(out: &mut [T], weight: f64, x: &[T]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = T::of(out.to_f64() + weight * x.to_f64());
    }
}

pub(super) fn normalised(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Name of the buffer of predictions and targets.
pub(super) const DISTRIBUTION: &str = "loss.distribution";
/// Name of the buffer of embeddings.
pub(super) const CONTRAST: &str = "loss.contrast";
