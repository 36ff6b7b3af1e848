//! Dropout: which values a pass leaves out; see [`knockout_kernel::Noise`].

use super::add_to;
use knockout_grad::{Tape, Var};
use knockout_kernel::{Noise, Real, Scalar};
use std::sync::Arc;

/// What is dropped after the activations of one part of a model.
#[derive(Debug, Clone)]
pub struct Dropped {
    /// The share of values.
    pub rate: f64,
    /// Of the pass.
    pub seed: u64,
    /// Of the part.
    pub site: u64,
    /// The keys of its rows: rows of one key lose the same values.
    pub rows: Arc<Vec<u32>>,
}

impl Dropped {
    /// What the kernels are given.
    pub fn noise(&self) -> Noise<'_> {
        Noise::new(self.seed, self.site, self.rate, &self.rows)
    }

    /// The same at another site, counted from this one.
    pub(crate) fn after(&self, sites: usize) -> Self {
        Self { site: self.site + sites as u64, ..self.clone() }
    }

    /// Drops from one row alone, after activation `layer`.
    pub(crate) fn row<T: Real>(&self, row: usize, layer: usize, values: &mut [T]) {
        if !values.is_empty() {
            self.noise().part(row..row + 1).drop_from(layer, values, values.len());
        }
    }
}

/// Records the dropping of values of `x: [rows, width]`.
pub(crate) fn drop_from<T: Scalar>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    x: Var,
    width: usize,
    dropped: Option<Dropped>,
) -> Var {
    let Some(dropped) = dropped else { return x };
    let back = dropped.clone();
    tape.op(
        name,
        tape.value(x).len(),
        |values, out| {
            out.copy_from_slice(values.of(x));
            dropped.noise().drop_from(0, out, width);
        },
        move |step, (), gradients| {
            back.noise().drop_from(0, step.gradient, width);
            gradients.add(x, |sum| add_to(sum, step.gradient));
        },
    )
}
