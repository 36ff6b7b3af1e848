//! The alleles that samples are measured with: a table of names, so that a sample stores a number for each gene.

use knockout_base::error::{Error, Result};
use std::collections::BTreeSet;

/// An allele of a gene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allele {
    /// Row of the gene.
    pub gene: u32,
    /// How the gene is perturbed: `deletion`, `ts`, `damp` …
    pub kind: String,
    /// Its name, where the source has one; alleles of one gene and kind are the same if their names differ in upper and lower case alone.
    pub name: Option<String>,
}

impl Allele {
    /// Returns the name, or the kind of an allele without a name.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.kind)
    }
}

/// All alleles of a screen, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlleleTable {
    alleles: Vec<Allele>,
}

impl AlleleTable {
    /// Creates a table; rejects an allele that occurs twice.
    pub fn new(alleles: Vec<Allele>) -> Result<Self> {
        let mut known = BTreeSet::new();
        for allele in &alleles {
            let lower = allele.name.as_deref().map(str::to_ascii_lowercase);
            if !known.insert((allele.gene, &allele.kind, lower)) {
                let (name, gene) = (allele.label(), allele.gene);
                return Err(Error::damage(format!("allele {name:?} of gene {gene} is listed twice")));
            }
        }
        Ok(Self { alleles })
    }

    /// Returns the alleles; a sample names them by their index.
    pub fn alleles(&self) -> &[Allele] {
        &self.alleles
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.alleles.is_empty()
    }
}
