//! Pairwise combination of several graphs' rows of a node: a small MLP for every pair of graphs, and a softmax over their outputs.
//!
//! ```text
//! option_ij = pair_ij([g_i ‖ g_j])     for i ≤ j;  the last option is the mean of all g
//! score     = score₂(activation(score₁(option)))
//! y         = Σ softmax(scores) · option
//! ```
//!
//! Nothing of the size rows × options × width is stored: the backward pass recomputes a tile of rows from `y` and the log-sum-exp of the
//! scores. A source row that several output rows of a tile read is processed once, and so is a pair of them; see [`SharedRows`].

use super::block::{TILE_ROWS, reduce_in_order, rows_per_group, zeros};
use crate::kernel::{Activation, Affine, Buffer, DropoutMask, Scalar, SharedRows, SourceTile};
use rayon::prelude::*;

/// Minimum number of tiles in a group: its partial gradient is larger than a tile.
const GROUP_TILES: usize = 4;

/// Parameters of the operation.
#[derive(Debug, Clone)]
pub struct Pairwise<'a, T: Scalar> {
    graphs: usize,
    pairs: Vec<Vec<Affine<'a, T>>>,
    score: [Affine<'a, T>; 2],
    /// Activation between the linear layers of a pair, and of the score.
    pub activation: Activation,
    /// Dropout between the linear layers of a pair, by output row; rows that share a pair of sources must share a key.
    pub dropout: Option<DropoutMask<'a>>,
    /// Weights in the layout of the tile kernels.
    pub(crate) packed: T::PackedPairwise,
}

/// Outputs of the forward pass; the first two are what the backward pass needs.
#[derive(Debug)]
pub struct PairwiseOutput<'a, T> {
    /// y, `[n, width]`.
    pub values: &'a mut [T],
    /// Log-sum-exp of the scores, `[n]`, in tile order.
    pub log_sum: &'a mut [T],
    /// Softmax weights, `[n, options]`, where wanted.
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
        assert_eq!(pairs.len(), graphs * (graphs + 1) / 2, "an MLP for every pair of {graphs}");
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
        Self { graphs, pairs, score, activation, dropout: None, packed }
    }

    /// Number of graphs.
    pub fn graphs(&self) -> usize {
        self.graphs
    }

    /// Iterates over the pairs: two graphs and the linear layers.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, &[Affine<'a, T>])> {
        let both = (0..self.graphs).flat_map(|i| (i..self.graphs).map(move |j| (i, j)));
        both.zip(&self.pairs).map(|((i, j), linears)| (i, j, &linears[..]))
    }

    /// The two linear layers of the score.
    pub fn score(&self) -> &[Affine<'a, T>; 2] {
        &self.score
    }

    /// Values in a row.
    pub fn width(&self) -> usize {
        self.score[0].inputs()
    }

    /// Number of options of a row: one per pair, and the mean.
    pub fn options(&self) -> usize {
        self.pairs.len() + 1
    }

    /// Number of parameters, which is the length of a flat gradient: weight and bias of each linear layer, pair by pair, then the score.
    pub fn parameter_count(&self) -> usize {
        self.pairs.iter().flatten().chain(&self.score).map(Affine::parameter_count).sum()
    }

    /// Dropout site after a linear layer of a pair.
    pub(crate) fn site(&self, pair: usize, linear: usize) -> usize {
        linear * self.pairs.len() + pair
    }

    /// Dropout keys of a tile's rows; none without dropout.
    fn keys(&self, shared_rows: &SharedRows, tile: usize) -> Vec<u32> {
        let Some(dropout) = self.dropout else { return Vec::new() };
        shared_rows.positions(tile).map(|position| dropout.key(shared_rows.row_at(position))).collect()
    }

    fn mask_of<'k>(&self, keys: &'k [u32]) -> Option<DropoutMask<'k>> {
        self.dropout.map(|dropout| dropout.with_keys(keys))
    }

    /// Combines the rows of the graphs, each `[any, width]`.
    pub fn forward(&self, graphs: &[&[T]], shared_rows: &SharedRows, output: PairwiseOutput<'_, T>) {
        let (width, options) = (self.width(), self.options());
        let PairwiseOutput { values, log_sum, weights } = output;
        let mut run = |values: &mut [T], weights: Option<&mut [T]>| {
            let mut no_weights = vec![[T::ZERO; 0]; shared_rows.tile_count()];
            let weights: Vec<&mut [T]> = match weights {
                Some(weights) => weights.chunks_mut(TILE_ROWS * options).collect(),
                None => no_weights.iter_mut().map(|none| &mut none[..]).collect(),
            };
            let tiles =
                values.par_chunks_mut(TILE_ROWS * width).zip(log_sum.par_chunks_mut(TILE_ROWS)).zip(weights);
            tiles.enumerate().for_each_init(
                || T::pool().scratch(self.graphs * TILE_ROWS * width),
                |scratch, (tile, ((values, log_sum), weights))| {
                    let keys = self.keys(shared_rows, tile);
                    let sources = SourceTile {
                        dropout: self.mask_of(&keys),
                        ..shared_rows.tile(tile, graphs, width, scratch)
                    };
                    let weights = (!weights.is_empty()).then_some(weights);
                    T::pair_rows(self, sources, PairwiseOutput { values, log_sum, weights });
                },
            );
        };
        shared_rows.scatter_rows(values, width, |values| match weights {
            Some(weights) => shared_rows.scatter_rows(weights, options, |weights| run(values, Some(weights))),
            None => run(values, None),
        });
    }

    /// Writes the gradient of every source row to `d_sources: [source_count, width]` and adds those of the parameters to `gradient`; see
    /// [`Pairwise::parameter_count`].
    pub fn backward(
        &self,
        graphs: &[&[T]],
        shared_rows: &SharedRows,
        (values, log_sum): (&[T], &[T]),
        upstream: &[T],
        mut d_sources: &mut [T],
        gradient: &mut [T],
    ) {
        let width = self.width();
        let group_tiles = rows_per_group(shared_rows.row_count(), GROUP_TILES) / TILE_ROWS;
        let mut groups = Vec::new();
        for first in (0..shared_rows.tile_count()).step_by(group_tiles) {
            let tiles = first..shared_rows.tile_count().min(first + group_tiles);
            let part = d_sources.split_off_mut(..shared_rows.span(tiles.clone()).len() * width);
            groups.push((tiles, part.unwrap_or_default()));
        }
        let partials: Vec<Buffer<T>> = groups
            .into_par_iter()
            .map(|(tiles, mut d_sources)| {
                let mut partial = zeros(T::pair_gradient_len(self));
                let mut scratch = T::pool().scratch(self.graphs * TILE_ROWS * width);
                for tile in tiles {
                    let keys = self.keys(shared_rows, tile);
                    let sources = shared_rows.tile(tile, graphs, width, &mut scratch);
                    let sources = SourceTile { dropout: self.mask_of(&keys), ..sources };
                    let positions = shared_rows.positions(tile);
                    let span = positions.start * width..positions.end * width;
                    let [own_values, own_upstream] =
                        [values, upstream].map(|rows| shared_rows.gather_rows(tile, rows, width));
                    let values = own_values.as_deref().unwrap_or_else(|| &values[span.clone()]);
                    let upstream = own_upstream.as_deref().unwrap_or_else(|| &upstream[span]);
                    let d_rows = d_sources.split_off_mut(..sources.rows.len()).unwrap_or_default();
                    T::pair_rows_backward(
                        self,
                        sources,
                        (values, &log_sum[positions]),
                        upstream,
                        d_rows,
                        &mut partial,
                    );
                }
                partial
            })
            .collect();
        let mut sum = zeros(T::pair_gradient_len(self));
        reduce_in_order(&partials, &mut sum);
        T::add_pair_gradient(self, &sum, gradient);
    }
}
