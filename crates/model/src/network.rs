//! A cell's network as the kernels walk it.

use knockout_cell::Network;
use knockout_kernel::{Csr, Graph};
use serde::{Deserialize, Serialize};

/// Whether every gene counts among its own neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfLoops {
    /// Where the network says so.
    #[default]
    AsStored,
    /// Always: one is added to every gene.
    Add,
}

/// A network of a cell.
pub(crate) fn graph_of(network: &Network, self_loops: SelfLoops) -> Graph {
    graph(network.gene_count(), self_loops, |gene| network.outgoing().row(gene).to_vec())
}

/// The union of several networks: each edge once, however often it occurs.
pub(crate) fn merged_graph(networks: &[&Network], self_loops: SelfLoops) -> Graph {
    let genes = networks.first().map_or(0, |network| network.gene_count());
    graph(genes, self_loops, |gene| {
        let mut targets: Vec<u32> =
            networks.iter().flat_map(|network| network.outgoing().row(gene)).copied().collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    })
}

fn graph(genes: usize, self_loops: SelfLoops, targets: impl Fn(usize) -> Vec<u32>) -> Graph {
    let (mut offsets, mut columns) = (vec![0u32], Vec::new());
    for gene in 0..genes {
        columns.extend(targets(gene));
        if self_loops == SelfLoops::Add {
            columns.push(gene as u32);
        }
        offsets.push(columns.len() as u32);
    }
    Graph::from_outgoing(Csr::new(&offsets, &columns, genes).expect("the networks of a cell are well formed"))
}
