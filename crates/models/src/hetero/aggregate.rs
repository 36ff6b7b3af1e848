//! Aggregation of the networks' rows of a gene into one.

use super::norm::{Norm, NormKind};
use super::plan::{InverseIndex, LayerPlan};
use crate::init::Init;
use crate::layer::{Dropout, Linear, add_parts, add_to};
use knockout_engine::grad::{Gradients, Parameters, Tape, Values, Var};
use knockout_engine::kernel::{
    Activation, CrossAttention, IndexedRows, Pairwise, PairwiseOutput, Scalar, SharedRows, StoreMode,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a layer combines its networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Sum over networks.
    Sum,
    /// Mean over networks.
    Mean,
    /// Attention among the networks of a gene, then the mean; see [`CrossAttention`].
    CrossAttention,
    /// An MLP for every pair of networks, weighted by a softmax; see [`Pairwise`].
    #[default]
    PairwiseInteraction,
}

/// Whether the weights that an aggregation computes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregationWeights {
    /// Training and prediction need none.
    Discard,
    /// They are a part of the result.
    Return,
}

impl AggregationWeights {
    fn buffer<T: Scalar>(self, len: usize) -> Option<Vec<T>> {
        (self == Self::Return).then(|| vec![T::ZERO; len])
    }
}

/// The sizes of aggregations that have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AggregationSizes {
    /// Heads of [`Aggregation::CrossAttention`].
    pub(super) heads: usize,
    /// Width of the hidden layers of a pair.
    pub(super) pair_hidden: usize,
    /// Linear layers of a pair.
    pub(super) pair_linears: usize,
}

/// An aggregation and its parameters.
#[derive(Debug, Clone)]
pub(super) enum Aggregate {
    Sum { factor: f64 },
    Cross { vectors: Var, linears: [Linear; 4], heads: usize },
    Pairs { pairs: Vec<Vec<Linear>>, score: [Linear; 2], activation: Activation, norm: Norm },
}

/// Outputs of an aggregation.
#[derive(Debug, Clone)]
pub(super) struct Aggregated<T> {
    /// `[rows, width]`.
    pub(super) rows: Var,
    /// Attention weights, where they are kept: `[rows, options]`, or `[rows, networks, networks]` averaged over heads.
    pub(super) weights: Option<Vec<T>>,
}

/// Rows in a task.
const CHUNK_ROWS: usize = 512;

impl Aggregate {
    /// Adds the parameters under `name`.
    #[expect(clippy::too_many_arguments, reason = "what a layer is made of")]
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        networks: &[&str],
        width: usize,
        kind: Aggregation,
        sizes: AggregationSizes,
        (activation, norm): (Activation, NormKind),
        init: &mut Init,
    ) -> Self {
        match kind {
            Aggregation::Sum => Self::Sum { factor: 1.0 },
            Aggregation::Mean => Self::Sum { factor: 1.0 / networks.len() as f64 },
            Aggregation::CrossAttention => Self::Cross {
                vectors: parameters
                    .add(format!("{name}.network_vector"), &[networks.len(), width], || init.normal(0.02)),
                linears: ["query", "key", "value", "output"]
                    .map(|part| Linear::new(parameters, &format!("{name}.{part}"), width, width, init)),
                heads: sizes.heads,
            },
            Aggregation::PairwiseInteraction => {
                let hidden = sizes.pair_hidden;
                let mut pairs = Vec::new();
                for (i, first) in networks.iter().enumerate() {
                    for second in &networks[i..] {
                        let linears = (1..=sizes.pair_linears).map(|at| {
                            let inputs = if at == 1 { 2 * width } else { hidden };
                            let outputs = if at == sizes.pair_linears { width } else { hidden };
                            let name = format!("{name}.pair.{first}+{second}.linear{at}");
                            Linear::new(parameters, &name, inputs, outputs, init)
                        });
                        pairs.push(linears.collect());
                    }
                }
                let score = [
                    Linear::new(parameters, &format!("{name}.score.hidden"), width, hidden, init),
                    Linear::new(parameters, &format!("{name}.score.out"), hidden, 1, init),
                ];
                let norm = Norm::new(parameters, &format!("{name}.norm"), width, norm);
                Self::Pairs { pairs, score, activation, norm }
            }
        }
    }

    /// Records the aggregation of the networks' rows `g`.
    pub(super) fn forward<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        g: &[Var],
        plan: &Arc<LayerPlan>,
        width: usize,
        weights: AggregationWeights,
        dropout: Option<&Dropout>,
    ) -> Aggregated<T> {
        match self {
            Self::Sum { factor } => {
                Aggregated { rows: sum(tape, g, plan, width, T::of(*factor)), weights: None }
            }
            Self::Cross { vectors, linears, heads } => {
                cross(tape, g, plan, (*vectors, *linears, *heads), weights)
            }
            Self::Pairs { pairs, score, activation, norm } => {
                let Aggregated { rows, weights } =
                    pairwise(tape, g, plan, (pairs, *score, *activation), weights, dropout);
                let rows = norm.forward(tape, "aggregate.norm", rows, plan.output.genes());
                Aggregated { rows, weights }
            }
        }
    }
}

fn indexed_rows<'p, T: Scalar>(
    values: Values<'p, T>,
    g: &[Var],
    plan: &'p LayerPlan,
) -> Vec<IndexedRows<'p, T>> {
    let both = g.iter().zip(&plan.gather_indices);
    both.map(|(&g, gather_index)| IndexedRows { rows: values.of(g), index: gather_index }).collect()
}

fn sum<T: Scalar>(tape: &mut Tape<'_, T>, g: &[Var], plan: &Arc<LayerPlan>, width: usize, factor: T) -> Var {
    let (g, plan_forward, plan_backward) = (g.to_vec(), Arc::clone(plan), Arc::clone(plan));
    let vars = g.clone();
    tape.op(
        "aggregate",
        [plan.output.rows(), width],
        |values, out| {
            let indexed_rows = indexed_rows(values, &vars, &plan_forward);
            out.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, out)| {
                for (row, out) in (chunk * CHUNK_ROWS..).zip(out.chunks_exact_mut(width)) {
                    out.fill(T::ZERO);
                    for indexed_rows in &indexed_rows {
                        let from = indexed_rows.index[row] as usize * width;
                        add_to(out, &indexed_rows.rows[from..from + width]);
                    }
                    for out in out.iter_mut() {
                        *out *= factor;
                    }
                }
            });
        },
        move |step, (), gradients| {
            step.gradient.iter_mut().for_each(|gradient| *gradient *= factor);
            let rows = &*step.gradient;
            let readers = row_readers(step.values, &g, &plan_backward, width);
            scatter_gradients(&g, &readers, width, gradients, |_, row| &rows[row * width..(row + 1) * width]);
        },
    )
}

/// By network, the rows of the layer's output that gather each row of the network's output.
fn row_readers<T: Scalar>(
    values: Values<'_, T>,
    g: &[Var],
    plan: &LayerPlan,
    width: usize,
) -> Vec<InverseIndex> {
    let both = g.par_iter().zip(&plan.gather_indices);
    both.map(|(&g, gather_index)| {
        InverseIndex::new(values.of(g).len() / width, (0..).zip(gather_index.iter().copied()))
    })
    .collect()
}

/// Adds to the gradient of each network row the gradients of its readers, in order.
fn scatter_gradients<'r, T: Scalar>(
    g: &[Var],
    readers: &[InverseIndex],
    width: usize,
    gradients: &mut Gradients<T>,
    of: impl Fn(usize, usize) -> &'r [T] + Sync,
) {
    for (network, (&g, readers)) in g.iter().zip(readers).enumerate() {
        gradients.put(g, |sum, store| {
            sum.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, sum)| {
                for (row, sum) in (chunk * CHUNK_ROWS..).zip(sum.chunks_exact_mut(width)) {
                    let readers = readers.of(row);
                    let others = match (store, readers) {
                        (StoreMode::Set, [first, others @ ..]) => {
                            sum.copy_from_slice(of(network, *first as usize));
                            others
                        }
                        (StoreMode::Set, []) => {
                            sum.fill(T::ZERO);
                            readers
                        }
                        (StoreMode::Add, _) => readers,
                    };
                    for &reader in others {
                        add_to(sum, of(network, reader as usize));
                    }
                }
            });
        });
    }
}

fn cross<T: Scalar>(
    tape: &mut Tape<'_, T>,
    g: &[Var],
    plan: &Arc<LayerPlan>,
    (vectors, linears, heads): (Var, [Linear; 4], usize),
    weights: AggregationWeights,
) -> Aggregated<T> {
    fn task<T: Scalar>(
        values: Values<'_, T>,
        (vectors, linears, heads): (Var, [Linear; 4], usize),
    ) -> CrossAttention<'_, T> {
        CrossAttention::new(values.of(vectors), linears.map(|linear| linear.affine(values)), heads)
    }
    let (g, plan_forward, plan_backward) = (g.to_vec(), Arc::clone(plan), Arc::clone(plan));
    let (vars, width, networks) = (g.clone(), linears[0].inputs, g.len());
    let (wanted, mut weights) = (weights, None);
    let rows = tape.op(
        "aggregate",
        [plan.output.rows(), width],
        |values, out| {
            weights = wanted.buffer(plan_forward.output.rows() * networks * networks);
            let task = task(values, (vectors, linears, heads));
            task.forward(&indexed_rows(values, &vars, &plan_forward), out, weights.as_deref_mut());
        },
        move |step, (), gradients| {
            let task = task(step.values, (vectors, linears, heads));
            let pool = step.values.pool();
            let mut gradient = pool.zeros(task.parameter_count());
            let mut d_rows = pool.scratch(plan_backward.output.rows() * networks * width);
            task.backward(
                &indexed_rows(step.values, &g, &plan_backward),
                step.gradient,
                &mut d_rows,
                &mut gradient,
            );
            let linears = linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
            add_parts(&gradient, std::iter::once(vectors).chain(linears), gradients);
            let readers = row_readers(step.values, &g, &plan_backward, width);
            scatter_gradients(&g, &readers, width, gradients, |network, row| {
                &d_rows[(row * networks + network) * width..][..width]
            });
        },
    );
    Aggregated { rows, weights }
}

fn pairwise<T: Scalar>(
    tape: &mut Tape<'_, T>,
    g: &[Var],
    plan: &Arc<LayerPlan>,
    (pairs, score, activation): (&[Vec<Linear>], [Linear; 2], Activation),
    weights: AggregationWeights,
    dropout: Option<&Dropout>,
) -> Aggregated<T> {
    fn task<'t, T: Scalar>(
        values: Values<'t, T>,
        networks: usize,
        (pairs, score, activation): (&[Vec<Linear>], [Linear; 2], Activation),
        dropout: Option<&'t Dropout>,
    ) -> Pairwise<'t, T> {
        let pairs = pairs.iter().map(|linears| linears.iter().map(|linear| linear.affine(values)).collect());
        let score = score.map(|linear| linear.affine(values));
        let mut task = Pairwise::new(networks, pairs.collect(), score, activation);
        task.dropout = dropout.map(Dropout::mask);
        task
    }
    fn rows_of<'v, T: Scalar>(values: Values<'v, T>, g: &[Var]) -> Vec<&'v [T]> {
        g.iter().map(|&g| values.of(g)).collect()
    }
    let (g, plan_forward) = (g.to_vec(), Arc::clone(plan));
    let (vars, width, networks) = (g.clone(), score[0].inputs, g.len());
    let (back_pairs, back_dropout) = (pairs.to_vec(), dropout.cloned());
    let (wanted, mut weights) = (weights, None);
    let rows = tape.op(
        "aggregate",
        [plan.output.rows(), width],
        |values, out| {
            let task = task(values, networks, (pairs, score, activation), dropout);
            weights = wanted.buffer(plan_forward.output.rows() * task.options());
            let indexes: Vec<&[u32]> =
                plan_forward.gather_indices.iter().map(|gather_index| &gather_index[..]).collect();
            let shared_rows = SharedRows::new(&indexes, plan_forward.gene_order());
            let mut log_sum = values.pool().scratch(plan_forward.output.rows());
            let output =
                PairwiseOutput { values: out, log_sum: &mut log_sum, weights: weights.as_deref_mut() };
            task.forward(&rows_of(values, &vars), &shared_rows, output);
            (shared_rows, log_sum)
        },
        move |step, (shared_rows, log_sum), gradients| {
            let task = task(step.values, networks, (&back_pairs, score, activation), back_dropout.as_ref());
            let pool = step.values.pool();
            let mut gradient = pool.zeros(task.parameter_count());
            let mut d_sources = pool.scratch(shared_rows.source_count() * width);
            let forward = (step.output, &log_sum[..]);
            let rows = rows_of(step.values, &g);
            task.backward(&rows, &shared_rows, forward, step.gradient, &mut d_sources, &mut gradient);
            let linears = back_pairs.iter().flatten().chain(&score);
            add_parts(&gradient, linears.flat_map(|linear| [linear.weight, linear.bias]), gradients);
            let readers = (0..networks).into_par_iter().zip(&rows);
            let readers: Vec<InverseIndex> = readers
                .map(|(network, rows)| InverseIndex::new(rows.len() / width, shared_rows.sources(network)))
                .collect();
            scatter_gradients(&g, &readers, width, gradients, |_, source| {
                &d_sources[source * width..][..width]
            });
        },
    );
    Aggregated { rows, weights }
}
