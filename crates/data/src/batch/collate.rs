//! A batch: the columns of its samples, and the collation of their graphs.

use crate::batch::mask::bytes_of;
use crate::batch::removal::MaskSection;
use crate::batch::subgraph::{LocalGene, RebuiltNetwork};
use crate::batch::{Graphs, Neighborhood, Processor};
use crate::cell::GeneSets;
use crate::screen::Samples;
use serde::{Deserialize, Serialize};

/// How the graphs of a batch are collated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collation {
    /// By reference: one shared graph, a representation per sample beside it. Nothing is copied.
    Shared,
    /// Edge lists copied once per sample with node offsets, as PyG does.
    Replicated,
}

impl Collation {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::Shared, Self::Replicated];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Replicated => "replicated",
        }
    }
}

/// A network's edges over all samples of a batch, in one numbering: sample `i`'s genes follow sample `i - 1`'s.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeLists {
    /// Where each edge leaves.
    pub sources: Vec<u32>,
    /// Where it enters.
    pub targets: Vec<u32>,
    /// Whether each is kept, one byte each as PyG has it; empty when the lists hold only kept edges.
    pub is_kept: Vec<u8>,
}

/// A batch: its samples, their deletions and scores. A few hundred bytes, unless edges are replicated.
#[derive(Debug, Default)]
pub struct Batch {
    /// Rows of the dataset.
    pub rows: Vec<u32>,
    /// Deleted genes of each sample.
    pub genes: GeneSets,
    /// Interaction score of each sample, as stored.
    pub scores: Vec<f64>,
    /// With [`Collation::Replicated`]: the networks' edges over all samples.
    pub replicated: Vec<EdgeLists>,
}

impl Batch {
    /// Fetches samples, reusing this batch's memory; their graphs are the processor's business.
    pub fn fetch(&mut self, samples: &Samples, rows: &[u32]) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.genes.clear();
        self.scores.clear();
        for &row in rows {
            self.genes.push(samples.genes(row as usize));
            self.scores.push(samples.scores()[row as usize]);
        }
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether it holds no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Collates the processor's graphs. Shared collation has nothing to do.
    pub fn collate(&mut self, processor: &Processor, collation: Collation) {
        let network_count = processor.cell().networks().len();
        match collation {
            Collation::Shared => self.replicated.clear(),
            Collation::Replicated => {
                self.replicated.resize_with(network_count, EdgeLists::default);
                for (index, lists) in self.replicated.iter_mut().enumerate() {
                    lists.sources.clear();
                    lists.targets.clear();
                    lists.is_kept.clear();
                    replicate(processor, self.rows.len(), index, lists);
                }
            }
        }
    }

    /// Bytes a batch holds with its graphs: what would have to be shipped to a device.
    pub fn byte_count(&self, graphs: &Graphs<'_>) -> usize {
        let own = 4 * self.rows.len() + self.genes.byte_count() + 8 * self.scores.len();
        let replicated: usize = self
            .replicated
            .iter()
            .map(|lists| 4 * (lists.sources.len() + lists.targets.len()) + lists.is_kept.len())
            .sum();
        let shared = match graphs {
            // Replicated lists already hold the contents of the graphs.
            _ if !self.replicated.is_empty() => 0,
            Graphs::None => 0,
            Graphs::Masks(layout, masks) => 8 * layout.word_count() * masks.len(),
            Graphs::Subgraphs(graphs) => graphs
                .iter()
                .map(|graph| {
                    let rows = |network: &RebuiltNetwork| network.offsets.len() + network.targets.len();
                    let metabolism =
                        graph.reactions.len() + 2 * graph.requirements.len() + 3 * graph.coefficients.len();
                    4 * (metabolism + graph.networks.iter().map(rows).sum::<usize>())
                })
                .sum(),
            Graphs::Neighborhoods(graphs) => {
                let edges = |graph: &Neighborhood| {
                    graph.networks.iter().map(|list| list.sources.len()).sum::<usize>()
                };
                graphs.iter().map(|graph| 8 * edges(graph) + 5 * graph.genes.len()).sum()
            }
        };
        own + replicated + shared
    }
}

fn replicate(processor: &Processor, count: usize, index: usize, lists: &mut EdgeLists) {
    let network = &processor.cell().networks()[index];
    let gene_count = processor.cell().genes().len() as u32;
    match processor.graphs(count) {
        Graphs::None | Graphs::Masks(..) => {
            for sample in 0..count as u32 {
                let offset = sample * gene_count;
                lists.sources.extend(network.sources().iter().map(|source| source + offset));
                lists.targets.extend(network.targets().iter().map(|target| target + offset));
            }
            if let Graphs::Masks(layout, masks) = processor.graphs(count) {
                for mask in masks {
                    let end = lists.is_kept.len() + network.edge_count();
                    for &word in mask.words(layout, MaskSection::Network(index)) {
                        lists.is_kept.extend_from_slice(&bytes_of(word));
                    }
                    // The last word may reach beyond the network's edges.
                    lists.is_kept.truncate(end);
                }
            }
        }
        Graphs::Subgraphs(graphs) => {
            let mut offset = 0;
            for graph in graphs {
                let network = &graph.networks[index];
                for (row, range) in network.offsets.windows(2).enumerate() {
                    let width = (range[1] - range[0]) as usize;
                    lists.sources.extend(std::iter::repeat_n(row as u32 + offset, width));
                }
                extend_shifted(&mut lists.targets, &network.targets, offset);
                offset += graph.relabelling.kept_count() as u32;
            }
        }
        Graphs::Neighborhoods(graphs) => {
            let mut offset = 0;
            for graph in graphs {
                extend_shifted(&mut lists.sources, &graph.networks[index].sources, offset);
                extend_shifted(&mut lists.targets, &graph.networks[index].targets, offset);
                offset += graph.genes.len() as u32;
            }
        }
    }
}

fn extend_shifted(out: &mut Vec<u32>, genes: &[LocalGene], offset: u32) {
    out.extend(genes.iter().map(|gene| gene.0 + offset));
}
