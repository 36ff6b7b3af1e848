//! What arrives at the rows of one network from the genes they hear of, and the way back.
//!
//! On the way back every edge would add a row to a row, twice as dear as the sums themselves, and most of it for rows that samples share
//! with the wild type. Where genes are removed by a mark, edges are therefore walked from their other end, as sums. What all cells pass
//! back is added up first, gene by gene, and goes over the wild type's edges at once; then each sample gathers what its own genes sent,
//! adds it to their rows and takes it back from the wild type's:
//!
//! ```text
//! d wild_j   = Σ over i that j sends to of (a_i + Σ over samples s of a_si)  −  Σ over s in which j changed or is deleted of G_sj
//! d own_sj   = G_sj = Σ over i that j sends to of a_si            a: gradients of what arrives, 0 at deleted genes
//! ```
//!
//! A sample lists every gene that its changed or deleted ones send to, so G misses nothing.

use super::plan::{LayerPlan, Listed, Stage};
use super::removed::Removed;
use knockout_kernel::slices::add_to;
use knockout_kernel::{
    Buffer, DROPPED, Graph, Pool, Scalar, SpmmTask, Store, SumGradients, Sums, add_in_order,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Partial sums over samples of the gradients of rows that they share: as many for any number of threads, added in order.
const SAMPLE_GROUPS: usize = 8;

/// Rows whose sums are computed together: the rows they read are read often enough to stay in a cache.
const CHUNK_ROWS: usize = 1024;

/// What arrives at the rows of one network.
#[derive(Clone)]
pub(super) struct Arrivals<'a> {
    graph: &'a Graph,
    k: usize,
    plan: Arc<LayerPlan>,
    removed: Arc<Removed>,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new((graph, k): (&'a Graph, usize), plan: &Arc<LayerPlan>, removed: &Arc<Removed>) -> Self {
        Self { graph, k, plan: Arc::clone(plan), removed: Arc::clone(removed) }
    }

    fn input(&self) -> &Stage {
        &self.plan.input
    }

    fn listed(&self) -> &Listed {
        &self.plan.networks[self.k]
    }

    /// The sums of a sample.
    fn of_sample<T: Scalar>(&self, sample: usize, own: T, width: usize) -> Sums<'_, T> {
        let (matrix, kept) = self.removed.matrix(self.k, sample, self.graph);
        Sums { matrix, kept, place: self.removed.place(self.input(), sample), width, own: Some(own) }
    }

    /// The sums of the wild type, whose rows are where their genes are.
    fn wild_sums<T: Scalar>(&self, own: T, width: usize) -> Sums<'_, T> {
        Sums {
            matrix: &self.graph.incoming,
            kept: None,
            place: self.removed.identity(),
            width,
            own: Some(own),
        }
    }

    /// What arrives at every row of the network.
    pub(super) fn sums<T: Scalar>(&self, x: &[T], own: T, width: usize, pool: &Pool<T>) -> Buffer<T> {
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
    pub(super) fn backward<T: Scalar>(
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
        let in_all = self.removed.is_by_gene().then(|| self.in_all(arrived, width, pool));
        let task = SpmmTask {
            matrix: &self.graph.outgoing,
            width,
            input: in_all.as_deref().unwrap_or(of_wild),
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
                    if in_all.is_some() {
                        d_own += T::own_backward(&task, x, &nodes, upstream, &mut gradients);
                        self.gather(sample, arrived, width, &mut gradients, pool);
                    } else {
                        d_own += T::sums_backward(&task, x, &nodes, upstream, &mut gradients);
                    }
                }
                (shared, d_own)
            })
            .unzip();
        add_in_order(&partials, shared);
        d_own += own_parts.iter().sum::<f64>();
        d_own
    }

    /// What all cells together pass back, gene by gene.
    fn in_all<T: Scalar>(&self, arrived: &[T], width: usize, pool: &Pool<T>) -> Buffer<T> {
        const GENES: usize = 128;
        let (genes, listed) = (self.graph.row_count(), self.listed());
        let mut sum = pool.scratch(genes * width);
        sum.par_chunks_mut(GENES * width).enumerate().for_each(|(chunk, sum)| {
            let first = chunk * GENES;
            let end = first + sum.len() / width;
            sum.copy_from_slice(&arrived[first * width..end * width]);
            for sample in 0..self.input().samples() {
                let (own, place) = (listed.sample(sample), self.input().place(sample));
                let from = own.partition_point(|&gene| (gene as usize) < first);
                for (at, &gene) in own.iter().enumerate().skip(from) {
                    let gene = gene as usize;
                    if gene >= end {
                        break;
                    }
                    if place[gene] & DROPPED == 0 {
                        let row = (genes + listed.offsets[sample] + at) * width;
                        let sum = &mut sum[(gene - first) * width..(gene - first + 1) * width];
                        add_to(sum, &arrived[row..row + width]);
                    }
                }
            }
        });
        sum
    }

    /// Gives a sample's own rows what was passed back to them, and takes it and what was passed to deleted genes from the wild type's.
    fn gather<T: Scalar>(
        &self,
        sample: usize,
        arrived: &[T],
        width: usize,
        gradients: &mut SumGradients<'_, T>,
        pool: &Pool<T>,
    ) {
        let (genes, listed, before) = (self.graph.row_count(), self.listed(), self.input().place(sample));
        // Where the rows of the network are, as `before` says it of those it starts from.
        let mut place = vec![DROPPED; genes];
        for (row, &gene) in (listed.offsets[sample]..).zip(listed.sample(sample)) {
            place[gene as usize] = (genes + row) as u32 | before[gene as usize] & DROPPED;
        }
        let is_own = |&gene: &u32| before[gene as usize] as usize >= genes;
        let nodes: Vec<u32> = (0..genes as u32).filter(is_own).collect();
        let mut found = pool.scratch(nodes.len() * width);
        let task = Sums { matrix: &self.graph.outgoing, kept: None, place: &place, width, own: None };
        T::sums(&task, arrived, &nodes, &mut found);
        for (&gene, found) in nodes.iter().zip(found.chunks_exact(width)) {
            let wild = gradients.row(gene as usize, width);
            wild.iter_mut().zip(found).for_each(|(sum, &value)| *sum -= value);
            let row = before[gene as usize];
            if row & DROPPED == 0 {
                add_to(gradients.row(row as usize, width), found);
            }
        }
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
