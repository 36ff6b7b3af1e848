//! Attention on tiles: rows to all rows in one head, with nothing but tiles of weights stored.
//!
//! In the forward pass the lanes are queries: scores of a few keys by a panel of queries are a product of rows of k with packed q, sums
//! need no shuffles, and what the weights add is an outer product with rows of v. In the backward pass the lanes are keys; for the gradient
//! of q, the one product of five that would then be as narrow as a head, blocks are transposed, and its lanes are queries. Scores are in
//! units of log 2, so that a weight is a power of two; what is subtracted from them is where their sums begin.

use super::gemm::pack;
use super::isa::{Isa, for_isa};
use super::lanes::{add, multiply, transpose};
use super::math::exp2_clamped;
use super::microkernel::{RowTails, add_outer, add_products};
use super::{scratch, stride};
use crate::kernel::dense::{Head, HeadUpstream, largest_norm, rows_of};
use crate::kernel::flops;
use std::f32::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Keys in a tile of the forward pass, queries in one of the backward pass: whole register tiles of rows.
const ROWS: usize = 48;
/// Values of the tiles that the backward pass has in its lanes: with what belongs to them they fit the first-level cache.
const LANE_VALUES: usize = 1280;
/// Keys of which the backward pass has the gradients of scores by key at a time: whole panels.
const TRANSPOSED_KEYS: usize = 64;
/// Scores up to it need no maximum: powers of two with such exponents, and sums of many of them, are far from the ends of a float's range.
const REACH: f32 = 56.0;

/// See [`crate::kernel::Scalar::attend`].
pub(crate) fn attend(isa: Isa, head: &Head<'_, f32>, key_norm: f32, out: &mut [f32], log_sum: &mut [f32]) {
    let (width, count) = (head.width, log_sum.len());
    let keys = head.key.len() / width;
    // Scores, and the values that their weights sum.
    flops::count(2 * 2 * count * keys * width);
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
        flops::count_product(count, width, keys);
        for (query, shift) in query.chunks_exact(width * panel).zip(shift.chunks_exact_mut(panel)) {
            largest_scores(isa, query, head.key, width, shift);
        }
    }
    let panels = query.chunks_exact(width * panel).zip(sums.chunks_exact_mut(width * panel));
    let states = shift.chunks_exact(panel).zip(total.chunks_exact_mut(panel));
    let mut tile = scratch(ROWS * panel);
    for ((query, sums), (shift, total)) in panels.zip(states) {
        attend_panel(isa, query, head, shift, &mut tile, sums, total);
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
    fn attend_panel(query: &[f32], head: &Head<'_, f32>, shift: &[f32], tile: &mut [f32], sums: &mut [f32], total: &mut [f32]) = attend_panel_body
}

#[inline(always)]
fn attend_panel_body<const L: usize, const FUSED: bool>(
    query: &[f32],
    head: &Head<'_, f32>,
    shift: &[f32],
    tile: &mut [f32],
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
    let tile = panels_mut::<L>(tile);
    let mut added = [[0.0f32; L]; 2];
    for (keys, values) in head.key.chunks(ROWS * width).zip(head.value.chunks(ROWS * width)) {
        let weights = &mut tile[..keys.len() / width];
        products::<L, FUSED>(keys, width, packed, start, weights);
        for row in &mut *weights {
            for half in 0..2 {
                row[half] = exp2_clamped::<L, FUSED>(row[half]);
                added[half] = add(added[half], row[half]);
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
    let left = RowTails { rows, stride: width, first };
    let right = RowTails { rows: tile.as_flattened().as_flattened(), stride: 2 * L, first: 0 };
    add_outer::<L, FUSED, COUNT>(&mut of_tile, left, right);
    for at in 0..COUNT {
        sums[at] = [add(sums[at][0], of_tile[at][0]), add(sums[at][1], of_tile[at][1])];
    }
    COUNT
}

/// See [`crate::kernel::Scalar::attend_backward`].
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
    // Scores again, the gradients of their weights, and those of q, k and v.
    flops::count(5 * 2 * rows * keys.len() * width);
    let factor = head.scale * LOG2_E;
    let log_sum: Vec<f32> = upstream.log_sum.iter().map(|sum| sum * LOG2_E).collect();
    let upstream = HeadUpstream { log_sum: &log_sum, ..*upstream };
    let most = (LANE_VALUES / width).next_multiple_of(panel);
    let tile = backward_rows(isa);
    let mut query_sums = scratch(width * stride(isa, rows));
    query_sums.fill(0.0);
    let mut packed = scratch(2 * width * most);
    let mut sums = scratch(2 * width * most);
    let mut tiles = scratch(tile * (2 * panel + TRANSPOSED_KEYS));
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
        for (first, query_sums) in (0..rows).step_by(tile).zip(query_sums.chunks_mut(width * tile)) {
            let of = first..rows.min(first + tile);
            let task = BackwardTile {
                query: rows_of(head.query, width, of.clone()),
                d_rows: rows_of(upstream.rows, width, of.clone()),
                log_sum: &upstream.log_sum[of.clone()],
                shift: &upstream.shift[of],
                key,
                for_scores,
                for_weights,
                width,
            };
            let mut sums = BackwardSums { key: key_sums, value: value_sums, query: query_sums };
            backward_tile(isa, &task, &mut tiles, &mut sums);
        }
        add_lanes(d_key, width, panel, key_sums, head.scale);
        add_lanes(d_value, width, panel, value_sums, 1.0);
    }
    add_lanes(d_query, width, panel, &query_sums, head.scale);
}

/// Adds sums that are `[panel, width, lanes]` to rows.
fn add_lanes(rows: &mut [f32], width: usize, panel: usize, sums: &[f32], scale: f32) {
    for (rows, sums) in rows.chunks_mut(panel * width).zip(sums.chunks_exact(panel * width)) {
        for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
            for (value, sum) in row.iter_mut().zip(sums[lane..].iter().step_by(panel)) {
                *value += sum * scale;
            }
        }
    }
}

/// Queries in a tile of the backward pass: whole panels, and whole register tiles of rows.
fn backward_rows(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 | Isa::Portable => 48,
    }
}

/// Inputs of a tile of the backward pass: some queries, and all keys of some panels.
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

/// Gradients that a tile adds to, each `[panel, width, lanes]`.
pub(crate) struct BackwardSums<'a> {
    key: &'a mut [f32],
    value: &'a mut [f32],
    query: &'a mut [f32],
}

for_isa! {
    /// One tile of the backward pass. `tiles` have room for the weights of its queries for a panel of keys, for the gradients of their scores, and for
    /// those of [`TRANSPOSED_KEYS`] by key.
    fn backward_tile(task: &BackwardTile<'_>, tiles: &mut [f32], sums: &mut BackwardSums<'_>) = backward_tile_body
}

#[inline(always)]
fn backward_tile_body<const L: usize, const FUSED: bool>(
    task: &BackwardTile<'_>,
    tiles: &mut [f32],
    sums: &mut BackwardSums<'_>,
) {
    let (width, rows) = (task.width, task.shift.len());
    let panel_size = width * 2 * L;
    let (by_key, tiles) = panels_mut::<L>(tiles).split_at_mut(rows.div_ceil(2 * L) * TRANSPOSED_KEYS);
    let (weights, slopes) = tiles.split_at_mut(tiles.len() / 2);
    for (group, keys) in task.key.chunks(TRANSPOSED_KEYS * width).enumerate() {
        for at in (0..keys.len() / width).step_by(2 * L) {
            let panel = group * TRANSPOSED_KEYS / (2 * L) + at / (2 * L);
            let of = panel * panel_size..(panel + 1) * panel_size;
            let packed =
                (panels::<L>(&task.for_scores[of.clone()]), panels::<L>(&task.for_weights[of.clone()]));
            let mut first = 0;
            // Eight rows of two vectors leave half of the 32 registers of AVX-512.
            if L == 16 {
                while first + 8 <= rows {
                    weigh_backward::<L, FUSED, 8>(task, packed, weights, slopes, first);
                    first += 8;
                }
            }
            while first + 6 <= rows {
                weigh_backward::<L, FUSED, 6>(task, packed, weights, slopes, first);
                first += 6;
            }
            while first < rows {
                weigh_backward::<L, FUSED, 1>(task, packed, weights, slopes, first);
                first += 1;
            }
            outer_backward::<L, FUSED>(task.d_rows, width, &weights[..rows], &mut sums.value[of.clone()]);
            outer_backward::<L, FUSED>(task.query, width, &slopes[..rows], &mut sums.key[of]);
            for (slopes, by_key) in slopes.chunks_exact(2 * L).zip(by_key.chunks_exact_mut(TRANSPOSED_KEYS)) {
                transpose_panel::<L>(slopes, &mut by_key[at..at + 2 * L]);
            }
        }
        for (by_key, sums) in
            by_key.chunks_exact(TRANSPOSED_KEYS).zip(sums.query.chunks_exact_mut(panel_size))
        {
            outer_backward::<L, FUSED>(keys, width, &by_key[..keys.len() / width], sums);
        }
    }
}

/// [`outer`], with all of eight channels at once: in the forward pass the compiler would have their sums in memory.
#[inline(always)]
fn outer_backward<const L: usize, const FUSED: bool>(
    rows: &[f32],
    width: usize,
    tile: PanelLines<'_, L>,
    sums: &mut [f32],
) {
    if L == 16 && width == 8 {
        outer_channels::<L, FUSED, 8>(rows, width, tile, panels_mut::<L>(sums), 0);
    } else {
        outer::<L, FUSED>(rows, width, tile, sums);
    }
}

/// Writes the weights of some queries for a panel of keys, and the gradients of their scores.
#[inline(always)]
fn weigh_backward<const L: usize, const FUSED: bool, const COUNT: usize>(
    task: &BackwardTile<'_>,
    (for_scores, for_weights): (PanelLines<'_, L>, PanelLines<'_, L>),
    weights: &mut [[[f32; L]; 2]],
    slopes: &mut [[[f32; L]; 2]],
    first: usize,
) {
    let at = first * task.width;
    let (weights, slopes) = (&mut weights[first..first + COUNT], &mut slopes[first..first + COUNT]);
    let mut sums = [[[0.0; L]; 2]; COUNT];
    for i in 0..COUNT {
        sums[i] = [[-task.log_sum[first + i]; L]; 2];
    }
    add_products::<L, FUSED, COUNT>(&mut sums, (&task.query[at..], task.width), for_scores);
    for row in 0..COUNT {
        for half in 0..2 {
            weights[row][half] = exp2_clamped::<L, FUSED>(sums[row][half]);
        }
    }
    for i in 0..COUNT {
        sums[i] = [[-task.shift[first + i]; L]; 2];
    }
    add_products::<L, FUSED, COUNT>(&mut sums, (&task.d_rows[at..], task.width), for_weights);
    for row in 0..COUNT {
        for half in 0..2 {
            slopes[row][half] = multiply(weights[row][half], sums[row][half]);
        }
    }
}

/// Exchanges the rows and the lanes of a panel.
#[inline(always)]
fn transpose_panel<const L: usize>(from: PanelLines<'_, L>, to: &mut [[[f32; L]; 2]]) {
    for (to_half, from) in from.chunks_exact(L).enumerate() {
        for (from_half, to) in to.chunks_exact_mut(L).enumerate() {
            transpose(from, from_half, to, to_half);
        }
    }
}

/// Lines of a panel.
type PanelLines<'a, const L: usize> = &'a [[[f32; L]; 2]];

/// Values as lines of a panel.
#[inline(always)]
fn panels<const L: usize>(values: &[f32]) -> &[[[f32; L]; 2]] {
    values.as_chunks::<L>().0.as_chunks::<2>().0
}

#[inline(always)]
fn panels_mut<const L: usize>(values: &mut [f32]) -> &mut [[[f32; L]; 2]] {
    values.as_chunks_mut::<L>().0.as_chunks_mut::<2>().0
}
