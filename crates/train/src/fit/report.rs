//! Positions in a run, and the results of steps and epochs.

use crate::metrics::Metrics;
use crate::step::StepOutcome;
use knockout_trace::meter::StepTimes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A position in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Batches trained on since the start; the key `step` of metrics.
    pub step: u64,
    /// Steps of the optimiser: the t of `AdamW`.
    pub optimiser_step: u64,
    /// Zero-based epoch.
    pub epoch: u32,
    /// Batches of this epoch that are done: the index of the next one.
    pub batch: u32,
}

/// The measures by which a validation is the best so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Improved {
    /// The highest Pearson correlation.
    pub pearson: bool,
    /// The lowest mean squared error.
    pub mse: bool,
}

/// A step that was taken.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// Position after the step.
    pub position: Position,
    /// Batches of an epoch.
    pub batches: usize,
    /// Loss and gradient norm of the batch.
    pub outcome: StepOutcome,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Wall and CPU time, phase by phase.
    pub times: StepTimes,
}

/// An epoch, or the beginning of one, and its validation.
#[derive(Debug, Clone)]
pub struct EpochReport {
    /// Position at its last step; the epoch has not been counted yet.
    pub position: Position,
    /// Mean loss over the epoch's samples.
    pub train_loss: f64,
    /// Means of the loss's parts and of their weights over the same samples, by name.
    pub loss_parts: BTreeMap<String, f64>,
    /// Learning rate it ran at.
    pub learning_rate: f64,
    /// Metrics over the full validation part, in the scores' own units.
    pub validation: Metrics,
    /// Hash of all parameters; see [`crate::tensors::weights_hash`].
    pub weights_hash: String,
}
