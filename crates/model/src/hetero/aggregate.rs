//! One row out of the rows that several networks give.

use super::norm::{Norm, NormKind};
use super::plan::{LayerPlan, Readers};
use crate::init::Init;
use crate::layer::{Dropped, Linear, add_parts, add_to};
use knockout_grad::{Gradients, Parameters, Tape, Values, Var};
use knockout_kernel::{Activation, CrossAttention, Meeting, Pairwise, PairwiseOutput, Picked, Scalar, Store};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a layer combines its networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Attention among the networks of a gene, then the mean.
    CrossAttention,
    /// A small network for every pair, weighted by a softmax.
    #[default]
    PairwiseInteraction,
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

/// What an aggregation gave.
#[derive(Debug, Clone)]
pub(super) struct Aggregated<T> {
    /// `[rows, width]`.
    pub(super) rows: Var,
    /// The weights that were used, where they were asked for: `[rows, options]`, or `[rows, networks, networks]` as a mean over heads.
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
        with_weights: bool,
        dropped: Option<&Dropped>,
    ) -> Aggregated<T> {
        match self {
            Self::Sum { factor } => {
                Aggregated { rows: sum(tape, g, plan, width, T::of(*factor)), weights: None }
            }
            Self::Cross { vectors, linears, heads } => {
                cross(tape, g, plan, (*vectors, *linears, *heads), with_weights)
            }
            Self::Pairs { pairs, score, activation, norm } => {
                let Aggregated { rows, weights } =
                    pairwise(tape, g, plan, (pairs, *score, *activation), with_weights, dropped);
                let rows = norm.forward(tape, "aggregate.norm", rows, plan.output.genes());
                Aggregated { rows, weights }
            }
        }
    }
}

fn picked<'p, T: Scalar>(values: Values<'p, T>, g: &[Var], plan: &'p LayerPlan) -> Vec<Picked<'p, T>> {
    let both = g.iter().zip(&plan.readings);
    both.map(|(&g, reading)| Picked { rows: values.of(g), index: reading }).collect()
}

fn sum<T: Scalar>(tape: &mut Tape<'_, T>, g: &[Var], plan: &Arc<LayerPlan>, width: usize, factor: T) -> Var {
    let (g, there, back) = (g.to_vec(), Arc::clone(plan), Arc::clone(plan));
    let vars = g.clone();
    tape.op(
        "aggregate",
        plan.output.rows() * width,
        |values, out| {
            let picked = picked(values, &vars, &there);
            out.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, out)| {
                for (row, out) in (chunk * CHUNK_ROWS..).zip(out.chunks_exact_mut(width)) {
                    out.fill(T::ZERO);
                    for picked in &picked {
                        let from = picked.index[row] as usize * width;
                        add_to(out, &picked.rows[from..from + width]);
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
            let readers = row_readers(step.values, &g, &back, width);
            pass_back(&g, &readers, width, gradients, |_, row| &rows[row * width..(row + 1) * width]);
        },
    )
}

/// By network, the rows of the layer's output that read each row of its output.
fn row_readers<T: Scalar>(values: Values<'_, T>, g: &[Var], plan: &LayerPlan, width: usize) -> Vec<Readers> {
    let both = g.par_iter().zip(&plan.readings);
    both.map(|(&g, reading)| Readers::new(values.of(g).len() / width, (0..).zip(reading.iter().copied())))
        .collect()
}

/// Adds to each row of every network the gradients of those that read it, in order.
fn pass_back<'r, T: Scalar>(
    g: &[Var],
    readers: &[Readers],
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
                        (Store::Set, [first, others @ ..]) => {
                            sum.copy_from_slice(of(network, *first as usize));
                            others
                        }
                        (Store::Set, []) => {
                            sum.fill(T::ZERO);
                            readers
                        }
                        (Store::Add, _) => readers,
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
    with_weights: bool,
) -> Aggregated<T> {
    fn task<T: Scalar>(
        values: Values<'_, T>,
        (vectors, linears, heads): (Var, [Linear; 4], usize),
    ) -> CrossAttention<'_, T> {
        CrossAttention::new(values.of(vectors), linears.map(|linear| linear.affine(values)), heads)
    }
    let (g, there, back) = (g.to_vec(), Arc::clone(plan), Arc::clone(plan));
    let (vars, width, networks) = (g.clone(), linears[0].inputs, g.len());
    let mut weights = None;
    let rows = tape.op(
        "aggregate",
        plan.output.rows() * width,
        |values, out| {
            weights = with_weights.then(|| vec![T::ZERO; there.output.rows() * networks * networks]);
            let task = task(values, (vectors, linears, heads));
            task.forward(&picked(values, &vars, &there), out, weights.as_deref_mut());
        },
        move |step, (), gradients| {
            let task = task(step.values, (vectors, linears, heads));
            let pool = step.values.pool();
            let mut gradient = pool.zeros(task.number_count());
            let mut d_rows = pool.scratch(back.output.rows() * networks * width);
            task.backward(&picked(step.values, &g, &back), step.gradient, &mut d_rows, &mut gradient);
            let linears = linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
            add_parts(&gradient, std::iter::once(vectors).chain(linears), gradients);
            let readers = row_readers(step.values, &g, &back, width);
            pass_back(&g, &readers, width, gradients, |network, row| {
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
    with_weights: bool,
    dropped: Option<&Dropped>,
) -> Aggregated<T> {
    fn task<'t, T: Scalar>(
        values: Values<'t, T>,
        networks: usize,
        (pairs, score, activation): (&[Vec<Linear>], [Linear; 2], Activation),
        dropped: Option<&'t Dropped>,
    ) -> Pairwise<'t, T> {
        let pairs = pairs.iter().map(|linears| linears.iter().map(|linear| linear.affine(values)).collect());
        let score = score.map(|linear| linear.affine(values));
        let mut task = Pairwise::new(networks, pairs.collect(), score, activation);
        task.noise = dropped.map(Dropped::noise);
        task
    }
    fn rows_of<'v, T: Scalar>(values: Values<'v, T>, g: &[Var]) -> Vec<&'v [T]> {
        g.iter().map(|&g| values.of(g)).collect()
    }
    let (g, there) = (g.to_vec(), Arc::clone(plan));
    let (vars, width, networks) = (g.clone(), score[0].inputs, g.len());
    let (back_pairs, back_dropped) = (pairs.to_vec(), dropped.cloned());
    let mut weights = None;
    let rows = tape.op(
        "aggregate",
        plan.output.rows() * width,
        |values, out| {
            let task = task(values, networks, (pairs, score, activation), dropped);
            weights = with_weights.then(|| vec![T::ZERO; there.output.rows() * task.options()]);
            let indexes: Vec<&[u32]> = there.readings.iter().map(|reading| &reading[..]).collect();
            let meeting = Meeting::new(&indexes, there.by_gene());
            let mut log_sum = values.pool().scratch(there.output.rows());
            let output =
                PairwiseOutput { values: out, log_sum: &mut log_sum, weights: weights.as_deref_mut() };
            task.forward(&rows_of(values, &vars), &meeting, output);
            (meeting, log_sum)
        },
        move |step, (meeting, log_sum), gradients| {
            let task = task(step.values, networks, (&back_pairs, score, activation), back_dropped.as_ref());
            let pool = step.values.pool();
            let mut gradient = pool.zeros(task.number_count());
            let mut d_sources = pool.scratch(meeting.source_count() * width);
            let forward = (step.output, &log_sum[..]);
            let rows = rows_of(step.values, &g);
            task.backward(&rows, &meeting, forward, step.gradient, &mut d_sources, &mut gradient);
            let linears = back_pairs.iter().flatten().chain(&score);
            add_parts(&gradient, linears.flat_map(|linear| [linear.weight, linear.bias]), gradients);
            let readers = (0..networks).into_par_iter().zip(&rows);
            let readers: Vec<Readers> = readers
                .map(|(network, rows)| Readers::new(rows.len() / width, meeting.sources(network)))
                .collect();
            pass_back(&g, &readers, width, gradients, |_, source| &d_sources[source * width..][..width]);
        },
    );
    Aggregated { rows, weights }
}
