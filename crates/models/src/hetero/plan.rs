//! The rows that a batch computes, layer by layer and network by network.
//!
//! After every stage of the model all rows are in one array: first the wild type's, one per gene, then the rows of each cell
//! (bases, then samples: see `cells`), by ascending gene. A gene without a row of the cell's own has that of a base or the wild
//! type's. Before the first layer no cell has rows of its own; after it, where only changed rows are computed, those of the
//! deleted genes and of the targets of their edges; and so on. Where several samples share a deletion, each row that depends on
//! it alone exists once. The module depends on graphs and gene sets, and on neither parameters nor the tape.
//!
//! # Rows of one sample
//!
//! Four genes, two networks, one sample with gene A deleted, two layers:
//!
//! ```text
//! physical     A ──> B ──> C ──> D            regulatory     A ──> C
//!
//!                       wild type        sample: own rows        row of each gene in the sample
//!                       A  B  C  D        (· : the wild type's)     A   B   C   D
//!
//! before layer 1        0  1  2  3        ·   ·   ·   ·             0†  1   2   3
//!
//! layer 1  physical     0  1  2  3        A4  B5  ·   ·             A, and its target B
//!          regulatory   0  1  2  3        A4  ·   C5  ·             A, and its target C
//!          aggregated   0  1  2  3        A4  B5  C6  ·             4†  5   6   3
//!
//! layer 2  physical     0  1  2  3        A4  B5  C6  D7            A, B, C, and their targets B, C, D
//!          regulatory   0  1  2  3        A4  B5  C6  ·             A, B, C, and their target C
//!          aggregated   0  1  2  3        A4  B5  C6  D7            4†  5   6   7
//!
//! † masked: A sends nothing and receives its self term alone; the pooling leaves it out
//! ```
//!
//! In layer 1 the aggregation computes row C6 from `physical`'s wild-type row 2 and `regulatory`'s own row 5. Rows of another sample would follow
//! from row 7 and row 8 on. The test `four_genes_with_one_deletion` asserts every number of this picture.
//!
//! # Rows that samples share
//!
//! A row depends only on the deleted genes that reach it. A gene set that several samples of a batch contain is a *base*: a cell of its own, whose
//! rows are computed once. One network, two samples without A and C, and without A and D, two layers:
//!
//! ```text
//! physical     A ──> B ──> C ──> D ──> E
//!
//!                       wild type          base: without A      without A, C        without A, D
//!                       A  B  C  D  E      A   B   C            C   D   E           D   E
//! layer 1               0  1  2  3  4      5   6   ·            7   8   ·           9   10
//! layer 2               0  1  2  3  4      5   6   7            8   9   10          11  12
//! ```
//!
//! After layer 2 the sample without A and D reads A, B and C from the base (rows 5 to 7). In the sample without A and C, row C is reached by both
//! deletions and is therefore its own. The test `two_samples_share_the_cell_without_their_query` asserts it. In the backward pass the gradients of
//! shared rows are added in a fixed order.

use super::cells::{BatchCells, Sharing};
use super::own_rows::OwnRows;
use super::reach::{DeletionReach, MessageGraph, members};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::kernel::MASKED;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The rows after a stage, and the row of each gene in each cell.
#[derive(Debug)]
pub(super) struct RowStage {
    pub(super) own_rows: Arc<OwnRows>,
    /// `[cells, genes]`: row index, with [`MASKED`] where the gene is deleted.
    row_of: Vec<u32>,
    genes: usize,
    bases: usize,
}

impl RowStage {
    fn new(own_rows: Arc<OwnRows>, cells: &BatchCells, genes: usize) -> Self {
        let mut row_of = vec![0; cells.count() * genes];
        row_of.par_chunks_mut(genes.max(1)).enumerate().for_each(|(cell, row_of)| {
            cells.fill_rows(&own_rows, cell, row_of);
            for &gene in cells.deleted.of(cell) {
                row_of[gene as usize] |= MASKED;
            }
        });
        Self { own_rows, row_of, genes, bases: cells.bases }
    }

    /// Number of genes.
    pub(super) fn genes(&self) -> usize {
        self.genes
    }

    /// Number of rows, those of the wild type included.
    pub(super) fn rows(&self) -> usize {
        self.genes + self.own_rows.len()
    }

    /// Number of rows that several samples may read: the wild type's and the bases'. They precede the samples' own.
    pub(super) fn shared_rows(&self) -> usize {
        self.genes + self.own_rows.offsets[self.bases]
    }

    /// Number of cells: bases, then samples.
    pub(super) fn cells(&self) -> usize {
        self.own_rows.offsets.len() - 1
    }

    /// The cells that are samples.
    pub(super) fn samples(&self) -> Range<usize> {
        self.bases..self.cells()
    }

    /// The row of each gene in a cell, with [`MASKED`] where the gene is deleted.
    pub(super) fn row_of(&self, cell: usize) -> &[u32] {
        &self.row_of[cell * self.genes..(cell + 1) * self.genes]
    }
}

/// For each row of a layer's output, the row of a network's output that it gathers.
fn gather_index(cells: &BatchCells, network: &OwnRows, layer: &OwnRows, genes: usize) -> Vec<u32> {
    let mut index: Vec<u32> = (0..genes as u32).collect();
    index.reserve(layer.len());
    let mut rows = vec![0; genes];
    for cell in 0..cells.count() {
        cells.fill_rows(network, cell, &mut rows);
        index.extend(layer.of(cell).iter().map(|&gene| rows[gene as usize]));
    }
    index
}

/// The inverse of a gather index: the readers of each row.
#[derive(Debug)]
pub(super) struct InverseIndex {
    /// Offsets of each row's readers.
    offsets: Vec<u32>,
    readers: Vec<u32>,
}

impl InverseIndex {
    /// Inverts (reader, row) pairs over `rows` rows.
    pub(super) fn new(rows: usize, reads: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut offsets = vec![0u32; rows + 1];
        for (_, row) in reads.clone() {
            offsets[row as usize + 1] += 1;
        }
        for row in 1..offsets.len() {
            offsets[row] += offsets[row - 1];
        }
        let mut next = offsets.clone();
        let mut readers = vec![0; offsets[rows] as usize];
        for (reader, row) in reads {
            readers[next[row as usize] as usize] = reader;
            next[row as usize] += 1;
        }
        Self { offsets, readers }
    }

    /// Readers of a row, in the order given.
    pub(super) fn of(&self, row: usize) -> &[u32] {
        &self.readers[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// The rows of one layer: of its input, of each network's output, and of the layer's output.
#[derive(Debug)]
pub(super) struct LayerPlan {
    pub(super) input: Arc<RowStage>,
    pub(super) networks: Vec<Arc<OwnRows>>,
    /// For each network, the row of its output that each row of the layer's output gathers.
    pub(super) gather_indices: Vec<Arc<Vec<u32>>>,
    pub(super) output: Arc<RowStage>,
    /// Whether neighbour sums are saved for the backward pass or recomputed: few rows take little memory, all rows would take too much.
    pub(super) saves_sums: bool,
}

impl LayerPlan {
    /// The output rows ordered by gene, the wild type's before the samples', which brings those that gather the same row together; `None` if none
    /// do.
    pub(super) fn gene_order(&self) -> Option<Vec<u32>> {
        let own_rows = &self.output.own_rows;
        if self.networks.iter().all(|network| Arc::ptr_eq(network, own_rows)) {
            return None;
        }
        let genes = self.output.genes();
        let reads = (0..genes as u32).chain(own_rows.genes.iter().copied());
        Some(InverseIndex::new(genes, (0..).zip(reads)).readers)
    }
}

/// The rows of all layers of a batch.
#[derive(Debug)]
pub(super) struct RowPlan {
    pub(super) layers: Vec<Arc<LayerPlan>>,
}

/// The rows that a plan computes for every sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those that differ from the wild type's.
    Changed,
    /// Those of all genes.
    All,
    /// Those of all genes that are not deleted.
    Kept,
}

impl RowPlan {
    pub(super) fn new(
        graphs: &[impl MessageGraph],
        genes: usize,
        sets: GeneSetsRef<'_>,
        layers: usize,
        extent: Extent,
    ) -> Self {
        let sharing = if extent == Extent::Changed { Sharing::Bases } else { Sharing::None };
        let cells = BatchCells::new(sets, sharing);
        let none = OwnRows::of_cells((0..cells.count()).map(|_| None));
        let mut changed = match extent {
            Extent::Changed => changed(graphs, genes, &cells, layers),
            Extent::All | Extent::Kept => Vec::new(),
        }
        .into_iter();
        let mut stage = Arc::new(RowStage::new(Arc::new(none), &cells, genes));
        let mut plan = Vec::with_capacity(layers);
        for _ in 0..layers {
            let (networks, union) = changed.next().unwrap_or_else(|| {
                let is_in = |cell: usize, gene: &u32| {
                    extent == Extent::All || cells.deleted.of(cell).binary_search(gene).is_err()
                };
                let list = |cell| (0..genes as u32).filter(move |gene| is_in(cell, gene));
                let all = Arc::new(OwnRows::of_cells((0..cells.count()).map(list)));
                (vec![Arc::clone(&all); graphs.len()], all)
            });
            let output = Arc::new(RowStage::new(union, &cells, genes));
            let gather_indices = gather_indices(&cells, &networks, &output.own_rows, genes);
            let saves_sums = extent == Extent::Changed;
            let layer =
                LayerPlan { input: stage, networks, gather_indices, output: Arc::clone(&output), saves_sums };
            plan.push(Arc::new(layer));
            stage = output;
        }
        Self { layers: plan }
    }
}

/// The gather index of each network; networks that compute the same rows share one.
fn gather_indices(
    cells: &BatchCells,
    networks: &[Arc<OwnRows>],
    layer: &Arc<OwnRows>,
    genes: usize,
) -> Vec<Arc<Vec<u32>>> {
    if networks.iter().all(|network| Arc::ptr_eq(network, layer)) {
        let one = Arc::new(gather_index(cells, layer, layer, genes));
        return networks.iter().map(|_| Arc::clone(&one)).collect();
    }
    networks.par_iter().map(|network| Arc::new(gather_index(cells, network, layer, genes))).collect()
}

/// The rows that differ from the wild type's after each layer, by network and in any network.
///
/// A row of a sample belongs to the base that lacks just those of the sample's genes that reach it, or else to the sample.
fn changed(
    graphs: &[impl MessageGraph],
    genes: usize,
    cells: &BatchCells,
    layers: usize,
) -> Vec<(Vec<Arc<OwnRows>>, Arc<OwnRows>)> {
    let mut deleted = cells.deleted.genes.clone();
    deleted.sort_unstable();
    deleted.dedup();
    let reach = DeletionReach::new(graphs, genes, deleted, layers);
    let indices: Vec<Vec<usize>> = (0..cells.samples())
        .map(|sample| cells.sample(sample).iter().map(|&gene| reach.index(gene)).collect())
        .collect();
    let rows = |(layer, network): (usize, usize)| {
        let words = reach.words();
        let mut owned = vec![0; cells.count() * words];
        for (sample, indices) in indices.iter().enumerate() {
            let reached: Vec<&[u64]> = indices.iter().map(|&index| reach.of(index, layer, network)).collect();
            for word in 0..words {
                let mut own = reached.iter().fold(0, |any, reached| any | reached[word]);
                for &(mask, base) in cells.subsets(sample) {
                    // Reached by these genes, and by none of the sample's others.
                    let exact = reached.iter().enumerate().fold(own, |exact, (at, reached)| {
                        exact & if mask >> at & 1 == 1 { reached[word] } else { !reached[word] }
                    });
                    owned[base as usize * words + word] |= exact;
                    own &= !exact;
                }
                owned[(cells.bases + sample) * words + word] = own;
            }
        }
        Arc::new(OwnRows::of_cells(owned.chunks(words.max(1)).map(members)))
    };
    let stages = (0..layers).flat_map(|layer| (0..=graphs.len()).map(move |network| (layer, network)));
    let stages: Vec<(usize, usize)> = stages.collect();
    let mut stages: Vec<Arc<OwnRows>> = stages.into_par_iter().map(rows).collect();
    let mut by_layer = Vec::with_capacity(layers);
    while !stages.is_empty() {
        let mut networks: Vec<_> = stages.drain(..=graphs.len()).collect();
        by_layer.extend(networks.pop().map(|any| (networks, any)));
    }
    by_layer
}
