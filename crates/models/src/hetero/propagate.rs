//! Message passing over one network: neighbour sums of the wild type and of every sample, and their backward pass.
//!
//! A direct backward pass would scatter a row along every edge of every sample, at twice the cost of the sums, and mostly into rows that
//! samples share with the wild type. Where deletion is a node mask, edges are therefore walked from their source as gathers. The gradients of
//! all cells are summed gene by gene and go over the wild type's edges once; then each cell (base or sample) gathers the part of its own sums
//! that belongs to rows other than the wild type's, adds it to the rows that it read (its own or a base's) and subtracts it from the wild
//! type's:
//!
//! ```text
//! d wild_j  = Σ over edges j→i of (a_i + Σ over cells c of a_ci)  −  Σ over c in which j changed or is deleted of G_cj
//! d row_j  += G_cj = Σ over edges j→i of a_ci      for the row that c reads; a: gradients of the cell's own sums, 0 at deleted genes
//! ```

use super::deletion::DeletedEdges;
use super::fanout::Edges;
use super::own_rows::OwnRows;
use super::plan::{LayerPlan, RowStage};
use knockout_engine::kernel::slices::add_to;
use knockout_engine::kernel::{
    Buffer, MASKED, NeighbourSum, Pool, RowGradients, Scalar, Spmm, StoreMode, reduce_in_order,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Number of partial gradients of shared rows: the same for any number of threads, reduced in order.
const CELL_GROUPS: usize = 8;

/// Output rows per task: the rows they gather are read often enough to stay in a cache.
const CHUNK_ROWS: usize = 1024;

/// `sums_i = self_weight · x_i + Σ over edges j→i, both ends kept, of x_j` over network `k` of a layer.
///
/// `x: [rows of the input stage, width]`, `sums: [genes + own rows of the network, width]`.
#[derive(Clone)]
pub(super) struct Propagation<'a> {
    edges: Edges<'a>,
    k: usize,
    plan: Arc<LayerPlan>,
    deletion: Arc<DeletedEdges>,
}

impl<'a> Propagation<'a> {
    pub(super) fn new(
        (edges, k): (&Edges<'a>, usize),
        plan: &Arc<LayerPlan>,
        deletion: &Arc<DeletedEdges>,
    ) -> Self {
        Self { edges: edges.clone(), k, plan: Arc::clone(plan), deletion: Arc::clone(deletion) }
    }

    fn input(&self) -> &RowStage {
        &self.plan.input
    }

    fn own_rows(&self) -> &OwnRows {
        &self.plan.networks[self.k]
    }

    /// The sums of some of a cell's nodes.
    fn of_cell<'t, T: Scalar>(
        &'t self,
        cell: usize,
        (input, nodes): (&'t [T], &'t [u32]),
        self_weight: T,
        width: usize,
    ) -> NeighbourSum<'t, T> {
        let (matrix, edge_mask) = self.deletion.matrix(self.k, cell, self.edges.graph());
        let row_of = self.deletion.row_of(self.input(), cell);
        NeighbourSum { matrix, edge_mask, row_of, width, self_weight: Some(self_weight), input, nodes }
    }

    /// The sums of some genes of the wild type, whose rows are those of their genes.
    fn of_wild_type<'t, T: Scalar>(
        &'t self,
        (input, nodes): (&'t [T], &'t [u32]),
        self_weight: T,
        width: usize,
    ) -> NeighbourSum<'t, T> {
        NeighbourSum {
            matrix: &self.edges.graph().incoming,
            edge_mask: None,
            row_of: self.deletion.identity(),
            width,
            self_weight: Some(self_weight),
            input,
            nodes,
        }
    }

    /// Returns the sums of every row of the network.
    pub(super) fn forward<T: Scalar>(
        &self,
        x: &[T],
        self_weight: T,
        width: usize,
        pool: &Pool<T>,
    ) -> Buffer<T> {
        let rows = self.input().genes() + self.own_rows().len();
        let mut sums = pool.scratch(rows * width);
        sums.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, sums)| {
            let first = chunk * CHUNK_ROWS;
            self.fill(x, self_weight, width, first..first + sums.len() / width, sums);
        });
        sums
    }

    fn fill<T: Scalar>(&self, x: &[T], self_weight: T, width: usize, rows: Range<usize>, sums: &mut [T]) {
        let genes = self.input().genes();
        let wild = rows.start.min(genes)..rows.end.min(genes);
        let (head, tail) = sums.split_at_mut(wild.len() * width);
        if !wild.is_empty() {
            let nodes = &self.deletion.identity()[wild];
            self.sum(&self.of_wild_type((x, nodes), self_weight, width), self_weight, head);
        }
        let rows = rows.start.max(genes) - genes..rows.end.max(genes) - genes;
        for (cell, part) in self.own_rows().parts(rows.clone()) {
            let sums = &mut tail[(part.start - rows.start) * width..(part.end - rows.start) * width];
            let nodes = self.deletion.nodes(cell, &self.own_rows().genes[part]);
            self.sum(&self.of_cell(cell, (x, &nodes), self_weight, width), self_weight, sums);
        }
    }

    /// Computes the sums of some nodes, those over neighbours with the factors of sampled edges.
    fn sum<T: Scalar>(&self, task: &NeighbourSum<'_, T>, self_weight: T, sums: &mut [T]) {
        let Some(factors) = self.edges.factors() else { return T::neighbour_sum(task, sums) };
        T::neighbour_sum(&NeighbourSum { self_weight: None, ..*task }, sums);
        for (&node, sums) in task.nodes.iter().zip(sums.chunks_exact_mut(task.width)) {
            let row = task.row_of[node as usize];
            // A deleted gene receives its self term alone.
            let factor = if row & MASKED == 0 { T::of(factors[node as usize]) } else { T::ZERO };
            let own = &task.input[(row & !MASKED) as usize * task.width..][..task.width];
            sums.iter_mut().zip(own).for_each(|(sum, &own)| *sum = factor * *sum + self_weight * own);
        }
    }

    /// Returns the gradients of the sums over neighbours, given those of the sums: multiplied by the factors of sampled edges.
    fn scaled<T: Scalar>(&self, d_sums: &[T], width: usize, pool: &Pool<T>) -> Option<Buffer<T>> {
        let factors = self.edges.factors()?;
        let mut scaled = pool.scratch(d_sums.len());
        let genes = (0..factors.len() as u32).chain(self.own_rows().genes.iter().copied());
        let rows = scaled.chunks_exact_mut(width).zip(d_sums.chunks_exact(width));
        for (gene, (scaled, d_sums)) in genes.zip(rows) {
            let factor = T::of(factors[gene as usize]);
            scaled.iter_mut().zip(d_sums).for_each(|(scaled, &value)| *scaled = factor * value);
        }
        Some(scaled)
    }

    /// Adds to `d_x`, given the gradient of the sums; returns the gradient of the self weight.
    pub(super) fn backward<T: Scalar>(
        &self,
        x: &[T],
        self_weight: T,
        width: usize,
        d_sums: &[T],
        d_x: &mut [T],
        pool: &Pool<T>,
    ) -> f64 {
        let genes = self.input().genes();
        let (of_wild, of_cells) = d_sums.split_at(genes * width);
        let shared_rows = self.input().shared_rows();
        let (shared, owned) = d_x.split_at_mut(shared_rows * width);
        let wild = &mut shared[..genes * width];
        let scaled = self.scaled(d_sums, width, pool);
        let d_neighbours = scaled.as_deref().unwrap_or(d_sums);
        let summed = self.deletion.is_node_mask().then(|| self.sum_over_cells(d_neighbours, width, pool));
        let task = Spmm {
            matrix: &self.edges.graph().outgoing,
            width,
            input: summed.as_deref().unwrap_or(of_wild),
            column_weight: None,
            row_weight: None,
        };
        T::spmm(&task, StoreMode::Add, wild);
        let mut d_self_weight = wild_self_backward(&x[..genes * width], of_wild, self_weight, wild);
        let groups = cell_groups(self.input(), 0..self.input().cells(), owned, width);
        let own_rows = self.own_rows();
        let (partials, self_parts): (Vec<Buffer<T>>, Vec<f64>) = groups
            .into_par_iter()
            .map(|CellGroup { cells, first, owned }| {
                let mut shared = pool.zeros(shared_rows * width);
                let mut d_self_weight = 0.0;
                let mut gradients = RowGradients { shared: &mut shared, own: owned, first };
                for cell in cells {
                    let rows = own_rows.offsets[cell]..own_rows.offsets[cell + 1];
                    if rows.is_empty() {
                        continue;
                    }
                    let nodes = self.deletion.nodes(cell, own_rows.of(cell));
                    let upstream = &of_cells[rows.start * width..rows.end * width];
                    let task = self.of_cell(cell, (x, &nodes), self_weight, width);
                    if summed.is_some() {
                        d_self_weight += T::self_term_backward(&task, upstream, &mut gradients);
                        self.move_to_changed_rows(cell, d_neighbours, width, &mut gradients, pool);
                    } else {
                        d_self_weight += T::neighbour_sum_backward(&task, upstream, &mut gradients);
                    }
                }
                (shared, d_self_weight)
            })
            .unzip();
        reduce_in_order(&partials, shared);
        d_self_weight += self_parts.iter().sum::<f64>();
        d_self_weight
    }

    /// The gradients of the sums, summed over all cells, the wild type among them, gene by gene.
    fn sum_over_cells<T: Scalar>(&self, d_sums: &[T], width: usize, pool: &Pool<T>) -> Buffer<T> {
        const GENES: usize = 128;
        let (genes, own_rows) = (self.input().genes(), self.own_rows());
        let mut sum = pool.scratch(genes * width);
        sum.par_chunks_mut(GENES * width).enumerate().for_each(|(chunk, sum)| {
            let first = chunk * GENES;
            let end = first + sum.len() / width;
            sum.copy_from_slice(&d_sums[first * width..end * width]);
            for cell in 0..self.input().cells() {
                let (own, row_of) = (own_rows.of(cell), self.input().row_of(cell));
                let from = own.partition_point(|&gene| (gene as usize) < first);
                for (at, &gene) in own.iter().enumerate().skip(from) {
                    let gene = gene as usize;
                    if gene >= end {
                        break;
                    }
                    if row_of[gene] & MASKED == 0 {
                        let row = (genes + own_rows.offsets[cell] + at) * width;
                        let sum = &mut sum[(gene - first) * width..(gene - first + 1) * width];
                        add_to(sum, &d_sums[row..row + width]);
                    }
                }
            }
        });
        sum
    }

    /// Moves a cell's part of the gradients from the wild type's rows to those that it read instead, and removes the part of its deleted
    /// genes.
    fn move_to_changed_rows<T: Scalar>(
        &self,
        cell: usize,
        d_sums: &[T],
        width: usize,
        gradients: &mut RowGradients<'_, T>,
        pool: &Pool<T>,
    ) {
        let (genes, own_rows) = (self.input().genes(), self.own_rows());
        let input_row = self.input().row_of(cell);
        // The row of each gene in `d_sums`; genes without a row of this cell's own are masked.
        let mut row_of = vec![MASKED; genes];
        for (row, &gene) in (own_rows.offsets[cell]..).zip(own_rows.of(cell)) {
            row_of[gene as usize] = (genes + row) as u32 | input_row[gene as usize] & MASKED;
        }
        // Changed rows and deleted genes: the mask is the highest bit.
        let is_changed = |&gene: &u32| input_row[gene as usize] as usize >= genes;
        let nodes: Vec<u32> = (0..genes as u32).filter(is_changed).collect();
        let mut parts = pool.scratch(nodes.len() * width);
        let task = NeighbourSum {
            matrix: &self.edges.graph().outgoing,
            edge_mask: None,
            row_of: &row_of,
            width,
            self_weight: None,
            input: d_sums,
            nodes: &nodes,
        };
        T::neighbour_sum(&task, &mut parts);
        for (&gene, part) in nodes.iter().zip(parts.chunks_exact(width)) {
            let wild = gradients.row(gene as usize, width);
            wild.iter_mut().zip(part).for_each(|(sum, &value)| *sum -= value);
            let row = input_row[gene as usize];
            if row & MASKED == 0 {
                add_to(gradients.row(row as usize, width), part);
            }
        }
    }
}

/// The backward pass of the wild type's self terms.
fn wild_self_backward<T: Scalar>(x: &[T], upstream: &[T], self_weight: T, d_x: &mut [T]) -> f64 {
    const CHUNK: usize = 1 << 14;
    let partials: Vec<f64> = d_x
        .par_chunks_mut(CHUNK)
        .zip(upstream.par_chunks(CHUNK).zip(x.par_chunks(CHUNK)))
        .map(|(d_x, (upstream, x))| {
            let mut d_self_weight = 0.0;
            for ((d_x, &upstream), &x) in d_x.iter_mut().zip(upstream).zip(x) {
                *d_x += self_weight * upstream;
                d_self_weight += (upstream * x).to_f64();
            }
            d_self_weight
        })
        .collect();
    partials.iter().sum()
}

/// Cells that one task takes.
pub(super) struct CellGroup<'s, T> {
    pub(super) cells: Range<usize>,
    /// First row of `owned`.
    pub(super) first: usize,
    /// Values of the rows that are the group's alone: those of its samples.
    pub(super) owned: &'s mut [T],
}

/// Splits some cells, all samples among them, into groups; `owned` has the rows of the samples.
pub(super) fn cell_groups<'s, T>(
    stage: &RowStage,
    cells: Range<usize>,
    mut owned: &'s mut [T],
    width: usize,
) -> Vec<CellGroup<'s, T>> {
    let groups = CELL_GROUPS.min(cells.len());
    let first_row = |cell: usize| stage.shared_rows().max(stage.genes() + stage.own_rows.offsets[cell]);
    let bound = |group: usize| cells.start + cells.len() * group / groups;
    (0..groups)
        .map(|group| {
            let cells = bound(group)..bound(group + 1);
            let rows = first_row(cells.end) - first_row(cells.start);
            let (part, rest) = std::mem::take(&mut owned).split_at_mut(rows * width);
            owned = rest;
            CellGroup { first: first_row(cells.start), cells, owned: part }
        })
        .collect()
}
