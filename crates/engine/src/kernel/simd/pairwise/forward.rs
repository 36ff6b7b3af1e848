//! The forward pass of a tile.

use super::PackedPairwise;
use super::tile::Tile;
use crate::kernel::simd::gemm::{Epilogue, gemm};
use crate::kernel::simd::{math, padded_copy, rowwise, scratch, stride, unpad};
use crate::kernel::{Pairwise, PairwiseOutput, SourceTile, reference};

/// How far a score may rise above its row's shift before the shift is raised.
const RISE: f32 = 30.0;

/// See [`Pairwise::forward`].
///
/// The softmax is computed online: the sums are of e^(score − shift), where the shift of a row is the score of its mean until a score is far
/// above it.
pub(crate) fn pair_rows(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    sources: SourceTile<'_, f32>,
    output: PairwiseOutput<'_, f32>,
) {
    let Some(packed) = &packed.0 else {
        return reference::pair_rows(task, sources, output);
    };
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, options) = (output.log_sum.len(), task.options());
    let dropout = sources.dropout.and_then(|dropout| dropout.after(task.activation));
    let padded = padded_copy(isa, width, sources.rows);
    let tile = Tile::new(sources, padded.as_deref(), wide, width);
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let (mut hidden, mut score_hidden) = (scratch(count * hidden_wide), scratch(count * score_wide));
    let mut parts = [(); 2].map(|()| scratch(count * hidden_wide));
    let [mut y, mut proposed] = [(); 2].map(|()| scratch(count * wide));
    let [mut scores, mut pair_scores, mut shift, mut total] = [(); 4].map(|()| scratch(count));
    // `[options, rows]`.
    let mut weights = scratch(options * count);
    let packed_weights = &packed.weights;
    let (second, constant) = (&packed_weights[packed.score.second.clone()], task.score()[1].bias[0]);

    tile.mean(&mut y);
    let term = packed.term(&y, [width, scored], &packed.score.first);
    let bias = &packed_weights[packed.score.first_bias.clone()];
    gemm(isa, &[term], Some(bias), Epilogue::Set, &mut score_hidden, score_wide);
    math::activate(isa, task.activation, &mut score_hidden);
    rowwise::row_dots(isa, &score_hidden, score_wide, second, constant, &mut shift);
    weights[(options - 1) * count..].fill(1.0);
    total.fill(1.0);

    for (at, ((i, j, _), pair)) in task.pairs().zip(&packed.pairs).enumerate() {
        let distinct = tile.distinct_pairs(i, j);
        let hidden = &mut hidden[..distinct.count * stride(isa, pair.hidden)];
        let score_hidden = &mut score_hidden[..distinct.count * score_wide];
        packed.hidden(pair, &tile, (i, j), &distinct, &mut parts, hidden);
        math::activate(isa, task.activation, hidden);
        if let Some(dropout) = &dropout {
            distinct.apply_dropout(isa, dropout, task.site(at, 0), [hidden], stride(isa, pair.hidden));
        }
        packed.composed(pair, scored, hidden, score_hidden);
        math::activate(isa, task.activation, score_hidden);
        rowwise::row_dots(isa, score_hidden, score_wide, second, constant, &mut pair_scores);
        distinct.expand(&pair_scores, &mut scores);
        for row in 0..count {
            if scores[row] - shift[row] > RISE {
                let fall = math::exp2::<false>(shift[row] - scores[row], std::f32::consts::LOG2_E);
                shift[row] = scores[row];
                total[row] *= fall;
                y[row * wide..(row + 1) * wide].iter_mut().for_each(|value| *value *= fall);
                weights[row..].iter_mut().step_by(count).take(at).for_each(|weight| *weight *= fall);
                weights[(options - 1) * count + row] *= fall;
            }
        }
        let weights = &mut weights[at * count..(at + 1) * count];
        math::exp_shifted(isa, &scores, &shift, weights);
        total.iter_mut().zip(&*weights).for_each(|(total, &weight)| *total += weight);
        let term = packed.term(hidden, [pair.hidden, width], &pair.second);
        let bias = Some(&packed_weights[pair.second_bias.clone()]);
        if distinct.is_one_to_one() {
            gemm(isa, &[term], bias, Epilogue::AddScaled(weights), &mut y, wide);
        } else {
            let proposed = &mut proposed[..distinct.count * wide];
            gemm(isa, &[term], bias, Epilogue::Set, proposed, wide);
            rowwise::add_gathered(isa, &mut y, (proposed, distinct.of_row()), wide, weights);
        }
    }

    for row in 0..count {
        output.log_sum[row] = shift[row] + total[row].ln();
        total[row] = 1.0 / total[row];
        y[row * wide..(row + 1) * wide].iter_mut().for_each(|value| *value *= total[row]);
    }
    unpad(&y, wide, width, output.values);
    if let Some(out) = output.weights {
        for (row, out) in out.chunks_exact_mut(options).enumerate() {
            for (option, out) in out.iter_mut().enumerate() {
                *out = weights[option * count + row] * total[row];
            }
        }
    }
}
