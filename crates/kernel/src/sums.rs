//! What arrives at chosen nodes of one graph, sample by sample, where samples share most of their rows.
//!
//! The rows of many samples lie in one array: first those that all samples share, one per node, then those a sample has of its
//! own. A table per sample says where the row of each node is, and whether what the node sends is dropped.

use crate::csr::{Columns, Csr};
use crate::isa::for_isa;
use crate::lanes::{Panel, add, multiply_add, sum};
use std::ops::Range;

/// Set in a place: the node is there, but neither sends nor receives.
pub const DROPPED: u32 = 1 << 31;

/// `output_n = own · x[place_n] + Σ over entries j of row n, both kept, of x[place_j]`, for one sample; or the last sum alone, over the
/// kept entries of any row n.
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
    /// The factor of a node's own row; `None`: it is not added, and dropped nodes receive like others, though they send nothing.
    pub own: Option<T>,
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
    /// The row that an entry's column sends, if it sends any.
    #[inline(always)]
    fn sender(&self, entry: usize, column: u32) -> Option<usize> {
        let place = self.place[column as usize];
        (place & DROPPED == 0 && self.is_kept(entry)).then_some(place as usize)
    }

    /// Whether anything arrives at a node.
    #[inline(always)]
    pub(crate) fn receives(&self, node: usize) -> bool {
        self.own.is_none() || self.place[node] & DROPPED == 0
    }

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

/// Nodes that are summed together, band by band: their sums stay in the second-level cache beside a band of rows.
const CHUNK_NODES: usize = 512;

#[inline(always)]
fn sums_of<const L: usize, const FUSED: bool, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    input: &[f32],
    nodes: &[u32],
    output: &mut [f32],
) {
    let width = task.width;
    for (nodes, output) in nodes.chunks(CHUNK_NODES).zip(output.chunks_mut(CHUNK_NODES * width)) {
        match task.own {
            None => output.fill(0.0),
            Some(factor) => {
                for (&node, output) in nodes.iter().zip(output.chunks_exact_mut(width)) {
                    let own = (task.place[node as usize] & !DROPPED) as usize;
                    for (out, &value) in output.iter_mut().zip(&input[own * width..(own + 1) * width]) {
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

/// Adds the rows of some entries to one row.
#[inline(always)]
fn add_entries<const L: usize, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    input: &[f32],
    entries: Range<usize>,
    output: &mut [f32],
) {
    // Four panels of a row at once are as many sums as stay in registers.
    let (wide, narrow) = (4 * Panel::<L>::WIDTH, Panel::<L>::WIDTH);
    let mut start = 0;
    while start + wide <= task.width {
        add_panels::<L, 4, C>(task, columns, input, entries.clone(), start, output);
        start += wide;
    }
    while start + narrow <= task.width {
        add_panels::<L, 1, C>(task, columns, input, entries.clone(), start, output);
        start += narrow;
    }
    if start < task.width {
        for entry in entries {
            if let Some(from) = task.sender(entry, columns[entry].into()) {
                add_scaled(
                    &mut output[start..],
                    1.0,
                    &input[from * task.width + start..(from + 1) * task.width],
                );
            }
        }
    }
}

/// The same for panels that are full: their length is known to the compiler.
#[inline(always)]
fn add_panels<const L: usize, const PANELS: usize, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
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
        if let Some(from) = task.sender(entry, column.into()) {
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
    for (nodes, upstream) in nodes.chunks(CHUNK_NODES).zip(upstream.chunks(CHUNK_NODES * width)) {
        own += own_of::<L, FUSED>(task, input, nodes, upstream, gradients);
        for band in task.matrix.bands() {
            for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(width)) {
                let node = node as usize;
                let entries = band[node] as usize..band[node + 1] as usize;
                if task.receives(node) && !entries.is_empty() {
                    pass_entries::<L, C>(task, columns, entries, upstream, gradients);
                }
            }
        }
    }
    own
}

for_isa! {
    /// The part of [`sums_backward`] that concerns the own rows.
    fn own_backward(
        task: &Sums<'_, f32>, input: &[f32], nodes: &[u32], upstream: &[f32], gradients: &mut SumGradients<'_, f32>,
    ) -> f64 = own_of
}

#[inline(always)]
fn own_of<const L: usize, const FUSED: bool>(
    task: &Sums<'_, f32>,
    input: &[f32],
    nodes: &[u32],
    upstream: &[f32],
    gradients: &mut SumGradients<'_, f32>,
) -> f64 {
    let Some(factor) = task.own else { return 0.0 };
    let (width, mut own) = (task.width, 0.0);
    for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(width)) {
        let row = (task.place[node as usize] & !DROPPED) as usize;
        own += f64::from(dot::<L, FUSED>(upstream, &input[row * width..(row + 1) * width]));
        add_scaled(gradients.row(row, width), factor, upstream);
    }
    own
}

/// Adds one row to the gradients of the rows of some entries.
#[inline(always)]
fn pass_entries<const L: usize, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    entries: Range<usize>,
    upstream: &[f32],
    gradients: &mut SumGradients<'_, f32>,
) {
    let (wide, narrow) = (4 * Panel::<L>::WIDTH, Panel::<L>::WIDTH);
    let mut start = 0;
    while start + wide <= task.width {
        pass_panels::<L, 4, C>(task, columns, entries.clone(), start, upstream, gradients);
        start += wide;
    }
    while start + narrow <= task.width {
        pass_panels::<L, 1, C>(task, columns, entries.clone(), start, upstream, gradients);
        start += narrow;
    }
    if start < task.width {
        for entry in entries {
            if let Some(from) = task.sender(entry, columns[entry].into()) {
                add_scaled(&mut gradients.row(from, task.width)[start..], 1.0, &upstream[start..]);
            }
        }
    }
}

/// The same for panels that are full: what is added stays in registers.
#[inline(always)]
fn pass_panels<const L: usize, const PANELS: usize, C: Copy + Into<u32>>(
    task: &Sums<'_, f32>,
    columns: &[C],
    entries: Range<usize>,
    start: usize,
    upstream: &[f32],
    gradients: &mut SumGradients<'_, f32>,
) {
    let end = start + PANELS * 2 * L;
    let mut values = [Panel::<L>::ZERO.0; PANELS];
    values.copy_from_slice(upstream[start..end].as_chunks::<L>().0.as_chunks::<2>().0);
    for (&column, entry) in columns[entries.clone()].iter().zip(entries) {
        if let Some(from) = task.sender(entry, column.into()) {
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
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0; L];
    for (&a, &b) in a.iter().zip(b) {
        sums = multiply_add::<L, FUSED>(a, b, sums);
    }
    sum(sums) + a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, plain};
    use knockout_random::Rng;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_fast_sums_equal_the_plain_ones(
            seed: u64, nodes in 1usize..60, entries in 0usize..400, width in 1usize..150, masked: bool,
            own in prop::option::of(Just(1.25)),
        ) {
            let mut rng = Rng::new(seed, "sums");
            let mut rows: Vec<Vec<u32>> = vec![Vec::new(); nodes];
            for _ in 0..entries {
                rows[rng.below(nodes)].push(rng.below(nodes) as u32);
            }
            let mut offsets = vec![0u32];
            for row in &rows {
                offsets.push(offsets[offsets.len() - 1] + row.len() as u32);
            }
            let matrix = Csr::new(&offsets, &rows.concat(), nodes).unwrap();
            // A sample with rows of its own for about half of the nodes, some of them dropped.
            let (mut place, mut own_rows) = (Vec::new(), 0u32);
            for node in 0..nodes as u32 {
                let row = if rng.unit() < 0.5 { own_rows += 1; nodes as u32 + own_rows - 1 } else { node };
                place.push(row | if rng.unit() < 0.2 { DROPPED } else { 0 });
            }
            let kept: Vec<u64> = (0..entries.div_ceil(64)).map(|_| rng.below(usize::MAX) as u64).collect();
            let chosen: Vec<u32> = (0..nodes as u32).filter(|_| rng.unit() < 0.7).collect();
            let normal = |rng: &mut Rng, count: usize| -> Vec<f32> { (0..count).map(|_| rng.normal() as f32).collect() };
            let input = normal(&mut rng, (nodes + own_rows as usize) * width);
            let upstream = normal(&mut rng, chosen.len() * width);
            let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| f64::from(value)).collect() };
            let kept = masked.then_some(&kept[..]);
            let task = Sums { matrix: &matrix, kept, place: &place, width, own: own.map(|own: f64| own as f32) };
            let exact_task = Sums { matrix: &matrix, kept, place: &place, width, own };
            let mut exact = vec![0.0; upstream.len()];
            plain::sums(&exact_task, &wide(&input), &chosen, &mut exact);
            let (mut shared, mut own) = (vec![0.0; nodes * width], vec![0.0; own_rows as usize * width]);
            let mut gradients = SumGradients { shared: &mut shared, own: &mut own, first: nodes };
            let factor = plain::sums_backward(&exact_task, &wide(&input), &chosen, &wide(&upstream), &mut gradients);
            for isa in Isa::available() {
                let mut fast = vec![0.0; upstream.len()];
                sums(isa, &task, &input, &chosen, &mut fast);
                // Sums of hundreds of numbers: judged by the largest of them.
                let near = |a: &[f32], b: &[f64]| {
                    let size = b.iter().fold(10.0, |size: f64, value| size.max(value.abs()));
                    a.iter().zip(b).all(|(&a, b)| (f64::from(a) - b).abs() < 1e-5 * size)
                };
                prop_assert!(near(&fast, &exact), "{isa:?}");
                let (mut fast_shared, mut fast_own) = (vec![0.0; shared.len()], vec![0.0; own.len()]);
                let mut gradients = SumGradients { shared: &mut fast_shared, own: &mut fast_own, first: nodes };
                let fast_factor = sums_backward(isa, &task, &input, &chosen, &upstream, &mut gradients);
                prop_assert!((fast_factor - factor).abs() < 1e-4 * factor.abs().max(100.0), "{isa:?}");
                prop_assert!(near(&fast_shared, &shared) && near(&fast_own, &own), "{isa:?}");
            }
        }
    }
}
