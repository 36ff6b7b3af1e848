//! Dense products of tall matrices with small ones: linear layers and their backwards.

use crate::isa::{Isa, for_isa};
use crate::lanes::{Panel, multiply_add};
use crate::{Activation, Buffer, Pool, Store};
use rayon::prelude::*;
use std::ops::Range;

/// How a weight is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[out, in]`, as linear layers keep it: the product is `x Wᵀ`.
    OutIn,
    /// `[in, out]`: the product is `x W`. With a layer's own weight this is the way back.
    InOut,
}

/// One summand of a linear layer: rows times a weight.
#[derive(Debug, Clone, Copy)]
pub struct Term<'a, T> {
    /// `[n, depth]`.
    pub rows: &'a [T],
    /// Values in a row.
    pub depth: usize,
    /// `depth × width` values.
    pub weight: &'a [T],
    /// In which order.
    pub layout: Layout,
}

/// Rows that are worked on at once: 6 × 2 vectors of sums, two of weights and one of input fill sixteen registers.
const TILE: usize = 6;
/// Rows in a task: enough to be worth a thread's while, a multiple of the tile.
const CHUNK_ROWS: usize = 32 * TILE;

/// `output (+)= activation(Σ terms + bias)`, `output: [n, width]`.
pub(crate) fn linear(
    isa: Isa,
    terms: &[Term<'_, f32>],
    bias: Option<&[f32]>,
    activation: Activation,
    store: Store,
    output: &mut [f32],
    width: usize,
) {
    if output.is_empty() {
        return;
    }
    for term in terms {
        assert_eq!(term.weight.len(), term.depth * width, "a weight of {} x {width}", term.depth);
        assert_eq!(term.rows.len() * width, output.len() * term.depth, "one row in for every row out");
    }
    assert!(bias.is_none_or(|bias| bias.len() == width), "a bias of {width}");
    let pool = Pool::new();
    let packed: Vec<Buffer<f32>> =
        terms.iter().map(|term| pack(term, width, isa.panel_width(), &pool)).collect();
    output.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, output)| {
        linear_chunk(isa, terms, &packed, bias, activation, store, chunk * CHUNK_ROWS, output, width);
    });
}

/// `[panel][depth][panel width]`, zeros where the last panel is not full.
fn pack(term: &Term<'_, f32>, width: usize, panel_width: usize, pool: &Pool<f32>) -> Buffer<f32> {
    let panels = width.div_ceil(panel_width);
    let mut packed = pool.zeros(panels * term.depth * panel_width);
    for (line, out) in packed.chunks_exact_mut(panel_width).enumerate() {
        let (panel, k) = (line / term.depth, line % term.depth);
        for (column, out) in (panel * panel_width..width).zip(out) {
            *out = match term.layout {
                Layout::OutIn => term.weight[column * term.depth + k],
                Layout::InOut => term.weight[k * width + column],
            };
        }
    }
    packed
}

for_isa! {
    /// The rows of one task.
    fn linear_chunk(
        terms: &[Term<'_, f32>], packed: &[Buffer<f32>], bias: Option<&[f32]>, activation: Activation, store: Store,
        first_row: usize, output: &mut [f32], width: usize,
    ) = linear_body
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
fn linear_body<const L: usize, const FUSED: bool>(
    terms: &[Term<'_, f32>],
    packed: &[Buffer<f32>],
    bias: Option<&[f32]>,
    activation: Activation,
    store: Store,
    first_row: usize,
    output: &mut [f32],
    width: usize,
) {
    let count = output.len() / width;
    let whole = count - count % TILE;
    for row in (0..whole).step_by(TILE) {
        let output = &mut output[row * width..(row + TILE) * width];
        tile_rows::<L, FUSED, TILE>(terms, packed, bias, activation, store, first_row + row, output, width);
    }
    for row in whole..count {
        let output = &mut output[row * width..(row + 1) * width];
        tile_rows::<L, FUSED, 1>(terms, packed, bias, activation, store, first_row + row, output, width);
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
fn tile_rows<const L: usize, const FUSED: bool, const ROWS: usize>(
    terms: &[Term<'_, f32>],
    packed: &[Buffer<f32>],
    bias: Option<&[f32]>,
    activation: Activation,
    store: Store,
    first_row: usize,
    output: &mut [f32],
    width: usize,
) {
    for (panel, start) in (0..width).step_by(2 * L).enumerate() {
        let span = start..width.min(start + 2 * L);
        let mut sums = [[[0.0f32; L]; 2]; ROWS];
        if let Some(bias) = bias {
            sums = [Panel::<L>::read(&bias[span.clone()]).0; ROWS];
        }
        for (term, packed) in terms.iter().zip(packed) {
            let rows: [&[f32]; ROWS] =
                std::array::from_fn(|i| &term.rows[(first_row + i) * term.depth..][..term.depth]);
            let weights = &packed[panel * term.depth * 2 * L..][..term.depth * 2 * L];
            sums = accumulate::<L, FUSED, ROWS>(sums, rows, weights.as_chunks::<L>().0.as_chunks::<2>().0);
        }
        for (row, sums) in sums.iter().enumerate() {
            let output = &mut output[row * width..][span.clone()];
            for (out, &sum) in output.iter_mut().zip(sums.as_flattened()) {
                let value = activation.apply(sum);
                *out = match store {
                    Store::Set => value,
                    Store::Add => *out + value,
                };
            }
        }
    }
}

/// `sums[i] += Σ over k of rows[i][k] · weights[k]`, all in registers.
#[inline(always)]
fn accumulate<const L: usize, const FUSED: bool, const ROWS: usize>(
    mut sums: [[[f32; L]; 2]; ROWS],
    rows: [&[f32]; ROWS],
    weights: &[[[f32; L]; 2]],
) -> [[[f32; L]; 2]; ROWS] {
    let depth = weights.len();
    let rows = rows.map(|row| &row[..depth]);
    for k in 0..depth {
        for i in 0..ROWS {
            let value = [rows[i][k]; L];
            for half in 0..2 {
                sums[i][half] = multiply_add::<L, FUSED>(value, weights[k][half], sums[i][half]);
            }
        }
    }
    sums
}

/// Rows over which one partial sum of a weight's gradient runs.
const SUM_ROWS: usize = 512;
/// Rows that are read from the first-level cache while all tiles of the result pass over them.
const BLOCK_ROWS: usize = 64;

/// Which part of a product has to be computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// The product is symmetric: what lies below the diagonal is mirrored.
    Upper,
}

/// `sum[m, k] += leftᵀ right`: the gradient of a weight, or a Gram matrix. `left: [n, m]`, `right: [n, k]`. Where `left_sum` is
/// given, `left_sum[m] += Σ over rows of left`: the gradient of a bias, for one reading of the rows.
pub(crate) fn transposed_product(
    isa: Isa,
    left: &[f32],
    right: &[f32],
    [m, k]: [usize; 2],
    sum: &mut [f32],
    left_sum: Option<&mut [f32]>,
) {
    assert_eq!(sum.len(), m * k, "a sum of {m} x {k}");
    assert_eq!(left.len() * k, right.len() * m, "as many rows on the left as on the right");
    if sum.is_empty() {
        return;
    }
    let part = if m == k && std::ptr::eq(left, right) { Part::Upper } else { Part::Whole };
    let partials: Vec<Vec<f32>> = left
        .par_chunks(SUM_ROWS * m)
        .zip(right.par_chunks(SUM_ROWS * k))
        .map(|(left, right)| {
            let mut partial = vec![0.0; m * k + m];
            transposed_chunk(isa, left, right, m, k, part, &mut partial);
            partial
        })
        .collect();
    let mut sums = [Some(sum), left_sum];
    for partial in &partials {
        let (product, row_sum) = partial.split_at(m * k);
        for (sum, partial) in sums.iter_mut().zip([product, row_sum]) {
            for (sum, &value) in sum.iter_mut().flat_map(|sum| sum.iter_mut()).zip(partial) {
                *sum += value;
            }
        }
    }
}

for_isa! {
    /// The partial sum of one chunk of rows, and the sum of `left`'s rows after it.
    fn transposed_chunk(left: &[f32], right: &[f32], m: usize, k: usize, part: Part, sum: &mut [f32]) = transposed_body
}

#[inline(always)]
fn transposed_body<const L: usize, const FUSED: bool>(
    left: &[f32],
    right: &[f32],
    m: usize,
    k: usize,
    part: Part,
    sum: &mut [f32],
) {
    let mut panels = [Panel::<L>::ZERO; BLOCK_ROWS];
    let (sum, left_sum) = sum.split_at_mut(m * k);
    for (left, right) in left.chunks(BLOCK_ROWS * m).zip(right.chunks(BLOCK_ROWS * k)) {
        let count = left.len() / m;
        for row in left.chunks_exact(m) {
            for (sum, &value) in left_sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
        for start in (0..k).step_by(2 * L) {
            let span = start..k.min(start + 2 * L);
            for (panel, right) in panels.iter_mut().zip(right.chunks_exact(k)) {
                *panel = Panel::read(&right[span.clone()]);
            }
            let end = if part == Part::Upper { span.end } else { m };
            let panels = &panels[..count];
            for i in (0..end).step_by(TILE) {
                // What is left over goes at once too: sums of one row alone would wait for each other.
                match end - i {
                    1 => transposed_tile::<L, FUSED, 1>(left, panels, i, m, k, span.clone(), sum),
                    2 => transposed_tile::<L, FUSED, 2>(left, panels, i, m, k, span.clone(), sum),
                    3 => transposed_tile::<L, FUSED, 3>(left, panels, i, m, k, span.clone(), sum),
                    4 => transposed_tile::<L, FUSED, 4>(left, panels, i, m, k, span.clone(), sum),
                    5 => transposed_tile::<L, FUSED, 5>(left, panels, i, m, k, span.clone(), sum),
                    _ => transposed_tile::<L, FUSED, TILE>(left, panels, i, m, k, span.clone(), sum),
                }
            }
        }
    }
    if part == Part::Upper {
        for i in 0..m {
            for j in 0..i {
                sum[i * k + j] = sum[j * k + i];
            }
        }
    }
}

#[inline(always)]
fn transposed_tile<const L: usize, const FUSED: bool, const ROWS: usize>(
    left: &[f32],
    panels: &[Panel<L>],
    first: usize,
    m: usize,
    k: usize,
    span: Range<usize>,
    sum: &mut [f32],
) {
    let mut sums = [[[0.0f32; L]; 2]; ROWS];
    for (left, panel) in left.chunks_exact(m).zip(panels) {
        let left = &left[first..first + ROWS];
        for i in 0..ROWS {
            for half in 0..2 {
                sums[i][half] = multiply_add::<L, FUSED>([left[i]; L], panel.0[half], sums[i][half]);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        for (sum, &value) in sum[(first + i) * k..][span.clone()].iter_mut().zip(sums.as_flattened()) {
            *sum += value;
        }
    }
}
