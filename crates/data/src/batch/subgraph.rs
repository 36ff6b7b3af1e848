//! Deletions as rebuilt graphs: every network without the genes, in a numbering of its own.

use crate::cell::{Cell, Deletion, GeneId, Network};

/// A gene's row in a rebuilt graph; not its row in the gene table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct LocalGene(pub u32);

/// The way from the gene table's numbering to a rebuilt graph's and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relabelling {
    deleted: Vec<u32>,
    gene_count: u32,
}

impl Relabelling {
    /// The numbering without these genes.
    pub fn new(cell: &Cell, deletion: &Deletion) -> Self {
        let deleted = deletion.genes().iter().map(|gene| gene.0).collect();
        Self { deleted, gene_count: cell.genes().len() as u32 }
    }

    /// How many genes are kept.
    pub fn kept_count(&self) -> usize {
        self.gene_count as usize - self.deleted.len()
    }

    /// The row of a gene in the rebuilt graph; `None` if it is deleted.
    pub fn local(&self, gene: GeneId) -> Option<LocalGene> {
        let below = self.deleted.partition_point(|&deleted| deleted < gene.0);
        (self.deleted.get(below) != Some(&gene.0)).then(|| LocalGene(gene.0 - below as u32))
    }

    /// The gene of a row of the rebuilt graph.
    pub fn gene(&self, local: LocalGene) -> GeneId {
        let mut gene = local.0;
        for &deleted in &self.deleted {
            if deleted > gene {
                break;
            }
            gene += 1;
        }
        GeneId(gene)
    }

    /// Appends the local rows of kept genes.
    fn extend_local(&self, out: &mut Vec<LocalGene>, genes: &[u32]) {
        // A local row is the gene minus the deleted ones below it: signed comparisons and subtractions, which vectorise
        // on every machine. Screens delete up to three genes; beyond that the general form does.
        let above = |gene: u32, deleted: u32| u32::from(gene as i32 > deleted as i32);
        match *self.deleted.as_slice() {
            [a] => out.extend(genes.iter().map(|&gene| LocalGene(gene - above(gene, a)))),
            [a, b] => {
                out.extend(genes.iter().map(|&gene| LocalGene(gene - above(gene, a) - above(gene, b))));
            }
            [a, b, c] => out.extend(
                genes.iter().map(|&gene| LocalGene(gene - above(gene, a) - above(gene, b) - above(gene, c))),
            ),
            ref deleted => out.extend(genes.iter().map(|&gene| {
                LocalGene(gene - deleted.iter().map(|&deleted| above(gene, deleted)).sum::<u32>())
            })),
        }
    }
}

/// A rebuilt network as compressed rows: the edges that leave local gene `i` enter `targets[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RebuiltNetwork {
    /// Row starts, one more than there are kept genes.
    pub offsets: Vec<u32>,
    /// Where each edge enters, row after row.
    pub targets: Vec<LocalGene>,
}

impl RebuiltNetwork {
    /// Every edge as (leaves, enters), row after row.
    pub fn edges(&self) -> impl Iterator<Item = (LocalGene, LocalGene)> + '_ {
        let rows = self.offsets.windows(2).enumerate();
        rows.flat_map(|(row, range)| {
            let targets = &self.targets[range[0] as usize..range[1] as usize];
            targets.iter().map(move |&target| (LocalGene(row as u32), target))
        })
    }

    fn assign(&mut self, network: &Network, deletion: &Deletion, relabelling: &Relabelling) {
        self.offsets.clear();
        self.targets.clear();
        let gone = deletion.removed_edges(network);
        // What goes is a few short stretches; what lies between is copied whole.
        let mut start = 0;
        for end in gone.iter().map(|&position| position as usize).chain([network.edge_count()]) {
            relabelling.extend_local(&mut self.targets, &network.targets()[start..end]);
            start = end + 1;
        }
        // Row starts move up by what went before them; the deleted genes' own rows are left out.
        let mut deleted = deletion.genes().iter().map(|gene| gene.index()).peekable();
        let mut gone_before = 0;
        for (row, &offset) in network.outgoing().offsets().iter().enumerate() {
            while gone.get(gone_before).is_some_and(|&position| position < offset) {
                gone_before += 1;
            }
            if deleted.next_if_eq(&row).is_none() {
                self.offsets.push(offset - gone_before as u32);
            }
        }
    }
}

/// The cell without some genes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subgraph {
    /// The way back to the gene table.
    pub relabelling: Relabelling,
    /// The networks, in the cell's order; edges keep their order.
    pub networks: Vec<RebuiltNetwork>,
    /// Rows of the reactions that still run, ascending; their index here is their new number.
    pub reactions: Vec<u32>,
    /// Gene-reaction entries of running reactions, in the new numbers: (reaction, gene).
    pub requirements: Vec<(u32, LocalGene)>,
    /// Reaction-metabolite entries of running reactions: new reaction number, metabolite row, position in the cell's list.
    pub coefficients: Vec<(u32, u32, u32)>,
}

impl Subgraph {
    /// An empty one to be filled by [`Subgraph::assign`].
    pub fn empty(cell: &Cell) -> Self {
        Self {
            relabelling: Relabelling { deleted: Vec::new(), gene_count: cell.genes().len() as u32 },
            networks: vec![RebuiltNetwork::default(); cell.networks().len()],
            reactions: Vec::new(),
            requirements: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    /// Makes this the cell without the deleted genes, reusing its memory.
    pub fn assign(&mut self, cell: &Cell, deletion: &Deletion) {
        self.relabelling = Relabelling::new(cell, deletion);
        for (network, rebuilt) in cell.networks().iter().zip(&mut self.networks) {
            rebuilt.assign(network, deletion, &self.relabelling);
        }
        self.assign_metabolism(cell, deletion);
    }

    fn assign_metabolism(&mut self, cell: &Cell, deletion: &Deletion) {
        self.reactions.clear();
        self.requirements.clear();
        self.coefficients.clear();
        let Some(metabolism) = cell.metabolism() else { return };
        let stopped = deletion.stopped_reactions(metabolism);
        let number = |reaction: u32| match stopped.binary_search(&reaction) {
            Ok(_) => None,
            Err(below) => Some(reaction - below as u32),
        };
        self.reactions.extend((0..metabolism.reactions().len() as u32).filter(|&row| number(row).is_some()));
        self.requirements.extend(metabolism.requirements().iter().filter_map(|entry| {
            // A running reaction has all its genes, so the gene is always kept.
            Some((number(entry.reaction)?, self.relabelling.local(GeneId(entry.gene))?))
        }));
        self.coefficients.extend(metabolism.coefficients().iter().enumerate().filter_map(
            |(position, entry)| Some((number(entry.reaction)?, entry.metabolite, position as u32)),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbering_goes_there_and_back() {
        let numbering = Relabelling { deleted: vec![0, 3, 4], gene_count: 7 };
        let kept = [1, 2, 5, 6];
        assert_eq!(numbering.kept_count(), kept.len());
        for (local, gene) in kept.into_iter().enumerate() {
            assert_eq!(numbering.local(GeneId(gene)), Some(LocalGene(local as u32)));
            assert_eq!(numbering.gene(LocalGene(local as u32)), GeneId(gene));
        }
        assert_eq!(numbering.local(GeneId(3)), None);
    }
}
