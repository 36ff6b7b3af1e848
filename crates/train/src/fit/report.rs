//! What steps and epochs give, and why they fail.

use crate::checkpoint::{IdentityError, Position};
use crate::config::ConfigError;
use crate::metrics::Metrics;
use crate::step::{NotFinite, StepOutcome};
use knockout_base::error::{Class, Classified, Error};
use knockout_ranks::WorldError;
use knockout_trace::meter::StepTimes;
use std::collections::BTreeMap;

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
    /// Hash of all parameters; see [`crate::checkpoint::weights_hash`].
    pub weights_hash: String,
}

/// A fit that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The configuration cannot be carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A part of the split is empty.
    #[error("the {part} part of the split has no samples; choose another scheme, shares or subset")]
    EmptyPart {
        /// Name of the empty part.
        part: &'static str,
    },
    /// The training scores are all the same.
    #[error("the training scores are all equal: there is nothing to learn")]
    ConstantScores,
    /// A score that is no `f32`.
    #[error(
        "the score of sample {row} is {score:e}, beyond what a model can be trained on (±3.4e38); remove it or rescale the scores"
    )]
    Score {
        /// Zero-based sample.
        row: u32,
        /// Score that no `f32` holds.
        score: f64,
    },
    /// More processes than parts of a batch.
    #[error(
        "{ranks} ranks share the work of {shards} shard(s): set train.shards={ranks} or a multiple of it. It is a part of what the run is: \
         a run with train.shards={ranks} then gives the same weights on any number of ranks up to {ranks}"
    )]
    TooFewShards {
        /// Parts of a batch.
        shards: usize,
        /// Processes.
        ranks: usize,
    },
    /// The ranks could not go on together.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A sample that cannot be loaded, or a trace that cannot be written.
    #[error(transparent)]
    Other(#[from] Error),
    /// A number left the range of floats.
    #[error(
        "step {step} (epoch {}) diverged: {source}; lower optimiser.learning_rate or optimiser.clip_norm",
        epoch + 1
    )]
    Diverged {
        /// One-based step.
        step: u64,
        /// Zero-based epoch.
        epoch: u32,
        /// What is not finite.
        source: NotFinite,
    },
    /// A checkpoint of another run.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A checkpoint goes on after the end of its epoch.
    #[error("the checkpoint is at batch {batch} of an epoch that has {batches}; resume from another one")]
    BeyondEpoch {
        /// The batches that are done.
        batch: u32,
        /// Those of an epoch.
        batches: usize,
    },
    /// A checkpoint does not hold what the model needs.
    #[error("the checkpoint has no tensor {name:?} of {count} numbers")]
    Tensor {
        /// The parameter.
        name: String,
        /// Its length.
        count: usize,
    },
    /// Weights from elsewhere that are not this model's.
    #[error(
        "the weights do not fit the model: {name:?} {problem}; they must be those of a model of the same configuration"
    )]
    Adopted {
        /// The parameter.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A checkpoint's loss buffer does not fit this loss.
    #[error("the checkpoint's loss buffer {name:?} does not fit: {source}")]
    Buffer {
        /// The buffer.
        name: String,
        /// Cause: how the buffer differs.
        source: Error,
    },
    /// A checkpoint has a loss buffer that this loss does not have.
    #[error("the checkpoint's loss buffer {name:?} does not fit: this loss has no buffer of that name")]
    UnknownBuffer {
        /// The buffer.
        name: String,
    },
}

impl Classified for FitError {
    fn class(&self) -> Class {
        match self {
            Self::Config(_)
            | Self::EmptyPart { .. }
            | Self::ConstantScores
            | Self::TooFewShards { .. }
            | Self::Identity(_)
            | Self::Adopted { .. } => Class::Request,
            Self::Score { .. } => Class::Damage,
            Self::Diverged { .. } => Class::Diverged,
            Self::Other(error) => error.class(),
            Self::World(error) => error.class(),
            _ => Class::Failure,
        }
    }
}
