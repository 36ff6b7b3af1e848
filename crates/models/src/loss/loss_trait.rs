//! The trait of losses, with its input and output.

use super::buffer::{BufferState, CircularBuffer};
use knockout_base::error::Result;
use knockout_engine::grad::{ObservedOperation, Observer, Pass};
use knockout_engine::kernel::Real;
use serde::Serialize;
use std::fmt;

/// Training or validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPhase {
    /// Buffered rows are mixed in, and the batch is written to the buffer.
    Train,
    /// Buffered rows are mixed in, and nothing is written: the rows are a part of the batch.
    TrainPart,
    /// The batch stands by itself; buffers are neither read nor written.
    Validate,
}

/// One batch of samples, as a loss reads it.
#[derive(Debug, Clone, Copy)]
pub struct BatchRows<'a, T> {
    /// `[rows, dimensions]`.
    pub predictions: &'a [T],
    /// `[rows, dimensions]`, NaN where there is none.
    pub targets: &'a [T],
    /// Representations, `[rows, width]`; empty where no term reads them.
    pub embeddings: &'a [T],
    /// From 0; what schedules follow.
    pub epoch: u32,
    /// Step of the run, which keys the random choice of buffered rows.
    pub step: u64,
    /// Training or validation.
    pub phase: LossPhase,
}

/// Output slices for gradients; they are overwritten.
#[derive(Debug)]
pub struct LossGradients<'a, T> {
    /// `[rows, dimensions]`.
    pub predictions: &'a mut [T],
    /// `[rows, width]`, or empty if the batch has no embeddings.
    pub embeddings: &'a mut [T],
}

/// A named number of a composite loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossPart {
    /// Such as `wasserstein_loss`, `weighted_wasserstein_loss`, `buffer_weight`.
    pub name: String,
    /// Value in this batch.
    pub value: f64,
}

/// Value of a loss and of its terms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossValue {
    /// Weighted sum.
    pub total: f64,
    /// Values of all terms, in a fixed order.
    pub parts: Vec<LossPart>,
}

impl LossValue {
    /// The part of a name.
    pub fn part(&self, name: &str) -> Option<f64> {
        self.parts.iter().find(|part| part.name == name).map(|part| part.value)
    }
}

/// The terms of one evaluation, from which [`Terms::finish`] makes a [`LossValue`].
#[derive(Debug, Default)]
pub struct Terms<'o> {
    observer: Option<&'o dyn Observer>,
    parts: Vec<LossPart>,
    /// Name, value, weight of each term.
    summands: Vec<(&'static str, f64, f64)>,
    is_sum: bool,
}

impl<'o> Terms<'o> {
    /// Creates an empty list whose computations are reported to an observer.
    pub fn observed(observer: Option<&'o dyn Observer>) -> Self {
        Self { observer, ..Self::default() }
    }

    /// Computes a term, an operation of its own for observers.
    pub fn compute<R>(&self, operation: &'static str, compute: impl FnOnce() -> R) -> R {
        if let Some(observer) = self.observer {
            observer.begin(Pass::Forward, ObservedOperation { name: operation, part: None, shape: None });
        }
        let computed = compute();
        if let Some(observer) = self.observer {
            observer.end();
        }
        computed
    }

    /// Adds a number to the log that is not a term.
    pub fn note(&mut self, name: impl Into<String>, value: f64) {
        self.parts.push(LossPart { name: name.into(), value });
    }

    /// Adds the value of a loss that is not a weighted sum.
    pub fn unweighted(&mut self, name: &'static str, value: f64) {
        self.summands.push((name, value, 1.0));
        self.note(name, value);
    }

    /// Adds a weighted term.
    pub fn term(&mut self, name: &'static str, value: f64, weight: f64) {
        self.is_sum = true;
        self.unweighted(name, value);
        self.note(format!("weighted_{name}"), weight * value);
        if let Some(term) = self.summands.last_mut() {
            term.2 = weight;
        }
    }

    /// The values of single dimensions, where there are several.
    pub(super) fn dimensions<T: Real>(&mut self, name: &str, values: &[Option<T>]) {
        for (d, value) in values.iter().enumerate().filter(|_| values.len() > 1) {
            if let Some(value) = value {
                self.note(format!("{name}_dim{d}"), value.to_f64());
            }
        }
    }

    /// Adds up the terms; of a weighted sum, the shares of its terms are parts as well.
    pub fn finish(mut self) -> LossValue {
        let total: f64 = self.summands.iter().map(|(_, value, weight)| weight * value).sum();
        if self.is_sum {
            let unweighted: f64 = self.summands.iter().map(|(_, value, _)| value).sum();
            let share = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
            for (name, value, weight) in std::mem::take(&mut self.summands) {
                self.note(format!("norm_weighted_{name}"), share(weight * value, total));
                self.note(format!("norm_unweighted_{name}"), share(value, unweighted));
            }
            self.note("total_loss", total);
        }
        LossValue { total, parts: self.parts }
    }
}

/// Whether a stored buffer was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// It was taken over.
    Taken,
    /// This loss has no buffer of that name.
    Unknown,
}

/// A loss of predicted scores, in one precision.
pub trait Loss<T: Real>: fmt::Debug + Send {
    /// Returns the name of its operation on the tape.
    fn operation(&self) -> &'static str;

    /// Adds the terms of one batch, and overwrites the gradients.
    ///
    /// # Panics
    ///
    /// If the lengths do not fit.
    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    );

    /// Returns the buffers of earlier batches by name; checkpoints save them.
    fn buffers(&self) -> Vec<(&'static str, &CircularBuffer<T>)> {
        Vec::new()
    }

    /// Returns the buffers, mutable.
    fn buffers_mut(&mut self) -> Vec<(&'static str, &mut CircularBuffer<T>)> {
        Vec::new()
    }

    /// Computes value, parts and gradients of one batch.
    ///
    /// # Panics
    ///
    /// As [`Loss::add_terms`].
    fn evaluate(&mut self, batch: &BatchRows<'_, T>, gradients: &mut LossGradients<'_, T>) -> LossValue {
        let mut terms = Terms::default();
        self.add_terms(batch, gradients, &mut terms);
        terms.finish()
    }

    /// Restores the buffer `name` from a checkpoint; on an error nothing was changed.
    fn restore(&mut self, name: &str, state: BufferState, features: &[T], labels: &[T]) -> Result<Restored> {
        match self.buffers_mut().into_iter().find(|(own, _)| *own == name) {
            Some((_, buffer)) => buffer.restore(state, features, labels).map(|()| Restored::Taken),
            None => Ok(Restored::Unknown),
        }
    }
}
