//! The definition of what a deletion removes, which all representations share.
//!
//! An edge goes when either end is deleted. A reaction stops when any gene it needs is deleted; with it go its
//! gene-reaction and reaction-metabolite entries. Metabolites always stay.

use crate::cell::{Cell, Deletion, GeneId};

/// A stretch of a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskSection {
    /// One bit per gene.
    Genes,
    /// One bit per edge of the network with this index in the cell, by edge position.
    Network(usize),
    /// One bit per reaction.
    Reactions,
    /// One bit per gene-reaction entry.
    Requirements,
    /// One bit per reaction-metabolite entry.
    Coefficients,
}

/// Calls `remove` for every position that goes; a position may be named twice (an edge between two deleted genes).
///
/// `network` sections count networks in the cell's order. The deletion's genes must be in the cell.
pub(crate) fn removed(cell: &Cell, deletion: &Deletion, mut remove: impl FnMut(MaskSection, usize)) {
    for gene in deletion.genes() {
        remove(MaskSection::Genes, gene.index());
    }
    for (index, network) in cell.networks().iter().enumerate() {
        for &gene in deletion.genes() {
            for position in network.outgoing().range(gene.index()) {
                remove(MaskSection::Network(index), position);
            }
            for &position in &network.incoming_positions()[network.incoming().range(gene.index())] {
                remove(MaskSection::Network(index), position as usize);
            }
        }
    }
    if let Some(metabolism) = cell.metabolism() {
        for reaction in deletion.stopped_reactions(metabolism) {
            remove(MaskSection::Reactions, reaction as usize);
            for position in metabolism.requirements_of(reaction) {
                remove(MaskSection::Requirements, position);
            }
            for position in metabolism.coefficients_of(reaction) {
                remove(MaskSection::Coefficients, position);
            }
        }
    }
}

/// The first deleted gene that the cell does not have.
pub(crate) fn unknown_gene(cell: &Cell, deletion: &Deletion) -> Option<GeneId> {
    deletion.genes().iter().copied().find(|gene| gene.index() >= cell.genes().len())
}
