//! The rows that a batch computes, layer by layer and network by network.
//!
//! After every stage of the model all rows are in one array: first the wild type's, one per gene, then the rows of each sample, by ascending
//! gene. A gene without a row of the sample's own has the wild type's. Before the first layer no sample has rows of its own; after it,
//! where only changed rows are computed, those of the deleted genes and of the targets of their edges; and so on. The module knows graphs and
//! gene sets, neither parameters nor the tape. `docs/hetero.md` has a worked example.

use knockout_cell::GeneSetsRef;
use knockout_kernel::{Graph, MASKED};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The rows that samples have of their own, as ragged lists of genes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SampleRows {
    /// Row offsets of each sample.
    pub(super) offsets: Vec<usize>,
    /// Gene of each row, ascending within a sample.
    pub(super) genes: Vec<u32>,
}

impl SampleRows {
    fn of(samples: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let (mut offsets, mut genes) = (vec![0], Vec::new());
        for sample in samples {
            genes.extend(sample);
            offsets.push(genes.len());
        }
        Self { offsets, genes }
    }

    /// Whether no sample has a row of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.genes.is_empty()
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.genes.len()
    }

    /// Genes of a sample's rows.
    pub(super) fn sample(&self, sample: usize) -> &[u32] {
        &self.genes[self.offsets[sample]..self.offsets[sample + 1]]
    }

    /// Splits a range of rows by sample.
    pub(super) fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let first = self.offsets.partition_point(|&offset| offset <= rows.start).saturating_sub(1);
        (first..self.offsets.len() - 1).map_while(move |sample| {
            let part = self.offsets[sample].max(rows.start)..self.offsets[sample + 1].min(rows.end);
            (self.offsets[sample] < rows.end).then_some((sample, part))
        })
    }
}

/// The rows after a stage, and the row of each gene in each sample.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) sample_rows: Arc<SampleRows>,
    /// `[samples, genes]`: row index, with [`MASKED`] where the gene is deleted.
    row_of: Vec<u32>,
    genes: usize,
}

impl Stage {
    fn new(sample_rows: Arc<SampleRows>, deleted: &SampleRows, genes: usize) -> Self {
        let samples = sample_rows.offsets.len() - 1;
        let mut row_of = vec![0; samples * genes];
        row_of.par_chunks_mut(genes.max(1)).enumerate().for_each(|(sample, row_of)| {
            for (gene, row) in row_of.iter_mut().enumerate() {
                *row = gene as u32;
            }
            for (row, &gene) in (sample_rows.offsets[sample]..).zip(sample_rows.sample(sample)) {
                row_of[gene as usize] = (genes + row) as u32;
            }
            for &gene in deleted.sample(sample) {
                row_of[gene as usize] |= MASKED;
            }
        });
        Self { sample_rows, row_of, genes }
    }

    /// Number of genes.
    pub(super) fn genes(&self) -> usize {
        self.genes
    }

    /// Number of rows, those of the wild type included.
    pub(super) fn rows(&self) -> usize {
        self.genes + self.sample_rows.len()
    }

    /// Number of samples.
    pub(super) fn samples(&self) -> usize {
        self.sample_rows.offsets.len() - 1
    }

    /// The row of each gene in a sample, with [`MASKED`] where the gene is deleted.
    pub(super) fn row_of(&self, sample: usize) -> &[u32] {
        &self.row_of[sample * self.genes..(sample + 1) * self.genes]
    }
}

/// For each row of a layer's output, the row of a network's output that it gathers.
fn gather_index(network: &SampleRows, layer: &SampleRows, genes: usize) -> Vec<u32> {
    let mut index: Vec<u32> = (0..genes as u32).collect();
    index.reserve(layer.len());
    for sample in 0..layer.offsets.len() - 1 {
        let own = network.sample(sample);
        let first = genes + network.offsets[sample];
        let mut at = 0;
        for &gene in layer.sample(sample) {
            while at < own.len() && own[at] < gene {
                at += 1;
            }
            index.push(if own.get(at) == Some(&gene) { (first + at) as u32 } else { gene });
        }
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
    pub(super) input: Arc<Stage>,
    pub(super) networks: Vec<Arc<SampleRows>>,
    /// For each network, the row of its output that each row of the layer's output gathers.
    pub(super) gather_indices: Vec<Arc<Vec<u32>>>,
    pub(super) output: Arc<Stage>,
    /// Whether neighbour sums are saved for the backward pass or recomputed: few rows take little memory, all rows would take too much.
    pub(super) saves_sums: bool,
}

impl LayerPlan {
    /// The output rows ordered by gene, the wild type's before the samples', which brings those that gather the same row together; `None` if none
    /// do.
    pub(super) fn gene_order(&self) -> Option<Vec<u32>> {
        let sample_rows = &self.output.sample_rows;
        if self.networks.iter().all(|network| Arc::ptr_eq(network, sample_rows)) {
            return None;
        }
        let genes = self.output.genes();
        let reads = (0..genes as u32).chain(sample_rows.genes.iter().copied());
        Some(InverseIndex::new(genes, (0..).zip(reads)).readers)
    }
}

/// The rows of all layers of a batch.
#[derive(Debug)]
pub(super) struct Plan {
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

impl Plan {
    pub(super) fn new(
        graphs: &[&Graph],
        genes: usize,
        sets: GeneSetsRef<'_>,
        layers: usize,
        extent: Extent,
    ) -> Self {
        let deleted = SampleRows::of(sets.ranges().map(|range| {
            let mut set = sets.genes()[range].to_vec();
            set.sort_unstable();
            set.dedup();
            set
        }));
        let none = SampleRows::of(sets.ranges().map(|_| Vec::new()));
        let mut stage = Arc::new(Stage::new(Arc::new(none), &deleted, genes));
        let mut plan = Vec::with_capacity(layers);
        for _ in 0..layers {
            let (networks, union) = match extent {
                Extent::Changed => changed(graphs, genes, &stage.sample_rows, &deleted),
                Extent::All | Extent::Kept => {
                    let is_in = |sample: usize, gene: &u32| {
                        extent == Extent::All || deleted.sample(sample).binary_search(gene).is_err()
                    };
                    let list = |sample| (0..genes as u32).filter(|gene| is_in(sample, gene)).collect();
                    let all = Arc::new(SampleRows::of((0..sets.len()).map(list)));
                    (vec![Arc::clone(&all); graphs.len()], all)
                }
            };
            let output = Arc::new(Stage::new(union, &deleted, genes));
            let gather_indices = gather_indices(&networks, &output.sample_rows, genes);
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
fn gather_indices(networks: &[Arc<SampleRows>], layer: &Arc<SampleRows>, genes: usize) -> Vec<Arc<Vec<u32>>> {
    if networks.iter().all(|network| Arc::ptr_eq(network, layer)) {
        let one = Arc::new(gather_index(layer, layer, genes));
        return networks.iter().map(|_| Arc::clone(&one)).collect();
    }
    networks.par_iter().map(|network| Arc::new(gather_index(network, layer, genes))).collect()
}

/// The rows that differ from the wild type's after a layer, by network and in any network: the sources (genes that differed before or are
/// deleted) and the targets of their edges.
fn changed(
    graphs: &[&Graph],
    genes: usize,
    before: &SampleRows,
    deleted: &SampleRows,
) -> (Vec<Arc<SampleRows>>, Arc<SampleRows>) {
    let samples: Vec<(Vec<Vec<u32>>, Vec<u32>)> = (0..deleted.offsets.len() - 1)
        .into_par_iter()
        .map(|sample| {
            let mut is_source = vec![false; genes];
            for &gene in before.sample(sample).iter().chain(deleted.sample(sample)) {
                is_source[gene as usize] = true;
            }
            let sources: Vec<u32> = (0..genes as u32).filter(|&gene| is_source[gene as usize]).collect();
            let mut in_any = is_source.clone();
            let networks = graphs.iter().map(|graph| {
                let reached = reached(graph, &is_source, &sources);
                for &gene in &reached {
                    in_any[gene as usize] = true;
                }
                reached
            });
            let networks = networks.collect();
            (networks, (0..genes as u32).filter(|&gene| in_any[gene as usize]).collect())
        })
        .collect();
    let network =
        |k: usize| Arc::new(SampleRows::of(samples.iter().map(|(networks, _)| networks[k].clone())));
    let union = SampleRows::of(samples.iter().map(|(_, union)| union.clone()));
    ((0..graphs.len()).map(network).collect(), Arc::new(union))
}

/// The sources and the targets of their edges, ascending.
fn reached(graph: &Graph, is_source: &[bool], sources: &[u32]) -> Vec<u32> {
    let edges: usize = sources.iter().map(|&gene| graph.outgoing.degree(gene as usize)).sum();
    let mut is_reached = is_source.to_vec();
    // Few edges leave the sources: follow them. Many: check the incoming edges of every gene up to the first source.
    if edges < is_source.len() {
        for &gene in sources {
            graph.outgoing.row(gene as usize).for_each(|target| is_reached[target] = true);
        }
    } else {
        for (gene, is_reached) in is_reached.iter_mut().enumerate() {
            *is_reached = *is_reached || graph.incoming.any(gene, |source| is_source[source]);
        }
    }
    (0..is_source.len() as u32).filter(|&gene| is_reached[gene as usize]).collect()
}
