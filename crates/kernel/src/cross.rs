//! What several graphs say of a node, combined by attention among them.
//!
//! ```text
//! t_k  = g_k + vector_k                                 one token per graph
//! a_kl = softmax over l of q_k · k_l / √(width / heads)   head by head; q, k, v are linear in t
//! y    = mean over k of output(concat over heads of Σ_l a_kl v_l)
//! ```
//!
//! The mean and the output layer change places: both are linear, so the tokens are averaged first and one row goes through.

use crate::block::{TILE_ROWS, add_in_order, rows_per_group, zeros};
use crate::slices::{add_scaled, dot, softmax};
use crate::{Activation, Affine, Block, Buffer, Scalar};
use rayon::prelude::*;

/// The numbers of the operation.
#[derive(Debug, Clone)]
pub struct CrossAttention<'a, T: Scalar> {
    /// `[graphs, width]`.
    vectors: &'a [T],
    /// Query, key, value, output.
    linears: [Block<'a, T>; 4],
    heads: usize,
}

/// Rows of one graph, and which of them each row of the result reads.
#[derive(Debug, Clone, Copy)]
pub struct Picked<'a, T> {
    /// `[any, width]`.
    pub rows: &'a [T],
    /// One per row of the result.
    pub index: &'a [u32],
}

/// What a tile computes on its way there, node by node: `[n, graphs, width]`, weights `[n, heads, graphs, graphs]`.
struct Tile<T> {
    tokens: Vec<T>,
    query: Vec<T>,
    key: Vec<T>,
    value: Vec<T>,
    weights: Vec<T>,
    /// The mean over tokens of what is attended to, `[n, width]`.
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

    /// How many graphs.
    pub fn graphs(&self) -> usize {
        self.vectors.len() / self.width()
    }

    /// Numbers in a gradient: the vectors, then of each linear layer its weight and its bias.
    pub fn number_count(&self) -> usize {
        self.vectors.len() + self.linears.iter().map(Block::number_count).sum::<usize>()
    }

    /// Combines the rows that `picked` names, one entry per graph, to `output: [n, width]`; `weights: [n, graphs, graphs]` become the mean
    /// over heads, where they are wanted.
    pub fn forward(&self, picked: &[Picked<'_, T>], output: &mut [T], weights: Option<&mut [T]>) {
        let (width, pairs) = (self.width(), self.graphs() * self.graphs());
        let tile = |tile: usize, output: &mut [T], weights: Option<&mut [T]>| {
            let count = output.len() / width;
            let there = self.tile(picked, tile * TILE_ROWS, count);
            T::block_rows(&self.linears[3], None, &there.mixed, output);
            let Some(weights) = weights else { return };
            let share = T::of(1.0 / self.heads as f64);
            weights.fill(T::ZERO);
            for (weights, heads) in
                weights.chunks_exact_mut(pairs).zip(there.weights.chunks_exact(pairs * self.heads))
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

    /// Writes the gradients of what each row read to `d_rows: [n, graphs, width]` and adds those of the parameters to `gradient`; see
    /// [`CrossAttention::number_count`].
    pub fn backward(&self, picked: &[Picked<'_, T>], upstream: &[T], d_rows: &mut [T], gradient: &mut [T]) {
        let (width, row) = (self.width(), self.vectors.len());
        let group_rows = rows_per_group(upstream.len() / width, 1);
        let partials: Vec<Buffer<T>> = d_rows
            .par_chunks_mut(group_rows * row)
            .enumerate()
            .map(|(group, d_rows)| {
                let mut partial = zeros(self.number_count());
                for (tile, d_rows) in d_rows.chunks_mut(TILE_ROWS * row).enumerate() {
                    let (first, count) = (group * group_rows + tile * TILE_ROWS, d_rows.len() / row);
                    let upstream = &upstream[first * width..(first + count) * width];
                    self.tile_backward(&self.tile(picked, first, count), upstream, d_rows, &mut partial);
                }
                partial
            })
            .collect();
        add_in_order(&partials, gradient);
    }

    fn tile(&self, picked: &[Picked<'_, T>], first: usize, count: usize) -> Tile<T> {
        let (width, graphs, row) = (self.width(), self.graphs(), self.vectors.len());
        let mut tokens = vec![T::ZERO; count * row];
        for (graph, picked) in picked.iter().enumerate() {
            let vector = &self.vectors[graph * width..(graph + 1) * width];
            for (tokens, &from) in tokens.chunks_exact_mut(row).zip(&picked.index[first..first + count]) {
                let token = &mut tokens[graph * width..(graph + 1) * width];
                let values = &picked.rows[from as usize * width..][..width];
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
        Tile { tokens, query, key, value, weights, mixed }
    }

    fn tile_backward(&self, there: &Tile<T>, upstream: &[T], d_rows: &mut [T], gradient: &mut [T]) {
        let (width, graphs) = (self.width(), self.graphs());
        let (d_vectors, rest) = gradient.split_at_mut(self.vectors.len());
        let size = self.linears[0].number_count();
        let mut d_mixed = vec![T::ZERO; there.mixed.len()];
        T::block_rows_backward(
            &self.linears[3],
            None,
            &there.mixed,
            upstream,
            &mut d_mixed,
            &mut rest[3 * size..],
        );
        let [mut d_query, mut d_key, mut d_value] = [(); 3].map(|()| vec![T::ZERO; there.tokens.len()]);
        let (scale, share) = (self.scale(), T::of(1.0 / graphs as f64));
        let mut d_weights = vec![T::ZERO; graphs];
        let head_weights = there.weights.chunks_exact(self.heads * graphs * graphs);
        for (at, (weights, d_mixed)) in head_weights.zip(d_mixed.chunks_exact(width)).enumerate() {
            let of = |graph: usize, head: usize| self.channels(at, graph, head, there.tokens.len());
            for (head, weights) in weights.chunks_exact(graphs * graphs).enumerate() {
                let d_mixed = &d_mixed[head * self.head_width()..(head + 1) * self.head_width()];
                for (k, weights) in weights.chunks_exact(graphs).enumerate() {
                    for (l, (d_weight, &weight)) in d_weights.iter_mut().zip(weights).enumerate() {
                        *d_weight = share * dot(d_mixed, &there.value[of(l, head)]);
                        add_scaled(&mut d_value[of(l, head)], share * weight, d_mixed);
                    }
                    let mean = dot(weights, &d_weights);
                    for (l, (&d_weight, &weight)) in d_weights.iter().zip(weights).enumerate() {
                        let d_score = weight * (d_weight - mean) * scale;
                        add_scaled(&mut d_query[of(k, head)], d_score, &there.key[of(l, head)]);
                        add_scaled(&mut d_key[of(l, head)], d_score, &there.query[of(k, head)]);
                    }
                }
            }
        }
        let mut back = vec![T::ZERO; there.tokens.len()];
        d_rows.fill(T::ZERO);
        for (at, upstream) in [d_query, d_key, d_value].iter().enumerate() {
            let gradient = &mut rest[at * size..(at + 1) * size];
            T::block_rows_backward(&self.linears[at], None, &there.tokens, upstream, &mut back, gradient);
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

    /// The channels of a node's graph and head in `[n, graphs, width]`.
    fn channels(&self, node: usize, graph: usize, head: usize, len: usize) -> std::ops::Range<usize> {
        let start = (node * self.graphs() + graph) * self.width() + head * self.head_width();
        debug_assert!(start < len, "a head of a node that is there");
        start..start + self.head_width()
    }
}
