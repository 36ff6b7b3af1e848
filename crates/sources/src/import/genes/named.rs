//! Genes that no table lists: the names that the rows of screens use.

use super::ListedGene;
use super::list::name_fault;
use crate::import::strain::{NamedAllele, is_systematic};
use knockout_base::error::Error;
use knockout_data::cell::Gene;
use serde::Serialize;
use std::collections::BTreeMap;

/// Distinct gene names, whatever their case; the first spelling stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct NamedGenes {
    by_upper_case: BTreeMap<String, String>,
}

/// Names that a gene table would settle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NameKinds {
    /// Systematic names of yeast, such as `YOL012C`.
    pub systematic: usize,
    /// Other names, such as `HTZ1`.
    pub other: usize,
    /// Some of both.
    pub examples: Vec<String>,
    /// Names in the form of an allele whose gene no row names, taken as genes.
    pub allele_like: Vec<String>,
}

impl NameKinds {
    /// Whether a gene may occur under its systematic and under its standard name.
    pub fn are_mixed(&self) -> bool {
        self.systematic > 0 && self.other > 0
    }
}

/// Names of each kind that are shown.
const SHOWN: usize = 3;

impl NamedGenes {
    /// Adds the gene of a name, unless it is there. What can only be an allele counts for its gene.
    pub(crate) fn add(&mut self, name: &[u8]) -> Result<(), Error> {
        let text = std::str::from_utf8(name).unwrap_or_default();
        let allele = NamedAllele::split(text).filter(|found| found.is_certain);
        let gene = allele.map_or(name, |found| found.gene.as_bytes());
        if let Some(error) = name_fault(gene) {
            return Err(error);
        }
        let gene = String::from_utf8_lossy(gene);
        let key = gene.to_ascii_uppercase();
        // Alleles are written in lower case, and their genes in capitals.
        let spelling = || if allele.is_some() { gene.to_ascii_uppercase() } else { gene.into_owned() };
        self.by_upper_case.entry(key).or_insert_with(spelling);
        Ok(())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_upper_case.is_empty()
    }

    /// Returns the genes in alphabetical order, so that the order of rows does not matter, and what their names leave open.
    pub(crate) fn into_genes(self) -> (Vec<ListedGene>, NameKinds) {
        let mut kinds = NameKinds::default();
        let mut names = Vec::with_capacity(self.by_upper_case.len());
        for (key, name) in &self.by_upper_case {
            if let Some(found) = NamedAllele::split(name) {
                if self.by_upper_case.contains_key(&found.gene.to_ascii_uppercase()) {
                    continue;
                }
                kinds.allele_like.push(name.clone());
            }
            names.push((is_systematic(key), name.clone()));
        }
        for of_kind in [true, false] {
            let found = names.iter().filter(|(systematic, _)| *systematic == of_kind);
            kinds.examples.extend(found.clone().take(SHOWN).map(|(_, name)| name.clone()));
            *(if of_kind { &mut kinds.systematic } else { &mut kinds.other }) = found.count();
        }
        let listed = |(_, systematic): (bool, String)| ListedGene {
            gene: Gene { systematic, standard: None },
            aliases: Vec::new(),
            position: None,
        };
        (names.into_iter().map(listed).collect(), kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alleles_count_for_their_genes() {
        let mut named = NamedGenes::default();
        for name in
            ["cdc48-3", "Htz1", "HTZ1-DAmP", "yml090wΔ", "POL30-8", "POL30", "NKX2-1", "let-23", "YAL068W-A"]
        {
            named.add(name.as_bytes()).unwrap();
        }
        let (genes, kinds) = named.into_genes();
        let names: Vec<&str> = genes.iter().map(|listed| &listed.gene.systematic[..]).collect();
        assert_eq!(names, ["CDC48", "Htz1", "let-23", "NKX2-1", "POL30", "YAL068W-A", "YML090W"]);
        assert_eq!((kinds.systematic, kinds.other), (2, 5));
        assert!(kinds.are_mixed());
        assert_eq!(kinds.allele_like, ["NKX2-1"]);
        let mut human = NamedGenes::default();
        human.add(b"PARP1").unwrap();
        assert!(!human.into_genes().1.are_mixed());
    }
}
