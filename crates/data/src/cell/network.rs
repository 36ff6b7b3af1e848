//! A gene network as compressed rows in both directions.
//!
//! Entries are directed and may repeat. Their order is canonical (by source, then target), so that the position of
//! an entry is its index in the outgoing rows and needs no table of its own.

use crate::cell::GeneId;
use crate::cell::error::{bad_number, out_of_range, too_large};
use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Directed entries that an undirected edge becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entries {
    /// One, in the direction in which its source lists it first. The Python system did this.
    One,
    /// Both directions, so that messages pass both ways.
    #[default]
    Two,
}

/// Compressed sparse rows: row `i` is `columns[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdjacencyLists {
    offsets: Vec<u32>,
    columns: Vec<u32>,
}

impl AdjacencyLists {
    /// Groups `columns` by `rows`; entries of one row keep their order. Both slices have the same length, which
    /// fits `u32`, and every row is below `row_count`. Returns the rows and, for each entry, where it came from.
    pub(crate) fn group(row_count: usize, rows: &[u32], columns: &[u32]) -> (Self, Vec<u32>) {
        let mut offsets = vec![0_u32; row_count + 1];
        for &row in rows {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..row_count {
            offsets[row + 1] += offsets[row];
        }
        let mut next = offsets.clone();
        let mut grouped = vec![0_u32; columns.len()];
        let mut origins = vec![0_u32; columns.len()];
        for (origin, (&row, &column)) in rows.iter().zip(columns).enumerate() {
            let slot = next[row as usize] as usize;
            grouped[slot] = column;
            origins[slot] = origin as u32;
            next[row as usize] += 1;
        }
        (Self { offsets, columns: grouped }, origins)
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The positions of a row's entries.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The columns of a row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.range(row)]
    }

    /// Row starts, one more than there are rows.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// All columns, row after row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }
}

/// One directed entry of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Row of the gene the edge leaves.
    pub source: u32,
    /// Row of the gene it enters.
    pub target: u32,
    /// Confidence or strength as the source file has it; 1 where it has none.
    pub weight: f32,
}

impl Edge {
    /// An edge of weight 1.
    pub fn new(source: u32, target: u32) -> Self {
        Self { source, target, weight: 1.0 }
    }

    /// An edge with a weight.
    pub fn weighted(source: u32, target: u32, weight: f32) -> Self {
        Self { source, target, weight }
    }
}

/// Treatment of edges from a gene to itself. Datasets store none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfLoops {
    /// A self-loop is an error: what a stored dataset promises.
    Refuse,
    /// Left out and counted: what importers do.
    Drop,
    /// Kept as they are.
    Keep,
    /// Kept, and one added to every gene that has none: what the Python system did.
    AddMissing,
}

/// A gene network: directed entries with multiplicity, by source and by target.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    name: String,
    outgoing: AdjacencyLists,
    incoming: AdjacencyLists,
    incoming_positions: Vec<u32>,
    sources: Vec<u32>,
    weights: Vec<f32>,
}

impl Network {
    /// Builds a network over `gene_count` genes from entries in any order; also returns how many self-loops were dropped.
    ///
    /// Entries are sorted by source, then target; repeated entries keep their given order.
    pub fn from_edges(
        name: impl Into<String>,
        gene_count: usize,
        mut edges: Vec<Edge>,
        self_loops: SelfLoops,
    ) -> Result<(Self, usize)> {
        let name = name.into();
        let list = || format!("network {name:?}");
        for (entry, edge) in edges.iter().enumerate() {
            for index in [edge.source, edge.target] {
                if index as usize >= gene_count {
                    return Err(out_of_range(&list(), entry, "gene", index, gene_count));
                }
            }
            if !edge.weight.is_finite() {
                return Err(bad_number(&list(), entry, edge.weight.into()));
            }
            if edge.source == edge.target && self_loops == SelfLoops::Refuse {
                let gene = edge.source;
                return Err(Error::damage(format!(
                    "entry {entry} of network {name:?} is a self-loop on gene {gene}"
                )));
            }
        }
        let given = edges.len();
        match self_loops {
            SelfLoops::Drop => edges.retain(|edge| edge.source != edge.target),
            SelfLoops::AddMissing => add_missing_self_loops(gene_count, &mut edges),
            SelfLoops::Refuse | SelfLoops::Keep => {}
        }
        let dropped = given.saturating_sub(edges.len());
        if u32::try_from(edges.len()).is_err() {
            return Err(too_large(&list(), edges.len()));
        }
        if !edges.is_sorted_by_key(|edge| (edge.source, edge.target)) {
            edges.sort_by_key(|edge| (edge.source, edge.target));
        }
        let sources: Vec<u32> = edges.iter().map(|edge| edge.source).collect();
        let targets: Vec<u32> = edges.iter().map(|edge| edge.target).collect();
        let weights = edges.iter().map(|edge| edge.weight).collect();
        let (outgoing, _) = AdjacencyLists::group(gene_count, &sources, &targets);
        let (incoming, incoming_positions) = AdjacencyLists::group(gene_count, &targets, &sources);
        Ok((Self { name, outgoing, incoming, incoming_positions, sources, weights }, dropped))
    }

    /// The network's name, unique in its cell.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many genes the network was built over, with or without edges.
    pub fn gene_count(&self) -> usize {
        self.outgoing.row_count()
    }

    /// Number of entries.
    pub fn edge_count(&self) -> usize {
        self.outgoing.columns.len()
    }

    /// How many genes have at least one edge.
    pub fn node_count(&self) -> usize {
        (0..self.gene_count()).filter(|&gene| self.degree(gene) > 0).count()
    }

    /// Entries by source; the position of an entry is its index here.
    pub fn outgoing(&self) -> &AdjacencyLists {
        &self.outgoing
    }

    /// Entries by target; [`Network::incoming_positions`] has the position of each.
    pub fn incoming(&self) -> &AdjacencyLists {
        &self.incoming
    }

    /// The positions of the entries of [`Network::incoming`], in its order.
    pub fn incoming_positions(&self) -> &[u32] {
        &self.incoming_positions
    }

    /// The source of every entry, by position.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The target of every entry, by position.
    pub fn targets(&self) -> &[u32] {
        self.outgoing.columns()
    }

    /// The weight of every entry, by position.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Entries that leave a gene plus entries that enter it; a self-loop counts twice.
    pub fn degree(&self, gene: usize) -> usize {
        self.outgoing.range(gene).len() + self.incoming.range(gene).len()
    }

    /// Number of distinct genes that a gene has an edge with, in either direction, itself excluded.
    pub(crate) fn neighbour_count(&self, gene: usize) -> usize {
        let (leaving, entering) = (self.outgoing.row(gene), self.incoming.row(gene));
        let mut neighbours: Vec<u32> = leaving.iter().chain(entering).copied().collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours.iter().filter(|&&other| other as usize != gene).count()
    }

    /// Positions of the entries a gene takes part in, in ascending order, a self-loop once.
    pub fn incident(&self, gene: GeneId) -> Vec<u32> {
        let leaving = self.outgoing.range(gene.index());
        let entering = &self.incoming_positions[self.incoming.range(gene.index())];
        let mut positions: Vec<u32> = (leaving.start as u32..leaving.end as u32).collect();
        positions.extend(entering.iter().filter(|&&position| !leaving.contains(&(position as usize))));
        positions.sort_unstable();
        positions
    }

    /// Entries that repeat an earlier one of the same source and target.
    pub(crate) fn repeated_edge_count(&self) -> usize {
        (0..self.gene_count())
            .map(|gene| self.outgoing.row(gene).windows(2).filter(|pair| pair[0] == pair[1]).count())
            .sum()
    }
}

fn add_missing_self_loops(gene_count: usize, edges: &mut Vec<Edge>) {
    let mut has_loop = vec![false; gene_count];
    for edge in edges.iter().filter(|edge| edge.source == edge.target) {
        has_loop[edge.source as usize] = true;
    }
    edges.extend(
        (0..gene_count).filter(|&gene| !has_loop[gene]).map(|gene| Edge::new(gene as u32, gene as u32)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(network: &Network) -> Vec<(u32, u32)> {
        network.sources().iter().copied().zip(network.targets().iter().copied()).collect()
    }

    #[test]
    fn entries_are_sorted_and_found_from_both_ends() {
        let edges =
            vec![Edge::new(2, 0), Edge::weighted(0, 1, 0.5), Edge::new(0, 2), Edge::weighted(0, 1, 0.25)];
        let (network, dropped) = Network::from_edges("n", 4, edges, SelfLoops::Refuse).unwrap();
        assert_eq!(dropped, 0);
        assert_eq!(pairs(&network), [(0, 1), (0, 1), (0, 2), (2, 0)]);
        assert_eq!(network.weights(), [0.5, 0.25, 1.0, 1.0]);
        assert_eq!(network.incoming().row(1), [0, 0]);
        assert_eq!(network.incident(GeneId(0)), [0, 1, 2, 3]);
        assert_eq!(network.incident(GeneId(2)), [2, 3]);
        assert_eq!(network.node_count(), 3);
        assert_eq!(network.repeated_edge_count(), 1);
    }

    #[test]
    fn each_self_loop_policy_does_what_it_says() {
        let edges = || vec![Edge::new(0, 0), Edge::new(0, 1)];
        let refused = Network::from_edges("n", 3, edges(), SelfLoops::Refuse).unwrap_err();
        assert_eq!(refused.to_string(), "entry 0 of network \"n\" is a self-loop on gene 0");
        let (network, dropped) = Network::from_edges("n", 3, edges(), SelfLoops::Drop).unwrap();
        assert_eq!((pairs(&network), dropped), (vec![(0, 1)], 1));
        let (network, _) = Network::from_edges("n", 3, edges(), SelfLoops::Keep).unwrap();
        assert_eq!(pairs(&network), [(0, 0), (0, 1)]);
        assert_eq!(network.incident(GeneId(0)), [0, 1]);
        let (network, _) = Network::from_edges("n", 3, edges(), SelfLoops::AddMissing).unwrap();
        assert_eq!(pairs(&network), [(0, 0), (0, 1), (1, 1), (2, 2)]);
    }

    #[test]
    fn an_edge_out_of_range_names_its_entry() {
        let edges = vec![Edge::new(0, 1), Edge::new(0, 7)];
        let error = Network::from_edges("ppi", 3, edges, SelfLoops::Refuse).unwrap_err();
        assert_eq!(error.to_string(), "entry 1 of network \"ppi\" names gene 7, but there are only 3");
    }

    #[test]
    fn a_weight_that_is_no_number_is_refused() {
        let edges = vec![Edge::weighted(0, 1, f32::NAN)];
        let error = Network::from_edges("ppi", 3, edges, SelfLoops::Refuse).unwrap_err();
        assert_eq!(error.to_string(), "entry 0 of network \"ppi\" has the value NaN");
    }
}
