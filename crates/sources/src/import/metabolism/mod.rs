//! Metabolic models: reactions with rules and stoichiometry, from yeast-GEM's YAML or from SBML.
//!
//! A rule becomes alternatives, an alternative and a direction a reaction node. An alternative that names a gene
//! outside the table is left out whole, and a reaction all of whose alternatives are left out with it: neither is
//! ever shortened.

pub mod sbml;
pub mod yaml;

use crate::import::fault;
use crate::import::names::Names;
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::{GeneId, Metabolism, Metabolite, RawReaction, Rule, expand};
use std::collections::{BTreeSet, HashMap};

/// The most alternatives a rule may have; real ones stay below a hundred.
const MAX_ALTERNATIVES: usize = 10_000;

/// The most MiB that a model may take once every alternative and direction is a reaction; real ones take a few.
const MAX_EXPANDED_MIB: usize = 512;

/// A reaction as a model file states it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelReaction {
    pub(crate) id: String,
    pub(crate) subsystem: String,
    pub(crate) rule: Option<Rule>,
    pub(crate) is_reversible: bool,
    /// Metabolites by id.
    pub(crate) stoichiometry: Vec<(String, f64)>,
    pub(crate) line: u64,
}

/// A model file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MetabolicModel {
    pub(crate) metabolites: Vec<Metabolite>,
    pub(crate) reactions: Vec<ModelReaction>,
}

/// The contents of a metabolic model file.
#[derive(Debug)]
pub struct MetabolismFile {
    /// The expanded model.
    pub metabolism: Metabolism,
    /// Rows are the alternatives of all rules.
    pub tally: RowTally,
    /// Reactions in the file.
    pub reactions: u64,
    /// Reactions in the file that have a rule.
    pub rules: u64,
    /// Reactions left out because no alternative of theirs was.
    pub lost_reactions: Vec<String>,
}

impl MetabolicModel {
    /// Resolves the names and expands alternatives and directions.
    pub(crate) fn build(
        self,
        source: &Source<'_>,
        names: &Names,
        gene_count: usize,
    ) -> Result<MetabolismFile, Error> {
        let path = source.path();
        if self.reactions.is_empty() {
            return Err(source.fail(fault::empty("reaction")));
        }
        let mut rows = HashMap::with_capacity(self.metabolites.len());
        for (row, metabolite) in self.metabolites.iter().enumerate() {
            if rows.insert(metabolite.id.as_str(), row as u32).is_some() {
                return Err(source.fail(repeated("metabolite", &metabolite.id)));
            }
        }
        let mut tally = RowTally::default();
        let mut lost_reactions = Vec::new();
        let mut raw = Vec::with_capacity(self.reactions.len());
        let mut ids = BTreeSet::new();
        let mut expanded = 0;
        let (reactions, rules) =
            (self.reactions.len() as u64, self.reactions.iter().filter(|r| r.rule.is_some()).count() as u64);
        for reaction in &self.reactions {
            let at = |error: Error| error.in_file(path).on_line(reaction.line);
            if !ids.insert(reaction.id.as_str()) {
                return Err(at(repeated("reaction", &reaction.id)));
            }
            let mut stoichiometry = Vec::with_capacity(reaction.stoichiometry.len());
            for (id, value) in &reaction.stoichiometry {
                let row = rows.get(id.as_str()).ok_or_else(|| {
                    at(fault::bad_value(id.clone(), "a metabolite that the model lists".to_owned()))
                })?;
                stoichiometry.push((*row, *value));
            }
            let alternatives = match &reaction.rule {
                None => Vec::new(),
                Some(rule) => {
                    let sets = rule
                        .alternatives(MAX_ALTERNATIVES)
                        .map_err(|source| at(fault::rule(reaction.id.clone(), source)))?;
                    let found: Vec<Vec<GeneId>> = sets
                        .iter()
                        .filter_map(|set| genes_of(set, names, &mut tally, reaction.line))
                        .collect();
                    if found.is_empty() {
                        lost_reactions.push(reaction.id.clone());
                        continue;
                    }
                    found
                }
            };
            expanded += expanded_bytes(reaction, &alternatives);
            if expanded > MAX_EXPANDED_MIB << 20 {
                let what = "MiB in the alternatives and directions of its reactions";
                return Err(at(fault::too_many(what, MAX_EXPANDED_MIB)));
            }
            raw.push(RawReaction {
                id: reaction.id.clone(),
                subsystem: reaction.subsystem.clone(),
                alternatives,
                reversible: reaction.is_reversible,
                stoichiometry,
            });
        }
        let (nodes, requirements, coefficients) = expand(&raw);
        let metabolism = Metabolism::new(gene_count, nodes, self.metabolites, requirements, coefficients)
            .map_err(|error| source.fail(error))?;
        Ok(MetabolismFile { metabolism, tally, reactions, rules, lost_reactions })
    }
}

/// About what a reaction takes once expanded: every alternative repeats its words and metabolites, in two directions.
fn expanded_bytes(reaction: &ModelReaction, alternatives: &[Vec<GeneId>]) -> usize {
    const PART: usize = 16;
    let genes: usize = alternatives.iter().map(Vec::len).sum();
    let each = reaction.id.len() + reaction.subsystem.len() + PART * (4 + reaction.stoichiometry.len());
    2 * (alternatives.len().max(1) * each + PART * genes)
}

/// The genes of an alternative, each once: two names of one gene are one requirement.
fn genes_of(set: &[String], names: &Names, tally: &mut RowTally, line: u64) -> Option<Vec<GeneId>> {
    tally.rows += 1;
    let genes: Option<BTreeSet<u32>> =
        set.iter().map(|name| tally.gene(names, name.as_bytes(), line)).collect();
    Some(genes?.into_iter().map(GeneId).collect())
}

fn repeated(what: &str, id: &str) -> Error {
    fault::bad_value(id, format!("a {what} id that stands there once"))
}
