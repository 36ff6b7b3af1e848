//! Matrix products on tiles: rows times a packed weight, and the weight's gradient.
//!
//! Six rows by two vectors of accumulators, two vectors of weights and one broadcast input fill the sixteen registers of AVX2. Weights are
//! packed in panels of two vectors, one line of a panel per input channel, so that they are read sequentially.

use super::isa::{Isa, for_isa};
use super::lanes::{add, multiply, multiply_add};
use super::microkernel::{RowTails, add_outer, add_products, prefetch};
use crate::kernel::flops::{count, count_product};
use std::ops::Range;

/// Rows, or columns of an outer product, in a register tile.
const TILE: usize = 6;

/// Packs a `depth × width` matrix as `[panel][depth][panel width]`, padded with zeros.
pub(super) fn pack(
    isa: Isa,
    depth: usize,
    width: usize,
    value: impl Fn(usize, usize) -> f32,
    packed: &mut [f32],
) {
    let panel_width = isa.panel_width();
    for (line, out) in packed.chunks_exact_mut(panel_width).enumerate() {
        let (panel, k) = (line / depth, line % depth);
        for (at, out) in out.iter_mut().enumerate() {
            let column = panel * panel_width + at;
            *out = if column < width { value(k, column) } else { 0.0 };
        }
    }
}

/// One summand of a product: rows times a packed weight.
#[derive(Clone, Copy)]
pub(super) struct GemmOperand<'a> {
    /// `[rows, stride]`.
    pub(super) rows: &'a [f32],
    pub(super) stride: usize,
    /// Values of each row that are read.
    pub(super) depth: usize,
    /// Packed by [`pack`].
    pub(super) weight: &'a [f32],
    /// Values of each row of the product, without padding.
    pub(super) width: usize,
}

/// Treatment of the sums of a product.
#[derive(Clone, Copy)]
pub(super) enum Epilogue<'a> {
    /// `out = sum`
    Set,
    /// `out += sum`
    Add,
    /// `out += sum · factor`, one factor per row.
    AddScaled(&'a [f32]),
    /// `out = sum · slope`, elementwise.
    Slope(&'a [f32]),
    /// `out = (out · factor + sum) · slope`: one factor per row, one slope per element.
    Chain(&'a [f32], &'a [f32]),
}

/// `out = epilogue(Σ terms + bias)`, `out: [rows, stride]`; the bias is padded to whole panels.
pub(super) fn gemm(
    isa: Isa,
    terms: &[GemmOperand<'_>],
    bias: Option<&[f32]>,
    epilogue: Epilogue<'_>,
    out: &mut [f32],
    stride: usize,
) {
    for term in terms {
        count_product(out.len() / stride, term.depth, term.width);
    }
    gemm_panels(isa, terms, bias, epilogue, out, stride);
}

for_isa! {
    /// [`gemm`], panel by panel.
    fn gemm_panels(terms: &[GemmOperand<'_>], bias: Option<&[f32]>, epilogue: Epilogue<'_>, out: &mut [f32], stride: usize) = gemm_body
}

#[inline(always)]
fn gemm_body<const L: usize, const FUSED: bool>(
    terms: &[GemmOperand<'_>],
    bias: Option<&[f32]>,
    epilogue: Epilogue<'_>,
    out: &mut [f32],
    stride: usize,
) {
    let panels = terms[0].weight.len() / (terms[0].depth * 2 * L);
    let count = out.len() / stride;
    let whole = count - count % TILE;
    for panel in 0..panels {
        let start = match bias {
            Some(bias) => *panel_at::<L>(bias, panel * 2 * L),
            None => [[0.0; L]; 2],
        };
        for row in (0..whole).step_by(TILE) {
            row_tile::<L, FUSED, TILE>(terms, start, epilogue, out, stride, (panel, row));
        }
        // The remaining rows go together: one to three rows take as long as four.
        match count - whole {
            1 => row_tile::<L, FUSED, 1>(terms, start, epilogue, out, stride, (panel, whole)),
            2 => row_tile::<L, FUSED, 2>(terms, start, epilogue, out, stride, (panel, whole)),
            3 => row_tile::<L, FUSED, 3>(terms, start, epilogue, out, stride, (panel, whole)),
            4 => row_tile::<L, FUSED, 4>(terms, start, epilogue, out, stride, (panel, whole)),
            5 => row_tile::<L, FUSED, 5>(terms, start, epilogue, out, stride, (panel, whole)),
            _ => {}
        }
    }
}

#[inline(always)]
fn row_tile<const L: usize, const FUSED: bool, const ROWS: usize>(
    terms: &[GemmOperand<'_>],
    start: [[f32; L]; 2],
    epilogue: Epilogue<'_>,
    out: &mut [f32],
    stride: usize,
    (panel, row): (usize, usize),
) {
    let sums = sums::<L, FUSED, ROWS>(terms, start, panel, row);
    store_tile::<L, FUSED, ROWS>(sums, epilogue, out, stride, panel, row);
}

#[inline(always)]
fn sums<const L: usize, const FUSED: bool, const ROWS: usize>(
    terms: &[GemmOperand<'_>],
    start: [[f32; L]; 2],
    panel: usize,
    first: usize,
) -> [[[f32; L]; 2]; ROWS] {
    let mut sums = [start; ROWS];
    for term in terms {
        let size = term.depth * 2 * L;
        let weights = term.weight[panel * size..][..size].as_chunks::<L>().0.as_chunks::<2>().0;
        let rows = (&term.rows[first * term.stride..], term.stride);
        add_products::<L, FUSED, ROWS>(&mut sums, rows, weights);
    }
    sums
}

#[inline(always)]
fn store_tile<const L: usize, const FUSED: bool, const ROWS: usize>(
    sums: [[[f32; L]; 2]; ROWS],
    epilogue: Epilogue<'_>,
    out: &mut [f32],
    stride: usize,
    panel: usize,
    first: usize,
) {
    let offset = |row: usize| (first + row) * stride + panel * 2 * L;
    match epilogue {
        Epilogue::Set => {
            for row in 0..ROWS {
                *panel_mut::<L>(out, offset(row)) = sums[row];
            }
        }
        Epilogue::Add => {
            for row in 0..ROWS {
                let out = panel_mut::<L>(out, offset(row));
                *out = [add(out[0], sums[row][0]), add(out[1], sums[row][1])];
            }
        }
        Epilogue::AddScaled(factors) => {
            for row in 0..ROWS {
                let (out, factor) = (panel_mut::<L>(out, offset(row)), [factors[first + row]; L]);
                for half in 0..2 {
                    out[half] = multiply_add::<L, FUSED>(factor, sums[row][half], out[half]);
                }
            }
        }
        Epilogue::Slope(slopes) => {
            for row in 0..ROWS {
                let (out, slope) = (panel_mut::<L>(out, offset(row)), panel_at::<L>(slopes, offset(row)));
                for half in 0..2 {
                    out[half] = multiply(sums[row][half], slope[half]);
                }
            }
        }
        Epilogue::Chain(factors, slopes) => {
            for row in 0..ROWS {
                let (slope, factor) = (panel_at::<L>(slopes, offset(row)), [factors[first + row]; L]);
                let out = panel_mut::<L>(out, offset(row));
                for half in 0..2 {
                    let sum = multiply_add::<L, FUSED>(factor, out[half], sums[row][half]);
                    out[half] = multiply(sum, slope[half]);
                }
            }
        }
    }
}

#[inline(always)]
fn panel_mut<const L: usize>(rows: &mut [f32], at: usize) -> &mut [[f32; L]; 2] {
    &mut rows[at..at + 2 * L].as_chunks_mut::<L>().0.as_chunks_mut::<2>().0[0]
}

#[inline(always)]
fn panel_at<const L: usize>(rows: &[f32], at: usize) -> &[[f32; L]; 2] {
    &rows[at..at + 2 * L].as_chunks::<L>().0.as_chunks::<2>().0[0]
}

/// Rows of a tile.
#[derive(Clone, Copy)]
pub(super) struct TileRows<'a> {
    /// `[rows, stride]`.
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    /// Values of each row that are read.
    pub(super) width: usize,
}

impl<'a> TileRows<'a> {
    fn from(self, first: usize) -> RowTails<'a> {
        RowTails { rows: self.values, stride: self.stride, first }
    }
}

/// The part of an outer product to compute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProductPart {
    Whole,
    /// Left and right are the same rows: at least the upper triangle.
    Upper,
}

/// `sum[left width, stride] += leftᵀ right`: the gradient of a weight.
pub(super) fn gemm_tn(
    isa: Isa,
    left: TileRows<'_>,
    right: TileRows<'_>,
    part: ProductPart,
    sum: &mut [f32],
    stride: usize,
) {
    let rows = left.values.len() / left.stride;
    match part {
        ProductPart::Whole => count_product(left.width, rows, right.width),
        ProductPart::Upper => count(rows * left.width * (left.width + 1)),
    }
    gemm_tn_panels(isa, left, right, part, sum, stride);
}

for_isa! {
    /// [`gemm_tn`], panel by panel.
    fn gemm_tn_panels(left: TileRows<'_>, right: TileRows<'_>, part: ProductPart, sum: &mut [f32], stride: usize) = gemm_tn_body
}

#[inline(always)]
fn gemm_tn_body<const L: usize, const FUSED: bool>(
    left: TileRows<'_>,
    right: TileRows<'_>,
    part: ProductPart,
    sum: &mut [f32],
    stride: usize,
) {
    for start in (0..right.width).step_by(2 * L) {
        let span = start..right.width.min(start + 2 * L);
        let columns = if part == ProductPart::Upper { span.end } else { left.width };
        let mut first = 0;
        while first < columns {
            let span = span.clone();
            // Eight columns are two tiles of four, not six and two: a narrow tile waits for its own sums.
            match columns - first {
                1..=3 => {
                    outer_tile::<L, FUSED, 1>(left, right, first, span, sum, stride);
                    first += 1;
                }
                4 | 5 | 7 | 8 => {
                    outer_tile::<L, FUSED, 4>(left, right, first, span, sum, stride);
                    first += 4;
                }
                _ => {
                    outer_tile::<L, FUSED, TILE>(left, right, first, span, sum, stride);
                    first += TILE;
                }
            }
        }
    }
}

#[inline(always)]
fn outer_tile<const L: usize, const FUSED: bool, const COLUMNS: usize>(
    left: TileRows<'_>,
    right: TileRows<'_>,
    first: usize,
    span: Range<usize>,
    sum: &mut [f32],
    stride: usize,
) {
    let mut sums = [[[0.0f32; L]; 2]; COLUMNS];
    for i in 0..COLUMNS {
        prefetch(sum, (first + i) * stride + span.start);
    }
    add_outer::<L, FUSED, COLUMNS>(&mut sums, left.from(first), right.from(span.start));
    if span.len() == 2 * L {
        for i in 0..COLUMNS {
            let sum = panel_mut::<L>(sum, (first + i) * stride + span.start);
            *sum = [add(sum[0], sums[i][0]), add(sum[1], sums[i][1])];
        }
    } else {
        // A copy: iterating over the accumulators themselves would keep them in memory from the start.
        let sums = sums;
        for (i, sums) in sums.iter().enumerate() {
            let sum = &mut sum[(first + i) * stride..][span.clone()];
            for (sum, &value) in sum.iter_mut().zip(sums.as_flattened()) {
                *sum += value;
            }
        }
    }
}

for_isa! {
    /// `sum += Σ rows`: the gradient of a bias.
    fn column_sums(rows: TileRows<'_>, sum: &mut [f32]) = column_sums_body
}

#[inline(always)]
fn column_sums_body<const L: usize, const FUSED: bool>(rows: TileRows<'_>, sum: &mut [f32]) {
    for start in (0..rows.width).step_by(2 * L) {
        // Two accumulators per column: one would wait for itself.
        let mut sums = [[[0.0f32; L]; 2]; 2];
        for pair in rows.values.chunks(2 * rows.stride) {
            for (sums, row) in sums.iter_mut().zip(pair.chunks_exact(rows.stride)) {
                let row = panel_at::<L>(row, start);
                *sums = [add(sums[0], row[0]), add(sums[1], row[1])];
            }
        }
        let total = [add(sums[0][0], sums[1][0]), add(sums[0][1], sums[1][1])];
        for (sum, &value) in sum[start..rows.width].iter_mut().zip(total.as_flattened()) {
            *sum += value;
        }
    }
}
