//! What several graphs say of a node, combined pair by pair: a small network for every pair, and a softmax that weighs what they
//! propose.
//!
//! ```text
//! option_ij = pair_ij([g_i ‖ g_j])     for i ≤ j;  the last option is the mean of all g
//! score     = score₂(activation(score₁(option)))
//! y         = Σ softmax(scores) · option
//! ```
//!
//! Nothing of the size rows × options × width is stored: the way back computes a tile of rows again from `y` and the logarithm of
//! the softmax's sum.

use crate::block::{TILE_ROWS, add_in_order, rows_per_group, zeros};
use crate::{Activation, Affine, Buffer, Scalar};
use rayon::prelude::*;

/// Tiles of a group at least: its partial sums are larger than a tile.
const GROUP_TILES: usize = 4;

/// The numbers of the operation.
#[derive(Debug, Clone)]
pub struct Pairwise<'a, T: Scalar> {
    graphs: usize,
    pairs: Vec<Vec<Affine<'a, T>>>,
    score: [Affine<'a, T>; 2],
    /// Between the linear layers of a pair, and of the score.
    pub activation: Activation,
    /// The weights as the fast kernels want them.
    pub(crate) packed: T::PackedPairwise,
}

/// Rows of one graph, and which of them each row of the result reads.
#[derive(Debug, Clone, Copy)]
pub struct Picked<'a, T> {
    /// `[any, width]`.
    pub rows: &'a [T],
    /// One per row of the result.
    pub index: &'a [u32],
}

/// What the way back needs of the way there, row by row.
#[derive(Debug)]
pub struct PairwiseOutput<'a, T> {
    /// y, `[n, width]`.
    pub values: &'a mut [T],
    /// The logarithm of the softmax's sum, `[n]`.
    pub log_sum: &'a mut [T],
    /// The softmax's weights, `[n, options]`, where they are wanted.
    pub weights: Option<&'a mut [T]>,
}

impl<'a, T: Scalar> Pairwise<'a, T> {
    /// `pairs` in the order (0, 0), (0, 1), …, (1, 1), …: the linear layers of each.
    ///
    /// # Panics
    ///
    /// If there are not as many pairs as `graphs` make, or widths do not fit: a bug of the caller.
    pub fn new(
        graphs: usize,
        pairs: Vec<Vec<Affine<'a, T>>>,
        score: [Affine<'a, T>; 2],
        activation: Activation,
    ) -> Self {
        assert_eq!(pairs.len(), graphs * (graphs + 1) / 2, "a network for every pair of {graphs}");
        let width = score[0].inputs();
        for linears in &pairs {
            assert!(
                linears.len() >= 2
                    && linears[0].inputs() == 2 * width
                    && linears[linears.len() - 1].outputs() == width
                    && linears.windows(2).all(|pair| pair[0].outputs() == pair[1].inputs()),
                "a pair's layers lead from 2 x {width} to {width}"
            );
        }
        let packed = T::pack_pairwise(graphs, &pairs, &score);
        Self { graphs, pairs, score, activation, packed }
    }

    /// How many graphs.
    pub fn graphs(&self) -> usize {
        self.graphs
    }

    /// The pairs, each with its two graphs and its linear layers.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, &[Affine<'a, T>])> {
        let both = (0..self.graphs).flat_map(|i| (i..self.graphs).map(move |j| (i, j)));
        both.zip(&self.pairs).map(|((i, j), linears)| (i, j, &linears[..]))
    }

    /// The two layers of the score.
    pub fn score(&self) -> &[Affine<'a, T>; 2] {
        &self.score
    }

    /// Values in a row.
    pub fn width(&self) -> usize {
        self.score[0].inputs()
    }

    /// How many options a row has.
    pub fn options(&self) -> usize {
        self.pairs.len() + 1
    }

    /// Numbers in a gradient: of each linear layer its weight and its bias; pair by pair, then the score.
    pub fn number_count(&self) -> usize {
        self.pairs.iter().flatten().chain(&self.score).map(Affine::number_count).sum()
    }

    /// Combines the rows that `picked` names, one entry per graph.
    pub fn forward(&self, picked: &[Picked<'_, T>], output: PairwiseOutput<'_, T>) {
        let (width, options) = (self.width(), self.options());
        let rows = output.log_sum.len();
        let mut no_weights = vec![[T::ZERO; 0]; rows.div_ceil(TILE_ROWS)];
        let weights: Vec<&mut [T]> = match output.weights {
            Some(weights) => weights.chunks_mut(TILE_ROWS * options).collect(),
            None => no_weights.iter_mut().map(|none| &mut none[..]).collect(),
        };
        let tiles = output
            .values
            .par_chunks_mut(TILE_ROWS * width)
            .zip(output.log_sum.par_chunks_mut(TILE_ROWS))
            .zip(weights);
        tiles.enumerate().for_each_init(
            || T::pool().scratch(self.graphs * TILE_ROWS * width),
            |input, (tile, ((values, log_sum), weights))| {
                let input = gather(picked, tile * TILE_ROWS, log_sum.len(), width, input);
                let weights = (!weights.is_empty()).then_some(weights);
                T::pair_rows(self, input, PairwiseOutput { values, log_sum, weights });
            },
        );
    }

    /// Writes the gradients of what each row read to `d_rows: [n, graphs, width]` and adds those of the parameters to `gradient`; see
    /// [`Pairwise::number_count`].
    pub fn backward(
        &self,
        picked: &[Picked<'_, T>],
        (values, log_sum): (&[T], &[T]),
        upstream: &[T],
        d_rows: &mut [T],
        gradient: &mut [T],
    ) {
        let (width, row) = (self.width(), self.graphs * self.width());
        let group_rows = rows_per_group(log_sum.len(), GROUP_TILES);
        let groups = d_rows.par_chunks_mut(group_rows * row).enumerate();
        let partials: Vec<Buffer<T>> = groups
            .map(|(group, d_rows)| {
                let mut partial = zeros(T::pair_gradient_len(self));
                let mut scratch = [(); 2].map(|()| T::pool().scratch(row * TILE_ROWS));
                for (tile, d_rows) in d_rows.chunks_mut(TILE_ROWS * row).enumerate() {
                    let (first, count) = (group * group_rows + tile * TILE_ROWS, d_rows.len() / row);
                    let [input, d_input] = &mut scratch;
                    let input = gather(picked, first, count, width, input);
                    let d_input = &mut d_input[..count * row];
                    let span = first * width..(first + count) * width;
                    T::pair_rows_backward(
                        self,
                        input,
                        (&values[span.clone()], &log_sum[first..first + count]),
                        &upstream[span],
                        d_input,
                        &mut partial,
                    );
                    for (graph, d_input) in d_input.chunks_exact(count * width).enumerate() {
                        for (d_row, d_input) in d_rows.chunks_exact_mut(row).zip(d_input.chunks_exact(width))
                        {
                            d_row[graph * width..(graph + 1) * width].copy_from_slice(d_input);
                        }
                    }
                }
                partial
            })
            .collect();
        let mut sum = zeros(T::pair_gradient_len(self));
        add_in_order(&partials, &mut sum);
        T::add_pair_gradient(self, &sum, gradient);
    }
}

/// A tile's input `[graphs, count, width]`, from row `first` on.
pub(crate) fn gather<'t, T: Scalar>(
    picked: &[Picked<'_, T>],
    first: usize,
    count: usize,
    width: usize,
    tile: &'t mut [T],
) -> &'t mut [T] {
    let tile = &mut tile[..picked.len() * count * width];
    for (tile, picked) in tile.chunks_exact_mut(count * width).zip(picked) {
        for (row, &index) in tile.chunks_exact_mut(width).zip(&picked.index[first..first + count]) {
            row.copy_from_slice(&picked.rows[index as usize * width..][..width]);
        }
    }
    tile
}
