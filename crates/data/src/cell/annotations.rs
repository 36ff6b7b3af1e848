//! Annotations: sets of terms that genes have in common, such as GO terms, protein complexes or pathways.
//!
//! A term is a text; its meaning and its relations to other terms are not used.

use crate::cell::AdjacencyLists;
use crate::cell::error::{out_of_range, too_large};
use crate::cell::hash::update_with_words;
use knockout_base::error::{Error, Result};

/// One named set of annotations: which genes have which terms.
///
/// Terms are sorted by text and each has a gene, so that a set does not depend on the original numbering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotations {
    name: String,
    terms: Vec<String>,
    /// By gene: its terms, ascending.
    by_gene: AdjacencyLists,
}

impl Annotations {
    /// Checks the name (there is one), the terms (none is empty or occurs twice) and the pairs of a gene and a term (there is one at
    /// least, all indices have something to point to).
    ///
    /// Repeated pairs become one. Terms are renumbered in the order of their texts, without those that no gene has.
    pub fn new(
        name: impl Into<String>,
        gene_count: usize,
        mut terms: Vec<String>,
        mut pairs: Vec<(u32, u32)>,
    ) -> Result<Self> {
        let name = name.into();
        if name.is_empty() {
            return Err(Error::damage("a set of annotations has no name"));
        }
        check_pairs(&name, gene_count, terms.len(), &pairs)?;
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_unstable_by(|&a, &b| terms[a].cmp(&terms[b]));
        let twice = order.windows(2).find(|pair| terms[pair[0]] == terms[pair[1]]).map(|pair| pair[0]);
        if let Some(term) = twice.or_else(|| terms.iter().position(String::is_empty)) {
            let term = &terms[term];
            return Err(Error::damage(format!(
                "a term of annotations {name:?}, {term:?}, is empty or occurs twice"
            )));
        }
        let mut has_gene = vec![false; terms.len()];
        for &(_, term) in &pairs {
            has_gene[term as usize] = true;
        }
        order.retain(|&term| has_gene[term]);
        let mut number = vec![0_u32; terms.len()];
        order.iter().enumerate().for_each(|(rank, &term)| number[term] = rank as u32);
        for (_, term) in &mut pairs {
            *term = number[*term as usize];
        }
        pairs.sort_unstable();
        pairs.dedup();
        let (genes, columns): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        let (by_gene, _) = AdjacencyLists::group(gene_count, &genes, &columns);
        let terms = order.into_iter().map(|term| std::mem::take(&mut terms[term])).collect();
        Ok(Self { name, terms, by_gene })
    }

    /// The name of the set, unique in its cell.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The terms, in the order of their texts.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Number of genes in the table.
    pub fn gene_count(&self) -> usize {
        self.by_gene.row_count()
    }

    /// The terms of a gene, ascending.
    pub fn terms_of(&self, gene: u32) -> &[u32] {
        self.by_gene.row(gene as usize)
    }

    /// Every gene with every term it has, by gene and then by term.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.gene_count() as u32)
            .flat_map(|gene| self.terms_of(gene).iter().map(move |&term| (gene, term)))
    }

    /// Number of these pairs.
    pub fn pair_count(&self) -> usize {
        self.by_gene.columns().len()
    }

    /// Genes that have a term.
    pub fn annotated_genes(&self) -> usize {
        self.by_gene.offsets().windows(2).filter(|pair| pair[0] < pair[1]).count()
    }

    /// Content hash: what a model that reads them depends on.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"knockout annotations 1");
        for text in std::iter::once(&self.name).chain(&self.terms) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        update_with_words(&mut hasher, self.by_gene.offsets());
        update_with_words(&mut hasher, self.by_gene.columns());
        hasher.finalize()
    }
}

fn check_pairs(name: &str, genes: usize, terms: usize, pairs: &[(u32, u32)]) -> Result<()> {
    if pairs.is_empty() {
        return Err(Error::damage(format!("annotations {name:?} give no gene a term")));
    }
    if u32::try_from(pairs.len()).is_err() {
        return Err(too_large(&format!("annotations {name:?}"), pairs.len()));
    }
    for (entry, &(gene, term)) in pairs.iter().enumerate() {
        for (what, index, count) in [("gene", gene, genes), ("term", term, terms)] {
            if index as usize >= count {
                return Err(out_of_range(&format!("annotations {name:?}"), entry, what, index, count));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(terms: &[&str], pairs: &[(u32, u32)]) -> Result<Annotations> {
        Annotations::new("go", 4, terms.iter().map(|&term| term.to_owned()).collect(), pairs.to_vec())
    }

    #[test]
    fn terms_are_found_by_gene() {
        let found = annotations(&["a", "b", "c"], &[(2, 2), (0, 1), (2, 0), (2, 2)]).unwrap();
        assert_eq!((found.name(), found.gene_count(), found.annotated_genes()), ("go", 4, 2));
        assert_eq!(
            [0, 1, 2, 3].map(|gene| found.terms_of(gene).to_vec()),
            [vec![1], vec![], vec![0, 2], vec![]]
        );
        assert_eq!(found.pairs().collect::<Vec<_>>(), [(0, 1), (2, 0), (2, 2)]);
        assert_eq!(found.pair_count(), 3, "a repeated pair is one");
    }

    #[test]
    fn the_numbers_of_terms_do_not_matter_and_their_texts_do() {
        let found = annotations(&["a", "b"], &[(0, 0), (1, 1)]).unwrap();
        let other = annotations(&["b", "unused", "a"], &[(1, 0), (0, 2)]).unwrap();
        assert_eq!((&found, found.hash()), (&other, other.hash()));
        assert_eq!(other.terms(), ["a", "b"]);
        for (terms, pairs) in [(["a", "c"], [(0, 0), (1, 1)]), (["a", "b"], [(0, 0), (2, 1)])] {
            assert_ne!(annotations(&terms, &pairs).unwrap().hash(), found.hash());
        }
        let named = Annotations::new("kegg", 4, found.terms().to_vec(), found.pairs().collect()).unwrap();
        assert_ne!(named.hash(), found.hash());
    }

    #[test]
    fn impossible_annotations_are_refused() {
        let message =
            |terms: &[&str], pairs: &[(u32, u32)]| annotations(terms, pairs).unwrap_err().to_string();
        assert_eq!(message(&["a"], &[]), "annotations \"go\" give no gene a term");
        assert_eq!(message(&[], &[]), "annotations \"go\" give no gene a term");
        for (terms, bad) in [(["a", "b", "a"], "a"), (["a", "", "b"], "")] {
            let expected = format!("a term of annotations \"go\", {bad:?}, is empty or occurs twice");
            assert_eq!(message(&terms, &[(0, 0)]), expected);
        }
        assert_eq!(
            message(&["a"], &[(0, 0), (4, 0)]),
            "entry 1 of annotations \"go\" names gene 4, but there are only 4"
        );
        assert_eq!(
            message(&["a"], &[(0, 1)]),
            "entry 0 of annotations \"go\" names term 1, but there are only 1"
        );
        let unnamed = Annotations::new("", 4, vec!["a".to_owned()], vec![(0, 0)]).unwrap_err();
        assert_eq!(unnamed.to_string(), "a set of annotations has no name");
    }
}
