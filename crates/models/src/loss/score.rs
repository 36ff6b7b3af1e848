//! The score term of a network's loss, recorded on the tape.

use super::buffer::{BufferState, CircularBuffer};
use super::loss_trait::{BatchRows, Loss, LossGradients, LossPhase, Restored, Terms};
use super::pointwise::LogCosh;
use knockout_base::error::Result;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;
use knockout_engine::kernel::slices::add_scaled;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Position in a run at which a loss is taken: schedules and random choices are keyed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossPosition {
    /// Zero-based epoch.
    pub epoch: u32,
    /// Batches before this one, in the whole run.
    pub step: u64,
    /// The samples of the batch.
    pub shard: ShardAt,
}

impl LossPosition {
    /// Creates the position of a whole batch.
    pub fn new(epoch: u32, step: u64) -> Self {
        Self { epoch, step, shard: ShardAt::default() }
    }
}

/// The samples of a batch that a model is given; by default all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardAt {
    /// Samples of the batch before these: dropout masks depend on the position in the whole batch.
    pub first_sample: u32,
    /// Deleted genes of the samples before these.
    pub first_member: u32,
    /// Whether a loss reads a part of the batch only. Its buffers are then read and not written, because not all ranks have
    /// these samples.
    pub is_part: bool,
}

/// A loss on the tape, and its parts.
#[derive(Debug, Clone)]
pub struct RecordedLoss {
    /// The value that is minimised.
    pub total: Var,
    /// Its parts and weights by name, for the log.
    pub parts: Vec<(String, f64)>,
}

/// Rows of a forward pass that a loss reads, one per sample.
#[derive(Debug, Clone, Copy)]
pub struct ScoredRows {
    /// Scores, `[samples]`.
    pub predictions: Var,
    /// Representations, `[samples, width]`, where the model has them.
    pub representation: Option<Var>,
}

/// A term that a model adds to the loss of its scores.
#[derive(Debug, Clone, Copy)]
pub struct Penalty {
    /// Name in the log.
    pub name: &'static str,
    /// Its value; `None` counts as 0, where it is added elsewhere.
    pub value: Option<Var>,
    /// Its weight.
    pub weight: f64,
}

/// A loss of scores and its buffers of earlier batches.
#[derive(Debug)]
pub struct ScoreLoss<T: Real> {
    /// The buffers are written while a loss is recorded, by one thread at a time.
    loss: Mutex<Box<dyn Loss<T>>>,
    couples_samples: bool,
    reads_representation: bool,
}

impl<T: Real> Default for ScoreLoss<T> {
    fn default() -> Self {
        Self::new(Box::new(LogCosh {}), false, false)
    }
}

impl<T: Real> ScoreLoss<T> {
    pub(super) fn new(loss: Box<dyn Loss<T>>, couples_samples: bool, reads_representation: bool) -> Self {
        Self { loss: Mutex::new(loss), couples_samples, reads_representation }
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Loss<T>>> {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the loss of a batch is more than the mean of the losses of its samples.
    pub fn couples_samples(&self) -> bool {
        self.couples_samples
    }

    /// Returns the variables that the loss reads.
    pub fn variables(&self, rows: ScoredRows) -> Vec<Var> {
        let representation = rows.representation.filter(|_| self.reads_representation);
        [rows.predictions].into_iter().chain(representation).collect()
    }

    /// Records the loss, with a penalty of the model if any.
    ///
    /// # Panics
    ///
    /// If the loss reads representations and there are none: callers check.
    pub fn record<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        rows: ScoredRows,
        targets: &'a [T],
        at: LossPosition,
        penalty: Option<Penalty>,
    ) -> RecordedLoss {
        let vars = self.variables(rows);
        assert!(vars.len() == 2 || !self.reads_representation, "a representation of every sample");
        let (predictions, representation) = (vars[0], vars.get(1).copied());
        let mut parts = Vec::new();
        let (name, observer) = (self.lock().operation(), tape.observer());
        let total = tape.op(
            name,
            1,
            |values, out| {
                let predicted = values.of(predictions);
                let embeddings = representation.map_or(&[][..], |var| values.of(var));
                let mut slopes = [predicted, embeddings].map(|rows| values.pool().scratch(rows.len()));
                let batch = BatchRows {
                    predictions: predicted,
                    targets,
                    embeddings,
                    epoch: at.epoch,
                    step: at.step,
                    phase: if at.shard.is_part { LossPhase::TrainPart } else { LossPhase::Train },
                };
                let mut terms = Terms::observed(observer);
                let [of_predictions, of_embeddings] = &mut slopes;
                let mut gradients = LossGradients { predictions: of_predictions, embeddings: of_embeddings };
                self.lock().add_terms(&batch, &mut gradients, &mut terms);
                if let Some(Penalty { name, value, weight }) = penalty {
                    terms.term(name, value.map_or(0.0, |value| values.of(value)[0].to_f64()), weight);
                }
                let value = terms.finish();
                out[0] = T::of(value.total);
                parts.extend(value.parts.into_iter().map(|part| (part.name, part.value)));
                slopes
            },
            move |step, slopes, gradients| {
                for (var, slope) in vars.iter().zip(slopes) {
                    gradients.add(*var, |sum| add_scaled(sum, step.gradient[0], &slope));
                }
                if let Some(Penalty { value: Some(value), weight, .. }) = penalty {
                    gradients.add(value, |sum| sum[0] += T::of(weight) * step.gradient[0]);
                }
            },
        );
        RecordedLoss { total, parts }
    }

    /// Returns copies of the buffers by name.
    pub fn buffers(&self) -> Vec<(&'static str, CircularBuffer<T>)> {
        self.lock().buffers().into_iter().map(|(name, buffer)| (name, buffer.clone())).collect()
    }

    /// Restores one of [`ScoreLoss::buffers`]; on an error nothing was changed.
    pub fn restore(&self, name: &str, state: BufferState, features: &[T], labels: &[T]) -> Result<Restored> {
        self.lock().restore(name, state, features, labels)
    }
}
