//! Checkpoints: everything that is needed to resume a run bit for bit, in one folder that is complete or absent.
//!
//! ```text
//! last-000012/weights.safetensors      the weights, f32, by name; opens in PyTorch
//!             optimiser.safetensors    both moments of AdamW: `first.NAME`, `second.NAME`
//!             buffers.safetensors      rows of the loss buffers; inside a group of accumulated batches its gradients, `gradient.NAME`
//!             state.json               step, epoch, schedules, best so far, what the run is
//!             manifest.json            length and blake3 of every file, and of itself
//! ```
//!
//! **Promise.** A kill or a power cut at any moment leaves a checkpoint complete or absent; after `Ok` it is there. A flipped
//! byte, a shortened or a missing file is an error that names the file, and the checkpoint before is offered. A number that is not
//! finite is never written.
//!
//! [`save`] and [`load`] handle plain data (names, shapes, slices); [`crate::fit::Fit`] has methods that save and restore it.

mod files;
mod fit;
mod state;
mod store;

pub use files::{Files, decode, load, load_state, load_tensors, save, save_tensors};
pub use state::{Digest, EpochSpent, LogPosition, ModelCard, Number, State};
pub use store::{Checkpoints, Saved, Slot};

use crate::tensors::{Tensor, TensorRef};

/// The contents of a checkpoint to be saved.
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
