//! The gene table: which genes there are, in which order, under which names.

use crate::cell::error::too_large;
use knockout_base::error::{Error, Result};
use knockout_base::text;
use std::collections::HashMap;

/// A row of the gene table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GeneId(pub u32);

impl GeneId {
    /// The row as a slice index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for GeneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The names of one gene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gene {
    /// The systematic name, for example `YAL001C`; unique.
    pub systematic: String,
    /// The standard name, for example `TFC3`, where there is one.
    pub standard: Option<String>,
}

impl Gene {
    /// Returns the standard name, or else the systematic name.
    pub fn name(&self) -> &str {
        self.standard.as_deref().unwrap_or(&self.systematic)
    }
}

/// All genes, in an order that is part of the data: models index their parameters by it.
///
/// The order is pinned by [`GeneTable::hash`]; a checkpoint contains that hash, so that weights are never used with another
/// order.
#[derive(Debug, Clone)]
pub struct GeneTable {
    genes: Vec<Gene>,
    by_name: HashMap<String, GeneId>,
    hash: blake3::Hash,
}

impl GeneTable {
    /// Takes the genes in the given order.
    pub fn new(genes: Vec<Gene>) -> Result<Self> {
        if u32::try_from(genes.len()).is_err() {
            return Err(too_large("the gene table", genes.len()));
        }
        let mut by_name = HashMap::with_capacity(2 * genes.len());
        for (row, gene) in genes.iter().enumerate() {
            if gene.systematic.is_empty() {
                return Err(Error::damage(format!("gene {row} has an empty systematic name")));
            }
            for name in [Some(&gene.systematic), gene.standard.as_ref()].into_iter().flatten() {
                if text::has_controls(name) {
                    let name = text::one_line(name);
                    return Err(Error::damage(format!(
                        "gene {row} has control characters in its name, \"{name}\"; rename it"
                    )));
                }
            }
            if let Some(first) = by_name.insert(gene.systematic.to_uppercase(), GeneId(row as u32)) {
                let (name, first) = (&gene.systematic, first.index());
                return Err(Error::damage(format!(
                    "gene {name:?} stands in rows {first} and {row} of the gene table"
                )));
            }
        }
        // A standard name never hides a systematic one, and the first gene that claims it keeps it.
        for (row, gene) in genes.iter().enumerate() {
            if let Some(standard) = &gene.standard {
                by_name.entry(standard.to_uppercase()).or_insert(GeneId(row as u32));
            }
        }
        let hash = hash_of(&genes);
        Ok(Self { genes, by_name, hash })
    }

    /// A table of genes that have only systematic names.
    pub fn from_systematic<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::new(names.into_iter().map(|name| Gene { systematic: name.into(), standard: None }).collect())
    }

    /// Returns the number of genes.
    pub fn len(&self) -> usize {
        self.genes.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.genes.is_empty()
    }

    /// Returns the genes in order.
    pub fn genes(&self) -> &[Gene] {
        &self.genes
    }

    /// Returns the names of one gene, if the table has that row.
    pub fn get(&self, id: GeneId) -> Option<&Gene> {
        self.genes.get(id.index())
    }

    /// Returns the gene of a systematic or else standard name, in any case.
    pub fn find(&self, name: &str) -> Option<GeneId> {
        self.by_name.get(&name.to_uppercase()).copied()
    }

    /// Up to five names of genes that differ from `name` by two letters at most (short names by one; two neighbours in the wrong order are one),
    /// the nearest first: what may have been meant.
    pub fn similar(&self, name: &str) -> Vec<&str> {
        let wanted = name.to_uppercase();
        let most = (wanted.chars().count() / 3).clamp(1, 2);
        let all = self.genes.iter().flat_map(|gene| gene.standard.iter().chain([&gene.systematic]));
        let mut similar: Vec<(usize, &str)> = all
            .map(|name| (strsim::osa_distance(&wanted, &name.to_uppercase()), name.as_str()))
            .filter(|(distance, _)| *distance <= most)
            .collect();
        similar.sort_unstable();
        similar.dedup();
        similar.into_iter().take(5).map(|(_, name)| name).collect()
    }

    /// Returns the content hash of the systematic names in their order.
    pub fn hash(&self) -> blake3::Hash {
        self.hash
    }
}

fn hash_of(genes: &[Gene]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"knockout gene table 1");
    for gene in genes {
        // The length keeps ("AB", "C") apart from ("A", "BC").
        hasher.update(&(gene.systematic.len() as u64).to_le_bytes());
        hasher.update(gene.systematic.as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gene(systematic: &str, standard: Option<&str>) -> Gene {
        Gene { systematic: systematic.to_owned(), standard: standard.map(str::to_owned) }
    }

    #[test]
    fn names_are_found_in_any_case_and_systematic_names_win() {
        let table = GeneTable::new(vec![
            gene("YAL001C", Some("TFC3")),
            gene("YAL002W", Some("YAL001C")),
            gene("YAL003W", Some("tfc3")),
        ])
        .unwrap();
        assert_eq!(table.find("yal001c"), Some(GeneId(0)));
        assert_eq!(table.find("Tfc3"), Some(GeneId(0)));
        assert_eq!(table.find("YAL003W"), Some(GeneId(2)));
        assert_eq!(table.find("YAL004W"), None);
    }

    #[test]
    fn letters_in_the_wrong_order_are_one_slip() {
        let table = GeneTable::from_systematic(["TWL27", "TWL99", "YAL001C"]).unwrap();
        assert_eq!(table.similar("twl72"), ["TWL27"]);
        assert_eq!(table.similar("YLA001C"), ["YAL001C"]);
        assert!(table.similar("NOPE").is_empty());
    }

    #[test]
    fn a_repeated_name_is_refused_with_both_rows() {
        let error = GeneTable::from_systematic(["A", "B", "a"]).unwrap_err();
        assert_eq!(error.to_string(), "gene \"a\" stands in rows 0 and 2 of the gene table");
    }

    #[test]
    fn an_empty_name_is_refused() {
        let error = GeneTable::from_systematic(["A", ""]).unwrap_err();
        assert_eq!(error.to_string(), "gene 1 has an empty systematic name");
    }

    #[test]
    fn a_name_with_control_characters_is_refused() {
        for name in ["A\u{1b}[2J", "A\nB", "A\u{9b}31m", "A\u{202e}B"] {
            let error = GeneTable::new(vec![gene("A", Some("<b>")), gene("B", Some(name))]).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with("gene 1 has control characters in its name, \"A\\u"), "{error}");
        }
    }

    #[test]
    fn the_hash_pins_the_order_and_the_word_boundaries() {
        let hash = |names: &[&str]| GeneTable::from_systematic(names.iter().copied()).unwrap().hash();
        assert_eq!(hash(&["A", "B"]), hash(&["A", "B"]));
        assert_ne!(hash(&["A", "B"]), hash(&["B", "A"]));
        assert_ne!(hash(&["AB", "C"]), hash(&["A", "BC"]));
    }
}
