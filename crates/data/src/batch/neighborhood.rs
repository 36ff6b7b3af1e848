//! Deletions as neighbourhoods: only the genes a deletion can reach, in a numbering of its own.

use crate::batch::subgraph::LocalGene;
use crate::cell::{Cell, Deletion};

/// Edges by their two ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeList {
    /// Where each edge leaves.
    pub sources: Vec<LocalGene>,
    /// Where it enters.
    pub targets: Vec<LocalGene>,
}

/// The genes within some hops of the deleted ones along edge direction over all networks, and the edges left among them.
///
/// The deleted genes are part of it (a model keeps their own rows); their edges are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighborhood {
    /// The genes, ascending; the index here is the local row.
    pub genes: Vec<u32>,
    /// Whether each of them is deleted.
    pub is_deleted: Vec<bool>,
    /// The networks' edges among kept genes of the neighbourhood.
    pub networks: Vec<EdgeList>,
    /// The local row of each gene of the cell; `u32::MAX` outside.
    local: Vec<u32>,
}

const OUTSIDE: u32 = u32::MAX;

impl Neighborhood {
    /// An empty one to be filled by [`Neighborhood::assign`].
    pub fn empty(cell: &Cell) -> Self {
        Self {
            genes: Vec::new(),
            is_deleted: Vec::new(),
            networks: vec![EdgeList::default(); cell.networks().len()],
            local: vec![OUTSIDE; cell.genes().len()],
        }
    }

    /// Makes this the neighbourhood of a deletion, reusing its memory.
    pub fn assign(&mut self, cell: &Cell, deletion: &Deletion, hops: usize) {
        self.local.fill(OUTSIDE);
        self.genes.clear();
        self.genes.extend(deletion.genes().iter().map(|gene| gene.0));
        self.genes.iter().for_each(|&gene| self.local[gene as usize] = 0);
        let mut start = 0;
        for _ in 0..hops {
            let end = self.genes.len();
            for network in cell.networks() {
                for index in start..end {
                    for &target in network.outgoing().row(self.genes[index] as usize) {
                        if self.local[target as usize] == OUTSIDE {
                            self.local[target as usize] = 0;
                            self.genes.push(target);
                        }
                    }
                }
            }
            start = end;
        }
        self.genes.sort_unstable();
        for (row, &gene) in self.genes.iter().enumerate() {
            self.local[gene as usize] = row as u32;
        }
        self.is_deleted.clear();
        self.is_deleted.resize(self.genes.len(), false);
        for gene in deletion.genes() {
            self.is_deleted[self.local[gene.index()] as usize] = true;
        }
        for (network, edges) in cell.networks().iter().zip(&mut self.networks) {
            edges.sources.clear();
            edges.targets.clear();
            for (row, &gene) in self.genes.iter().enumerate() {
                if self.is_deleted[row] {
                    continue;
                }
                for &target in network.outgoing().row(gene as usize) {
                    let local = self.local[target as usize];
                    if local != OUTSIDE && !self.is_deleted[local as usize] {
                        edges.sources.push(LocalGene(row as u32));
                        edges.targets.push(LocalGene(local));
                    }
                }
            }
        }
    }
}
