//! Which rows of which sample are computed, layer by layer and network by network.
//!
//! After every stage of the model the rows lie in one array: first the wild type's, one per gene, then those that samples have of
//! their own, sample by sample with rising genes. A sample's other rows are the wild type's. Before the first layer no sample has
//! rows of its own; after it, where only changed rows are computed, those of the deleted genes and of the genes they sent to; and
//! so on. The module knows graphs and sets of genes, neither parameters nor the tape.

use knockout_cell::GeneSetsRef;
use knockout_kernel::{DROPPED, Graph};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a stage beyond the wild type's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Where each sample's rows begin, and the end.
    pub(super) offsets: Vec<usize>,
    /// The gene of each row.
    pub(super) genes: Vec<u32>,
}

impl Listed {
    fn of(samples: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let (mut offsets, mut genes) = (vec![0], Vec::new());
        for sample in samples {
            genes.extend(sample);
            offsets.push(genes.len());
        }
        Self { offsets, genes }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.genes.is_empty()
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.genes.len()
    }

    /// The genes of a sample.
    pub(super) fn sample(&self, sample: usize) -> &[u32] {
        &self.genes[self.offsets[sample]..self.offsets[sample + 1]]
    }

    /// The samples of a range of rows, each with the part of the range that it owns.
    pub(super) fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let first = self.offsets.partition_point(|&offset| offset <= rows.start).saturating_sub(1);
        (first..self.offsets.len() - 1).map_while(move |sample| {
            let part = self.offsets[sample].max(rows.start)..self.offsets[sample + 1].min(rows.end);
            (self.offsets[sample] < rows.end).then_some((sample, part))
        })
    }
}

/// The rows after a stage, and where each sample finds the row of each gene.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) listed: Arc<Listed>,
    /// `[samples, genes]`: a row, with [`DROPPED`] where the gene is deleted.
    place: Vec<u32>,
    genes: usize,
}

impl Stage {
    fn new(listed: Arc<Listed>, deleted: &Listed, genes: usize) -> Self {
        let samples = listed.offsets.len() - 1;
        let mut place = vec![0; samples * genes];
        place.par_chunks_mut(genes.max(1)).enumerate().for_each(|(sample, place)| {
            for (gene, place) in place.iter_mut().enumerate() {
                *place = gene as u32;
            }
            for (row, &gene) in (listed.offsets[sample]..).zip(listed.sample(sample)) {
                place[gene as usize] = (genes + row) as u32;
            }
            for &gene in deleted.sample(sample) {
                place[gene as usize] |= DROPPED;
            }
        });
        Self { listed, place, genes }
    }

    /// How many genes.
    pub(super) fn genes(&self) -> usize {
        self.genes
    }

    /// Rows in all.
    pub(super) fn rows(&self) -> usize {
        self.genes + self.listed.len()
    }

    /// How many samples.
    pub(super) fn samples(&self) -> usize {
        self.listed.offsets.len() - 1
    }

    /// A sample's table of places.
    pub(super) fn place(&self, sample: usize) -> &[u32] {
        &self.place[sample * self.genes..(sample + 1) * self.genes]
    }
}

/// For each row of a layer's output, the row of a network's output it reads.
fn reading(network: &Listed, layer: &Listed, genes: usize) -> Vec<u32> {
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

/// Who reads each row.
#[derive(Debug)]
pub(super) struct Readers {
    /// Where the readers of each row begin, and the end.
    offsets: Vec<u32>,
    readers: Vec<u32>,
}

impl Readers {
    /// Of so many rows, given readers with the row that each reads.
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

    /// Those of a row, as they came.
    pub(super) fn of(&self, row: usize) -> &[u32] {
        &self.readers[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// One layer: what it starts from, what each network computes, and what comes out.
#[derive(Debug)]
pub(super) struct LayerPlan {
    pub(super) input: Arc<Stage>,
    pub(super) networks: Vec<Arc<Listed>>,
    /// For each network, the row of its output that each row of the layer's output reads.
    pub(super) readings: Vec<Arc<Vec<u32>>>,
    pub(super) output: Arc<Stage>,
    /// Whether what arrives at the rows is kept for the way back: few rows take little memory, all rows would take too much.
    pub(super) keeps_sums: bool,
}

impl LayerPlan {
    /// Rows of the output gene by gene, the wild type's before those of samples, if any reads of a network what another does.
    pub(super) fn by_gene(&self) -> Option<Vec<u32>> {
        let listed = &self.output.listed;
        if self.networks.iter().all(|network| Arc::ptr_eq(network, listed)) {
            return None;
        }
        let genes = self.output.genes();
        let reads = (0..genes as u32).chain(listed.genes.iter().copied());
        Some(Readers::new(genes, (0..).zip(reads)).readers)
    }
}

/// All layers of a batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) layers: Vec<Arc<LayerPlan>>,
}

/// The rows a plan computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those that differ from the wild type's.
    Changed,
    /// Those of every gene.
    All,
    /// Those of every gene that is not deleted.
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
        let deleted = Listed::of(sets.ranges().map(|range| {
            let mut set = sets.genes()[range].to_vec();
            set.sort_unstable();
            set.dedup();
            set
        }));
        let none = Listed::of(sets.ranges().map(|_| Vec::new()));
        let mut stage = Arc::new(Stage::new(Arc::new(none), &deleted, genes));
        let mut plan = Vec::with_capacity(layers);
        for _ in 0..layers {
            let (networks, union) = match extent {
                Extent::Changed => changed(graphs, genes, &stage.listed, &deleted),
                Extent::All | Extent::Kept => {
                    let is_in = |sample: usize, gene: &u32| {
                        extent == Extent::All || deleted.sample(sample).binary_search(gene).is_err()
                    };
                    let list = |sample| (0..genes as u32).filter(|gene| is_in(sample, gene)).collect();
                    let all = Arc::new(Listed::of((0..sets.len()).map(list)));
                    (vec![Arc::clone(&all); graphs.len()], all)
                }
            };
            let output = Arc::new(Stage::new(union, &deleted, genes));
            let readings = readings(&networks, &output.listed, genes);
            let keeps_sums = extent == Extent::Changed;
            let layer =
                LayerPlan { input: stage, networks, readings, output: Arc::clone(&output), keeps_sums };
            plan.push(Arc::new(layer));
            stage = output;
        }
        Self { layers: plan }
    }
}

/// Networks that compute the same rows share one reading.
fn readings(networks: &[Arc<Listed>], layer: &Arc<Listed>, genes: usize) -> Vec<Arc<Vec<u32>>> {
    if networks.iter().all(|network| Arc::ptr_eq(network, layer)) {
        let one = Arc::new(reading(layer, layer, genes));
        return networks.iter().map(|_| Arc::clone(&one)).collect();
    }
    networks.par_iter().map(|network| Arc::new(reading(network, layer, genes))).collect()
}

/// The rows that differ after a layer, by network and in all: those that differed or are deleted, and what they send to.
fn changed(
    graphs: &[&Graph],
    genes: usize,
    before: &Listed,
    deleted: &Listed,
) -> (Vec<Arc<Listed>>, Arc<Listed>) {
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
    let network = |k: usize| Arc::new(Listed::of(samples.iter().map(|(networks, _)| networks[k].clone())));
    let union = Listed::of(samples.iter().map(|(_, union)| union.clone()));
    ((0..graphs.len()).map(network).collect(), Arc::new(union))
}

/// Sources and where they send to, rising.
fn reached(graph: &Graph, is_source: &[bool], sources: &[u32]) -> Vec<u32> {
    let edges: usize = sources.iter().map(|&gene| graph.outgoing.entries_of(gene as usize)).sum();
    let mut is_reached = is_source.to_vec();
    // Few edges leave the sources: follow them. Many: ask every gene, which ends at the first source it hears from.
    if edges < is_source.len() {
        for &gene in sources {
            graph.outgoing.row(gene as usize).for_each(|target| is_reached[target] = true);
        }
    } else {
        for (gene, is_reached) in is_reached.iter_mut().enumerate() {
            *is_reached = *is_reached || graph.incoming.any(gene, |from| is_source[from]);
        }
    }
    (0..is_source.len() as u32).filter(|&gene| is_reached[gene as usize]).collect()
}
