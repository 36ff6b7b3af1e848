//! One vector for a cell: an average of its genes' rows, weighted by attention.

use super::arrivals::sample_groups;
use super::dropout::{Pass, Site};
use super::plan::Stage;
use crate::init::Init;
use crate::layer::{Linear, Mlp, add_scaled, dot};
use knockout_grad::{Parameters, Tape, Var};
use knockout_kernel::{Activation, DROPPED, Scalar, SumGradients, add_in_order};
use rayon::prelude::*;
use std::sync::Arc;

/// `z = Σ_i softmax_i(gate.out(activation(gate.hidden(x_i)))) · activation(value(x_i))` over the genes that are kept.
///
/// `x: [rows of a stage, width]`, `z: [1 + samples, width]`: the wild type over all genes, then each sample.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    gate: Mlp,
    value: Mlp,
}

impl Pool {
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

    /// Records the pooling of a stage's rows.
    pub(super) fn forward<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        x: Var,
        stage: &Arc<Stage>,
        pass: Option<Pass>,
    ) -> Var {
        let dropped = |site| pass.map(|pass| pass.of_rows(site, Some(&*stage.listed)));
        let gate = self.gate.forward(tape, "pool.gate", x, dropped(Site::PoolGate).as_ref());
        let value = self.value.forward(tape, "pool.value", x, dropped(Site::PoolValue).as_ref());
        let (width, genes) = (self.value.outputs(), stage.genes());
        let (there, back) = (Arc::clone(stage), Arc::clone(stage));
        let cells = 1 + stage.samples();
        tape.op(
            "pool",
            cells * width,
            |values, out| {
                let (gate, value) = (values.of(gate), values.of(value));
                out.par_chunks_mut(width).enumerate().for_each(|(cell, out)| {
                    out.fill(T::ZERO);
                    let rows = cell_rows(&there, cell);
                    for (&row, weight) in rows.iter().zip(weights(gate, &rows)) {
                        add_scaled(out, weight, &value[row * width..(row + 1) * width]);
                    }
                });
            },
            move |step, (), gradients| {
                let (gate_values, values) = (step.values.of(gate), step.values.of(value));
                let pool = step.values.pool();
                // A row's gradients side by side: of its value, then of its gate.
                let size = width + 1;
                let mut both = pool.zeros(back.rows() * size);
                let (shared, owned) = both.split_at_mut(genes * size);
                let add_cell = |cell: usize, sums: &mut SumGradients<'_, T>| {
                    let upstream = &step.gradient[cell * width..(cell + 1) * width];
                    let mean = dot(upstream, &step.output[cell * width..(cell + 1) * width]);
                    let rows = cell_rows(&back, cell);
                    for (&row, weight) in rows.iter().zip(weights(gate_values, &rows)) {
                        let sum = sums.row(row, size);
                        add_scaled(&mut sum[..width], weight, upstream);
                        sum[width] +=
                            weight * (dot(upstream, &values[row * width..(row + 1) * width]) - mean);
                    }
                };
                let partials: Vec<_> = sample_groups(&back, owned, size)
                    .into_par_iter()
                    .map(|(samples, first, own)| {
                        let mut shared = pool.zeros(genes * size);
                        let mut sums = SumGradients { shared: &mut shared, own, first: genes + first };
                        samples.for_each(|sample| add_cell(sample + 1, &mut sums));
                        shared
                    })
                    .collect();
                add_cell(0, &mut SumGradients { shared, own: &mut [], first: genes });
                add_in_order(&partials, shared);
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

/// The rows of a cell's kept genes: 0 is the wild type.
fn cell_rows(stage: &Stage, cell: usize) -> Vec<usize> {
    if cell == 0 {
        return (0..stage.genes()).collect();
    }
    let kept = stage.place(cell - 1).iter().filter(|&place| place & DROPPED == 0);
    kept.map(|&place| place as usize).collect()
}

fn weights<T: Scalar>(gate: &[T], rows: &[usize]) -> Vec<T> {
    let mut scores: Vec<T> = rows.iter().map(|&row| gate[row]).collect();
    crate::layer::softmax(&mut scores);
    scores
}
