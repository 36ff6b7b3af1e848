//! Combination of several graphs' rows of a node by attention among the graphs.
//!
//! ```text
//! t_k  = g_k + vector_k                                 one token per graph
//! a_kl = softmax over l of q_k · k_l / √(width / heads)   head by head; q, k, v are linear in t
//! y    = mean over k of output(concat over heads of Σ_l a_kl v_l)
//! ```
//!
//! Mean and output layer commute, both being linear: the tokens are averaged first and one row goes through the layer.

use super::block::{TILE_ROWS, reduce_in_order, rows_per_group, zeros};
use crate::kernel::flops;
use crate::kernel::slices::{add_scaled, dot, softmax};
use crate::kernel::{Activation, Affine, Block, Buffer, Scalar};
use rayon::prelude::*;

/// Parameters of the operation.
#[derive(Debug, Clone)]
pub struct CrossAttention<'a, T: Scalar> {
    /// One vector per graph, `[graphs, width]`.
    vectors: &'a [T],
    /// Query, key, value and output layer.
    linears: [Block<'a, T>; 4],
    heads: usize,
}

/// Rows of one graph, and which of them each output row reads.
#[derive(Debug, Clone, Copy)]
pub struct IndexedRows<'a, T> {
    /// `[any, width]`.
    pub rows: &'a [T],
    /// Row of the graph for each output row.
    pub index: &'a [u32],
}

/// Intermediate values of a tile: `[n, graphs, width]`, weights `[n, heads, graphs, graphs]`.
struct AttentionTile<T> {
    tokens: Vec<T>,
    query: Vec<T>,
    key: Vec<T>,
    value: Vec<T>,
    weights: Vec<T>,
    /// Attention output averaged over tokens, `[n, width]`.
    mixed: Vec<T>,
}

impl<'a, T: Scalar> CrossAttention<'a, T> {
    /// `linears`: query, key, value and output, each from `width` to `width`.
    ///
    /// # Panics
    ///
    /// If widths do not fit: a bug of the caller.
    pub fn new(vectors: &'a [T], linears: [Affine<'a, T>; 4], heads: usize) -> Self {
        let width = linears[0].inputs();
        assert!(
            width.is_multiple_of(heads) && vectors.len().is_multiple_of(width),
            "{heads} heads in {width}"
        );
        let linears =
            linears.map(|linear| Block::new(vec![linear], Activation::None, None, Activation::None));
        Self { vectors, linears, heads }
    }

    /// Values in a row.
    pub fn width(&self) -> usize {
        self.linears[0].inputs()
    }

    /// Number of graphs.
    pub fn graphs(&self) -> usize {
        self.vectors.len() / self.width()
    }

    /// Number of parameters, which is the length of a flat gradient: the vectors, then weight and bias of each linear layer.
    pub fn parameter_count(&self) -> usize {
        self.vectors.len() + self.linears.iter().map(Block::parameter_count).sum::<usize>()
    }

    /// Combines the indexed rows, one entry per graph, to `output: [n, width]`; `weights: [n, graphs, graphs]` become the mean over heads, where
    /// wanted.
    pub fn forward(&self, inputs: &[IndexedRows<'_, T>], output: &mut [T], weights: Option<&mut [T]>) {
        let (width, pairs) = (self.width(), self.graphs() * self.graphs());
        let tile = |tile: usize, output: &mut [T], weights: Option<&mut [T]>| {
            let count = output.len() / width;
            let saved = self.tile(inputs, tile * TILE_ROWS, count);
            T::block_rows(&self.linears[3], None, &saved.mixed, output);
            let Some(weights) = weights else { return };
            let share = T::of(1.0 / self.heads as f64);
            weights.fill(T::ZERO);
            for (weights, heads) in
                weights.chunks_exact_mut(pairs).zip(saved.weights.chunks_exact(pairs * self.heads))
            {
                for (at, &weight) in heads.iter().enumerate() {
                    weights[at % pairs] += share * weight;
                }
            }
        };
        let tiles = output.par_chunks_mut(TILE_ROWS * width).enumerate();
        match weights {
            None => tiles.for_each(|(at, output)| tile(at, output, None)),
            Some(weights) => tiles
                .zip(weights.par_chunks_mut(TILE_ROWS * pairs))
                .for_each(|((at, output), weights)| tile(at, output, Some(weights))),
        }
    }

    /// Writes the gradients of the rows read to `d_rows: [n, graphs, width]` and adds those of the parameters to `gradient`; see
    /// [`CrossAttention::parameter_count`].
    pub fn backward(
        &self,
        inputs: &[IndexedRows<'_, T>],
        upstream: &[T],
        d_rows: &mut [T],
        gradient: &mut [T],
    ) {
        let (width, row) = (self.width(), self.vectors.len());
        let group_rows = rows_per_group(upstream.len() / width, 1);
        let partials: Vec<Buffer<T>> = d_rows
            .par_chunks_mut(group_rows * row)
            .enumerate()
            .map(|(group, d_rows)| {
                let mut partial = zeros(self.parameter_count());
                for (tile, d_rows) in d_rows.chunks_mut(TILE_ROWS * row).enumerate() {
                    let (first, count) = (group * group_rows + tile * TILE_ROWS, d_rows.len() / row);
                    let upstream = &upstream[first * width..(first + count) * width];
                    self.tile_backward(&self.tile(inputs, first, count), upstream, d_rows, &mut partial);
                }
                partial
            })
            .collect();
        reduce_in_order(&partials, gradient);
    }

    fn tile(&self, inputs: &[IndexedRows<'_, T>], first: usize, count: usize) -> AttentionTile<T> {
        let (width, graphs, row) = (self.width(), self.graphs(), self.vectors.len());
        let mut tokens = vec![T::ZERO; count * row];
        for (graph, inputs) in inputs.iter().enumerate() {
            let vector = &self.vectors[graph * width..(graph + 1) * width];
            for (tokens, &from) in tokens.chunks_exact_mut(row).zip(&inputs.index[first..first + count]) {
                let token = &mut tokens[graph * width..(graph + 1) * width];
                let values = &inputs.rows[from as usize * width..][..width];
                for ((token, &value), &vector) in token.iter_mut().zip(values).zip(vector) {
                    *token = value + vector;
                }
            }
        }
        let linear = |at: usize| {
            let mut out = vec![T::ZERO; count * row];
            T::block_rows(&self.linears[at], None, &tokens, &mut out);
            out
        };
        let (query, key, value) = (linear(0), linear(1), linear(2));
        // Scores, and the values that their weights sum.
        flops::count(2 * 2 * count * graphs * row);
        let mut weights = vec![T::ZERO; count * self.heads * graphs * graphs];
        let mut mixed = vec![T::ZERO; count * width];
        let (scale, share) = (self.scale(), T::of(1.0 / graphs as f64));
        for (at, (weights, mixed)) in weights
            .chunks_exact_mut(self.heads * graphs * graphs)
            .zip(mixed.chunks_exact_mut(width))
            .enumerate()
        {
            let of =
                |values: &'_ [T], graph: usize, head: usize| self.channels(at, graph, head, values.len());
            for (head, weights) in weights.chunks_exact_mut(graphs * graphs).enumerate() {
                for (k, weights) in weights.chunks_exact_mut(graphs).enumerate() {
                    let q = &query[of(&query, k, head)];
                    for (l, weight) in weights.iter_mut().enumerate() {
                        *weight = dot(q, &key[of(&key, l, head)]) * scale;
                    }
                    softmax(weights);
                    for (l, &weight) in weights.iter().enumerate() {
                        let mixed = &mut mixed[head * self.head_width()..(head + 1) * self.head_width()];
                        for (mixed, &value) in mixed.iter_mut().zip(&value[of(&value, l, head)]) {
                            *mixed += share * weight * value;
                        }
                    }
                }
            }
        }
        AttentionTile { tokens, query, key, value, weights, mixed }
    }

    fn tile_backward(&self, saved: &AttentionTile<T>, upstream: &[T], d_rows: &mut [T], gradient: &mut [T]) {
        let (width, graphs) = (self.width(), self.graphs());
        let (d_vectors, rest) = gradient.split_at_mut(self.vectors.len());
        let size = self.linears[0].parameter_count();
        let mut d_mixed = vec![T::ZERO; saved.mixed.len()];
        T::block_rows_backward(
            &self.linears[3],
            None,
            &saved.mixed,
            upstream,
            &mut d_mixed,
            &mut rest[3 * size..],
        );
        let [mut d_query, mut d_key, mut d_value] = [(); 3].map(|()| vec![T::ZERO; saved.tokens.len()]);
        let (scale, share) = (self.scale(), T::of(1.0 / graphs as f64));
        // The gradients of weights, values, queries and keys.
        flops::count(4 * 2 * graphs * saved.tokens.len());
        let mut d_weights = vec![T::ZERO; graphs];
        let head_weights = saved.weights.chunks_exact(self.heads * graphs * graphs);
        for (at, (weights, d_mixed)) in head_weights.zip(d_mixed.chunks_exact(width)).enumerate() {
            let of = |graph: usize, head: usize| self.channels(at, graph, head, saved.tokens.len());
            for (head, weights) in weights.chunks_exact(graphs * graphs).enumerate() {
                let d_mixed = &d_mixed[head * self.head_width()..(head + 1) * self.head_width()];
                for (k, weights) in weights.chunks_exact(graphs).enumerate() {
                    for (l, (d_weight, &weight)) in d_weights.iter_mut().zip(weights).enumerate() {
                        *d_weight = share * dot(d_mixed, &saved.value[of(l, head)]);
                        add_scaled(&mut d_value[of(l, head)], share * weight, d_mixed);
                    }
                    let mean = dot(weights, &d_weights);
                    for (l, (&d_weight, &weight)) in d_weights.iter().zip(weights).enumerate() {
                        let d_score = weight * (d_weight - mean) * scale;
                        add_scaled(&mut d_query[of(k, head)], d_score, &saved.key[of(l, head)]);
                        add_scaled(&mut d_key[of(l, head)], d_score, &saved.query[of(k, head)]);
                    }
                }
            }
        }
        let mut back = vec![T::ZERO; saved.tokens.len()];
        d_rows.fill(T::ZERO);
        for (at, upstream) in [d_query, d_key, d_value].iter().enumerate() {
            let gradient = &mut rest[at * size..(at + 1) * size];
            T::block_rows_backward(&self.linears[at], None, &saved.tokens, upstream, &mut back, gradient);
            add_scaled(d_rows, T::ONE, &back);
        }
        for row in d_rows.chunks_exact(d_vectors.len()) {
            add_scaled(d_vectors, T::ONE, row);
        }
    }

    fn head_width(&self) -> usize {
        self.width() / self.heads
    }

    fn scale(&self) -> T {
        T::of(1.0 / (self.head_width() as f64).sqrt())
    }

    /// Range of a node's graph and head in `[n, graphs, width]`.
    fn channels(&self, node: usize, graph: usize, head: usize, len: usize) -> std::ops::Range<usize> {
        let start = (node * self.graphs() + graph) * self.width() + head * self.head_width();
        debug_assert!(start < len, "a head within the tile");
        start..start + self.head_width()
    }
}
