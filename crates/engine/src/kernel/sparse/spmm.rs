//! Sparse-dense matrix product: the weighted sum of its columns' rows for every row of a matrix.
//!
//! The sums of one row stay in registers while its entries of one band are gathered; see [`Csr`] for the bands.

use super::csr::{ColumnIndices, Csr};
use crate::kernel::simd::isa::{Isa, for_isa};
use crate::kernel::simd::lanes::{Panel, add, multiply_add};
use rayon::prelude::*;
use std::ops::Range;

/// Whether a kernel overwrites its output or accumulates into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMode {
    /// `output = result`
    Set,
    /// `output += result`
    Add,
}

/// `output[i] (+)= row_weight[i] · Σ over columns j of row i of column_weight[j] · input[j]`, for rows of `width` values.
#[derive(Debug, Clone, Copy)]
pub struct Spmm<'a, T> {
    /// Entries to sum over.
    pub matrix: &'a Csr,
    /// Values in a row of input and output.
    pub width: usize,
    /// One row per column of the matrix.
    pub input: &'a [T],
    /// Factor of each input row; `None`: 1.
    pub column_weight: Option<&'a [T]>,
    /// Factor of each output row; `None`: 1.
    pub row_weight: Option<&'a [T]>,
}

impl<T> Spmm<'_, T> {
    /// # Panics
    ///
    /// If the size of a slice does not match the matrix: a bug of the caller.
    pub(crate) fn check(&self, output: &[T]) {
        let (rows, columns) = (self.matrix.row_count(), self.matrix.column_count());
        assert_eq!(self.input.len(), columns * self.width, "input of {columns} rows x {}", self.width);
        assert_eq!(output.len(), rows * self.width, "output of {rows} rows x {}", self.width);
        assert!(self.column_weight.is_none_or(|weights| weights.len() == columns), "one weight per column");
        assert!(self.row_weight.is_none_or(|weights| weights.len() == rows), "one weight per row");
    }
}

/// Computes the product on all threads.
pub(crate) fn spmm(isa: Isa, task: &Spmm<'_, f32>, store: StoreMode, output: &mut [f32]) {
    task.check(output);
    if task.width == 0 {
        return;
    }
    let mut rest = output;
    let chunks: Vec<(Range<usize>, &mut [f32])> = task
        .matrix
        .chunks()
        .map(|rows| {
            let (chunk, after) = std::mem::take(&mut rest).split_at_mut(rows.len() * task.width);
            rest = after;
            (rows, chunk)
        })
        .collect();
    chunks.into_par_iter().for_each(|(rows, chunk)| {
        if store == StoreMode::Set {
            chunk.fill(0.0);
        }
        add_chunk(isa, task, rows, chunk);
    });
}

for_isa! {
    /// Adds to the rows of one chunk, band by band.
    fn add_chunk(task: &Spmm<'_, f32>, rows: Range<usize>, output: &mut [f32]) = add_chunk_body
}

#[inline(always)]
fn add_chunk_body<const L: usize, const FUSED: bool>(
    task: &Spmm<'_, f32>,
    rows: Range<usize>,
    output: &mut [f32],
) {
    match task.matrix.columns() {
        ColumnIndices::Narrow(columns) => add_bands::<L, FUSED, _>(task, rows, columns, output),
        ColumnIndices::Wide(columns) => add_bands::<L, FUSED, _>(task, rows, columns, output),
    }
}

#[inline(always)]
fn add_bands<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &Spmm<'_, f32>,
    rows: Range<usize>,
    columns: &[C],
    output: &mut [f32],
) {
    for band in task.matrix.bands() {
        let mut start = 0;
        while start < task.width {
            let (rows, left) = (rows.clone(), task.width - start);
            // As many sums as registers hold; the remaining columns go by two vectors, the last ones perhaps not full.
            if left >= 8 * L {
                add_rows::<L, FUSED, 8, C>(task, rows, band, columns, start, output);
                start += 8 * L;
            } else if left >= 4 * L {
                add_rows::<L, FUSED, 4, C>(task, rows, band, columns, start, output);
                start += 4 * L;
            } else {
                add_panel::<L, FUSED, C>(task, rows, band, columns, start, output);
                start += 2 * L;
            }
        }
    }
}

#[inline(always)]
fn add_rows<const L: usize, const FUSED: bool, const VECTORS: usize, C: Copy + Into<u32>>(
    task: &Spmm<'_, f32>,
    rows: Range<usize>,
    band: &[u32],
    columns: &[C],
    start: usize,
    output: &mut [f32],
) {
    let offsets = band[rows.start..=rows.end].windows(2);
    for ((row, pair), output) in rows.zip(offsets).zip(output.chunks_exact_mut(task.width)) {
        let columns = &columns[pair[0] as usize..pair[1] as usize];
        if columns.is_empty() {
            continue;
        }
        let mut sums = [[0.0f32; L]; VECTORS];
        for &column in columns {
            let column = column.into() as usize;
            let from = column * task.width + start;
            let values = task.input[from..from + VECTORS * L].as_chunks::<L>().0;
            match task.column_weight {
                None => {
                    for vector in 0..VECTORS {
                        sums[vector] = add(sums[vector], values[vector]);
                    }
                }
                Some(weights) => {
                    let weight = [weights[column]; L];
                    for vector in 0..VECTORS {
                        sums[vector] = multiply_add::<L, FUSED>(weight, values[vector], sums[vector]);
                    }
                }
            }
        }
        let weight = [task.row_weight.map_or(1.0, |weights| weights[row]); L];
        for (out, sum) in output[start..start + VECTORS * L].as_chunks_mut::<L>().0.iter_mut().zip(sums) {
            *out = multiply_add::<L, FUSED>(weight, sum, *out);
        }
    }
}

/// [`add_rows`] for the last columns of a row, fewer than four vectors.
#[inline(always)]
fn add_panel<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &Spmm<'_, f32>,
    rows: Range<usize>,
    band: &[u32],
    columns: &[C],
    start: usize,
    output: &mut [f32],
) {
    let span = start..task.width.min(start + Panel::<L>::WIDTH);
    let offsets = band[rows.start..=rows.end].windows(2);
    for ((row, pair), output) in rows.zip(offsets).zip(output.chunks_exact_mut(task.width)) {
        let mut sums = Panel::<L>::ZERO.0;
        for &column in &columns[pair[0] as usize..pair[1] as usize] {
            let column = column.into() as usize;
            let values = Panel::<L>::read(&task.input[column * task.width..][span.clone()]).0;
            let weight = [task.column_weight.map_or(1.0, |weights| weights[column]); L];
            for half in 0..2 {
                sums[half] = multiply_add::<L, FUSED>(weight, values[half], sums[half]);
            }
        }
        let weight = task.row_weight.map_or(1.0, |weights| weights[row]);
        for (out, &sum) in output[span.clone()].iter_mut().zip(sums.as_flattened()) {
            *out += weight * sum;
        }
    }
}
