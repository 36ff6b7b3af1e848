//! The hetero model's loss functions.

use crate::layer::{add_scaled, interaction_loss};
use crate::loss::{
    BatchRows, BufferError, BufferState, BufferedLoss, CircularBuffer, Gradients, LossError, MleWassSupCr,
    MleWassSupCrOptions, Phase, Restored,
};
use crate::{Loss, LossAt};
use knockout_engine::grad::{Tape, Var};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// Loss functions of the hetero model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveName {
    /// Mean log cosh of the errors.
    #[default]
    LogCosh,
    /// Squared error, Wasserstein distance and contrastive regression; see [`MleWassSupCr`].
    MleWassSupcr,
}

/// A loss function and its buffers of earlier batches.
#[derive(Debug)]
pub(super) enum Objective {
    LogCosh,
    /// The buffers are written while a loss is recorded, by one thread at a time.
    MleWassSupCr(Box<Mutex<MleWassSupCr<f32>>>),
}

impl Objective {
    pub(super) fn new(
        name: ObjectiveName,
        options: &MleWassSupCrOptions,
        width: usize,
        seed: u64,
    ) -> Result<Self, LossError> {
        Ok(match name {
            ObjectiveName::LogCosh => Self::LogCosh,
            ObjectiveName::MleWassSupcr => {
                let loss = MleWassSupCr::new(options.clone(), width, seed)?;
                Self::MleWassSupCr(Box::new(Mutex::new(loss)))
            }
        })
    }

    /// Records the loss of predictions `[n]` and embeddings `[n, width]`.
    pub(super) fn record<'a>(
        &'a self,
        tape: &mut Tape<'a, f32>,
        (predictions, embeddings): (Var, Var),
        targets: &'a [f32],
        at: LossAt,
    ) -> Loss {
        let Self::MleWassSupCr(loss) = self else {
            let total = interaction_loss(tape, predictions, targets);
            return Loss { total, parts: vec![("interaction".to_owned(), f64::from(tape.scalar(total)))] };
        };
        let mut parts = Vec::new();
        let total = tape.op(
            "loss.mle_wass_supcr",
            1,
            |values, out| {
                let (predicted, z) = (values.of(predictions), values.of(embeddings));
                let mut d_predictions = values.pool().scratch(predicted.len());
                let mut d_embeddings = values.pool().scratch(z.len());
                let batch = BatchRows {
                    predictions: predicted,
                    targets,
                    embeddings: z,
                    epoch: at.epoch,
                    step: at.step,
                    phase: if at.shard.is_part { Phase::TrainPart } else { Phase::Train },
                };
                let mut gradients =
                    Gradients { predictions: &mut d_predictions, embeddings: &mut d_embeddings };
                let mut loss = loss.lock().unwrap_or_else(PoisonError::into_inner);
                let value = loss.evaluate(&batch, &mut gradients);
                out[0] = value.total as f32;
                parts.extend(value.parts.into_iter().map(|part| (part.name, part.value)));
                (d_predictions, d_embeddings)
            },
            move |step, (d_predictions, d_embeddings), gradients| {
                for (var, slope) in [(predictions, d_predictions), (embeddings, d_embeddings)] {
                    gradients.add(var, |sum| add_scaled(sum, step.gradient[0], &slope));
                }
            },
        );
        Loss { total, parts }
    }

    /// Copies of the buffers, by name.
    pub(super) fn buffers(&self) -> Vec<(&'static str, CircularBuffer<f32>)> {
        let Self::MleWassSupCr(loss) = self else { return Vec::new() };
        let loss = loss.lock().unwrap_or_else(PoisonError::into_inner);
        loss.buffers().into_iter().map(|(name, buffer)| (name, buffer.clone())).collect()
    }

    /// Restores one of [`Objective::buffers`].
    pub(super) fn restore(
        &mut self,
        name: &str,
        state: BufferState,
        features: &[f32],
        labels: &[f32],
    ) -> Result<Restored, BufferError> {
        let Self::MleWassSupCr(loss) = self else { return Ok(Restored::Unknown) };
        loss.get_mut().unwrap_or_else(PoisonError::into_inner).restore(name, state, features, labels)
    }
}
