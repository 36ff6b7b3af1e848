//! Sums over the neighbours of chosen nodes of one graph, one sample at a time, where samples share most of their rows.
//!
//! The rows of many samples are in one array: first the shared ones, one per node, then those a sample has of its own. A table per
//! sample gives the row of each node and whether the node is masked out.

use super::csr::{ColumnIndices, Csr};
use crate::kernel::simd::isa::for_isa;
use crate::kernel::simd::lanes::{Panel, add, multiply_add, sum};
use std::ops::Range;

/// Flag in [`NeighbourSum::row_of`]: the node has a row, but neither sends nor receives.
pub const MASKED: u32 = 1 << 31;

/// `y_n = self_weight · x[row_of_n] + Σ over unmasked entries j of row n of x[row_of_j]`, for the chosen nodes n of one sample.
///
/// `x: [rows, width]`, `y: [nodes, width]`. A masked node receives its self term alone. Without a self weight the sum alone is computed, and
/// masked nodes receive like others, though they send nothing.
#[derive(Debug, Clone, Copy)]
pub struct NeighbourSum<'a, T> {
    /// Row = receiving node, columns = sending nodes.
    pub matrix: &'a Csr,
    /// One bit per entry of the matrix, 0 where the edge is masked out; `None`: all edges are in.
    pub edge_mask: Option<&'a [u64]>,
    /// Row of each node in `input`, with [`MASKED`] where the node is masked out.
    pub row_of: &'a [u32],
    /// Values in a row.
    pub width: usize,
    /// Factor of a node's own row (GIN's 1 + ε).
    pub self_weight: Option<T>,
    /// x, `[rows, width]`.
    pub input: &'a [T],
    /// Nodes whose sums are computed.
    pub nodes: &'a [u32],
}

/// Accumulators for the gradients of rows: of the rows that all samples share, and of a sample's own.
#[derive(Debug)]
pub struct RowGradients<'a, T> {
    /// Gradients of rows 0, 1, ….
    pub shared: &'a mut [T],
    /// Gradients of rows `first`, `first + 1`, ….
    pub own: &'a mut [T],
    /// First row of `own`; lower rows are in `shared`.
    pub first: usize,
}

impl<T> NeighbourSum<'_, T> {
    /// The row that an entry gathers, unless the entry or its column is masked out.
    #[inline(always)]
    fn source_row(&self, entry: usize, column: u32) -> Option<usize> {
        let row = self.row_of[column as usize];
        (row & MASKED == 0 && self.is_kept(entry)).then_some(row as usize)
    }

    /// Whether a node receives from its neighbours.
    #[inline(always)]
    pub(crate) fn receives(&self, node: usize) -> bool {
        self.self_weight.is_none() || self.row_of[node] & MASKED == 0
    }

    #[inline(always)]
    pub(crate) fn is_kept(&self, entry: usize) -> bool {
        self.edge_mask.is_none_or(|bits| bits[entry / 64] >> (entry % 64) & 1 == 1)
    }
}

impl<T> RowGradients<'_, T> {
    /// The gradient of a row.
    #[inline(always)]
    pub fn row(&mut self, row: usize, width: usize) -> &mut [T] {
        if row < self.first {
            &mut self.shared[row * width..(row + 1) * width]
        } else {
            let at = (row - self.first) * width;
            &mut self.own[at..at + width]
        }
    }
}

for_isa! {
    /// Writes one row of `output` for each node.
    fn neighbour_sum(task: &NeighbourSum<'_, f32>, output: &mut [f32]) = forward_body
}

#[inline(always)]
fn forward_body<const L: usize, const FUSED: bool>(task: &NeighbourSum<'_, f32>, output: &mut [f32]) {
    match task.matrix.columns() {
        ColumnIndices::Narrow(columns) => forward_columns::<L, u16>(task, columns, output),
        ColumnIndices::Wide(columns) => forward_columns::<L, u32>(task, columns, output),
    }
}

/// Nodes processed together, band by band: their sums stay in the second-level cache beside a band of rows.
const CHUNK_NODES: usize = 512;

#[inline(always)]
fn forward_columns<const L: usize, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    output: &mut [f32],
) {
    let (width, input) = (task.width, task.input);
    for (nodes, output) in task.nodes.chunks(CHUNK_NODES).zip(output.chunks_mut(CHUNK_NODES * width)) {
        match task.self_weight {
            None => output.fill(0.0),
            Some(factor) => {
                for (&node, output) in nodes.iter().zip(output.chunks_exact_mut(width)) {
                    let row = (task.row_of[node as usize] & !MASKED) as usize;
                    for (out, &value) in output.iter_mut().zip(&input[row * width..(row + 1) * width]) {
                        *out = factor * value;
                    }
                }
            }
        }
        for band in task.matrix.bands() {
            for (&node, output) in nodes.iter().zip(output.chunks_exact_mut(width)) {
                let node = node as usize;
                let entries = band[node] as usize..band[node + 1] as usize;
                if task.receives(node) && !entries.is_empty() {
                    add_entries::<L, C>(task, columns, input, entries, output);
                }
            }
        }
    }
}

/// Gathers the rows of some entries and adds them to one row.
#[inline(always)]
fn add_entries<const L: usize, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    input: &[f32],
    entries: Range<usize>,
    output: &mut [f32],
) {
    // Four panels of a row are as many sums as stay in registers.
    let panel = Panel::<L>::WIDTH;
    let mut start = 0;
    while start + 4 * panel <= task.width {
        add_panels::<L, 4, C>(task, columns, input, entries.clone(), start, output);
        start += 4 * panel;
    }
    if start + 2 * panel <= task.width {
        add_panels::<L, 2, C>(task, columns, input, entries.clone(), start, output);
        start += 2 * panel;
    }
    if start + panel <= task.width {
        add_panels::<L, 1, C>(task, columns, input, entries.clone(), start, output);
        start += panel;
    }
    if start < task.width {
        for entry in entries {
            if let Some(from) = task.source_row(entry, columns[entry].into()) {
                add_scaled(
                    &mut output[start..],
                    1.0,
                    &input[from * task.width + start..(from + 1) * task.width],
                );
            }
        }
    }
}

/// [`add_entries`] for full panels, whose length is known to the compiler.
#[inline(always)]
fn add_panels<const L: usize, const PANELS: usize, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    input: &[f32],
    entries: Range<usize>,
    start: usize,
    output: &mut [f32],
) {
    let end = start + PANELS * 2 * L;
    let output = output[start..end].as_chunks_mut::<L>().0.as_chunks_mut::<2>().0;
    let mut sums = [Panel::<L>::ZERO.0; PANELS];
    sums.copy_from_slice(output);
    for (&column, entry) in columns[entries.clone()].iter().zip(entries) {
        if let Some(from) = task.source_row(entry, column.into()) {
            let values = &input[from * task.width + start..from * task.width + end];
            let values = values.as_chunks::<L>().0.as_chunks::<2>().0;
            for at in 0..PANELS {
                for half in 0..2 {
                    sums[at][half] = add(sums[at][half], values[at][half]);
                }
            }
        }
    }
    output.copy_from_slice(&sums);
}

for_isa! {
    /// Adds the gradients of the rows read; returns that of the self weight, Σ upstream · x over the self terms.
    fn neighbour_sum_backward(
        task: &NeighbourSum<'_, f32>, upstream: &[f32], gradients: &mut RowGradients<'_, f32>,
    ) -> f64 = backward_body
}

#[inline(always)]
fn backward_body<const L: usize, const FUSED: bool>(
    task: &NeighbourSum<'_, f32>,
    upstream: &[f32],
    gradients: &mut RowGradients<'_, f32>,
) -> f64 {
    match task.matrix.columns() {
        ColumnIndices::Narrow(columns) => {
            backward_columns::<L, FUSED, u16>(task, columns, upstream, gradients)
        }
        ColumnIndices::Wide(columns) => backward_columns::<L, FUSED, u32>(task, columns, upstream, gradients),
    }
}

#[inline(always)]
fn backward_columns<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    upstream: &[f32],
    gradients: &mut RowGradients<'_, f32>,
) -> f64 {
    let (width, mut d_self_weight) = (task.width, 0.0);
    for (nodes, upstream) in task.nodes.chunks(CHUNK_NODES).zip(upstream.chunks(CHUNK_NODES * width)) {
        d_self_weight += self_term::<L, FUSED>(&NeighbourSum { nodes, ..*task }, upstream, gradients);
        for band in task.matrix.bands() {
            for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(width)) {
                let node = node as usize;
                let entries = band[node] as usize..band[node + 1] as usize;
                if task.receives(node) && !entries.is_empty() {
                    scatter_entries::<L, C>(task, columns, entries, upstream, gradients);
                }
            }
        }
    }
    d_self_weight
}

for_isa! {
    /// [`neighbour_sum_backward`] of the self terms alone.
    fn self_term_backward(
        task: &NeighbourSum<'_, f32>, upstream: &[f32], gradients: &mut RowGradients<'_, f32>,
    ) -> f64 = self_term
}

#[inline(always)]
fn self_term<const L: usize, const FUSED: bool>(
    task: &NeighbourSum<'_, f32>,
    upstream: &[f32],
    gradients: &mut RowGradients<'_, f32>,
) -> f64 {
    let Some(factor) = task.self_weight else { return 0.0 };
    let (width, mut d_self_weight) = (task.width, 0.0);
    for (&node, upstream) in task.nodes.iter().zip(upstream.chunks_exact(width)) {
        let row = (task.row_of[node as usize] & !MASKED) as usize;
        d_self_weight += f64::from(dot::<L, FUSED>(upstream, &task.input[row * width..(row + 1) * width]));
        add_scaled(gradients.row(row, width), factor, upstream);
    }
    d_self_weight
}

/// Scatters one row to the gradients of the rows of some entries.
#[inline(always)]
fn scatter_entries<const L: usize, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    entries: Range<usize>,
    upstream: &[f32],
    gradients: &mut RowGradients<'_, f32>,
) {
    let (wide, narrow) = (4 * Panel::<L>::WIDTH, Panel::<L>::WIDTH);
    let mut start = 0;
    while start + wide <= task.width {
        scatter_panels::<L, 4, C>(task, columns, entries.clone(), start, upstream, gradients);
        start += wide;
    }
    while start + narrow <= task.width {
        scatter_panels::<L, 1, C>(task, columns, entries.clone(), start, upstream, gradients);
        start += narrow;
    }
    if start < task.width {
        for entry in entries {
            if let Some(from) = task.source_row(entry, columns[entry].into()) {
                add_scaled(&mut gradients.row(from, task.width)[start..], 1.0, &upstream[start..]);
            }
        }
    }
}

/// [`scatter_entries`] for full panels: the row stays in registers.
#[inline(always)]
fn scatter_panels<const L: usize, const PANELS: usize, C: Copy + Into<u32>>(
    task: &NeighbourSum<'_, f32>,
    columns: &[C],
    entries: Range<usize>,
    start: usize,
    upstream: &[f32],
    gradients: &mut RowGradients<'_, f32>,
) {
    let end = start + PANELS * 2 * L;
    let mut values = [Panel::<L>::ZERO.0; PANELS];
    values.copy_from_slice(upstream[start..end].as_chunks::<L>().0.as_chunks::<2>().0);
    for (&column, entry) in columns[entries.clone()].iter().zip(entries) {
        if let Some(from) = task.source_row(entry, column.into()) {
            let row = &mut gradients.row(from, task.width)[start..end];
            let row = row.as_chunks_mut::<L>().0.as_chunks_mut::<2>().0;
            for at in 0..PANELS {
                for half in 0..2 {
                    row[at][half] = add(row[at][half], values[at][half]);
                }
            }
        }
    }
}

#[inline(always)]
fn add_scaled(sum: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, &value) in sum.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

#[inline(always)]
fn dot<const L: usize, const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0; L];
    for (&a, &b) in a.iter().zip(b) {
        sums = multiply_add::<L, FUSED>(a, b, sums);
    }
    sum(sums) + a_tail.iter().zip(b_tail).map(|(&a, &b)| a * b).sum::<f32>()
}
