//! Metabolism: reactions, the genes each needs, the metabolites each turns over.
//!
//! A reaction node here is one alternative in one direction (see [`crate::cell::expand`]), so it needs *all* its genes.

use crate::cell::GeneId;
use crate::cell::error::{bad_number, out_of_range};
use knockout_base::error::{Error, Result};
use std::ops::Range;

/// The direction of a reaction node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As the model writes the equation.
    Forward,
    /// The reverse of a reversible reaction: reactants and products are exchanged.
    Reverse,
}

/// One reaction node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// Unique name of the node, for example `r_0001_comb0_fwd`.
    pub name: String,
    /// The reaction of the metabolic model it came from.
    pub reaction_id: String,
    /// Direction in which it runs.
    pub direction: Direction,
    /// The model's subsystem; empty where it names none.
    pub subsystem: String,
}

/// One metabolite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metabolite {
    /// Unique id, for example `s_0001`.
    pub id: String,
    /// Name as the model gives it.
    pub name: String,
    /// Compartment; empty where the model names none.
    pub compartment: String,
}

/// A reaction needs a gene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// Row of the reaction.
    pub reaction: u32,
    /// Row of the gene.
    pub gene: u32,
}

/// A reaction turns over a metabolite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// Row of the reaction.
    pub reaction: u32,
    /// Row of the metabolite.
    pub metabolite: u32,
    /// Negative for what is used up, positive for what is made; never 0.
    pub value: f64,
}

/// Reactions, metabolites and the two lists that tie them to genes and to each other.
///
/// Both lists are sorted by reaction, then gene or metabolite, and hold no pair twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Metabolism {
    gene_count: usize,
    reactions: Vec<Reaction>,
    metabolites: Vec<Metabolite>,
    requirements: Vec<Requirement>,
    coefficients: Vec<Coefficient>,
    /// Reactions of each gene: `by_gene[by_gene_offsets[g]..by_gene_offsets[g + 1]]`.
    by_gene: Vec<u32>,
    by_gene_offsets: Vec<u32>,
}

impl Metabolism {
    /// Sorts and checks the lists.
    pub fn new(
        gene_count: usize,
        reactions: Vec<Reaction>,
        metabolites: Vec<Metabolite>,
        mut requirements: Vec<Requirement>,
        mut coefficients: Vec<Coefficient>,
    ) -> Result<Self> {
        for (entry, requirement) in requirements.iter().enumerate() {
            in_range("gene-reaction entries", entry, "reaction", requirement.reaction, reactions.len())?;
            in_range("gene-reaction entries", entry, "gene", requirement.gene, gene_count)?;
        }
        for (entry, coefficient) in coefficients.iter().enumerate() {
            in_range("stoichiometry", entry, "reaction", coefficient.reaction, reactions.len())?;
            in_range("stoichiometry", entry, "metabolite", coefficient.metabolite, metabolites.len())?;
            if !coefficient.value.is_finite() || coefficient.value == 0.0 {
                return Err(bad_number("stoichiometry", entry, coefficient.value));
            }
        }
        requirements.sort_unstable();
        coefficients.sort_by_key(|entry| (entry.reaction, entry.metabolite));
        distinct("gene-reaction entries", requirements.iter().map(|entry| (entry.reaction, entry.gene)))?;
        distinct("stoichiometry", coefficients.iter().map(|entry| (entry.reaction, entry.metabolite)))?;

        let mut by_gene_offsets = vec![0_u32; gene_count + 1];
        for requirement in &requirements {
            by_gene_offsets[requirement.gene as usize + 1] += 1;
        }
        for gene in 0..gene_count {
            by_gene_offsets[gene + 1] += by_gene_offsets[gene];
        }
        let mut next = by_gene_offsets.clone();
        let mut by_gene = vec![0; requirements.len()];
        for requirement in &requirements {
            let slot = &mut next[requirement.gene as usize];
            by_gene[*slot as usize] = requirement.reaction;
            *slot += 1;
        }
        Ok(Self { gene_count, reactions, metabolites, requirements, coefficients, by_gene, by_gene_offsets })
    }

    /// Number of genes in the table that the lists refer to.
    pub fn gene_count(&self) -> usize {
        self.gene_count
    }

    /// The reaction nodes.
    pub fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    /// The metabolites.
    pub fn metabolites(&self) -> &[Metabolite] {
        &self.metabolites
    }

    /// Genes that each reaction needs, by reaction.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Metabolites that each reaction turns over, by reaction.
    pub fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    /// The reactions that need a gene, ascending.
    pub fn reactions_of(&self, gene: GeneId) -> &[u32] {
        let start = self.by_gene_offsets[gene.index()] as usize;
        let end = self.by_gene_offsets[gene.index() + 1] as usize;
        &self.by_gene[start..end]
    }

    /// Positions of a reaction's entries in [`Metabolism::requirements`]. An entry goes exactly when its reaction
    /// stops, whichever of the reaction's genes was deleted.
    pub(crate) fn requirements_of(&self, reaction: u32) -> Range<usize> {
        range_of(&self.requirements, |entry| entry.reaction, reaction)
    }

    /// Positions of a reaction's entries in [`Metabolism::coefficients`].
    pub fn coefficients_of(&self, reaction: u32) -> Range<usize> {
        range_of(&self.coefficients, |entry| entry.reaction, reaction)
    }
}

fn in_range(list: &str, entry: usize, what: &'static str, index: u32, count: usize) -> Result<()> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(out_of_range(list, entry, what, index, count))
}

fn distinct(list: &'static str, pairs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
    let mut last = None;
    for pair in pairs {
        if last == Some(pair) {
            let (first, second) = pair;
            return Err(Error::damage(format!("{list} holds the pair ({first}, {second}) twice")));
        }
        last = Some(pair);
    }
    Ok(())
}

fn range_of<T>(sorted: &[T], key: impl Fn(&T) -> u32, wanted: u32) -> Range<usize> {
    let start = sorted.partition_point(|entry| key(entry) < wanted);
    let end = start + sorted[start..].partition_point(|entry| key(entry) == wanted);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaction(name: &str) -> Reaction {
        Reaction {
            name: name.to_owned(),
            reaction_id: name.to_owned(),
            direction: Direction::Forward,
            subsystem: String::new(),
        }
    }

    fn build(requirements: &[(u32, u32)], coefficients: &[(u32, u32, f64)]) -> Result<Metabolism> {
        Metabolism::new(
            3,
            vec![reaction("r0"), reaction("r1")],
            vec![Metabolite { id: "m0".to_owned(), name: String::new(), compartment: String::new() }],
            requirements.iter().map(|&(reaction, gene)| Requirement { reaction, gene }).collect(),
            coefficients
                .iter()
                .map(|&(reaction, metabolite, value)| Coefficient { reaction, metabolite, value })
                .collect(),
        )
    }

    #[test]
    fn lists_are_sorted_and_found_from_both_sides() {
        let metabolism = build(&[(1, 2), (0, 2), (1, 0)], &[(1, 0, -2.0), (0, 0, 1.0)]).unwrap();
        assert_eq!(metabolism.reactions_of(GeneId(2)), [0, 1]);
        assert_eq!(metabolism.reactions_of(GeneId(1)), [0_u32; 0]);
        assert_eq!(metabolism.requirements_of(1), 1..3);
        assert_eq!(metabolism.coefficients_of(0), 0..1);
    }

    #[test]
    fn impossible_entries_are_refused() {
        let message = |result: Result<Metabolism>| result.unwrap_err().to_string();
        assert_eq!(
            message(build(&[(2, 0)], &[])),
            "entry 0 of gene-reaction entries names reaction 2, but there are only 2"
        );
        assert_eq!(
            message(build(&[(0, 3)], &[])),
            "entry 0 of gene-reaction entries names gene 3, but there are only 3"
        );
        assert_eq!(message(build(&[], &[(0, 0, 0.0)])), "entry 0 of stoichiometry has the value 0");
        assert_eq!(
            message(build(&[(0, 1), (0, 1)], &[])),
            "gene-reaction entries holds the pair (0, 1) twice"
        );
    }
}
