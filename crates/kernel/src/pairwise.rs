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
//! the softmax's sum. A row of a graph that several rows of a tile read is worked on once, and so is a pair of them; see [`Meeting`].

use crate::block::{TILE_ROWS, add_in_order, rows_per_group, zeros};
use crate::{Activation, Affine, Buffer, Meeting, Met, Noise, Scalar};
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
    /// What is dropped between the linear layers of a pair, by row of the result; rows that share what they read have the same key.
    pub noise: Option<Noise<'a>>,
    /// The weights as the fast kernels want them.
    pub(crate) packed: T::PackedPairwise,
}

/// What the way back needs of the way there, row by row.
#[derive(Debug)]
pub struct PairwiseOutput<'a, T> {
    /// y, `[n, width]`.
    pub values: &'a mut [T],
    /// The logarithm of the softmax's sum, `[n]`, in the order of the meeting.
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
        Self { graphs, pairs, score, activation, noise: None, packed }
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

    /// Where noise is after a linear layer of a pair.
    pub(crate) fn site(&self, pair: usize, linear: usize) -> usize {
        linear * self.pairs.len() + pair
    }

    /// The keys of a tile's rows, where there is noise.
    fn keys(&self, meeting: &Meeting, tile: usize) -> Vec<u32> {
        let Some(noise) = self.noise else { return Vec::new() };
        meeting.places(tile).map(|place| noise.row(meeting.row_at(place))).collect()
    }

    fn noise_of<'k>(&self, keys: &'k [u32]) -> Option<Noise<'k>> {
        self.noise.map(|noise| noise.of(keys))
    }

    /// Combines the rows of the graphs that meet, each `[any, width]`; logarithms come as tiles take their rows.
    pub fn forward(&self, graphs: &[&[T]], meeting: &Meeting, output: PairwiseOutput<'_, T>) {
        let (width, options) = (self.width(), self.options());
        let PairwiseOutput { values, log_sum, weights } = output;
        let mut run = |values: &mut [T], weights: Option<&mut [T]>| {
            let mut no_weights = vec![[T::ZERO; 0]; meeting.tile_count()];
            let weights: Vec<&mut [T]> = match weights {
                Some(weights) => weights.chunks_mut(TILE_ROWS * options).collect(),
                None => no_weights.iter_mut().map(|none| &mut none[..]).collect(),
            };
            let tiles =
                values.par_chunks_mut(TILE_ROWS * width).zip(log_sum.par_chunks_mut(TILE_ROWS)).zip(weights);
            tiles.enumerate().for_each_init(
                || T::pool().scratch(self.graphs * TILE_ROWS * width),
                |scratch, (tile, ((values, log_sum), weights))| {
                    let keys = self.keys(meeting, tile);
                    let met =
                        Met { noise: self.noise_of(&keys), ..meeting.tile(tile, graphs, width, scratch) };
                    let weights = (!weights.is_empty()).then_some(weights);
                    T::pair_rows(self, met, PairwiseOutput { values, log_sum, weights });
                },
            );
        };
        meeting.in_order(values, width, |values| match weights {
            Some(weights) => meeting.in_order(weights, options, |weights| run(values, Some(weights))),
            None => run(values, None),
        });
    }

    /// Writes the gradient of every source to `d_sources: [sources of the meeting, width]` and adds those of the parameters to `gradient`; see
    /// [`Pairwise::number_count`].
    pub fn backward(
        &self,
        graphs: &[&[T]],
        meeting: &Meeting,
        (values, log_sum): (&[T], &[T]),
        upstream: &[T],
        mut d_sources: &mut [T],
        gradient: &mut [T],
    ) {
        let width = self.width();
        let group_tiles = rows_per_group(meeting.row_count(), GROUP_TILES) / TILE_ROWS;
        let mut groups = Vec::new();
        for first in (0..meeting.tile_count()).step_by(group_tiles) {
            let tiles = first..meeting.tile_count().min(first + group_tiles);
            let part = d_sources.split_off_mut(..meeting.span(tiles.clone()).len() * width);
            groups.push((tiles, part.unwrap_or_default()));
        }
        let partials: Vec<Buffer<T>> = groups
            .into_par_iter()
            .map(|(tiles, mut d_sources)| {
                let mut partial = zeros(T::pair_gradient_len(self));
                let mut scratch = T::pool().scratch(self.graphs * TILE_ROWS * width);
                for tile in tiles {
                    let keys = self.keys(meeting, tile);
                    let met = meeting.tile(tile, graphs, width, &mut scratch);
                    let met = Met { noise: self.noise_of(&keys), ..met };
                    let places = meeting.places(tile);
                    let span = places.start * width..places.end * width;
                    let [own_values, own_upstream] =
                        [values, upstream].map(|rows| meeting.picked(tile, rows, width));
                    let values = own_values.as_deref().unwrap_or_else(|| &values[span.clone()]);
                    let upstream = own_upstream.as_deref().unwrap_or_else(|| &upstream[span]);
                    let d_rows = d_sources.split_off_mut(..met.rows.len()).unwrap_or_default();
                    T::pair_rows_backward(
                        self,
                        met,
                        (values, &log_sum[places]),
                        upstream,
                        d_rows,
                        &mut partial,
                    );
                }
                partial
            })
            .collect();
        let mut sum = zeros(T::pair_gradient_len(self));
        add_in_order(&partials, &mut sum);
        T::add_pair_gradient(self, &sum, gradient);
    }
}
