//! Effects of a deletion: removed edges, stopped reactions, and how far the change reaches.

use crate::cell::{Cell, GeneId, Metabolism, Network};
use knockout_base::error::{Error, Result};
use smallvec::SmallVec;

/// Distinct deleted genes, in ascending order; most screens delete one to three.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deletion {
    genes: SmallVec<[GeneId; 3]>,
}

impl Deletion {
    /// Sorts the genes; an empty set or a repeated gene is an error.
    pub fn new(genes: &[GeneId]) -> Result<Self> {
        let mut genes = SmallVec::<[GeneId; 3]>::from_slice(genes);
        genes.sort_unstable();
        if genes.is_empty() {
            return Err(Error::request("a deletion needs at least one gene"));
        }
        if let Some(pair) = genes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::request(format!("gene {} is deleted twice in one set", pair[0].0)));
        }
        Ok(Self { genes })
    }

    /// The deleted genes, ascending.
    pub fn genes(&self) -> &[GeneId] {
        &self.genes
    }

    /// Whether a gene is deleted.
    pub fn contains(&self, gene: GeneId) -> bool {
        // A handful of sorted ids: a scan beats a search.
        self.genes.contains(&gene)
    }

    /// Returns the positions of the removed edges, ascending: those with a deleted gene at either end.
    pub fn removed_edges(&self, network: &Network) -> Vec<u32> {
        let mut positions: Vec<u32> = self.genes.iter().flat_map(|&gene| network.incident(gene)).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Reactions that stop, ascending: an alternative needs all its genes, so losing any one stops it.
    pub fn stopped_reactions(&self, metabolism: &Metabolism) -> Vec<u32> {
        let mut reactions: Vec<u32> =
            self.genes.iter().flat_map(|gene| metabolism.reactions_of(*gene)).copied().collect();
        reactions.sort_unstable();
        reactions.dedup();
        reactions
    }
}

/// Counts the genes whose state a deletion can change, message pass by message pass.
///
/// Holds the scratch space, so that many deletions can be measured without allocating.
#[derive(Debug)]
pub struct Reach<'a> {
    cell: &'a Cell,
    seen: Vec<bool>,
    frontier: Vec<u32>,
    next: Vec<u32>,
}

impl<'a> Reach<'a> {
    /// Prepares to measure deletions in a cell.
    pub fn new(cell: &'a Cell) -> Self {
        Self { cell, seen: vec![false; cell.genes().len()], frontier: Vec::new(), next: Vec::new() }
    }

    /// Genes reached from the deleted ones along edge direction over all networks, within 1, 2, … hops; the deleted
    /// genes themselves count.
    pub fn within<const HOPS: usize>(&mut self, deletion: &Deletion) -> [usize; HOPS] {
        self.seen.fill(false);
        self.frontier.clear();
        for gene in deletion.genes() {
            self.seen[gene.index()] = true;
            self.frontier.push(gene.0);
        }
        let mut reached = self.frontier.len();
        let mut counts = [0; HOPS];
        for count in &mut counts {
            self.next.clear();
            for network in self.cell.networks() {
                for &gene in &self.frontier {
                    for &target in network.outgoing().row(gene as usize) {
                        if !self.seen[target as usize] {
                            self.seen[target as usize] = true;
                            self.next.push(target);
                        }
                    }
                }
            }
            reached += self.next.len();
            *count = reached;
            std::mem::swap(&mut self.frontier, &mut self.next);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Edge, GeneTable, SelfLoops};

    #[test]
    fn a_set_is_sorted_and_must_be_a_set() {
        let set = Deletion::new(&[GeneId(5), GeneId(1)]).unwrap();
        assert_eq!(set.genes(), [GeneId(1), GeneId(5)]);
        let message = |genes: &[GeneId]| Deletion::new(genes).unwrap_err().to_string();
        assert_eq!(message(&[]), "a deletion needs at least one gene");
        assert_eq!(message(&[GeneId(2), GeneId(2)]), "gene 2 is deleted twice in one set");
    }

    #[test]
    fn reach_follows_direction_and_counts_the_deleted() {
        let genes = GeneTable::from_systematic(["A", "B", "C", "D"]).unwrap();
        let edges = vec![Edge::new(0, 1), Edge::new(1, 2), Edge::new(3, 0)];
        let (network, _) = Network::from_edges("n", 4, edges, SelfLoops::Refuse).unwrap();
        let cell = Cell::new(genes, vec![network], None).unwrap();
        let mut reach = Reach::new(&cell);
        assert_eq!(reach.within::<3>(&Deletion::new(&[GeneId(0)]).unwrap()), [2, 3, 3]);
        assert_eq!(reach.within::<1>(&Deletion::new(&[GeneId(2)]).unwrap()), [1]);
    }
}
