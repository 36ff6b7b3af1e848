//! Attention on tiles: rows to all rows in one head, with a running maximum.
//!
//! In the forward pass the lanes are queries: scores of a few keys by 64 queries are a product of rows of k with packed q, maxima and sums
//! need no shuffles, and what the weights add is an outer product with rows of v. In the backward pass the lanes are keys, because
//! then only one of five products (the gradient of q) is as narrow as a head. Scores are in units of log 2, so that a weight is a power of two.

use super::gemm::{Epilogue, Operand, Part, Rows, gemm, gemm_tn, pack};
use super::isa::{Isa, for_isa};
use super::math::exp2;
use super::{scratch, stride};
use crate::dense::{Head, HeadUpstream, rows_of};
use std::f32::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Keys in a tile of the forward pass, queries in one of the backward pass: whole register tiles of rows.
const ROWS: usize = 48;
/// Keys in the lanes of a tile of the backward pass.
const LANES: usize = 64;

/// See [`crate::Scalar::attend`].
pub(crate) fn attend(isa: Isa, head: &Head<'_, f32>, out: &mut [f32], log_sum: &mut [f32]) {
    let (width, count) = (head.width, log_sum.len());
    let lanes = stride(isa, count);
    let mut query = scratch(width * lanes);
    let factor = head.scale * LOG2_E;
    pack(isa, width, count, |k, column| head.query[column * width + k] * factor, &mut query);
    let mut scores = scratch(ROWS * lanes);
    let (mut sums, mut state) = (scratch(width * lanes), scratch(3 * lanes));
    sums.fill(0.0);
    let (largest, rest) = state.split_at_mut(lanes);
    let (total, shrink) = rest.split_at_mut(lanes);
    largest.fill(f32::NEG_INFINITY);
    total.fill(0.0);
    for (key, value) in head.key.chunks(ROWS * width).zip(head.value.chunks(ROWS * width)) {
        let scores = &mut scores[..key.len() / width * lanes];
        let term = Operand { rows: key, stride: width, depth: width, weight: &query };
        gemm(isa, &[term], None, Epilogue::Set, scores, lanes);
        weigh(isa, scores, lanes, largest, total, shrink);
        for sums in sums.chunks_exact_mut(lanes) {
            scale_by(isa, sums, shrink);
        }
        let left = Rows { values: value, stride: width, width };
        let right = Rows { values: scores, stride: lanes, width: lanes };
        gemm_tn(isa, left, right, Part::Whole, &mut sums, lanes);
    }
    for (at, (out, log_sum)) in out.chunks_exact_mut(width).zip(log_sum).enumerate() {
        let inverse = 1.0 / total[at];
        for (channel, out) in out.iter_mut().enumerate() {
            *out = sums[channel * lanes + at] * inverse;
        }
        *log_sum = largest[at] * LN_2 + libm::logf(total[at]);
    }
}

for_isa! {
    /// Turns scores `[keys, lanes]` into weights relative to the largest so far: updates the largest and the sum of weights of each lane, and
    /// writes the factor by which earlier weights shrink.
    fn weigh(scores: &mut [f32], lanes: usize, largest: &mut [f32], total: &mut [f32], shrink: &mut [f32]) = weigh_body
}

#[inline(always)]
fn weigh_body<const L: usize, const FUSED: bool>(
    scores: &mut [f32],
    lanes: usize,
    largest: &mut [f32],
    total: &mut [f32],
    shrink: &mut [f32],
) {
    for first in (0..lanes).step_by(2 * L) {
        let lane = first..first + 2 * L;
        let before = largest[lane.clone()].as_chunks::<L>().0;
        let before = [before[0], before[1]];
        let mut top = before;
        for row in scores.chunks_exact(lanes) {
            let row = row[lane.clone()].as_chunks::<L>().0;
            for half in 0..2 {
                for i in 0..L {
                    // Not `max`, which takes care of NaN: one instruction.
                    top[half][i] = if row[half][i] > top[half][i] { row[half][i] } else { top[half][i] };
                }
            }
        }
        let mut sum = [[0.0f32; L]; 2];
        for row in scores.chunks_exact_mut(lanes) {
            let row = row[lane.clone()].as_chunks_mut::<L>().0;
            for half in 0..2 {
                for i in 0..L {
                    let weight = exp2::<FUSED>(row[half][i] - top[half][i], 1.0);
                    row[half][i] = weight;
                    sum[half][i] += weight;
                }
            }
        }
        for half in 0..2 {
            for i in 0..L {
                let at = first + half * L + i;
                shrink[at] = exp2::<FUSED>(before[half][i] - top[half][i], 1.0);
                total[at] = total[at] * shrink[at] + sum[half][i];
                largest[at] = top[half][i];
            }
        }
    }
}

for_isa! {
    /// `values *= factors`, elementwise.
    fn scale_by(values: &mut [f32], factors: &[f32]) = scale_by_body
}

#[inline(always)]
fn scale_by_body<const L: usize, const FUSED: bool>(values: &mut [f32], factors: &[f32]) {
    for (value, &factor) in values.iter_mut().zip(factors) {
        *value *= factor;
    }
}

/// See [`crate::Scalar::attend_backward`].
pub(crate) fn attend_backward(
    isa: Isa,
    head: &Head<'_, f32>,
    upstream: &HeadUpstream<'_, f32>,
    keys: Range<usize>,
    d_key: &mut [f32],
    d_value: &mut [f32],
    d_query: &mut [f32],
) {
    let (width, rows) = (head.width, upstream.shift.len());
    let (wide, factor) = (stride(isa, width), head.scale * LOG2_E);
    let log_sum: Vec<f32> = upstream.log_sum.iter().map(|sum| sum * LOG2_E).collect();
    let mut query_sums = scratch(rows * wide);
    query_sums.fill(0.0);
    let mut packed = scratch(2 * width * LANES + LANES * wide);
    let (mut weights, mut slopes) = (scratch(ROWS * LANES), scratch(ROWS * LANES));
    let mut sums = scratch(2 * width * LANES);
    let tiles = keys.clone().step_by(LANES).map(|first| first..keys.end.min(first + LANES));
    for (tile, (d_key, d_value)) in
        tiles.zip(d_key.chunks_mut(LANES * width).zip(d_value.chunks_mut(LANES * width)))
    {
        let (count, lanes) = (tile.len(), stride(isa, tile.len()));
        let (key, value) = (rows_of(head.key, width, tile.clone()), rows_of(head.value, width, tile));
        let (for_scores, rest) = packed.split_at_mut(width * lanes);
        let (for_weights, rest) = rest.split_at_mut(width * lanes);
        let for_query = &mut rest[..lanes * wide];
        pack(isa, width, count, |k, column| key[column * width + k] * factor, for_scores);
        pack(isa, width, count, |k, column| value[column * width + k], for_weights);
        let row =
            |k: usize, column: usize| if k < count { key[k * width + column] * head.scale } else { 0.0 };
        pack(isa, lanes, width, row, for_query);
        let (key_sums, value_sums) = sums[..2 * width * lanes].split_at_mut(width * lanes);
        key_sums.fill(0.0);
        value_sums.fill(0.0);
        for first in (0..rows).step_by(ROWS) {
            let of = first..rows.min(first + ROWS);
            let size = of.len() * lanes;
            let (weights, slopes) = (&mut weights[..size], &mut slopes[..size]);
            let query = rows_of(head.query, width, of.clone());
            let d_rows = rows_of(upstream.rows, width, of.clone());
            let term = |rows, weight| Operand { rows, stride: width, depth: width, weight };
            gemm(isa, &[term(query, for_scores)], None, Epilogue::Set, weights, lanes);
            gemm(isa, &[term(d_rows, for_weights)], None, Epilogue::Set, slopes, lanes);
            weigh_backward(isa, weights, slopes, lanes, &log_sum[of.clone()], &upstream.shift[of.clone()]);
            if count < lanes {
                for tile in [&mut *weights, &mut *slopes] {
                    tile.chunks_exact_mut(lanes).for_each(|row| row[count..].fill(0.0));
                }
            }
            let left = |values| Rows { values, stride: width, width };
            let right = |values| Rows { values, stride: lanes, width: lanes };
            gemm_tn(isa, left(d_rows), right(weights), Part::Whole, value_sums, lanes);
            gemm_tn(isa, left(query), right(slopes), Part::Whole, key_sums, lanes);
            let term = Operand { rows: slopes, stride: lanes, depth: lanes, weight: for_query };
            let sums = &mut query_sums[of.start * wide..of.end * wide];
            gemm(isa, &[term], None, Epilogue::Add, sums, wide);
        }
        for at in 0..count {
            for channel in 0..width {
                d_key[at * width + channel] += key_sums[channel * lanes + at] * head.scale;
                d_value[at * width + channel] += value_sums[channel * lanes + at];
            }
        }
    }
    for (sum, part) in d_query.chunks_exact_mut(width).zip(query_sums.chunks_exact(wide)) {
        for (sum, part) in sum.iter_mut().zip(part) {
            *sum += part;
        }
    }
}

for_isa! {
    /// Turns scores `[rows, lanes]` into weights, and the gradients of weights into those of scores.
    fn weigh_backward(scores: &mut [f32], slopes: &mut [f32], lanes: usize, log_sum: &[f32], shift: &[f32]) = weigh_backward_body
}

#[inline(always)]
fn weigh_backward_body<const L: usize, const FUSED: bool>(
    scores: &mut [f32],
    slopes: &mut [f32],
    lanes: usize,
    log_sum: &[f32],
    shift: &[f32],
) {
    let rows = scores.chunks_exact_mut(lanes).zip(slopes.chunks_exact_mut(lanes));
    for ((scores, slopes), (&log_sum, &shift)) in rows.zip(log_sum.iter().zip(shift)) {
        for (score, slope) in scores.iter_mut().zip(slopes) {
            let weight = exp2::<FUSED>(*score - log_sum, 1.0);
            *score = weight;
            *slope = weight * (*slope - shift);
        }
    }
}
