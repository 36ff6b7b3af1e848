//! The backward pass of a tile, which recomputes its hidden layers.

use super::PackedPairwise;
use super::pack::PackedPairs;
use super::tile::{DistinctPairs, Tile};
use crate::kernel::simd::gemm::{Epilogue, ProductPart, TileRows, column_sums, gemm, gemm_tn};
use crate::kernel::simd::{math, padded_copy, rowwise, scratch, stride, unpad};
use crate::kernel::{Buffer, DropoutMask, Isa, Pairwise, SourceTile, reference};

/// See [`Pairwise::backward`]; accumulates a gradient that [`super::add_pair_gradient`] turns into the task's.
pub(crate) fn pair_rows_backward(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    sources: SourceTile<'_, f32>,
    (values, log_sum): (&[f32], &[f32]),
    upstream: &[f32],
    d_rows: &mut [f32],
    gradient: &mut [f32],
) {
    let Some(packed) = &packed.0 else {
        return reference::pair_rows_backward(task, sources, (values, log_sum), upstream, d_rows, gradient);
    };
    let (isa, width) = (packed.isa, task.width());
    let wide = stride(isa, width);
    let [rows, values_wide, upstream_wide] =
        [sources.rows, values, upstream].map(|rows| padded_copy(isa, width, rows));
    let upstream = upstream_wide.as_deref().unwrap_or(upstream);
    let dropout = sources.dropout.and_then(|dropout| dropout.after(task.activation));
    let mut all = scratch(log_sum.len());
    rowwise::row_dots(isa, upstream, wide, values_wide.as_deref().unwrap_or(values), 0.0, &mut all);
    let tile = Tile::new(sources, rows.as_deref(), wide, width);
    let given = PairwiseBackward { task, packed, dropout, tile, log_sum, upstream, all };
    if wide == width {
        backward(&given, d_rows, gradient);
    } else {
        let mut d_wide = scratch(d_rows.len() / width * wide);
        backward(&given, &mut d_wide, gradient);
        unpad(&d_wide, wide, width, d_rows);
    }
}

/// Operands of the backward pass of a tile, all rows padded.
struct PairwiseBackward<'a> {
    task: &'a Pairwise<'a, f32>,
    packed: &'a PackedPairs,
    dropout: Option<DropoutMask<'a>>,
    tile: Tile<'a>,
    log_sum: &'a [f32],
    upstream: &'a [f32],
    /// upstream · y, which the softmax subtracts from the gradient of every option's weight.
    all: Buffer<f32>,
}

impl PairwiseBackward<'_> {
    /// The option that is the mean of all graphs; initialises what the pairs add to.
    fn mean(&self, d_rows: &mut [f32], gradient: &mut [f32]) {
        let Self { task, packed, upstream, .. } = self;
        let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
        let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
        let (score, packed_weights, count) = (&packed.score, &packed.weights, self.log_sum.len());
        let [mut mean, mut scaled, mut back] = [(); 3].map(|()| scratch(count * wide));
        let [mut hidden, mut slopes] = [(); 2].map(|()| scratch(count * score_wide));
        let [mut scores, mut weights, mut direct] = [(); 3].map(|()| scratch(count));
        let second = &packed_weights[score.second.clone()];

        self.tile.mean(&mut mean);
        let term = packed.term(&mean, [width, scored], &score.first);
        let bias = &packed_weights[score.first_bias.clone()];
        gemm(isa, &[term], Some(bias), Epilogue::Set, &mut hidden, score_wide);
        math::activate_with_slope(isa, task.activation, &mut hidden, &mut slopes);
        rowwise::row_dots(isa, &hidden, score_wide, second, task.score()[1].bias[0], &mut scores);
        math::exp_shifted(isa, &scores, self.log_sum, &mut weights);
        direct.iter_mut().zip(&*self.all).for_each(|(direct, &all)| *direct = -all);
        let option = rowwise::OptionBackward {
            weights: &weights,
            direct: &direct,
            back: upstream,
            hidden: &mean,
            stride: wide,
            score_hidden: &hidden,
            score: second,
        };
        rowwise::option_backward(
            isa,
            &option,
            &mut slopes,
            &mut gradient[score.second_gradient.clone()],
            &mut scaled,
        );
        let d_score = TileRows { values: &slopes, stride: score_wide, width: scored };
        let (d_first, d_bias) =
            gradient[score.gradient..][..scored * width + scored].split_at_mut(scored * width);
        column_sums(isa, d_score, d_bias);
        gemm_tn(
            isa,
            d_score,
            TileRows { values: &mean, stride: wide, width },
            ProductPart::Whole,
            d_first,
            width,
        );
        let term = packed.term(&slopes, [scored, width], &score.first_back);
        gemm(isa, &[term], None, Epilogue::Set, &mut back, wide);
        rowwise::add_scaled_rows(isa, &mut back, upstream, wide, &weights, 1.0 / task.graphs() as f32);
        d_rows.fill(0.0);
        for graph in 0..task.graphs() {
            let (sources, d_graph) = (&self.tile.sources, &mut d_rows[self.tile.sources.span(graph)]);
            rowwise::scatter_add(isa, (d_graph, sources.local(graph)), &back, wide, None);
        }
    }
}

/// Upstream gradients of a pair's distinct rows: the gradient of a row is `weights · upstream`, that of its score starts with
/// `weights · direct`.
struct Received<'a> {
    upstream: &'a [f32],
    weights: &'a [f32],
    direct: &'a [f32],
}

/// Scratch memory for [`Received`].
struct Collected {
    upstream: Buffer<f32>,
    weights: Buffer<f32>,
    direct: Buffer<f32>,
    factors: Buffer<f32>,
}

impl Collected {
    fn new(count: usize, stride: usize) -> Self {
        let [weights, direct, factors] = [(); 3].map(|()| scratch(count));
        Self { upstream: scratch(count * stride), weights, direct, factors }
    }

    /// A pair that one output row reads receives that row's gradient; one that several read receives their weighted sum, with weight 1.
    fn of<'c>(
        &'c mut self,
        isa: Isa,
        stride: usize,
        distinct: &DistinctPairs,
        rows: Received<'c>,
    ) -> Received<'c> {
        if distinct.is_one_to_one() {
            return rows;
        }
        let upstream = &mut self.upstream[..distinct.count * stride];
        upstream.fill(0.0);
        self.direct[..distinct.count].fill(0.0);
        for (row, &pair_row) in distinct.of_row().iter().enumerate() {
            let pair_row = usize::from(pair_row);
            let is_shared = distinct.readers[pair_row] > 1;
            let (factor, weight) =
                if is_shared { (rows.weights[row], 1.0) } else { (1.0, rows.weights[row]) };
            self.factors[row] = factor;
            self.weights[pair_row] = weight;
            self.direct[pair_row] += factor * rows.direct[row];
        }
        let factors = Some(&self.factors[..distinct.rows]);
        rowwise::scatter_add(isa, (upstream, distinct.of_row()), rows.upstream, stride, factors);
        let (weights, direct) = (&self.weights[..distinct.count], &self.direct[..distinct.count]);
        Received { upstream, weights, direct }
    }
}

/// [`pair_rows_backward`] with all rows padded.
fn backward(given: &PairwiseBackward<'_>, d_rows: &mut [f32], gradient: &mut [f32]) {
    let PairwiseBackward { task, packed, dropout, tile, log_sum, upstream, all } = given;
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, pair_count) = (log_sum.len(), packed.pairs.len());
    let (packed_weights, activation) = (&packed.weights, task.activation);
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let [mut hidden, mut slopes, mut back, mut scaled, mut halves] =
        [(); 5].map(|()| scratch(count * hidden_wide));
    let mut parts = [(); 2].map(|()| scratch(count * hidden_wide));
    let [mut score_hidden, mut score_slopes] = [(); 2].map(|()| scratch(count * score_wide));
    let [mut scores, mut pair_scores, mut weights, mut direct] = [(); 4].map(|()| scratch(count));
    let mut collected = Collected::new(count, wide);
    let (second, constant) = (&packed_weights[packed.score.second.clone()], task.score()[1].bias[0]);

    // upstream · bias of all pairs in one product, and the weights of all pairs for another at the end.
    let pairs_wide = stride(isa, pair_count);
    let (mut by_bias, mut all_weights) = (scratch(count * pairs_wide), scratch(count * pairs_wide));
    all_weights.fill(0.0);
    let term = packed.term(upstream, [width, pair_count], &packed.biases);
    gemm(isa, &[term], None, Epilogue::Set, &mut by_bias, pairs_wide);

    given.mean(d_rows, gradient);

    for (at, ((i, j, _), pair)) in task.pairs().zip(&packed.pairs).enumerate() {
        let distinct = tile.distinct_pairs(i, j);
        let hidden_wide = stride(isa, pair.hidden);
        let [hidden, slopes, back, scaled] = [&mut hidden, &mut slopes, &mut back, &mut scaled]
            .map(|buffer| &mut buffer[..distinct.count * hidden_wide]);
        let [score_hidden, score_slopes] =
            [&mut score_hidden, &mut score_slopes].map(|buffer| &mut buffer[..distinct.count * score_wide]);
        packed.hidden(pair, tile, (i, j), &distinct, &mut parts, hidden);
        math::activate_with_slope(isa, activation, hidden, slopes);
        if let Some(dropout) = dropout {
            distinct.apply_dropout(isa, dropout, task.site(at, 0), [hidden, slopes], hidden_wide);
        }
        packed.composed(pair, scored, hidden, score_hidden);
        math::activate_with_slope(isa, activation, score_hidden, score_slopes);
        rowwise::row_dots(isa, score_hidden, score_wide, second, constant, &mut pair_scores);
        distinct.expand(&pair_scores, &mut scores);
        math::exp_shifted(isa, &scores, log_sum, &mut weights);
        for row in 0..count {
            all_weights[row * pairs_wide + at] = weights[row];
            direct[row] = by_bias[row * pairs_wide + at] - all[row];
        }
        let rows = Received { upstream, weights: &weights, direct: &direct };
        let received = collected.of(isa, wide, &distinct, rows);
        let term = packed.term(received.upstream, [width, pair.hidden], &pair.second_back);
        gemm(isa, &[term], None, Epilogue::Set, back, hidden_wide);
        let option = rowwise::OptionBackward {
            weights: received.weights,
            direct: received.direct,
            back,
            hidden,
            stride: hidden_wide,
            score_hidden,
            score: second,
        };
        let d_second = &mut gradient[packed.score.second_gradient.clone()];
        rowwise::option_backward(isa, &option, score_slopes, d_second, scaled);

        let d_score = TileRows { values: score_slopes, stride: score_wide, width: scored };
        let (d_composed, d_bias) =
            gradient[pair.composed_gradient.clone()].split_at_mut(scored * pair.hidden);
        column_sums(isa, d_score, d_bias);
        let right = TileRows { values: hidden, stride: hidden_wide, width: pair.hidden };
        gemm_tn(isa, d_score, right, ProductPart::Whole, d_composed, pair.hidden);
        let term = packed.term(score_slopes, [scored, pair.hidden], &pair.composed_back);
        gemm(isa, &[term], None, Epilogue::Chain(received.weights, slopes), back, hidden_wide);

        let own = &mut gradient[pair.gradient..];
        let (d_first, own) = own.split_at_mut(pair.hidden * 2 * width);
        let (d_bias, own) = own.split_at_mut(pair.hidden);
        column_sums(isa, TileRows { values: back, stride: hidden_wide, width: pair.hidden }, d_bias);
        let right = TileRows { values: scaled, stride: hidden_wide, width: pair.hidden };
        let left = TileRows { values: received.upstream, stride: wide, width };
        gemm_tn(isa, left, right, ProductPart::Whole, &mut own[..width * pair.hidden], pair.hidden);
        for (graph, half, index) in [(i, 0, distinct.left()), (j, 1, distinct.right())] {
            if half == 1 && i == j {
                continue;
            }
            let sources = tile.source_count(graph);
            let d_half = if sources == distinct.count {
                &*back
            } else {
                let sums = &mut halves[..sources * hidden_wide];
                sums.fill(0.0);
                rowwise::scatter_add(isa, (sums, index), back, hidden_wide, None);
                sums
            };
            let left = TileRows { values: d_half, stride: hidden_wide, width: pair.hidden };
            let right = TileRows { values: tile.sources.graph(graph), stride: wide, width };
            gemm_tn(isa, left, right, ProductPart::Whole, &mut d_first[half * width..], 2 * width);
            let term = packed.term(d_half, [pair.hidden, width], &pair.halves_back[half]);
            gemm(isa, &[term], None, Epilogue::Add, &mut d_rows[tile.sources.span(graph)], wide);
        }
    }
    let left = TileRows { values: &all_weights, stride: pairs_wide, width: pair_count };
    let biases = packed.pairs[0].bias_gradient.start;
    gemm_tn(
        isa,
        left,
        TileRows { values: upstream, stride: wide, width },
        ProductPart::Whole,
        &mut gradient[biases..],
        width,
    );
}
