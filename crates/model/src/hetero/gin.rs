//! One network in one layer: what arrives at each row, through the layers of a graph isomorphism network.

use super::norm::{Norm, NormKind, graph_norm};
use super::plan::{LayerPlan, Listed, Stage};
use super::removed::Removed;
use crate::init::Init;
use crate::layer::{Dropped, Linear, Mlp, activate, drop_from};
use knockout_grad::{Parameters, Tape, Var};
use knockout_kernel::{
    Activation, Buffer, Graph, Pool, Scalar, SpmmTask, Store, SumGradients, Sums, add_in_order,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// `g_i = activation(norm(MLP(Σ over edges j→i, both kept, of x_j + (1 + eps) x_i)))`.
///
/// `x: [rows of the stage before, width]`, `g: [rows that the plan lists, width]`. A deleted gene keeps its own term alone.
#[derive(Debug, Clone)]
pub(super) struct Gin {
    mlp: Mlp,
    eps: Var,
    norm: Norm,
    activation: Activation,
}

/// Partial sums over samples of the gradients of rows that they share: as many for any number of threads, added in order.
pub(super) const SAMPLE_GROUPS: usize = 8;

impl Gin {
    /// Adds `name.gin.linear1` … `name.gin.eps` and `name.norm`.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        widths: &[usize],
        norm: NormKind,
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let linears = widths
            .windows(2)
            .enumerate()
            .map(|(at, pair)| {
                Linear::new(parameters, &format!("{name}.gin.linear{}", at + 1), pair[0], pair[1], init)
            })
            .collect();
        let eps = parameters.add(format!("{name}.gin.eps"), &[1], || 0.0);
        let width = widths[widths.len() - 1];
        let norm = Norm::new(parameters, &format!("{name}.norm"), width, norm);
        // A norm of each row by itself is part of the block; one over all rows has to wait for them.
        let last = if matches!(norm, Norm::Graph(_)) { Activation::None } else { activation };
        let mlp = Mlp { linears, between: activation, norm: norm.of_rows(), last };
        Self { mlp, eps, norm, activation }
    }

    /// Records network `k` of a layer.
    pub(super) fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        (graph, k): (&'a Graph, usize),
        plan: &Arc<LayerPlan>,
        removed: &Arc<Removed>,
        dropped: Option<&Dropped>,
    ) -> Var {
        let (layer, rows, genes) = (self.clone(), plan.networks[k].len(), graph.row_count());
        let arrivals = Arrivals { graph, k, plan: Arc::clone(plan), removed: Arc::clone(removed) };
        let back = arrivals.clone();
        let back_dropped = dropped.cloned();
        let width = self.mlp.inputs();
        let g = tape.op(
            "gin",
            (genes + rows) * self.mlp.outputs(),
            |values, out| {
                let own = T::ONE + values.of(self.eps)[0];
                let sums = arrivals.sums(values.of(x), own, width, values.pool());
                self.mlp.block(values, dropped).forward(&sums, out);
                plan.keeps_sums.then_some(sums)
            },
            move |step, sums, gradients| {
                let own = T::ONE + step.values.of(layer.eps)[0];
                let (x_values, pool) = (step.values.of(x), step.values.pool());
                let sums = sums.unwrap_or_else(|| back.sums(x_values, own, width, pool));
                let block = layer.mlp.block(step.values, back_dropped.as_ref());
                let mut gradient = pool.zeros(block.number_count());
                let mut arrived = pool.scratch((genes + rows) * width);
                block.backward(&sums, step.gradient, &mut arrived, &mut gradient);
                layer.mlp.add(&gradient, gradients);
                let mut d_own = 0.0;
                gradients.add(x, |sum| d_own = back.backward(x_values, own, width, &arrived, sum, pool));
                gradients.add(layer.eps, |sum| sum[0] += T::of(d_own));
            },
        );
        match self.norm {
            Norm::None | Norm::Node(_) => g,
            Norm::Graph(vars) => {
                let normal = graph_norm(tape, "gin.norm", g, vars, genes);
                let values = activate(tape, "gin.activation", normal, self.activation);
                // The block has dropped its own after each of its layers: this is one more.
                let dropped =
                    dropped.map(|dropped| Dropped { site: dropped.site | 1 << 63, ..dropped.clone() });
                drop_from(tape, "gin.dropout", values, self.mlp.outputs(), dropped)
            }
        }
    }
}

/// Rows whose sums are computed together: the rows they read are read often enough to stay in a cache.
const CHUNK_ROWS: usize = 1024;

/// What arrives at the rows of one network.
#[derive(Clone)]
struct Arrivals<'a> {
    graph: &'a Graph,
    k: usize,
    plan: Arc<LayerPlan>,
    removed: Arc<Removed>,
}

impl Arrivals<'_> {
    fn input(&self) -> &Stage {
        &self.plan.input
    }

    fn listed(&self) -> &Listed {
        &self.plan.networks[self.k]
    }

    /// The sums of a sample.
    fn of_sample<T: Scalar>(&self, sample: usize, own: T, width: usize) -> Sums<'_, T> {
        let (matrix, kept) = self.removed.matrix(self.k, sample, self.graph);
        Sums { matrix, kept, place: self.removed.place(self.input(), sample), width, own }
    }

    /// The sums of the wild type, whose rows are where their genes are.
    fn wild_sums<T: Scalar>(&self, own: T, width: usize) -> Sums<'_, T> {
        Sums { matrix: &self.graph.incoming, kept: None, place: self.removed.identity(), width, own }
    }

    /// What arrives at every row of the network.
    fn sums<T: Scalar>(&self, x: &[T], own: T, width: usize, pool: &Pool<T>) -> Buffer<T> {
        let rows = self.graph.row_count() + self.listed().len();
        let mut sums = pool.scratch(rows * width);
        sums.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, to)| {
            let first = chunk * CHUNK_ROWS;
            self.fill(x, own, width, first..first + to.len() / width, to);
        });
        sums
    }

    fn fill<T: Scalar>(&self, x: &[T], own: T, width: usize, rows: Range<usize>, to: &mut [T]) {
        let genes = self.graph.row_count();
        let wild = rows.start.min(genes)..rows.end.min(genes);
        let (head, tail) = to.split_at_mut(wild.len() * width);
        if !wild.is_empty() {
            T::sums(&self.wild_sums(own, width), x, &self.removed.identity()[wild], head);
        }
        let rows = rows.start.max(genes) - genes..rows.end.max(genes) - genes;
        for (sample, part) in self.listed().parts(rows.clone()) {
            let to = &mut tail[(part.start - rows.start) * width..(part.end - rows.start) * width];
            let nodes = self.removed.nodes(sample, &self.listed().genes[part]);
            T::sums(&self.of_sample(sample, own, width), x, &nodes, to);
        }
    }

    /// Adds to the gradient of `x` what the gradients of the sums give; returns that of the own rows' factor.
    fn backward<T: Scalar>(
        &self,
        x: &[T],
        own: T,
        width: usize,
        arrived: &[T],
        sum: &mut [T],
        pool: &Pool<T>,
    ) -> f64 {
        let genes = self.graph.row_count();
        let (of_wild, of_samples) = arrived.split_at(genes * width);
        let (shared, owned) = sum.split_at_mut(genes * width);
        // The wild type's own sums, gathered along the edges' other direction.
        let task = SpmmTask {
            matrix: &self.graph.outgoing,
            width,
            input: of_wild,
            column_weight: None,
            row_weight: None,
        };
        T::spmm(&task, Store::Add, shared);
        let mut d_own = wild_own(&x[..genes * width], of_wild, own, shared);
        let groups = sample_groups(self.input(), owned, width);
        let listed = self.listed();
        let (partials, own_parts): (Vec<Buffer<T>>, Vec<f64>) = groups
            .into_par_iter()
            .map(|(samples, first, owned)| {
                let mut shared = pool.zeros(genes * width);
                let mut d_own = 0.0;
                let mut gradients = SumGradients { shared: &mut shared, own: owned, first: genes + first };
                // Places below `genes` are shared ones; those of this group's samples follow from `first` on.
                for sample in samples {
                    let rows = listed.offsets[sample]..listed.offsets[sample + 1];
                    let nodes = self.removed.nodes(sample, listed.sample(sample));
                    let upstream = &of_samples[rows.start * width..rows.end * width];
                    let task = self.of_sample(sample, own, width);
                    d_own += T::sums_backward(&task, x, &nodes, upstream, &mut gradients);
                }
                (shared, d_own)
            })
            .unzip();
        add_in_order(&partials, shared);
        d_own += own_parts.iter().sum::<f64>();
        d_own
    }
}

/// The own term of the wild type's rows, on the way back.
fn wild_own<T: Scalar>(x: &[T], upstream: &[T], own: T, sum: &mut [T]) -> f64 {
    const CHUNK: usize = 1 << 14;
    let partials: Vec<f64> = sum
        .par_chunks_mut(CHUNK)
        .zip(upstream.par_chunks(CHUNK).zip(x.par_chunks(CHUNK)))
        .map(|(sum, (upstream, x))| {
            let mut d_own = 0.0;
            for ((sum, &upstream), &x) in sum.iter_mut().zip(upstream).zip(x) {
                *sum += own * upstream;
                d_own += (upstream * x).to_f64();
            }
            d_own
        })
        .collect();
    partials.iter().sum()
}

/// The samples in groups, each with the first of its own rows and with these rows' part of `owned`.
pub(super) fn sample_groups<'s, T>(
    stage: &Stage,
    mut owned: &'s mut [T],
    width: usize,
) -> Vec<(Range<usize>, usize, &'s mut [T])> {
    let (count, offsets) = (stage.samples(), &stage.listed.offsets);
    let groups = SAMPLE_GROUPS.min(count);
    (0..groups)
        .map(|group| {
            let samples = count * group / groups..count * (group + 1) / groups;
            let rows = offsets[samples.end] - offsets[samples.start];
            let (part, rest) = std::mem::take(&mut owned).split_at_mut(rows * width);
            owned = rest;
            let first = offsets[samples.start];
            (samples, first, part)
        })
        .collect()
}
