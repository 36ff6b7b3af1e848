//! A cell's networks as models read them: which ones, merged or apart, with self-loops or without.

use crate::limits;
use knockout_base::error::{Error, Result};
use knockout_data::cell::{Cell, Network};
use knockout_engine::kernel::{Csr, Graph};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether every gene counts among its own neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfLoopChoice {
    /// Where the network has a self-loop.
    #[default]
    AsStored,
    /// Always: one is added to every gene.
    Add,
}

/// Treatment of STRING's channels among the networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StringChannels {
    /// Each is a network.
    #[default]
    Apart,
    /// They become one network with each edge once; its λ is their smallest one.
    Merged,
}

/// Name of the network that merged STRING channels become.
pub(crate) const MERGED_STRING: &str = "string";
/// Name of the network that all networks become.
pub(crate) const MERGED_NETWORKS: &str = "merged";

/// λ of a STRING channel, `None` for any other network.
///
/// Few edges were added to the first three channels' complements from one version to the next, so that pairs without an edge
/// carry less information there.
pub fn string_lambda(network: &str) -> Option<f64> {
    const CHANNELS: [(&str, f64); 6] = [
        ("neighborhood", 0.1),
        ("coexpression", 0.1),
        ("experimental", 0.1),
        ("fusion", 1.0),
        ("cooccurence", 1.0),
        ("database", 1.0),
    ];
    let rest = network.strip_prefix("string")?;
    CHANNELS.iter().find(|(channel, _)| rest.ends_with(channel)).map(|&(_, lambda)| lambda)
}

impl StringChannels {
    /// Whether a network becomes a part of [`MERGED_STRING`].
    pub(crate) fn merges(self, network: &Network) -> bool {
        self == Self::Merged && string_lambda(network.name()).is_some()
    }
}

/// Refuses names of networks that a cell does not have.
pub(crate) fn check_names<'n>(cell: &Cell, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
    match names.into_iter().find(|name| cell.network(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let have: Vec<&str> = cell.networks().iter().map(Network::name).collect();
            Err(Error::request(format!("the dataset has no network {name:?}; it has {}", have.join(", "))))
        }
    }
}

/// Refuses a cell without networks for a model that is made of them.
pub(crate) fn check_any(model: &str, cell: &Cell) -> Result<()> {
    if cell.networks().is_empty() {
        return Err(Error::request(format!(
            "the dataset has no networks, and {model} is made of them; train the stack or low-rank, or import the screen \
             again with --network"
        )));
    }
    Ok(())
}

/// A network of a cell.
pub(crate) fn graph_of(network: &Network, self_loops: SelfLoopChoice) -> Graph {
    graph(network.gene_count(), self_loops, |gene| network.outgoing().row(gene).to_vec())
}

/// The union of several networks: each edge once, however often it occurs.
pub(crate) fn merged_graph(networks: &[&Network], self_loops: SelfLoopChoice) -> Graph {
    let genes = networks.first().map_or(0, |network| network.gene_count());
    graph(genes, self_loops, |gene| {
        let mut targets: Vec<u32> =
            networks.iter().flat_map(|network| network.outgoing().row(gene)).copied().collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    })
}

fn graph(genes: usize, self_loops: SelfLoopChoice, targets: impl Fn(usize) -> Vec<u32>) -> Graph {
    let (mut offsets, mut columns) = (vec![0u32], Vec::new());
    for gene in 0..genes {
        columns.extend(targets(gene));
        if self_loops == SelfLoopChoice::Add {
            columns.push(gene as u32);
        }
        offsets.push(columns.len() as u32);
    }
    Graph::from_outgoing(Csr::new(&offsets, &columns, genes).expect("the networks of a cell are well formed"))
}

/// Refuses a network that is named twice.
pub(crate) fn check_once<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let value = format!("{name:?} twice");
            return Err(limits::out_of_range("model.networks", value, "each network can be read once"));
        }
    }
    Ok(())
}
