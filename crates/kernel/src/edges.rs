//! The edge terms of a reconstruction loss: errors at the entries of a sparse matrix, and what they pass back.
//!
//! The loss is Σ over entries (R − A)² − λR² with `R_ij = h_i · v_j + c_j`. One walk over the rows gives the value and the
//! gradient of `h`; the same walk over the transposed matrix, with the roles exchanged, gives those of `v` and `c`. Nothing of
//! the size of the entries is stored: computing a product of two rows again is cheaper than writing and reading it.

use crate::csr::{Columns, Csr};
use crate::isa::{Isa, for_isa};
use crate::lanes::{add, multiply_add, sum};
use rayon::prelude::*;
use std::ops::Range;

/// Errors at the entries of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct EdgeTask<'a, T> {
    /// Where: rows of `row_values`, columns of `column_values`.
    pub matrix: &'a Csr,
    /// What each entry should be.
    pub aim: &'a [f32],
    /// `[rows, width]`.
    pub row_values: &'a [T],
    /// `[columns, width]`.
    pub column_values: &'a [T],
    /// Added to the product of two rows, by row; `None`: nothing.
    pub row_bias: Option<&'a [T]>,
    /// The same, by column.
    pub column_bias: Option<&'a [T]>,
    /// Values in a row.
    pub width: usize,
    /// λ: what an entry would count if it were none.
    pub lambda: T,
    /// A factor of the gradients.
    pub scale: T,
}

/// What a walk adds to: gradients of the rows and of their biases.
pub(crate) struct EdgeChunk<'a, T> {
    pub(crate) rows: Range<usize>,
    pub(crate) row_gradient: &'a mut [T],
    pub(crate) bias_gradient: &'a mut [T],
}

impl<T> EdgeTask<'_, T> {
    /// The chunks of rows, each with its part of the gradients.
    ///
    /// # Panics
    ///
    /// If a slice has another size than the matrix asks for: a bug of the caller.
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
        assert_eq!(self.aim.len(), self.matrix.entry_count(), "an aim for every entry");
        let mut chunks = Vec::new();
        for rows in self.matrix.chunks() {
            let (row_part, row_rest) = row_gradient.split_at_mut(rows.len() * self.width);
            let (bias_part, bias_rest) = bias_gradient.split_at_mut(rows.len());
            (row_gradient, bias_gradient) = (row_rest, bias_rest);
            chunks.push(EdgeChunk { rows, row_gradient: row_part, bias_gradient: bias_part });
        }
        chunks
    }
}

/// The fast walk: adds to the gradients of rows and row biases, gives Σ (R − A)² − λR².
pub(crate) fn edges(
    isa: Isa,
    task: &EdgeTask<'_, f32>,
    row_gradient: &mut [f32],
    bias_gradient: &mut [f32],
) -> f64 {
    let chunks = task.chunks(row_gradient, bias_gradient);
    let sums: Vec<f64> = chunks.into_par_iter().map(|chunk| edge_chunk(isa, task, chunk)).collect();
    sums.iter().sum()
}

for_isa! {
    fn edge_chunk(task: &EdgeTask<'_, f32>, chunk: EdgeChunk<'_, f32>) -> f64 = edge_body
}

#[inline(always)]
fn edge_body<const L: usize, const FUSED: bool>(task: &EdgeTask<'_, f32>, chunk: EdgeChunk<'_, f32>) -> f64 {
    match (task.width, task.matrix.columns()) {
        // The usual width has its sums in registers.
        (64, Columns::Narrow(columns)) => edge_rows::<L, FUSED, 64, _>(task, columns, chunk),
        (64, Columns::Wide(columns)) => edge_rows::<L, FUSED, 64, _>(task, columns, chunk),
        _ => crate::plain::edge_chunk(task, chunk),
    }
}

/// Entries whose products are summed together: adding up the lanes of eight products costs little more than those of one.
const BLOCK: usize = 8;

#[inline(always)]
fn edge_rows<const L: usize, const FUSED: bool, const WIDTH: usize, C: Copy + Into<u32>>(
    task: &EdgeTask<'_, f32>,
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
            let bias = |column: usize| row_bias + task.column_bias.map_or(0.0, |bias| bias[column]);
            let (mut sums, mut row_total, mut error_sum) = (*gradient, [0.0f32; BLOCK], [0.0f32; BLOCK]);
            let (blocks, rest) = columns[range.clone()].as_chunks::<BLOCK>();
            let (aim_blocks, aim_rest) = task.aim[range].as_chunks::<BLOCK>();
            for (block, aim) in blocks.iter().zip(aim_blocks) {
                let block = block.map(|column| column.into() as usize);
                let products = block.map(|column| product::<L, FUSED, WIDTH>(values, &column_values[column]));
                let mut errors = [0.0f32; BLOCK];
                for i in 0..BLOCK {
                    let mut found = 0.0;
                    for lane in products[i] {
                        found += lane;
                    }
                    errors[i] = found;
                }
                for i in 0..BLOCK {
                    let found = errors[i] + bias(block[i]);
                    let miss = found - aim[i];
                    row_total[i] += miss * miss - task.lambda * found * found;
                    errors[i] = 2.0 * task.scale * (miss - task.lambda * found);
                    error_sum[i] += errors[i];
                }
                for i in 0..BLOCK {
                    pass_back::<L, FUSED, WIDTH>(&mut sums, errors[i], &column_values[block[i]]);
                }
            }
            for (&column, &aim) in rest.iter().zip(aim_rest) {
                let column = column.into() as usize;
                let found = sum(product::<L, FUSED, WIDTH>(values, &column_values[column])) + bias(column);
                let miss = found - aim;
                row_total[0] += miss * miss - task.lambda * found * found;
                let error = 2.0 * task.scale * (miss - task.lambda * found);
                error_sum[0] += error;
                pass_back::<L, FUSED, WIDTH>(&mut sums, error, &column_values[column]);
            }
            *gradient = sums;
            *bias_gradient += sum(error_sum);
            total += f64::from(sum(row_total));
        }
    }
    total
}

/// The lanes whose sum is `a · b`.
#[inline(always)]
fn product<const L: usize, const FUSED: bool, const WIDTH: usize>(
    a: &[f32; WIDTH],
    b: &[f32; WIDTH],
) -> [f32; L] {
    let mut sums = [[0.0f32; L]; 2];
    let pairs = a.as_chunks::<L>().0.as_chunks::<2>().0.iter().zip(b.as_chunks::<L>().0.as_chunks::<2>().0);
    for (a, b) in pairs {
        sums[0] = multiply_add::<L, FUSED>(a[0], b[0], sums[0]);
        sums[1] = multiply_add::<L, FUSED>(a[1], b[1], sums[1]);
    }
    add(sums[0], sums[1])
}

/// `sums += error · values`.
#[inline(always)]
fn pass_back<const L: usize, const FUSED: bool, const WIDTH: usize>(
    sums: &mut [f32; WIDTH],
    error: f32,
    values: &[f32; WIDTH],
) {
    for (sum, values) in sums.as_chunks_mut::<L>().0.iter_mut().zip(values.as_chunks::<L>().0) {
        *sum = multiply_add::<L, FUSED>([error; L], *values, *sum);
    }
}
