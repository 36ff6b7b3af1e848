//! Three ways to leave deleted genes out of neighbour sums: a node mask, an edge mask, or a graph rebuilt without them.
//!
//! All give the same sums. The node mask is free, and training uses it. The other two are the methods of the reference system,
//! for comparison.

use super::plan::RowStage;
use super::{HeteroNetwork, Route};
use knockout_data::batch::{Graphs, MaskSection};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::kernel::{Csr, Graph};
use rayon::prelude::*;
use std::borrow::Cow;

/// The deleted genes of every sample of a batch.
#[derive(Debug)]
pub(super) struct DeletedEdges {
    method: Method,
    /// 0, 1, 2, …, one per row of all cells.
    identity: Vec<u32>,
    genes: usize,
}

#[derive(Debug)]
enum Method {
    /// Flags in [`RowStage::row_of`].
    NodeMask,
    /// By sample and network, one bit per entry of the incoming matrix.
    EdgeMask(Vec<Vec<Vec<u64>>>),
    /// By sample: the kept genes, and the incoming matrix of each network in their numbering.
    Rebuilt(Vec<(Vec<u32>, Vec<Csr>)>),
}

impl DeletedEdges {
    /// Takes masks or rebuilt graphs from the batch where it has them, and derives them from the gene sets otherwise.
    pub(super) fn new(
        route: Route,
        networks: &[HeteroNetwork],
        genes: usize,
        sets: GeneSetsRef<'_>,
        graphs: &Graphs<'_>,
    ) -> Self {
        let method = match route {
            Route::ChangedRows | Route::NodeMask => Method::NodeMask,
            Route::EdgeMask => Method::EdgeMask(edge_masks(networks, sets, graphs)),
            Route::Rebuilt => Method::Rebuilt(rebuilt(networks, genes, sets, graphs)),
        };
        Self { method, identity: (0..(genes * (sets.len() + 1)) as u32).collect(), genes }
    }

    /// Whether deletion is a node mask: then every sample has the network's own matrix.
    pub(super) fn is_node_mask(&self) -> bool {
        matches!(self.method, Method::NodeMask)
    }

    /// The rows of the wild type.
    pub(super) fn identity(&self) -> &[u32] {
        &self.identity[..self.genes]
    }

    /// The matrix of a sample's neighbour sums, and its edge mask.
    pub(super) fn matrix<'m>(
        &'m self,
        network: usize,
        sample: usize,
        graph: &'m Graph,
    ) -> (&'m Csr, Option<&'m [u64]>) {
        match &self.method {
            Method::NodeMask => (&graph.incoming, None),
            Method::EdgeMask(kept) => (&graph.incoming, Some(&kept[sample][network])),
            Method::Rebuilt(samples) => (&samples[sample].1[network], None),
        }
    }

    /// The row of each node of the matrix in the stage that the sums read.
    pub(super) fn row_of<'s>(&'s self, stage: &'s RowStage, sample: usize) -> &'s [u32] {
        match &self.method {
            Method::NodeMask => stage.row_of(sample),
            Method::EdgeMask(_) | Method::Rebuilt(_) if !stage.own_rows.is_empty() => {
                let first = self.genes + stage.own_rows.offsets[sample];
                &self.identity[first..first + stage.own_rows.of(sample).len()]
            }
            Method::EdgeMask(_) => self.identity(),
            Method::Rebuilt(samples) => &samples[sample].0,
        }
    }

    /// The nodes of the matrix that stand for some of a sample's genes.
    pub(super) fn nodes<'g>(&self, sample: usize, genes: &'g [u32]) -> Cow<'g, [u32]> {
        match &self.method {
            Method::NodeMask | Method::EdgeMask(_) => Cow::Borrowed(genes),
            Method::Rebuilt(samples) => {
                let below = |gene: u32| samples[sample].0.partition_point(|&kept| kept < gene) as u32;
                genes.iter().map(|&gene| below(gene)).collect()
            }
        }
    }
}

fn is_deleted(set: &[u32], gene: usize) -> bool {
    set.contains(&(gene as u32))
}

fn edge_masks(networks: &[HeteroNetwork], sets: GeneSetsRef<'_>, graphs: &Graphs<'_>) -> Vec<Vec<Vec<u64>>> {
    let samples: Vec<&[u32]> = sets.iter().collect();
    let of_sample = |(sample, set): (usize, &&[u32])| {
        let of_network = |network: &HeteroNetwork| {
            let matrix = &network.graph.incoming;
            let mut kept = vec![0u64; matrix.entry_count().div_ceil(64)];
            for row in 0..matrix.row_count() {
                for (entry, column) in matrix.entries(row) {
                    let is_kept = match graphs {
                        Graphs::Masks(layout, masks) => {
                            let position = network.positions[entry] as usize;
                            masks[sample].is_kept(layout, MaskSection::Network(network.index), position)
                        }
                        _ => !is_deleted(set, row) && !is_deleted(set, column),
                    };
                    kept[entry / 64] |= u64::from(is_kept) << (entry % 64);
                }
            }
            kept
        };
        networks.iter().map(of_network).collect()
    };
    samples.par_iter().enumerate().map(of_sample).collect()
}

fn rebuilt(
    networks: &[HeteroNetwork],
    genes: usize,
    sets: GeneSetsRef<'_>,
    graphs: &Graphs<'_>,
) -> Vec<(Vec<u32>, Vec<Csr>)> {
    let samples: Vec<&[u32]> = sets.iter().collect();
    let of_sample = |(sample, set): (usize, &&[u32])| {
        let kept: Vec<u32> = (0..genes as u32).filter(|gene| !set.contains(gene)).collect();
        let of_network = |network: &HeteroNetwork| {
            let (offsets, columns) = match graphs {
                Graphs::Subgraphs(subgraphs) => {
                    let graph = &subgraphs[sample].networks[network.index];
                    (graph.offsets.clone(), graph.targets.iter().map(|gene| gene.0).collect())
                }
                _ => without(&network.graph.outgoing, &kept),
            };
            Csr::new(&offsets, &columns, kept.len()).expect("a rebuilt graph is well formed").transposed()
        };
        let matrices = networks.iter().map(of_network).collect();
        (kept, matrices)
    };
    samples.par_iter().enumerate().map(of_sample).collect()
}

/// Offsets and columns of a matrix over the kept rows and columns, in their numbering.
fn without(matrix: &Csr, kept: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for &row in kept {
        let local = matrix.row(row as usize).filter_map(|column| kept.binary_search(&(column as u32)).ok());
        columns.extend(local.map(|local| local as u32));
        offsets.push(columns.len() as u32);
    }
    (offsets, columns)
}
