//! Attention pooling of a cell's rows into one vector.

use super::dropout::{DropoutPass, Site};
use super::plan::RowStage;
use super::propagate::{CellGroup, cell_groups};
use crate::init::Init;
use crate::layer::{Linear, Mlp, add_scaled, dot};
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, MASKED, RowGradients, Scalar, reduce_in_order};
use rayon::prelude::*;
use std::sync::Arc;

/// `z = Σ_i softmax_i(gate.out(activation(gate.hidden(x_i)))) · activation(value(x_i))` over the genes that are kept.
///
/// `x: [rows of a stage, width]`, `z: [1 + samples, width]`: the wild type over all genes, then each sample.
#[derive(Debug, Clone)]
pub(super) struct AttentionPooling {
    gate: Mlp,
    value: Mlp,
}

impl AttentionPooling {
    /// Adds `pool.gate.hidden`, `pool.gate.out` and `pool.value`.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        width: usize,
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let gate = vec![
            Linear::new(parameters, "pool.gate.hidden", width, width / 2, init),
            Linear::new(parameters, "pool.gate.out", width / 2, 1, init),
        ];
        let value = vec![Linear::new(parameters, "pool.value", width, width, init)];
        Self {
            gate: Mlp { linears: gate, between: activation, norm: None, last: Activation::None },
            value: Mlp { linears: value, between: Activation::None, norm: None, last: activation },
        }
    }

    /// The two layers of the gate, and the value's.
    pub(super) fn linears(&self) -> ([Linear; 2], Linear) {
        ([self.gate.linears[0], self.gate.linears[1]], self.value.linears[0])
    }

    /// Records the pooling of a stage's rows.
    pub(super) fn forward<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        x: Var,
        stage: &Arc<RowStage>,
        pass: Option<DropoutPass>,
    ) -> Var {
        let dropout = |site| pass.map(|pass| pass.of_rows(site, Some(&*stage.own_rows)));
        let gate = self.gate.forward(tape, "pool.gate", x, dropout(Site::PoolGate).as_ref());
        let value = self.value.forward(tape, "pool.value", x, dropout(Site::PoolValue).as_ref());
        let width = self.value.outputs();
        let (stage_forward, stage_backward) = (Arc::clone(stage), Arc::clone(stage));
        tape.op(
            "pool",
            [1 + stage.samples().len(), width],
            |values, out| {
                let (gate, value) = (values.of(gate), values.of(value));
                out.par_chunks_mut(width).enumerate().for_each(|(pooled, out)| {
                    out.fill(T::ZERO);
                    let rows = pooled_rows(&stage_forward, pooled);
                    for (&row, weight) in rows.iter().zip(weights(gate, &rows)) {
                        add_scaled(out, weight, &value[row * width..(row + 1) * width]);
                    }
                });
            },
            move |step, (), gradients| {
                let (gate_values, values) = (step.values.of(gate), step.values.of(value));
                let pool = step.values.pool();
                // Gradients of a row's value and gate, interleaved.
                let size = width + 1;
                let mut both = pool.zeros(stage_backward.rows() * size);
                let shared_rows = stage_backward.shared_rows();
                let (shared, owned) = both.split_at_mut(shared_rows * size);
                let add = |pooled: usize, sums: &mut RowGradients<'_, T>| {
                    let upstream = &step.gradient[pooled * width..(pooled + 1) * width];
                    let mean = dot(upstream, &step.output[pooled * width..(pooled + 1) * width]);
                    let rows = pooled_rows(&stage_backward, pooled);
                    for (&row, weight) in rows.iter().zip(weights(gate_values, &rows)) {
                        let sum = sums.row(row, size);
                        add_scaled(&mut sum[..width], weight, upstream);
                        sum[width] +=
                            weight * (dot(upstream, &values[row * width..(row + 1) * width]) - mean);
                    }
                };
                let samples = stage_backward.samples();
                let partials: Vec<_> = cell_groups(&stage_backward, samples.clone(), owned, size)
                    .into_par_iter()
                    .map(|CellGroup { cells, first, owned }| {
                        let mut shared = pool.zeros(shared_rows * size);
                        let mut sums = RowGradients { shared: &mut shared, own: owned, first };
                        cells.for_each(|cell| add(1 + cell - samples.start, &mut sums));
                        shared
                    })
                    .collect();
                add(0, &mut RowGradients { shared, own: &mut [], first: shared_rows });
                reduce_in_order(&partials, shared);
                gradients.add(value, |sum| {
                    sum.par_chunks_mut(width).zip(both.par_chunks(size)).for_each(|(sum, both)| {
                        add_scaled(sum, T::ONE, &both[..width]);
                    });
                });
                gradients.add(gate, |sum| {
                    sum.iter_mut().zip(both.chunks_exact(size)).for_each(|(sum, both)| *sum += both[width]);
                });
            },
        )
    }
}

/// The rows of the kept genes of the wild type, which is pooled first, or of a sample.
fn pooled_rows(stage: &RowStage, pooled: usize) -> Vec<usize> {
    let Some(sample) = pooled.checked_sub(1) else { return (0..stage.genes()).collect() };
    let kept = stage.row_of(stage.samples().start + sample).iter().filter(|&row| row & MASKED == 0);
    kept.map(|&row| row as usize).collect()
}

fn weights<T: Scalar>(gate: &[T], rows: &[usize]) -> Vec<T> {
    let mut scores: Vec<T> = rows.iter().map(|&row| gate[row]).collect();
    crate::layer::softmax(&mut scores);
    scores
}
