//! A `GraphSAGE` layer with mean aggregation.

use super::{backward_term, forward_term};
use crate::init::Init;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Graph, Scalar, Spmm, StoreMode};
use rayon::prelude::*;

/// Rows in a task.
const CHUNK_ROWS: usize = 256;

/// `y_i = activation(W_neighbour · mean over edges j → i of x_j + b + W_self · x_i)`, `x: [rows, inputs]`, `y: [rows, outputs]`.
///
/// Repeated edges count repeatedly; the mean over no edge is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sage {
    /// `W_neighbour`, `[outputs, inputs]`.
    pub neighbour: Var,
    /// b, `[outputs]`.
    pub bias: Var,
    /// `W_self`, `[outputs, inputs]`.
    pub own: Var,
    /// Input width.
    pub inputs: usize,
    /// Output width.
    pub outputs: usize,
    /// Activation.
    pub activation: Activation,
}

impl Sage {
    /// Adds `name.neighbour.weight`, `name.neighbour.bias` and `name.self.weight`.
    pub(crate) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        [inputs, outputs]: [usize; 2],
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        let shape = [outputs, inputs];
        let neighbour = parameters.add(format!("{name}.neighbour.weight"), &shape, || init.uniform(bound));
        let bias = parameters.add(format!("{name}.neighbour.bias"), &[outputs], || init.uniform(bound));
        let own = parameters.add(format!("{name}.self.weight"), &shape, || init.uniform(bound));
        Self { neighbour, bias, own, inputs, outputs, activation }
    }

    /// Records the layer. `mean_weight` is the graph's, in this float type.
    pub(crate) fn forward<'a, T: Scalar>(
        self,
        tape: &mut Tape<'a, T>,
        name: &'static str,
        x: Var,
        graph: &'a Graph,
        mean_weight: &'a [T],
    ) -> Var {
        let Self { inputs, outputs, .. } = self;
        tape.op(
            name,
            [graph.row_count(), outputs],
            |values, out| {
                let mut mean = values.pool().scratch(graph.row_count() * inputs);
                let task = Spmm {
                    matrix: &graph.incoming,
                    width: inputs,
                    input: values.of(x),
                    column_weight: None,
                    row_weight: Some(mean_weight),
                };
                T::spmm(&task, StoreMode::Set, &mut mean);
                let terms = [
                    forward_term(&mean, inputs, values.of(self.neighbour)),
                    forward_term(values.of(x), inputs, values.of(self.own)),
                ];
                T::linear(&terms, Some(values.of(self.bias)), self.activation, StoreMode::Set, out, outputs);
                mean
            },
            move |step, mean, gradients| {
                self.activation.backward_from_outputs(step.output, step.gradient);
                let (dy, rows) = (&*step.gradient, step.values.of(x));
                gradients.add_pair([self.neighbour, self.bias], |weight, bias| {
                    T::transposed_product(dy, &mean, [outputs, inputs], weight, Some(bias));
                });
                gradients.add(self.own, |sum| T::transposed_product(dy, rows, [outputs, inputs], sum, None));
                // The mean's buffer now takes its own gradient.
                let mut d_mean = mean;
                let back = backward_term(dy, outputs, step.values.of(self.neighbour));
                T::linear(&[back], None, Activation::None, StoreMode::Set, &mut d_mean, inputs);
                // Scaling every row once is cheaper than at every edge.
                d_mean.par_chunks_mut(CHUNK_ROWS * inputs).zip(mean_weight.par_chunks(CHUNK_ROWS)).for_each(
                    |(rows, weights)| {
                        for (row, &weight) in rows.chunks_exact_mut(inputs).zip(weights) {
                            for value in row {
                                *value *= weight;
                            }
                        }
                    },
                );
                gradients.put(x, |sum, store| {
                    let back = backward_term(dy, outputs, step.values.of(self.own));
                    T::linear(&[back], None, Activation::None, store, sum, inputs);
                    let task = Spmm {
                        matrix: &graph.outgoing,
                        width: inputs,
                        input: &d_mean,
                        column_weight: None,
                        row_weight: None,
                    };
                    T::spmm(&task, StoreMode::Add, sum);
                });
            },
        )
    }
}
