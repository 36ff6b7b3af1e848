//! Edges as a file lists them, to a network: each pair once, no self-loops, one or two entries per undirected edge.

use knockout_base::error::{Error, Result};
use knockout_data::cell::{Edge, Entries, Network, SelfLoops};
use serde::{Deserialize, Serialize};

/// Whether an edge has a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// From regulator to target.
    Directed,
    /// Between two genes; stored as one or two entries.
    Undirected(Entries),
}

/// An edge in 16 bytes: the pair as one sortable word, smaller gene first where there is no direction.
#[derive(Debug, Clone, Copy)]
struct ListedEdge {
    pair: u64,
    /// Twice the position in the file, plus 1 if the larger gene stood first.
    order: u32,
    weight: f32,
}

/// The edges of one network, as they are found.
#[derive(Debug)]
pub struct EdgeCollector {
    name: String,
    orientation: Orientation,
    edges: Vec<ListedEdge>,
    self_loops: u64,
    is_full: bool,
}

/// Counts of the edges of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeCounts {
    /// Distinct edges: pairs, or ordered pairs in a directed network.
    pub edges: u64,
    /// Entries stored: twice the edges of an undirected network with two entries each.
    pub entries: u64,
    /// Genes with an edge.
    pub nodes: u64,
    /// Edges from a gene to itself, dropped.
    pub self_loops: u64,
    /// Edges listed again in the other direction, as STRING lists every edge.
    pub mirrored: u64,
    /// Edges listed again in the same direction.
    pub repeated: u64,
}

impl EdgeCollector {
    /// Starts a network.
    pub fn new(name: impl Into<String>, orientation: Orientation) -> Self {
        Self { name: name.into(), orientation, edges: Vec::new(), self_loops: 0, is_full: false }
    }

    /// The network's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds an edge between rows of the gene table.
    pub fn push(&mut self, source: u32, target: u32, weight: f32) {
        if source == target {
            self.self_loops += 1;
            return;
        }
        let is_flipped = source > target && self.orientation != Orientation::Directed;
        let (first, second) = if is_flipped { (target, source) } else { (source, target) };
        let Some(order) = u32::try_from(self.edges.len()).ok().filter(|&count| count < u32::MAX / 2) else {
            self.is_full = true;
            return;
        };
        self.edges.push(ListedEdge {
            pair: u64::from(first) << 32 | u64::from(second),
            order: 2 * order + u32::from(is_flipped),
            weight,
        });
    }

    /// Builds the network. An edge listed several times is one edge with the largest of its weights.
    pub fn finish(mut self, gene_count: usize) -> Result<(Network, EdgeCounts)> {
        if self.is_full {
            let message = format!("network {:?} has too many edges; at most {} fit", self.name, u32::MAX / 2);
            return Err(Error::damage(message));
        }
        self.edges.sort_unstable_by_key(|edge| (edge.pair, edge.order));
        let mut counts = EdgeCounts { self_loops: self.self_loops, ..EdgeCounts::default() };
        let mut entries = Vec::with_capacity(2 * self.edges.len());
        for same in self.edges.chunk_by(|a, b| a.pair == b.pair) {
            let first = same[0];
            counts.edges += 1;
            for other in &same[1..] {
                if other.order % 2 == first.order % 2 {
                    counts.repeated += 1;
                } else {
                    counts.mirrored += 1;
                }
            }
            let weight = same.iter().map(|edge| edge.weight).fold(f32::MIN, f32::max);
            let (low, high) = ((first.pair >> 32) as u32, first.pair as u32);
            let (source, target) = if first.order % 2 == 1 { (high, low) } else { (low, high) };
            entries.push(Edge { source, target, weight });
            if self.orientation == Orientation::Undirected(Entries::Two) {
                entries.push(Edge { source: target, target: source, weight });
            }
        }
        counts.entries = entries.len() as u64;
        drop(self.edges);
        let (network, _) = Network::from_edges(self.name, gene_count, entries, SelfLoops::Refuse)?;
        counts.nodes = network.node_count() as u64;
        Ok((network, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(orientation: Orientation) -> (Vec<(u32, u32, f32)>, EdgeCounts) {
        let mut list = EdgeCollector::new("n", orientation);
        for (source, target, weight) in [(2, 1, 0.5), (1, 2, 0.75), (0, 3, 1.0), (3, 3, 1.0), (0, 3, 0.25)] {
            list.push(source, target, weight);
        }
        let (network, counts) = list.finish(4).unwrap();
        let ends = network.sources().iter().zip(network.targets()).zip(network.weights());
        (ends.map(|((&source, &target), &weight)| (source, target, weight)).collect(), counts)
    }

    #[test]
    fn two_entries_pass_messages_both_ways() {
        let (entries, counts) = build(Orientation::Undirected(Entries::Two));
        assert_eq!(entries, [(0, 3, 1.0), (1, 2, 0.75), (2, 1, 0.75), (3, 0, 1.0)]);
        let expected = EdgeCounts { edges: 2, entries: 4, nodes: 4, self_loops: 1, mirrored: 1, repeated: 1 };
        assert_eq!(counts, expected);
    }

    #[test]
    fn one_entry_keeps_the_direction_of_the_file() {
        let (entries, counts) = build(Orientation::Undirected(Entries::One));
        assert_eq!(entries, [(0, 3, 1.0), (2, 1, 0.75)]);
        assert_eq!((counts.edges, counts.entries), (2, 2));
    }

    #[test]
    fn a_directed_network_keeps_both_directions_apart() {
        let (entries, counts) = build(Orientation::Directed);
        assert_eq!(entries, [(0, 3, 1.0), (1, 2, 0.75), (2, 1, 0.5)]);
        assert_eq!((counts.edges, counts.repeated, counts.mirrored), (3, 1, 0));
    }
}
