//! Sparse times dense: what arrives at every row of a graph.
//!
//! The input is copied panel by panel, two vectors wide: a panel of 6,607 rows (420 KB) stays in the second-level cache while
//! all entries are walked, where the whole input (1.7 MB) would not. Networks with few entries skip the copy.

use crate::csr::{Columns, Csr};
use crate::isa::{Isa, for_isa};
use crate::lanes::{Panel, add};
use rayon::prelude::*;
use std::ops::Range;

/// What happens to the values that were in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They are overwritten.
    Set,
    /// The result is added to them.
    Add,
}

/// `output[i] (+)= row_weight[i] · Σ over columns j of row i of column_weight[j] · input[j]`, for rows of `width` values.
#[derive(Debug, Clone, Copy)]
pub struct SpmmTask<'a, T> {
    /// Which rows take from which.
    pub matrix: &'a Csr,
    /// Values in a row of input and output.
    pub width: usize,
    /// One row per column of the matrix.
    pub input: &'a [T],
    /// A factor for each row of the input; 0 removes it. `None`: all are 1.
    pub column_weight: Option<&'a [T]>,
    /// A factor for each row of the output; 0 clears it. `None`: all are 1.
    pub row_weight: Option<&'a [T]>,
}

impl<T> SpmmTask<'_, T> {
    /// # Panics
    ///
    /// If a slice has another size than the matrix asks for: a bug of the caller.
    pub(crate) fn check(&self, output: &[T]) {
        let (rows, columns) = (self.matrix.row_count(), self.matrix.column_count());
        assert_eq!(self.input.len(), columns * self.width, "input of {columns} rows x {}", self.width);
        assert_eq!(output.len(), rows * self.width, "output of {rows} rows x {}", self.width);
        assert!(self.column_weight.is_none_or(|weights| weights.len() == columns), "one weight per column");
        assert!(self.row_weight.is_none_or(|weights| weights.len() == rows), "one weight per row");
    }
}

/// The fast product.
pub(crate) fn spmm(isa: Isa, task: &SpmmTask<'_, f32>, store: Store, output: &mut [f32]) {
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
    chunks.into_par_iter().for_each(|(rows, chunk)| chunk_rows(isa, task, store, rows, chunk));
}

for_isa! {
    /// The rows of one chunk, panel by panel.
    fn chunk_rows(task: &SpmmTask<'_, f32>, store: Store, rows: Range<usize>, output: &mut [f32]) = chunk_body
}

#[inline(always)]
fn chunk_body<const L: usize, const FUSED: bool>(
    task: &SpmmTask<'_, f32>,
    store: Store,
    rows: Range<usize>,
    output: &mut [f32],
) {
    match task.matrix.columns() {
        Columns::Narrow(columns) => all_panels::<L, _>(task, store, rows, columns, output),
        Columns::Wide(columns) => all_panels::<L, _>(task, store, rows, columns, output),
    }
}

#[inline(always)]
fn all_panels<const L: usize, C: Copy + Into<u32>>(
    task: &SpmmTask<'_, f32>,
    store: Store,
    rows: Range<usize>,
    columns: &[C],
    output: &mut [f32],
) {
    let (width, entries) =
        (Panel::<L>::WIDTH, task.matrix.offsets()[rows.end] - task.matrix.offsets()[rows.start]);
    // Below about two entries per row of the input, the copy costs more than it saves.
    let sparse = (entries as usize) < 2 * task.matrix.column_count();
    let direct = sparse && task.width.is_multiple_of(width) && task.column_weight.is_none();
    let mut packed = vec![Panel::<L>::ZERO; if direct { 0 } else { task.matrix.column_count() }];
    for start in (0..task.width).step_by(width) {
        let span = start..task.width.min(start + width);
        if direct {
            panel_rows(task, store, rows.clone(), span, columns, output, |row| {
                strided::<L>(task, start, row)
            });
        } else {
            pack(task, span.clone(), &mut packed);
            panel_rows(task, store, rows.clone(), span, columns, output, |row| packed[row]);
        }
    }
}

#[inline(always)]
fn strided<const L: usize>(task: &SpmmTask<'_, f32>, start: usize, row: usize) -> Panel<L> {
    let from = row * task.width + start;
    Panel::read(&task.input[from..from + Panel::<L>::WIDTH])
}

#[inline(always)]
fn pack<const L: usize>(task: &SpmmTask<'_, f32>, span: Range<usize>, packed: &mut [Panel<L>]) {
    for (row, (panel, values)) in packed.iter_mut().zip(task.input.chunks_exact(task.width)).enumerate() {
        *panel = Panel::read(&values[span.clone()]);
        if let Some(weights) = task.column_weight {
            for value in panel.0.as_flattened_mut() {
                *value *= weights[row];
            }
        }
    }
}

/// Four sums at once, so that an addition need not wait for the one before.
#[inline(always)]
fn panel_rows<const L: usize, C: Copy + Into<u32>>(
    task: &SpmmTask<'_, f32>,
    store: Store,
    rows: Range<usize>,
    span: Range<usize>,
    columns: &[C],
    output: &mut [f32],
    input: impl Fn(usize) -> Panel<L>,
) {
    let at = |column: C| input(column.into() as usize).0;
    for (row, output) in rows.zip(output.chunks_exact_mut(task.width)) {
        let (fours, rest) = columns[task.matrix.range(row)].as_chunks::<4>();
        let mut sums = [[[0.0f32; L]; 2]; 4];
        for four in fours {
            for (sum, &column) in sums.iter_mut().zip(four) {
                let values = at(column);
                *sum = [add(sum[0], values[0]), add(sum[1], values[1])];
            }
        }
        for &column in rest {
            let values = at(column);
            sums[0] = [add(sums[0][0], values[0]), add(sums[0][1], values[1])];
        }
        let total: [[f32; L]; 2] = std::array::from_fn(|half| {
            add(add(sums[0][half], sums[1][half]), add(sums[2][half], sums[3][half]))
        });
        let weight = task.row_weight.map_or(1.0, |weights| weights[row]);
        for (out, &value) in output[span.clone()].iter_mut().zip(total.as_flattened()) {
            *out = match store {
                Store::Set => weight * value,
                Store::Add => *out + weight * value,
            };
        }
    }
}
