//! Attention on tiles: rows to all rows in one head, with nothing but tiles of weights stored.
//!
//! In the forward pass the lanes are queries: scores of a few keys by a panel of queries are a product of rows of k with packed q, sums
//! need no shuffles, and what the weights add is an outer product with rows of v. In the backward pass the lanes are keys, because
//! then only one of five products (the gradient of q) is as narrow as a head. Scores are in units of log 2, so that a weight is a power of two;
//! they stay in registers until they are weights: what is subtracted from them is where their sums begin.

use super::gemm::pack;
use super::isa::{Isa, for_isa};
use super::lanes::{add, multiply, multiply_add};
use super::math::exp2_clamped;
use super::microkernel::{Columns, add_outer, add_products};
use super::{scratch, stride};
use crate::dense::{Head, HeadUpstream, largest_norm, rows_of};
use std::f32::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Keys in a tile of the forward pass, queries in one of the backward pass: whole register tiles of rows.
const ROWS: usize = 48;
/// Values of the tiles that the backward pass has in its lanes: with what belongs to them they fit the first-level cache.
const LANE_VALUES: usize = 1280;
/// Scores up to it need no maximum: powers of two with such exponents, and sums of many of them, are far from the ends of a float's range.
const REACH: f32 = 56.0;

/// See [`crate::Scalar::attend`].
pub(crate) fn attend(isa: Isa, head: &Head<'_, f32>, key_norm: f32, out: &mut [f32], log_sum: &mut [f32]) {
    let (width, count) = (head.width, log_sum.len());
    let lanes = stride(isa, count);
    let factor = head.scale * LOG2_E;
    let mut query = scratch(width * lanes);
    pack(isa, width, count, |k, column| head.query[column * width + k] * factor, &mut query);
    let mut state = scratch((width + 2) * lanes);
    state.fill(0.0);
    let (sums, rest) = state.split_at_mut(width * lanes);
    let (total, shift) = rest.split_at_mut(lanes);
    let panel = isa.panel_width();
    // No product of two rows is larger than that of their norms.
    if largest_norm(head.query, width) * key_norm * factor > REACH {
        for (query, shift) in query.chunks_exact(width * panel).zip(shift.chunks_exact_mut(panel)) {
            largest_scores(isa, query, head.key, width, shift);
        }
    }
    let panels = query.chunks_exact(width * panel).zip(sums.chunks_exact_mut(width * panel));
    let states = shift.chunks_exact(panel).zip(total.chunks_exact_mut(panel));
    for ((query, sums), (shift, total)) in panels.zip(states) {
        attend_panel(isa, query, head, shift, sums, total);
    }
    for (at, (out, log_sum)) in out.chunks_exact_mut(width).zip(log_sum).enumerate() {
        let inverse = 1.0 / total[at];
        let sums = &sums[at / panel * width * panel + at % panel..];
        for (out, sum) in out.iter_mut().zip(sums.iter().step_by(panel)) {
            *out = sum * inverse;
        }
        *log_sum = shift[at] * LN_2 + libm::logf(total[at]);
    }
}

for_isa! {
    /// The largest score of each query of a panel.
    fn largest_scores(query: &[f32], key: &[f32], width: usize, largest: &mut [f32]) = largest_scores_body
}

#[inline(always)]
fn largest_scores_body<const L: usize, const FUSED: bool>(
    query: &[f32],
    key: &[f32],
    width: usize,
    largest: &mut [f32],
) {
    let packed = panels::<L>(query);
    let mut top = [[f32::NEG_INFINITY; L]; 2];
    for row in key.chunks_exact(width) {
        let mut scores = [[[0.0; L]; 2]];
        add_products::<L, FUSED, 1>(&mut scores, (row, width), packed);
        for half in 0..2 {
            for i in 0..L {
                top[half][i] = top[half][i].max(scores[0][half][i]);
            }
        }
    }
    largest.copy_from_slice(top.as_flattened());
}

for_isa! {
    /// Adds up the weights of all keys for a panel of queries, `total: [lanes]`, and the values that they weigh, `sums: [width, lanes]`.
    fn attend_panel(query: &[f32], head: &Head<'_, f32>, shift: &[f32], sums: &mut [f32], total: &mut [f32]) = attend_panel_body
}

#[inline(always)]
fn attend_panel_body<const L: usize, const FUSED: bool>(
    query: &[f32],
    head: &Head<'_, f32>,
    shift: &[f32],
    sums: &mut [f32],
    total: &mut [f32],
) {
    let width = head.width;
    let packed = panels::<L>(query);
    let mut start = panels::<L>(shift)[0];
    for half in &mut start {
        for value in half {
            *value = -*value;
        }
    }
    let mut tile = [[[0.0f32; L]; 2]; ROWS];
    let mut added = [[0.0f32; L]; 2];
    for (keys, values) in head.key.chunks(ROWS * width).zip(head.value.chunks(ROWS * width)) {
        let weights = &mut tile[..keys.len() / width];
        products::<L, FUSED>(keys, width, packed, start, weights);
        for row in &mut *weights {
            for half in 0..2 {
                for i in 0..L {
                    row[half][i] = exp2_clamped::<FUSED>(row[half][i]);
                    added[half][i] += row[half][i];
                }
            }
        }
        outer::<L, FUSED>(values, width, weights, sums);
    }
    total.copy_from_slice(added.as_flattened());
}

/// `tile = start + rows · packed`.
#[inline(always)]
fn products<const L: usize, const FUSED: bool>(
    rows: &[f32],
    width: usize,
    packed: &[[[f32; L]; 2]],
    start: [[f32; L]; 2],
    tile: &mut [[[f32; L]; 2]],
) {
    let mut first = 0;
    // Twelve rows of two vectors leave eight of the 32 registers of AVX-512.
    if L == 16 {
        while first + 12 <= tile.len() {
            products_of::<L, FUSED, 12>(rows, width, packed, start, tile, first);
            first += 12;
        }
    }
    while first + 6 <= tile.len() {
        products_of::<L, FUSED, 6>(rows, width, packed, start, tile, first);
        first += 6;
    }
    while first < tile.len() {
        products_of::<L, FUSED, 1>(rows, width, packed, start, tile, first);
        first += 1;
    }
}

#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "a copy of the whole array would keep it in memory from the start")]
fn products_of<const L: usize, const FUSED: bool, const COUNT: usize>(
    rows: &[f32],
    width: usize,
    packed: &[[[f32; L]; 2]],
    start: [[f32; L]; 2],
    tile: &mut [[[f32; L]; 2]],
    first: usize,
) {
    let mut sums = [start; COUNT];
    add_products::<L, FUSED, COUNT>(&mut sums, (&rows[first * width..], width), packed);
    // Register by register.
    let tile = &mut tile[first..first + COUNT];
    for at in 0..COUNT {
        tile[at] = sums[at];
    }
}

/// `sums[channel] += Σ over rows of rows[channel] · tile`, for one panel of lanes.
#[inline(always)]
fn outer<const L: usize, const FUSED: bool>(
    rows: &[f32],
    width: usize,
    tile: &[[[f32; L]; 2]],
    sums: &mut [f32],
) {
    let sums = panels_mut::<L>(sums);
    let mut first = 0;
    while first < width {
        // Narrow tiles wait for their own sums.
        first += match width - first {
            10 | 20.. if L == 16 => outer_channels::<L, FUSED, 10>(rows, width, tile, sums, first),
            6 | 9.. => outer_channels::<L, FUSED, 6>(rows, width, tile, sums, first),
            4.. => outer_channels::<L, FUSED, 4>(rows, width, tile, sums, first),
            _ => outer_channels::<L, FUSED, 1>(rows, width, tile, sums, first),
        };
    }
}

#[inline(always)]
fn outer_channels<const L: usize, const FUSED: bool, const COUNT: usize>(
    rows: &[f32],
    width: usize,
    tile: &[[[f32; L]; 2]],
    sums: &mut [[[f32; L]; 2]],
    first: usize,
) -> usize {
    let sums = &mut sums[first..first + COUNT];
    let mut of_tile = [[[0.0f32; L]; 2]; COUNT];
    let left = Columns { rows, stride: width, first };
    let right = Columns { rows: tile.as_flattened().as_flattened(), stride: 2 * L, first: 0 };
    add_outer::<L, FUSED, COUNT>(&mut of_tile, left, right);
    for at in 0..COUNT {
        sums[at] = [add(sums[at][0], of_tile[at][0]), add(sums[at][1], of_tile[at][1])];
    }
    COUNT
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
    let (width, rows, panel) = (head.width, upstream.shift.len(), isa.panel_width());
    let vector = panel / 2;
    let factor = head.scale * LOG2_E;
    let log_sum: Vec<f32> = upstream.log_sum.iter().map(|sum| sum * LOG2_E).collect();
    let upstream = HeadUpstream { log_sum: &log_sum, ..*upstream };
    let most = (LANE_VALUES / width).next_multiple_of(panel);
    let whole = width - width % vector;
    let mut whole_sums = scratch(rows * whole);
    let mut rest_sums = scratch(rows * (width - whole) * vector);
    whole_sums.fill(0.0);
    rest_sums.fill(0.0);
    let mut packed = scratch(2 * width * most);
    let mut sums = scratch(2 * width * most);
    let mut tiles = scratch(2 * ROWS * most);
    let ranges = keys.clone().step_by(most).map(|first| first..keys.end.min(first + most));
    for (range, (d_key, d_value)) in
        ranges.zip(d_key.chunks_mut(most * width).zip(d_value.chunks_mut(most * width)))
    {
        let (count, lanes) = (range.len(), stride(isa, range.len()));
        let (key, value) = (rows_of(head.key, width, range.clone()), rows_of(head.value, width, range));
        let (for_scores, for_weights) = packed[..2 * width * lanes].split_at_mut(width * lanes);
        pack(isa, width, count, |k, column| key[column * width + k] * factor, for_scores);
        pack(isa, width, count, |k, column| value[column * width + k], for_weights);
        let (key_sums, value_sums) = sums[..2 * width * lanes].split_at_mut(width * lanes);
        key_sums.fill(0.0);
        value_sums.fill(0.0);
        for first in (0..rows).step_by(ROWS) {
            let of = first..rows.min(first + ROWS);
            let task = BackwardTile {
                query: rows_of(head.query, width, of.clone()),
                d_rows: rows_of(upstream.rows, width, of.clone()),
                log_sum: &upstream.log_sum[of.clone()],
                shift: &upstream.shift[of.clone()],
                key,
                for_scores,
                for_weights,
                width,
            };
            let mut sums = BackwardSums {
                key: key_sums,
                value: value_sums,
                whole: &mut whole_sums[of.start * whole..of.end * whole],
                rest: &mut rest_sums[of.start * (width - whole) * vector..of.end * (width - whole) * vector],
            };
            let (weights, slopes) = tiles[..2 * of.len() * lanes].split_at_mut(of.len() * lanes);
            backward_tile(isa, &task, weights, slopes, &mut sums);
        }
        for at in 0..count {
            let lane = at / panel * width * panel + at % panel;
            for channel in 0..width {
                d_key[at * width + channel] += key_sums[lane + channel * panel] * head.scale;
                d_value[at * width + channel] += value_sums[lane + channel * panel];
            }
        }
    }
    for (row, sum) in d_query.chunks_exact_mut(width).enumerate() {
        let rest = rest_sums[row * (width - whole) * vector..].chunks_exact(vector);
        for (sum, part) in sum.iter_mut().zip(&whole_sums[row * whole..(row + 1) * whole]) {
            *sum += part * head.scale;
        }
        for (sum, part) in sum[whole..].iter_mut().zip(rest) {
            // Packed keys are in units of log 2.
            *sum += part.iter().sum::<f32>() * LN_2;
        }
    }
}

/// What a tile of the backward pass reads: some queries, and all keys of some panels.
#[derive(Clone, Copy)]
pub(crate) struct BackwardTile<'a> {
    query: &'a [f32],
    d_rows: &'a [f32],
    log_sum: &'a [f32],
    shift: &'a [f32],
    key: &'a [f32],
    /// k and v, packed by panels; k times what makes powers of two of scores.
    for_scores: &'a [f32],
    for_weights: &'a [f32],
    width: usize,
}

/// What it adds to.
pub(crate) struct BackwardSums<'a> {
    /// `[panel, width, lanes]`.
    key: &'a mut [f32],
    value: &'a mut [f32],
    /// The gradient of q: whole vectors of channels, and the channels that fill no vector, with a vector of partial sums each.
    whole: &'a mut [f32],
    rest: &'a mut [f32],
}

for_isa! {
    /// One tile of the backward pass; weights and the gradients of scores are `[panel, rows, lanes]`.
    fn backward_tile(task: &BackwardTile<'_>, weights: &mut [f32], slopes: &mut [f32], sums: &mut BackwardSums<'_>) = backward_tile_body
}

#[inline(always)]
fn backward_tile_body<const L: usize, const FUSED: bool>(
    task: &BackwardTile<'_>,
    weights: &mut [f32],
    slopes: &mut [f32],
    sums: &mut BackwardSums<'_>,
) {
    let (width, rows) = (task.width, task.shift.len());
    let (panel_size, tile_size, keys) = (width * 2 * L, rows * 2 * L, task.key.len() / width);
    for panel in 0..task.for_scores.len() / panel_size {
        let of = panel * panel_size..(panel + 1) * panel_size;
        let (for_scores, for_weights) =
            (panels::<L>(&task.for_scores[of.clone()]), panels::<L>(&task.for_weights[of.clone()]));
        let weights = panels_mut::<L>(&mut weights[panel * tile_size..(panel + 1) * tile_size]);
        let slopes = panels_mut::<L>(&mut slopes[panel * tile_size..(panel + 1) * tile_size]);
        let mut first = 0;
        while first + 6 <= rows {
            weigh_backward::<L, FUSED, 6>(task, (for_scores, for_weights), weights, slopes, first);
            first += 6;
        }
        while first < rows {
            weigh_backward::<L, FUSED, 1>(task, (for_scores, for_weights), weights, slopes, first);
            first += 1;
        }
        let used = keys - panel * 2 * L;
        if used < 2 * L {
            for tile in [&mut *weights, &mut *slopes] {
                for row in tile {
                    row.as_flattened_mut()[used..].fill(0.0);
                }
            }
        }
        outer::<L, FUSED>(task.d_rows, width, weights, &mut sums.value[of.clone()]);
        outer::<L, FUSED>(task.query, width, slopes, &mut sums.key[of]);
        let keys = &task.key[panel * panel_size..task.key.len().min((panel + 1) * panel_size)];
        let mut first = 0;
        if L == 16 {
            while first + 12 <= rows {
                query_channels::<L, FUSED, 12>(keys, width, slopes, sums.whole, first);
                first += 12;
            }
        }
        while first + 6 <= rows {
            query_channels::<L, FUSED, 6>(keys, width, slopes, sums.whole, first);
            first += 6;
        }
        while first < rows {
            query_channels::<L, FUSED, 1>(keys, width, slopes, sums.whole, first);
            first += 1;
        }
    }
    query_rest::<L, FUSED>(task, panels::<L>(slopes), sums.rest);
}

/// Writes the weights of some queries for a panel of keys, and the gradients of their scores.
#[inline(always)]
fn weigh_backward<const L: usize, const FUSED: bool, const COUNT: usize>(
    task: &BackwardTile<'_>,
    (for_scores, for_weights): (Lines<'_, L>, Lines<'_, L>),
    weights: &mut [[[f32; L]; 2]],
    slopes: &mut [[[f32; L]; 2]],
    first: usize,
) {
    let at = first * task.width;
    let (mut of_scores, mut of_weights) = ([[[0.0; L]; 2]; COUNT], [[[0.0; L]; 2]; COUNT]);
    for i in 0..COUNT {
        of_scores[i] = [[-task.log_sum[first + i]; L]; 2];
    }
    add_products::<L, FUSED, COUNT>(&mut of_scores, (&task.query[at..], task.width), for_scores);
    for i in 0..COUNT {
        of_weights[i] = [[-task.shift[first + i]; L]; 2];
    }
    add_products::<L, FUSED, COUNT>(&mut of_weights, (&task.d_rows[at..], task.width), for_weights);
    let (weights, slopes) = (&mut weights[first..first + COUNT], &mut slopes[first..first + COUNT]);
    for row in 0..COUNT {
        for half in 0..2 {
            let mut weight = [0.0; L];
            for i in 0..L {
                weight[i] = exp2_clamped::<FUSED>(of_scores[row][half][i]);
            }
            weights[row][half] = weight;
            slopes[row][half] = multiply(weight, of_weights[row][half]);
        }
    }
}

/// Adds to the gradient of some queries, for the channels that fill whole vectors.
#[inline(always)]
fn query_channels<const L: usize, const FUSED: bool, const COUNT: usize>(
    keys: &[f32],
    width: usize,
    slopes: &[[[f32; L]; 2]],
    sums: &mut [f32],
    first: usize,
) {
    let vectors = width / L;
    let slopes = &slopes[first..first + COUNT];
    let sums = &mut sums.as_chunks_mut::<L>().0[first * vectors..(first + COUNT) * vectors];
    for vector in 0..vectors {
        let mut of_tile = [[0.0f32; L]; COUNT];
        for (lane, key) in keys.chunks_exact(width).enumerate().take(2 * L) {
            let key = key.as_chunks::<L>().0[vector];
            for i in 0..COUNT {
                of_tile[i] = multiply_add::<L, FUSED>([slopes[i].as_flattened()[lane]; L], key, of_tile[i]);
            }
        }
        for i in 0..COUNT {
            sums[i * vectors + vector] = add(sums[i * vectors + vector], of_tile[i]);
        }
    }
}

/// Adds to the gradient of all queries of a tile, for the channels that fill no whole vector: a vector of partial sums for each, because
/// there the lanes are keys.
#[inline(always)]
fn query_rest<const L: usize, const FUSED: bool>(
    task: &BackwardTile<'_>,
    slopes: &[[[f32; L]; 2]],
    sums: &mut [f32],
) {
    let (rows, rest) = (task.shift.len(), task.width % L);
    if rest == 0 {
        return;
    }
    let packed = panels::<L>(task.for_scores);
    let sums = sums.as_chunks_mut::<L>().0;
    for row in (0..rows).step_by(4) {
        for channel in (0..rest).step_by(4) {
            if L == 16 && row + 4 <= rows && channel + 4 <= rest {
                rest_products::<L, FUSED, 4, 4>(packed, task.width, slopes, rows, sums, (row, channel));
                continue;
            }
            for row in row..rows.min(row + 4) {
                if channel + 4 <= rest {
                    rest_products::<L, FUSED, 1, 4>(packed, task.width, slopes, rows, sums, (row, channel));
                } else {
                    for channel in channel..rest {
                        rest_products::<L, FUSED, 1, 1>(
                            packed,
                            task.width,
                            slopes,
                            rows,
                            sums,
                            (row, channel),
                        );
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn rest_products<const L: usize, const FUSED: bool, const COUNT: usize, const CHANNELS: usize>(
    packed: &[[[f32; L]; 2]],
    width: usize,
    slopes: &[[[f32; L]; 2]],
    rows: usize,
    sums: &mut [[f32; L]],
    (row, channel): (usize, usize),
) {
    let rest = width % L;
    let mut of_tile = [[[0.0f32; L]; CHANNELS]; COUNT];
    for i in 0..COUNT {
        for k in 0..CHANNELS {
            of_tile[i][k] = sums[(row + i) * rest + channel + k];
        }
    }
    for (packed, slopes) in packed.chunks_exact(width).zip(slopes.chunks_exact(rows)) {
        let packed = &packed[width - rest + channel..][..CHANNELS];
        let slopes = &slopes[row..row + COUNT];
        for half in 0..2 {
            for i in 0..COUNT {
                for k in 0..CHANNELS {
                    of_tile[i][k] = multiply_add::<L, FUSED>(slopes[i][half], packed[k][half], of_tile[i][k]);
                }
            }
        }
    }
    for i in 0..COUNT {
        for k in 0..CHANNELS {
            sums[(row + i) * rest + channel + k] = of_tile[i][k];
        }
    }
}

/// Lines of a panel.
type Lines<'a, const L: usize> = &'a [[[f32; L]; 2]];

/// Values as lines of a panel.
#[inline(always)]
fn panels<const L: usize>(values: &[f32]) -> &[[[f32; L]; 2]] {
    values.as_chunks::<L>().0.as_chunks::<2>().0
}

#[inline(always)]
fn panels_mut<const L: usize>(values: &mut [f32]) -> &mut [[[f32; L]; 2]] {
    values.as_chunks_mut::<L>().0.as_chunks_mut::<2>().0
}
