//! The edge terms of a reconstruction loss: squared errors at the entries of a sparse matrix, and their gradients.
//!
//! The loss is Σ over entries (R − A)² − λR² with `R_ij = h_i · v_j + c_j`. One walk over the rows gives the value and the
//! gradient of `h`; the same walk over the transposed matrix, with the roles exchanged, gives those of `v` and `c`. Nothing of
//! the size of the entries is stored: recomputing a product of two rows is cheaper than writing and reading it.

use super::csr::{ColumnIndices, Csr};
use crate::kernel::simd::isa::{Isa, for_isa};
use crate::kernel::simd::lanes::{add, multiply_add, sum};
use rayon::prelude::*;
use std::ops::Range;

/// `Σ over entries (i, j) of (R_ij − A_ij)² − λ R_ij²` with `R_ij = row_values_i · column_values_j + row_bias_i + column_bias_j`.
#[derive(Debug, Clone, Copy)]
pub struct EdgeLoss<'a, T> {
    /// Entries (i, j).
    pub matrix: &'a Csr,
    /// A, one value per entry.
    pub target: &'a [f32],
    /// `[rows, width]`.
    pub row_values: &'a [T],
    /// `[columns, width]`.
    pub column_values: &'a [T],
    /// `[rows]`; `None`: 0.
    pub row_bias: Option<&'a [T]>,
    /// `[columns]`; `None`: 0.
    pub column_bias: Option<&'a [T]>,
    /// Values in a row.
    pub width: usize,
    /// λ, the weight of pairs without an edge.
    pub lambda: T,
    /// Factor of the gradients.
    pub scale: T,
}

/// A chunk of rows with its part of the gradients.
pub(crate) struct EdgeChunk<'a, T> {
    pub(crate) rows: Range<usize>,
    pub(crate) row_gradient: &'a mut [T],
    pub(crate) bias_gradient: &'a mut [T],
}

impl<T> EdgeLoss<'_, T> {
    /// Splits the rows into chunks, each with its part of the gradients.
    ///
    /// # Panics
    ///
    /// If the size of a slice does not match the matrix: a bug of the caller.
    pub(crate) fn chunks<'g>(
        &self,
        mut row_gradient: &'g mut [T],
        mut bias_gradient: &'g mut [T],
    ) -> Vec<EdgeChunk<'g, T>> {
        assert_eq!(row_gradient.len(), self.matrix.row_count() * self.width, "a gradient for every row");
        assert_eq!(self.row_values.len(), self.matrix.row_count() * self.width, "values for every row");
        assert_eq!(
            self.column_values.len(),
            self.matrix.column_count() * self.width,
            "values for every column"
        );
        assert_eq!(bias_gradient.len(), self.matrix.row_count(), "a bias gradient for every row");
        assert_eq!(self.target.len(), self.matrix.entry_count(), "a target for every entry");
        let mut chunks = Vec::new();
        for rows in self.matrix.chunks() {
            let (row_part, row_tail) = row_gradient.split_at_mut(rows.len() * self.width);
            let (bias_part, bias_tail) = bias_gradient.split_at_mut(rows.len());
            (row_gradient, bias_gradient) = (row_tail, bias_tail);
            chunks.push(EdgeChunk { rows, row_gradient: row_part, bias_gradient: bias_part });
        }
        chunks
    }
}

/// Adds to the gradients of rows and row biases; returns Σ (R − A)² − λR².
pub(crate) fn edge_loss(
    isa: Isa,
    task: &EdgeLoss<'_, f32>,
    row_gradient: &mut [f32],
    bias_gradient: &mut [f32],
) -> f64 {
    let chunks = task.chunks(row_gradient, bias_gradient);
    let sums: Vec<f64> = chunks.into_par_iter().map(|chunk| edge_chunk(isa, task, chunk)).collect();
    sums.iter().sum()
}

for_isa! {
    fn edge_chunk(task: &EdgeLoss<'_, f32>, chunk: EdgeChunk<'_, f32>) -> f64 = edge_body
}

#[inline(always)]
fn edge_body<const L: usize, const FUSED: bool>(task: &EdgeLoss<'_, f32>, chunk: EdgeChunk<'_, f32>) -> f64 {
    match (task.width, task.matrix.columns()) {
        (WIDTH, ColumnIndices::Narrow(columns)) => edge_columns::<L, FUSED, _>(task, columns, chunk),
        (WIDTH, ColumnIndices::Wide(columns)) => edge_columns::<L, FUSED, _>(task, columns, chunk),
        _ => crate::kernel::reference::edge_loss_chunk(task, chunk),
    }
}

/// The vectorised width, whose sums fit into registers.
const WIDTH: usize = 64;

#[inline(always)]
fn edge_columns<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &EdgeLoss<'_, f32>,
    columns: &[C],
    chunk: EdgeChunk<'_, f32>,
) -> f64 {
    // At most eight vectors of sums: the sixteen registers also hold their operands.
    if 8 * L <= WIDTH {
        edge_rows::<L, FUSED, 8, C>(task, columns, chunk)
    } else {
        edge_rows::<L, FUSED, 4, C>(task, columns, chunk)
    }
}

/// Entries processed together: their rows stay in the first-level cache between forward and backward.
const CHUNK: usize = 64;
/// Lanes in which errors are computed and summed.
const LANES: usize = 8;

#[inline(always)]
fn edge_rows<const L: usize, const FUSED: bool, const VECTORS: usize, C: Copy + Into<u32>>(
    task: &EdgeLoss<'_, f32>,
    columns: &[C],
    chunk: EdgeChunk<'_, f32>,
) -> f64 {
    let column_values = task.column_values.as_chunks::<WIDTH>().0;
    let EdgeChunk { rows, row_gradient, bias_gradient } = chunk;
    let mut total = 0.0f64;
    for band in task.matrix.bands() {
        let gradients = row_gradient.as_chunks_mut::<WIDTH>().0.iter_mut().zip(&mut *bias_gradient);
        for (row, (gradient, bias_gradient)) in rows.clone().zip(gradients) {
            let range = band[row] as usize..band[row + 1] as usize;
            if range.is_empty() {
                continue;
            }
            let values = &task.row_values.as_chunks::<WIDTH>().0[row];
            let row_bias = task.row_bias.map_or(0.0, |bias| bias[row]);
            let mut sums = RowSums::default();
            for (columns, target) in
                columns[range.clone()].chunks(CHUNK).zip(task.target[range].chunks(CHUNK))
            {
                let mut errors = [0.0f32; CHUNK];
                let errors = &mut errors[..columns.len()];
                products::<L, FUSED, C>(values, column_values, columns, errors);
                if let Some(bias) = task.column_bias {
                    for (predicted, &column) in errors.iter_mut().zip(columns) {
                        *predicted += bias[column.into() as usize];
                    }
                }
                sums.add_chunk(task, row_bias, errors, target);
                add_gradient::<L, FUSED, VECTORS, C>(gradient, errors, column_values, columns);
            }
            *bias_gradient += sum(sums.errors);
            total += f64::from(sum(sums.squares));
        }
    }
    total
}

/// Sums over the entries of a row, in lanes.
#[derive(Default)]
struct RowSums {
    /// (R − A)² − λR².
    squares: [f32; LANES],
    /// Derivatives with respect to R.
    errors: [f32; LANES],
}

impl RowSums {
    /// Turns the predictions of a chunk, without the row's bias, into derivatives.
    #[inline(always)]
    fn add_chunk(&mut self, task: &EdgeLoss<'_, f32>, row_bias: f32, predicted: &mut [f32], target: &[f32]) {
        let (lambda, scale) = (task.lambda, 2.0 * task.scale);
        let mut squares = [0.0f32; CHUNK];
        // Elementwise first: sums in the same loop would keep the compiler from vectorising it.
        for ((square, predicted), &target) in squares.iter_mut().zip(&mut *predicted).zip(target) {
            let value = *predicted + row_bias;
            let residual = value - target;
            *square = residual * residual - lambda * value * value;
            *predicted = scale * (residual - lambda * value);
        }
        add_lanes(&mut self.squares, &squares[..predicted.len()]);
        add_lanes(&mut self.errors, predicted);
    }
}

/// Adds values to the lanes, round robin.
#[inline(always)]
fn add_lanes(sums: &mut [f32; LANES], values: &[f32]) {
    let (lanes, tail) = values.as_chunks::<LANES>();
    let mut all = *sums;
    for lanes in lanes {
        all = add(all, *lanes);
    }
    for (sum, &value) in all.iter_mut().zip(tail) {
        *sum += value;
    }
    *sums = all;
}

/// `predicted[e] = values · column_values[columns[e]]`.
#[inline(always)]
fn products<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    values: &[f32; WIDTH],
    column_values: &[[f32; WIDTH]],
    columns: &[C],
    predicted: &mut [f32],
) {
    let row = |column: C| &column_values[column.into() as usize];
    let (fours, tail) = columns.as_chunks::<4>();
    let (predicted_fours, predicted_tail) = predicted.as_chunks_mut::<4>();
    for (four, predicted) in fours.iter().zip(predicted_fours) {
        *predicted =
            four_products::<L, FUSED>(values, [row(four[0]), row(four[1]), row(four[2]), row(four[3])]);
    }
    for (&column, predicted) in tail.iter().zip(predicted_tail) {
        *predicted = product::<L, FUSED>(values, row(column));
    }
}

/// Four dot products with one row: it is loaded once, and reducing four sums costs little more than one.
#[inline(always)]
fn four_products<const L: usize, const FUSED: bool>(
    values: &[f32; WIDTH],
    others: [&[f32; WIDTH]; 4],
) -> [f32; 4] {
    #[cfg(target_arch = "x86_64")]
    if L >= 8 {
        // SAFETY: bodies of eight lanes or more are compiled for AVX2 and FMA only, see `for_isa`.
        #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
        return unsafe { avx2::four_products(values, &others) };
    }
    others.map(|other| product::<L, FUSED>(values, other))
}

/// `a · b`.
#[inline(always)]
fn product<const L: usize, const FUSED: bool>(a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
    let mut sums = [[0.0f32; L]; 2];
    let pairs = a.as_chunks::<L>().0.as_chunks::<2>().0.iter().zip(b.as_chunks::<L>().0.as_chunks::<2>().0);
    for (a, b) in pairs {
        sums[0] = multiply_add::<L, FUSED>(a[0], b[0], sums[0]);
        sums[1] = multiply_add::<L, FUSED>(a[1], b[1], sums[1]);
    }
    sum(add(sums[0], sums[1]))
}

/// Left to itself, the compiler turns the four products into one over four lanes, and shuffles more than it multiplies: with these
/// instructions a walk takes half the time.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::WIDTH;
    use std::arch::x86_64::{
        _mm_add_ps, _mm_storeu_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps,
        _mm256_hadd_ps, _mm256_loadu_ps, _mm256_setzero_ps,
    };

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    #[expect(unsafe_code, reason = "loads and stores take pointers")]
    pub(super) fn four_products(values: &[f32; WIDTH], others: &[&[f32; WIDTH]; 4]) -> [f32; 4] {
        let mut lanes = [_mm256_setzero_ps(); 4];
        for start in (0..WIDTH).step_by(8) {
            // SAFETY: every row has `WIDTH` floats, a multiple of eight, so eight follow each of these positions.
            unsafe {
                let values = _mm256_loadu_ps(values.as_ptr().add(start));
                for i in 0..4 {
                    let other = _mm256_loadu_ps(others[i].as_ptr().add(start));
                    lanes[i] = _mm256_fmadd_ps(values, other, lanes[i]);
                }
            }
        }
        let (first, last) = (_mm256_hadd_ps(lanes[0], lanes[1]), _mm256_hadd_ps(lanes[2], lanes[3]));
        let halves = _mm256_hadd_ps(first, last);
        let sums = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
        let mut predicted = [0.0; 4];
        // SAFETY: the array has room for four floats.
        unsafe { _mm_storeu_ps(predicted.as_mut_ptr(), sums) };
        predicted
    }

    const _: () = assert!(WIDTH.is_multiple_of(8), "rows are read by eight");
}

/// `gradient += Σ over entries of errors[e] · column_values[columns[e]]`.
#[inline(always)]
fn add_gradient<const L: usize, const FUSED: bool, const VECTORS: usize, C: Copy + Into<u32>>(
    gradient: &mut [f32; WIDTH],
    errors: &[f32],
    column_values: &[[f32; WIDTH]],
    columns: &[C],
) {
    let strips = gradient.as_chunks_mut::<L>().0.as_chunks_mut::<VECTORS>().0;
    for (strip, gradient) in strips.iter_mut().enumerate() {
        let mut sums = *gradient;
        for (&column, &error) in columns.iter().zip(errors) {
            let values = column_values[column.into() as usize].as_chunks::<L>().0;
            let values = &values.as_chunks::<VECTORS>().0[strip];
            for vector in 0..VECTORS {
                sums[vector] = multiply_add::<L, FUSED>([error; L], values[vector], sums[vector]);
            }
        }
        *gradient = sums;
    }
}
