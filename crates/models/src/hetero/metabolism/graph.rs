//! Reactions and metabolites as nodes: their weighted edges, and those that remain when genes are deleted.
//!
//! Genes, reactions and metabolites are indices. The module depends on neither rows of values nor the tape.

use crate::hetero::Route;
use crate::hetero::reach::MessageGraph;
use knockout_data::batch::{Graphs, MaskSection};
use knockout_data::cell::{GeneSetsRef, Metabolism};
use knockout_engine::kernel::MASKED;
use rayon::prelude::*;

/// Lists of numbers with weights, one list per row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeLists {
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl NodeLists {
    /// The lists of (row, number, weight) entries, each in the order given.
    fn new(rows: usize, entries: impl Iterator<Item = (u32, u32, f64)> + Clone) -> Self {
        let mut offsets = vec![0_u32; rows + 1];
        for (row, ..) in entries.clone() {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        let mut next = offsets.clone();
        let mut sorted = vec![(0, 0.0); offsets[rows] as usize];
        for (row, number, weight) in entries {
            sorted[next[row as usize] as usize] = (number, weight);
            next[row as usize] += 1;
        }
        Self { offsets, entries: sorted }
    }

    pub(super) fn of(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// For each row, the union of the bits of what it lists.
    fn union(&self, bits: &[u64]) -> Vec<u64> {
        let of_row = |row| self.of(row).iter().fold(0, |any, &(number, _)| any | bits[number as usize]);
        (0..self.rows()).map(of_row).collect()
    }
}

/// The edges between genes, reactions and metabolites, in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct MetabolicGraph {
    /// Genes that each reaction needs.
    pub(super) genes_of: NodeLists,
    /// Reactions that need each gene.
    pub(super) reactions_of: NodeLists,
    /// Metabolites that each reaction turns over, with the weight of each.
    pub(super) metabolites_of: NodeLists,
    /// The entries by metabolite.
    pub(super) turned_over_by: NodeLists,
}

impl MetabolicGraph {
    /// The metabolism of a cell. A coefficient's weight is
    /// `c / √(Σ over the reaction's metabolites of |c| · Σ over the metabolite's reactions of |c|)`, whatever is deleted: sums stay within
    /// bounds, though a few metabolites are in everything and coefficients span many orders.
    pub fn of(metabolism: &Metabolism) -> Self {
        let requirements: Vec<_> =
            metabolism.requirements().iter().map(|entry| (entry.reaction, entry.gene)).collect();
        let sizes = [metabolism.gene_count(), metabolism.reactions().len(), metabolism.metabolites().len()];
        Self::new(sizes, &requirements, &weights(metabolism))
    }

    fn new(
        [genes, reactions, metabolites]: [usize; 3],
        requirements: &[(u32, u32)],
        coefficients: &[(u32, u32, f64)],
    ) -> Self {
        let needs = requirements.iter();
        let turns = coefficients.iter();
        Self {
            genes_of: NodeLists::new(reactions, needs.clone().map(|&(reaction, gene)| (reaction, gene, 1.0))),
            reactions_of: NodeLists::new(genes, needs.map(|&(reaction, gene)| (gene, reaction, 1.0))),
            metabolites_of: NodeLists::new(reactions, turns.clone().copied()),
            turned_over_by: NodeLists::new(
                metabolites,
                turns.map(|&(reaction, metabolite, weight)| (metabolite, reaction, weight)),
            ),
        }
    }

    /// Number of genes, reactions and metabolites.
    pub(super) fn sizes(&self) -> [usize; 3] {
        [self.reactions_of.rows(), self.genes_of.rows(), self.turned_over_by.rows()]
    }

    /// Returns whether each reaction runs in a cell with these flags of deleted genes: those that have all their genes do.
    pub(super) fn running(&self, row_of: &[u32]) -> Vec<bool> {
        self.with_all_genes(|gene| row_of[gene as usize] & MASKED == 0)
    }

    fn with_all_genes(&self, is_there: impl Fn(u32) -> bool) -> Vec<bool> {
        let has_all = |reaction| self.genes_of.of(reaction).iter().all(|&(gene, _)| is_there(gene));
        (0..self.genes_of.rows()).map(has_all).collect()
    }

    /// Returns whether each reaction runs in every sample, for routes that do not read it off a node mask: from the batch's masks or rebuilt graphs, else
    /// from the gene sets.
    pub(super) fn running_in_samples(
        &self,
        route: Route,
        sets: GeneSetsRef<'_>,
        graphs: &Graphs<'_>,
    ) -> Option<Vec<Vec<bool>>> {
        if matches!(route, Route::ChangedRows | Route::NodeMask) {
            return None;
        }
        let sets: Vec<&[u32]> = sets.iter().collect();
        let reactions = 0..self.genes_of.rows();
        let of_sample = |(sample, set): (usize, &&[u32])| match graphs {
            Graphs::Masks(layout, masks) => {
                let is_kept = |reaction| masks[sample].is_kept(layout, MaskSection::Reactions, reaction);
                reactions.clone().map(is_kept).collect()
            }
            Graphs::Subgraphs(subgraphs) => {
                let running = &subgraphs[sample].reactions;
                reactions.clone().map(|reaction| running.binary_search(&(reaction as u32)).is_ok()).collect()
            }
            _ => self.with_all_genes(|gene| !set.contains(&gene)),
        };
        Some(sets.par_iter().enumerate().map(of_sample).collect())
    }

    /// The metabolism without the reactions that need one of some genes; numbers and weights stay.
    #[cfg(test)]
    pub(crate) fn without(&self, genes: &[u32]) -> Self {
        let running = self.with_all_genes(|gene| !genes.contains(&gene));
        let (mut requirements, mut coefficients) = (Vec::new(), Vec::new());
        for reaction in (0..self.genes_of.rows()).filter(|&reaction| running[reaction]) {
            let needs = self.genes_of.of(reaction).iter();
            requirements.extend(needs.map(|&(gene, _)| (reaction as u32, gene)));
            let turns = self.metabolites_of.of(reaction).iter();
            coefficients.extend(turns.map(|&(metabolite, weight)| (reaction as u32, metabolite, weight)));
        }
        Self::new(self.sizes(), &requirements, &coefficients)
    }
}

fn weights(metabolism: &Metabolism) -> Vec<(u32, u32, f64)> {
    let mut by_reaction = vec![0.0; metabolism.reactions().len()];
    let mut by_metabolite = vec![0.0; metabolism.metabolites().len()];
    for entry in metabolism.coefficients() {
        by_reaction[entry.reaction as usize] += entry.value.abs();
        by_metabolite[entry.metabolite as usize] += entry.value.abs();
    }
    let weight = |entry: &knockout_data::cell::Coefficient| {
        // Two roots instead of one: the product of two large sums could overflow.
        let of_reaction = by_reaction[entry.reaction as usize].sqrt();
        let of_metabolite = by_metabolite[entry.metabolite as usize].sqrt();
        (entry.reaction, entry.metabolite, entry.value / of_reaction / of_metabolite)
    };
    metabolism.coefficients().iter().map(weight).collect()
}

impl MessageGraph for MetabolicGraph {
    /// Gene -> reaction -> metabolite -> reaction -> gene.
    fn pass(&self, before: &[u64]) -> Vec<u64> {
        let reactions = self.genes_of.union(before);
        let metabolites = self.turned_over_by.union(&reactions);
        let reactions = self.metabolites_of.union(&metabolites);
        let after = self.reactions_of.union(&reactions);
        before.iter().zip(after).map(|(own, reached)| own | reached).collect()
    }
}
