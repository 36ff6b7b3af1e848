//! Genes that no table lists: the names that the rows of screens use.

use super::ListedGene;
use knockout_data::cell::Gene;
use std::collections::BTreeMap;

/// Distinct gene names, whatever their case; the first spelling stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct NamedGenes {
    by_upper_case: BTreeMap<String, String>,
}

impl NamedGenes {
    /// Adds a name, unless it is there.
    pub(crate) fn add(&mut self, name: &str) {
        let key = name.to_ascii_uppercase();
        self.by_upper_case.entry(key).or_insert_with(|| name.to_owned());
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_upper_case.is_empty()
    }

    /// The genes in alphabetical order, so that the order of rows does not matter.
    pub(crate) fn into_genes(self) -> Vec<ListedGene> {
        let gene = |systematic| Gene { systematic, standard: None };
        self.by_upper_case
            .into_values()
            .map(|name| ListedGene { gene: gene(name), aliases: Vec::new(), position: None })
            .collect()
    }
}
