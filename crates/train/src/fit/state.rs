//! The state of a fit, saved and restored bit for bit.

use super::{Fit, FitError};
use crate::checkpoint::{
    Checkpoint, CheckpointError, Checkpoints, Contents, EpochSpent, Identity, ModelCard, Number, Saved, Slot,
    State, Tensor, TensorRef,
};
use crate::run::LogPosition;
use crate::schedule::Best;
use knockout_models::loss::{CircularBuffer, Restored};
use std::collections::BTreeMap;

/// What the names of sums of the loss's parts begin with.
const PART: &str = "epoch_part.";

impl Fit {
    /// What identifies the run: a checkpoint of another one is refused.
    pub fn identity(&self) -> Identity {
        self.config.identity(&self.dataset.cell.genes().hash().to_hex())
    }

    /// What predicting with this model needs beside its weights.
    fn card(&self) -> Option<ModelCard> {
        Some(ModelCard::new(self.config.to_toml().ok()?, self.labels, &self.dataset.cell))
    }

    /// Saves the state. `metrics` is where the run's metrics file ends now, `spent` what the epoch under way has taken.
    pub fn save(
        &self,
        checkpoints: &Checkpoints,
        slot: Slot,
        metrics: LogPosition,
        spent: EpochSpent,
    ) -> Result<Saved, CheckpointError> {
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
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), FitError> {
        checkpoint.state.identity.check(&self.identity())?;
        let (batch, batches) = (checkpoint.state.position.batch, self.batch_count());
        if batch as usize > batches {
            return Err(FitError::BeyondEpoch { batch, batches });
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
                found.map(|tensor| &tensor.values[..]).ok_or(FitError::Tensor { name, count })
            };
            let taken = self
                .model
                .restore_loss_buffer(name, *state, rows("features")?, rows("labels")?)
                .map_err(|source| FitError::Buffer { name: name.clone(), source })?;
            if taken == Restored::Unknown {
                return Err(FitError::UnknownBuffer { name: name.clone() });
            }
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

impl Fit {
    /// Takes over weights of this model that were trained elsewhere: every parameter by its name and shape, and nothing else. On an
    /// error nothing has changed.
    pub fn adopt(&mut self, weights: &[Tensor]) -> Result<(), FitError> {
        let parameters = self.model.parameters_mut();
        let mut found = Vec::with_capacity(parameters.len());
        for index in 0..parameters.len() {
            let entry = parameters.get(index);
            let (name, expected) = (entry.name().to_owned(), entry.shape().to_vec());
            let refuse = |problem: String| FitError::Adopted { name: name.clone(), problem };
            let same_name = |tensor: &&Tensor| tensor.name == name;
            let tensor =
                weights.iter().find(same_name).ok_or_else(|| refuse("is not among them".to_owned()))?;
            if tensor.shape != expected || tensor.values.len() != entry.values().len() {
                return Err(refuse(format!("has shape {:?} instead of {expected:?}", tensor.shape)));
            }
            if tensor.values.iter().any(|value| !value.is_finite()) {
                return Err(refuse("holds a number that is not finite".to_owned()));
            }
            found.push(tensor);
        }
        let is_foreign = |tensor: &&Tensor| !found.iter().any(|known| known.name == tensor.name);
        if let Some(foreign) = weights.iter().find(is_foreign) {
            let problem = "is no parameter of the model".to_owned();
            return Err(FitError::Adopted { name: foreign.name.clone(), problem });
        }
        for (index, tensor) in found.into_iter().enumerate() {
            parameters.values_mut(index).copy_from_slice(&tensor.values);
        }
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

/// Copies a tensor of a checkpoint into a parameter of the same length.
pub(crate) fn copy_tensor(tensors: &[Tensor], name: &str, slots: &mut [f32]) -> Result<(), FitError> {
    let found = tensors.iter().find(|tensor| tensor.name == name && tensor.values.len() == slots.len());
    let Some(tensor) = found else {
        return Err(FitError::Tensor { name: name.to_owned(), count: slots.len() });
    };
    slots.copy_from_slice(&tensor.values);
    Ok(())
}
