//! What arrives at chosen nodes of one graph, sample by sample, where samples share most of their rows.
//!
//! The rows of many samples lie in one array: first those that all samples share, one per node, then those a sample has of its
//! own. A table per sample says where the row of each node is, and whether what the node sends is dropped.

use crate::csr::{Columns, Csr};
use crate::isa::for_isa;
use crate::lanes::{Panel, add, multiply_add, sum};

/// Set in a place: the node is there, but neither sends nor receives.
pub const DROPPED: u32 = 1 << 31;

/// `output_n = own · x[place_n] + Σ over entries j of row n, both kept, of x[place_j]`, for one sample.
#[derive(Debug, Clone, Copy)]
pub struct Sums<'a, T> {
    /// Row = the node that receives.
    pub matrix: &'a Csr,
    /// A bit for each entry of the matrix, 0 where it is left out; `None`: all are in.
    pub kept: Option<&'a [u64]>,
    /// Where the row of each node is, with [`DROPPED`] where nothing goes out of it or in.
    pub place: &'a [u32],
    /// Values in a row.
    pub width: usize,
    /// The factor of a node's own row.
    pub own: T,
}

/// Where gradients of rows are added: those that all samples share, and those of a sample's own.
#[derive(Debug)]
pub struct SumGradients<'a, T> {
    /// Of rows 0, 1, ….
    pub shared: &'a mut [T],
    /// Of rows from `first` on.
    pub own: &'a mut [T],
    /// The place of the first row in `own`; places before it are in `shared`.
    pub first: usize,
}

impl<T> Sums<'_, T> {
    #[inline(always)]
    pub(crate) fn is_kept(&self, entry: usize) -> bool {
        self.kept.is_none_or(|bits| bits[entry / 64] >> (entry % 64) & 1 == 1)
    }
}

impl<T> SumGradients<'_, T> {
    /// The gradient of the row at a place.
    #[inline(always)]
    pub fn row(&mut self, place: usize, width: usize) -> &mut [T] {
        if place < self.first {
            &mut self.shared[place * width..(place + 1) * width]
        } else {
            let at = (place - self.first) * width;
            &mut self.own[at..at + width]
        }
    }
}

for_isa! {
    /// The sums of `nodes`, one row of `output` each.
    fn sums(task: &Sums<'_, f32>, input: &[f32], nodes: &[u32], output: &mut [f32]) = sums_body
}

#[inline(always)]
fn sums_body<const L: usize, const FUSED: bool>(
    task: &Sums<'_, f32>,
    input: &[f32],
    nodes: &[u32],
    output: &mut [f32],
) {
    match task.matrix.columns() {
        Columns::Narrow(columns) => sums_of::<L, FUSED, u16>(task, columns, input, nodes, output),
        Columns::Wide(columns) => sums_of::<L, FUSED, u32>(task, columns, input, nodes, output),
    }
}

#[inline(always)]
fn sums_of<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    input: &[f32],
    nodes: &[u32],
    output: &mut [f32],
) {
    // Four panels of a row at once are as many sums as stay in registers.
    let (wide, narrow) = (4 * Panel::<L>::WIDTH, Panel::<L>::WIDTH);
    for (&node, output) in nodes.iter().zip(output.chunks_exact_mut(task.width)) {
        let mut start = 0;
        while start + wide <= task.width {
            one_sum::<L, FUSED, 4, C>(task, columns, input, node as usize, start, output);
            start += wide;
        }
        while start < task.width {
            one_sum::<L, FUSED, 1, C>(task, columns, input, node as usize, start, output);
            start += narrow;
        }
    }
}

#[inline(always)]
fn one_sum<const L: usize, const FUSED: bool, const PANELS: usize, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    input: &[f32],
    node: usize,
    start: usize,
    output: &mut [f32],
) {
    let end = task.width.min(start + PANELS * 2 * L);
    let panel = |row: usize, at: usize| {
        let first = row * task.width + start + at * 2 * L;
        Panel::<L>::read(&input[first..(row * task.width + end).min(first + 2 * L)]).0
    };
    let place = task.place[node];
    let mut sums = [Panel::<L>::ZERO.0; PANELS];
    if place & DROPPED == 0 {
        for band in task.matrix.bands() {
            let entries = band[node] as usize..band[node + 1] as usize;
            for (&column, entry) in columns[entries.clone()].iter().zip(entries) {
                let from = task.place[column.into() as usize];
                if from & DROPPED == 0 && task.is_kept(entry) {
                    for at in 0..PANELS {
                        let values = panel(from as usize, at);
                        for half in 0..2 {
                            sums[at][half] = add(sums[at][half], values[half]);
                        }
                    }
                }
            }
        }
    }
    for at in 0..PANELS {
        let own = panel((place & !DROPPED) as usize, at);
        for half in 0..2 {
            sums[at][half] = multiply_add::<L, FUSED>([task.own; L], own[half], sums[at][half]);
        }
    }
    for (out, &value) in output[start..end].iter_mut().zip(sums.as_flattened().as_flattened()) {
        *out = value;
    }
}

for_isa! {
    /// Adds what the sums pass back; returns Σ upstream · x of the own rows: the gradient of `own`.
    fn sums_backward(
        task: &Sums<'_, f32>, input: &[f32], nodes: &[u32], upstream: &[f32], gradients: &mut SumGradients<'_, f32>,
    ) -> f64 = backward_body
}

#[inline(always)]
fn backward_body<const L: usize, const FUSED: bool>(
    task: &Sums<'_, f32>,
    input: &[f32],
    nodes: &[u32],
    upstream: &[f32],
    gradients: &mut SumGradients<'_, f32>,
) -> f64 {
    match task.matrix.columns() {
        Columns::Narrow(columns) => {
            backward_of::<L, FUSED, u16>(task, columns, input, nodes, upstream, gradients)
        }
        Columns::Wide(columns) => {
            backward_of::<L, FUSED, u32>(task, columns, input, nodes, upstream, gradients)
        }
    }
}

#[inline(always)]
fn backward_of<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    input: &[f32],
    nodes: &[u32],
    upstream: &[f32],
    gradients: &mut SumGradients<'_, f32>,
) -> f64 {
    let width = task.width;
    let mut own = 0.0;
    for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(width)) {
        let (node, place) = (node as usize, task.place[node as usize]);
        let row = (place & !DROPPED) as usize;
        own += f64::from(dot::<L, FUSED>(upstream, &input[row * width..(row + 1) * width]));
        add_scaled(gradients.row(row, width), task.own, upstream);
        if place & DROPPED != 0 {
            continue;
        }
        for band in task.matrix.bands() {
            let entries = band[node] as usize..band[node + 1] as usize;
            for (&column, entry) in columns[entries.clone()].iter().zip(entries) {
                let from = task.place[column.into() as usize];
                if from & DROPPED == 0 && task.is_kept(entry) {
                    add_scaled(gradients.row(from as usize, width), 1.0, upstream);
                }
            }
        }
    }
    own
}

#[inline(always)]
fn add_scaled(sum: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, &value) in sum.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

#[inline(always)]
fn dot<const L: usize, const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0; L];
    for (&a, &b) in a.iter().zip(b) {
        sums = multiply_add::<L, FUSED>(a, b, sums);
    }
    sum(sums) + a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum::<f32>()
}
