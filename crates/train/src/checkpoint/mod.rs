//! Checkpoints: everything that continuing a run bit for bit needs, in one folder that is whole or absent.
//!
//! ```text
//! last-000012/weights.safetensors      the weights, f32, by name; opens in PyTorch
//!             optimiser.safetensors    both moments of AdamW: `first.NAME`, `second.NAME`
//!             buffers.safetensors      rows of the loss buffers; inside a group of accumulated batches its gradients, `gradient.NAME`
//!             state.json               step, epoch, schedules, best so far, what the run is
//!             manifest.json            length and blake3 of every file, and of itself
//! ```
//!
//! **Promise.** A kill or a power cut at any moment leaves a checkpoint whole or absent; after `Ok` it is there. A flipped
//! byte, a shortened or a missing file is an error that names the file, and the checkpoint before is offered. A number that is not
//! finite is never written.
//!
//! The module takes plain data (names, shapes, slices): it knows neither the tape nor any model.

mod files;
mod identity;
mod state;
mod store;

pub use files::{Files, decode, load, save, weights_hash};
pub(crate) use files::{load_tensors, save_tensors};
pub(crate) use identity::flatten;
pub use identity::{Difference, Identity, IdentityError};
pub use state::{EpochSpent, ModelCard, Number, Position, State};
pub use store::{Checkpoints, Saved, Slot};

pub use knockout_solve::Tensor;

use knockout_base::error::{Class, Classified};
use knockout_base::files::DurableError;
use std::io;
use std::path::{Path, PathBuf};

/// A named tensor to be saved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorRef<'a> {
    /// Name of the tensor.
    pub name: &'a str,
    /// Its shape; empty for a single number.
    pub shape: &'a [usize],
    /// Its values, row by row.
    pub values: &'a [f32],
}

impl<'a> From<&'a Tensor> for TensorRef<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { name: &tensor.name, shape: &tensor.shape, values: &tensor.values }
    }
}

/// What a checkpoint is made of.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// The parameters.
    pub weights: &'a [TensorRef<'a>],
    /// The first moments of the optimiser, named as the weights.
    pub first_moments: &'a [TensorRef<'a>],
    /// The second moments, named as the weights.
    pub second_moments: &'a [TensorRef<'a>],
    /// Rows of the loss buffers; where they stand is in [`State::loss_buffers`].
    pub buffers: &'a [TensorRef<'a>],
    /// Everything else.
    pub state: &'a State,
}

/// A checkpoint that was loaded; tensors are in name order.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The parameters.
    pub weights: Vec<Tensor>,
    /// The first moments of the optimiser, named as the weights.
    pub first_moments: Vec<Tensor>,
    /// The second moments, named as the weights.
    pub second_moments: Vec<Tensor>,
    /// Rows of the loss buffers.
    pub buffers: Vec<Tensor>,
    /// Everything else.
    pub state: State,
    /// blake3 over the weights in name order.
    pub weights_hash: String,
}

/// A checkpoint that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("could not {act} checkpoint {}{}", path.display(), offer(path, before.as_deref()))]
#[non_exhaustive]
pub struct CheckpointError {
    act: &'static str,
    /// The checkpoint.
    pub path: PathBuf,
    /// An earlier one that is whole, where there is one.
    pub before: Option<PathBuf>,
    /// What is wrong with it.
    #[source]
    pub kind: CheckpointErrorKind,
}

fn offer(path: &Path, before: Option<&Path>) -> String {
    before.map_or_else(String::new, |before| {
        format!("; {} is whole: move {} away to go on from there", before.display(), path.display())
    })
}

impl Classified for CheckpointError {
    fn class(&self) -> Class {
        use CheckpointErrorKind::{Damaged, Durable, Missing, Newer};
        match self.kind {
            Missing { .. } | Damaged { .. } | Newer { .. } | Durable(DurableError::Link { .. }) => {
                Class::Damage
            }
            _ => Class::Failure,
        }
    }
}

/// What is wrong with a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointErrorKind {
    /// A file is not there.
    #[error("{file} is missing")]
    Missing {
        /// Name of the file in the checkpoint.
        file: String,
    },
    /// A file is not what was written.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// Name of the file in the checkpoint.
        file: String,
        /// How we know.
        reason: String,
    },
    /// It is of a later knockout.
    #[error("its format is {found}, this knockout reads up to {known}; install a newer one")]
    Newer {
        /// Its format.
        found: u32,
        /// The latest we know.
        known: u32,
    },
    /// A tensor that cannot be written.
    #[error("tensor {name:?} {reason}")]
    Tensor {
        /// Name of the tensor.
        name: String,
        /// Reason why it cannot be written.
        reason: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The operating system refused.
    #[error(transparent)]
    Durable(#[from] DurableError),
}

fn at<K: Into<CheckpointErrorKind>>(act: &'static str, path: &Path) -> impl FnOnce(K) -> CheckpointError {
    let path = path.to_owned();
    move |kind| CheckpointError { act, path, before: None, kind: kind.into() }
}
