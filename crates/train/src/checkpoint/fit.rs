//! Saves the state of a [`Fit`] in checkpoints, and restores it bit for bit.

use super::{
    Checkpoint, Checkpoints, Contents, EpochSpent, LogPosition, ModelCard, Number, Saved, Slot, State,
};
use crate::fit::Fit;
use crate::schedule::Best;
use crate::tensors::{TensorRef, copy_tensor, missing_tensor};
use knockout_base::error::{Error, Result};
use knockout_models::loss::{CircularBuffer, Restored};
use std::collections::BTreeMap;

/// Prefix of the names of sums of the loss's parts.
const PART: &str = "epoch_part.";

impl Fit {
    /// Returns the description that predicting with this model needs beside its weights.
    fn card(&self) -> Option<ModelCard> {
        Some(ModelCard::new(self.config.to_toml().ok()?, self.labels, &self.dataset.cell))
    }

    /// Saves the state. `metrics` is the present end of the run's metrics file, `spent` the time of the epoch so far.
    pub fn save(
        &self,
        checkpoints: &Checkpoints,
        slot: Slot,
        metrics: LogPosition,
        spent: EpochSpent,
    ) -> Result<Saved> {
        let buffers = self.model.loss_buffers();
        let state = State {
            identity: self.identity(),
            position: self.position,
            seed: self.config.seed,
            learning_rate: self.learning_rate.clone(),
            early_stopping: self.stopping,
            best: BTreeMap::from([
                ("pearson".to_owned(), self.best_pearson),
                ("mse".to_owned(), self.best_mse),
            ]),
            loss_buffers: buffers.iter().map(|(name, buffer)| ((*name).to_owned(), buffer.state())).collect(),
            metrics,
            numbers: [("epoch_loss", self.epoch_loss), ("epoch_samples", self.epoch_samples)]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), Number(value)))
                .chain(self.epoch_parts.iter().map(|(name, sum)| (format!("{PART}{name}"), Number(*sum))))
                .chain(spent.numbers())
                .collect(),
            card: self.card(),
        };
        let (weights, moments) = (self.weights(), &self.trainer.optimiser.moments);
        let with = |of: fn(&knockout_engine::grad::Moments<f32>) -> &[f32]| -> Vec<TensorRef<'_>> {
            weights
                .iter()
                .zip(moments)
                .map(|(weight, moments)| TensorRef { values: of(moments), ..*weight })
                .collect()
        };
        let (first, second) = (with(|moments| &moments.first), with(|moments| &moments.second));
        let rows: Vec<BufferRows<'_>> = buffers.iter().flat_map(BufferRows::of).collect();
        let names: Vec<String> = weights.iter().map(|weight| gradient_name(weight.name)).collect();
        let mut more: Vec<TensorRef<'_>> = rows.iter().map(BufferRows::tensor).collect();
        if !self.is_between_groups() {
            let gradients = weights.iter().zip(&names).enumerate();
            more.extend(gradients.map(|(index, (weight, name))| TensorRef {
                name,
                values: self.trainer.gradients.parameter(index),
                ..*weight
            }));
        }
        let contents = Contents {
            weights: &weights,
            first_moments: &first,
            second_moments: &second,
            buffers: &more,
            state: &state,
        };
        checkpoints.save(slot, &contents)
    }

    /// Restores a state that was saved; one of another run is refused.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.state.identity.check(&self.identity())?;
        let (batch, batches) = (checkpoint.state.position.batch, self.batch_count());
        if batch as usize > batches {
            let found = format!("the checkpoint is at batch {batch} of an epoch that has {batches}");
            return Err(Error::failure(format!("{found}; resume from another one")));
        }
        let parameters = self.model.parameters_mut();
        for (index, moments) in self.trainer.optimiser.moments.iter_mut().enumerate() {
            let name = parameters.get(index).name().to_owned();
            copy_tensor(&checkpoint.weights, &name, parameters.values_mut(index))?;
            copy_tensor(&checkpoint.first_moments, &name, &mut moments.first)?;
            copy_tensor(&checkpoint.second_moments, &name, &mut moments.second)?;
        }
        for (name, state) in &checkpoint.state.loss_buffers {
            let rows = |part: &str| {
                let (name, count) = (format!("{name}.{part}"), state.capacity);
                let found = checkpoint.buffers.iter().find(|tensor| tensor.name == name);
                found.map(|tensor| &tensor.values[..]).ok_or_else(|| missing_tensor(&name, count))
            };
            let (features, labels) = (rows("features")?, rows("labels")?);
            let restored = self.model.restore_loss_buffer(name, *state, features, labels);
            let reason = match restored {
                Ok(Restored::Unknown) => "this loss has no buffer of that name".to_owned(),
                Ok(_) => continue,
                Err(error) => error.to_string(),
            };
            let message = format!("the checkpoint's loss buffer {name:?} does not fit: {reason}");
            return Err(Error::failure(message));
        }
        let state = &checkpoint.state;
        self.position = state.position;
        if !self.is_between_groups() {
            for index in 0..self.trainer.optimiser.moments.len() {
                let name = gradient_name(self.model.parameters().get(index).name());
                copy_tensor(&checkpoint.buffers, &name, self.trainer.gradients.parameter_mut(index))?;
            }
        }
        self.batches = None;
        self.trainer.optimiser.step = state.position.optimiser_step;
        self.learning_rate = state.learning_rate.clone();
        self.stopping = state.early_stopping;
        let best = |name: &str, otherwise: Best| state.best.get(name).copied().unwrap_or(otherwise);
        self.best_pearson = best("pearson", self.best_pearson);
        self.best_mse = best("mse", self.best_mse);
        let number = |name: &str| state.numbers.get(name).map_or(0.0, |number| number.0);
        (self.epoch_loss, self.epoch_samples) = (number("epoch_loss"), number("epoch_samples"));
        let parts = state.numbers.iter();
        self.epoch_parts =
            parts.filter_map(|(name, sum)| Some((name.strip_prefix(PART)?.to_owned(), sum.0))).collect();
        Ok(())
    }
}

/// Inside a group of accumulated batches, the gradients so far are tensors of `buffers.safetensors` under these names.
fn gradient_name(parameter: &str) -> String {
    format!("gradient.{parameter}")
}

/// One side of a loss buffer as a tensor of a checkpoint.
struct BufferRows<'b> {
    name: String,
    shape: [usize; 2],
    values: &'b [f32],
}

impl<'b> BufferRows<'b> {
    fn of((name, buffer): &'b (&'static str, CircularBuffer<f32>)) -> [Self; 2] {
        let state = buffer.state();
        [
            Self {
                name: format!("{name}.features"),
                shape: [state.capacity, state.feature_width],
                values: buffer.features(),
            },
            Self {
                name: format!("{name}.labels"),
                shape: [state.capacity, state.label_width],
                values: buffer.labels(),
            },
        ]
    }

    fn tensor(&self) -> TensorRef<'_> {
        TensorRef { name: &self.name, shape: &self.shape, values: self.values }
    }
}
