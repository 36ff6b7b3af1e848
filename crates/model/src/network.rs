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
    let outgoing = network.outgoing();
    let genes = network.gene_count();
    let (mut offsets, mut columns) = (vec![0u32], Vec::with_capacity(outgoing.columns().len() + genes));
    for gene in 0..genes {
        columns.extend_from_slice(outgoing.row(gene));
        if self_loops == SelfLoops::Add {
            columns.push(gene as u32);
        }
        offsets.push(columns.len() as u32);
    }
    Graph::from_outgoing(Csr::new(&offsets, &columns, genes).expect("the networks of a cell are well formed"))
}
