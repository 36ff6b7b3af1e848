//! A penalty that pulls the attention of one head towards a network.

use super::{AttentionVars, add_scaled, dot};
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::{Csr, DistinctEdges, Graph, Scalar};
use rayon::prelude::*;

/// `mean over genes i with an edge of KL(Ã_i ‖ α_i)` with `Ã_ij = 1 / degree of i` at the distinct edges (i, j) and
/// `α_ij = e^(s_ij − log_sum_i)` the attention of gene i to gene j in one head.
///
/// Only edges count, so only they are computed. Through `log_sum`, which is an output of the attention, the gradient reaches
/// all other pairs: `∂α_ij/∂log_sum_i = −α_ij`, and the backward pass of the attention does the rest.
///
/// Row 0 of the attention is not a gene: gene i is row i + 1. The gene rows of α do not sum to 1, for they also attend to row 0.
#[derive(Debug, Clone)]
pub(crate) struct GraphPenalty {
    outgoing: Csr,
    incoming: Csr,
    /// Ã of the edges of each gene: 1 / its number of distinct edges.
    weight: Vec<f64>,
    genes_with_edges: usize,
    head: usize,
}

/// Added to α in the logarithm.
const EPSILON: f64 = 1e-8;

/// One head of an attention, as the penalty reads it.
struct HeadRows<'a, T> {
    query: &'a [T],
    key: &'a [T],
    log_sum: &'a [T],
    sizes: PenaltySizes,
    scale: T,
}

#[derive(Debug, Clone, Copy)]
struct PenaltySizes {
    width: usize,
    heads: usize,
    head: usize,
}

impl PenaltySizes {
    /// The head's channels of a gene's row.
    fn channels(self) -> std::ops::Range<usize> {
        let width = self.width / self.heads;
        self.head * width..(self.head + 1) * width
    }
}

impl<T: Scalar> HeadRows<'_, T> {
    fn of<'r>(&self, rows: &'r [T], gene: usize) -> &'r [T] {
        &rows[(gene + 1) * self.sizes.width..][self.sizes.channels()]
    }

    /// Attention `α_ij` of gene i to gene j.
    fn attention(&self, i: usize, j: usize) -> T {
        let score = dot(self.of(self.query, i), self.of(self.key, j)) * self.scale;
        (score - self.log_sum[(i + 1) * self.sizes.heads + self.sizes.head]).exp()
    }

    /// `α_ij / (α_ij + ε)`: −∂ log(α + ε) / ∂s, but for its sign.
    fn slope(&self, i: usize, j: usize) -> T {
        let attention = self.attention(i, j);
        attention / (attention + T::of(EPSILON))
    }
}

impl GraphPenalty {
    /// The penalty of a network on one head; `None` for a network without an edge.
    pub(crate) fn new(graph: &Graph, head: usize) -> Option<Self> {
        let DistinctEdges { outgoing, incoming, .. } = DistinctEdges::of(graph);
        let degree = |gene| outgoing.degree(gene);
        let weight: Vec<f64> =
            (0..outgoing.row_count()).map(|gene| 1.0 / degree(gene).max(1) as f64).collect();
        let genes_with_edges = (0..outgoing.row_count()).filter(|&gene| degree(gene) > 0).count();
        (genes_with_edges > 0).then_some(Self { outgoing, incoming, weight, genes_with_edges, head })
    }

    /// Records the penalty: one value.
    pub(crate) fn forward<'a, T: Scalar>(
        &'a self,
        tape: &mut Tape<'a, T>,
        vars: AttentionVars,
        width: usize,
        heads: usize,
    ) -> Var {
        let sizes = PenaltySizes { width, heads, head: self.head };
        let scale = T::of(1.0 / ((width / heads) as f64).sqrt());
        let AttentionVars { query, key, attended } = vars;
        let rows = tape.value(query).len();
        tape.op(
            "loss.graph_penalty",
            1,
            |values, out| {
                let log_sum = &values.of(attended)[rows..];
                let head = HeadRows { query: values.of(query), key: values.of(key), log_sum, sizes, scale };
                let genes: Vec<f64> = (0..self.outgoing.row_count())
                    .into_par_iter()
                    .map(|gene| {
                        let weight = self.weight[gene];
                        let terms = self.outgoing.row(gene).map(|to| {
                            weight * (weight.ln() - (head.attention(gene, to) + T::of(EPSILON)).ln().to_f64())
                        });
                        terms.sum()
                    })
                    .collect();
                out[0] = T::of(genes.iter().sum::<f64>() / self.genes_with_edges as f64);
            },
            move |step, (), gradients| {
                let values = step.values;
                let log_sum = &values.of(attended)[rows..];
                let head = HeadRows { query: values.of(query), key: values.of(key), log_sum, sizes, scale };
                let factor = step.gradient[0] / T::of(self.genes_with_edges as f64);
                // ∂/∂s_ij of the mean, without its sign.
                let slope = |from: usize, to: usize| factor * T::of(self.weight[from]) * head.slope(from, to);
                gradients.add(attended, |sum| {
                    let sums = sum[rows..].par_chunks_mut(heads).skip(1).enumerate();
                    sums.for_each(|(gene, sum)| {
                        sum[sizes.head] += self.outgoing.row(gene).map(|to| slope(gene, to)).sum::<T>();
                    });
                });
                gradients.add(query, |sum| {
                    sum.par_chunks_mut(width).skip(1).enumerate().for_each(|(gene, sum)| {
                        for to in self.outgoing.row(gene) {
                            let other = head.of(head.key, to);
                            add_scaled(&mut sum[sizes.channels()], -slope(gene, to) * scale, other);
                        }
                    });
                });
                gradients.add(key, |sum| {
                    sum.par_chunks_mut(width).skip(1).enumerate().for_each(|(gene, sum)| {
                        for from in self.incoming.row(gene) {
                            let other = head.of(head.query, from);
                            add_scaled(&mut sum[sizes.channels()], -slope(from, gene) * scale, other);
                        }
                    });
                });
            },
        )
    }
}
