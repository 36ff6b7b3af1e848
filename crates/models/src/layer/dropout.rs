//! Dropout; see [`knockout_engine::kernel::DropoutMask`].

use super::add_to;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::{DropoutMask, Real, Scalar};
use std::sync::Arc;

/// Dropout after the activations of one part of a model, in one training pass.
#[derive(Debug, Clone)]
pub struct Dropout {
    /// Dropout probability.
    pub rate: f64,
    /// Seed of the pass.
    pub seed: u64,
    /// Number of the part within the model.
    pub site: u64,
    /// Keys of the rows: rows of one key have one mask.
    pub keys: Arc<Vec<u32>>,
}

impl Dropout {
    /// The mask in the form of the kernels.
    pub fn mask(&self) -> DropoutMask<'_> {
        DropoutMask::new(self.seed, self.site, self.rate, &self.keys)
    }

    /// The dropout `sites` sites after this one.
    pub(crate) fn after(&self, sites: usize) -> Self {
        Self { site: self.site + sites as u64, ..self.clone() }
    }

    /// Applies the mask of one row, after activation `layer`.
    pub(crate) fn apply_to_row<T: Real>(&self, row: usize, layer: usize, values: &mut [T]) {
        if !values.is_empty() {
            self.mask().slice(row..row + 1).apply(layer, values, values.len());
        }
    }
}

/// Records dropout on `x: [rows, width]`.
pub(crate) fn apply_dropout<T: Scalar>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    x: Var,
    width: usize,
    dropout: Option<Dropout>,
) -> Var {
    let Some(dropout) = dropout else { return x };
    let back = dropout.clone();
    tape.op(
        name,
        [tape.value(x).len() / width, width],
        |values, out| {
            out.copy_from_slice(values.of(x));
            dropout.mask().apply(0, out, width);
        },
        move |step, (), gradients| {
            back.mask().apply(0, step.gradient, width);
            gradients.add(x, |sum| add_to(sum, step.gradient));
        },
    )
}
