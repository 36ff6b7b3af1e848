//! Annotations of genes: which genes have which terms, from tables, GMT, JSON and GO's gene association files.
//!
//! Every format gives pairs of a gene and a term; which terms are large enough to be kept is decided here, for all of them.

pub mod gaf;
pub mod gmt;
pub mod json;
pub mod table;

use crate::import::fault;
use crate::import::source::RowTally;
use knockout_base::error::Error;
use knockout_data::cell::Annotations;
use std::collections::BTreeMap;

/// The annotations that a file has of the genes in the table.
#[derive(Debug, Default)]
pub struct AnnotationFile {
    /// The number of every term, by its first appearance.
    terms: BTreeMap<String, u32>,
    /// A gene and a term that it has, as often as the file says so.
    pairs: Vec<(u32, u32)>,
    /// Counts of the file's rows.
    pub tally: RowTally,
}

/// How many genes of the table a term must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermSizes {
    /// The fewest.
    pub least: u32,
    /// The most; any number without it.
    pub most: Option<u32>,
}

/// The annotations of a file, and the terms that are not among them.
#[derive(Debug)]
pub struct KeptTerms {
    /// Annotations with the terms that are kept.
    pub annotations: Annotations,
    /// Terms left out because fewer genes have them.
    pub too_small: u64,
    /// Terms left out because more genes have them.
    pub too_large: u64,
}

impl TermSizes {
    /// Refuses sizes that no term has.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.most {
            Some(most) if most < self.least.max(1) => Err(fault::request(format!(
                "no term has at least {} and at most {most} genes; change min-genes or max-genes",
                self.least
            ))),
            _ => Ok(()),
        }
    }
}

impl AnnotationFile {
    /// A gene has a term.
    fn put(&mut self, gene: u32, term: &str) -> Result<(), Error> {
        let number = if let Some(&number) = self.terms.get(term) {
            number
        } else {
            let limit = u32::MAX as usize;
            let number = u32::try_from(self.terms.len()).map_err(|_full| fault::too_many("terms", limit))?;
            self.terms.insert(term.to_owned(), number);
            number
        };
        self.pairs.push((gene, number));
        Ok(())
    }

    /// Number of pairs of a gene of the table and a term.
    pub fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// The terms that are neither too small nor too large.
    pub fn finish(mut self, name: &str, gene_count: usize, sizes: TermSizes) -> Result<KeptTerms, Error> {
        if self.pairs.is_empty() {
            return Err(fault::empty("annotation of a gene of the table"));
        }
        self.pairs.sort_unstable_by_key(|&(gene, term)| (term, gene));
        self.pairs.dedup();
        let (mut too_small, mut too_large) = (0, 0);
        let mut kept = Vec::with_capacity(self.pairs.len());
        for same in self.pairs.chunk_by(|a, b| a.1 == b.1) {
            if same.len() < sizes.least as usize {
                too_small += 1;
            } else if sizes.most.is_some_and(|most| same.len() > most as usize) {
                too_large += 1;
            } else {
                kept.extend_from_slice(same);
            }
        }
        if kept.is_empty() {
            let what = "term with as many genes of the table as min-genes and max-genes require";
            return Err(fault::empty(what));
        }
        let mut terms = vec![String::new(); self.terms.len()];
        for (term, number) in self.terms {
            terms[number as usize] = term;
        }
        let annotations = Annotations::new(name, gene_count, terms, kept)?;
        Ok(KeptTerms { annotations, too_small, too_large })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(least: u32, most: Option<u32>) -> Result<KeptTerms, Error> {
        let mut file = AnnotationFile::default();
        let pairs = [(0, "b"), (1, "b"), (1, "b"), (2, "a"), (0, "c"), (1, "c"), (2, "c")];
        for (gene, term) in pairs {
            file.put(gene, term).unwrap();
        }
        file.finish("n", 3, TermSizes { least, most })
    }

    #[test]
    fn the_size_of_a_term_is_its_number_of_genes_not_of_rows() {
        let found = finished(2, None).unwrap();
        assert_eq!((found.annotations.terms(), found.too_small), (&["b".to_owned(), "c".to_owned()][..], 1));
        let found = finished(0, Some(2)).unwrap();
        assert_eq!((found.annotations.terms(), found.too_large), (&["a".to_owned(), "b".to_owned()][..], 1));
        assert!(finished(4, None).unwrap_err().to_string().contains("there is no term with as many genes"));
        let (backward, none) = (TermSizes { least: 3, most: Some(2) }, TermSizes { least: 0, most: Some(0) });
        assert!(backward.check().is_err() && none.check().is_err());
    }
}
