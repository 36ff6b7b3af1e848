//! Resolves gene names of every kind to rows of the gene table, for all importers.
//!
//! Systematic names win over standard names, standard names over aliases. A name that two genes claim with equal right belongs
//! to neither. The module does not depend on files.

use knockout_data::cell::{GeneId, GeneTable};
use std::collections::{BTreeMap, HashMap};

/// Meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One gene of the table.
    Gene(GeneId),
    /// Several genes claim it.
    Ambiguous,
    /// No gene has it.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameClaim {
    rank: u8,
    meaning: Meaning,
}

/// The longest name looked up; longer texts are not names.
const MAX_NAME: usize = 128;

/// All names of the genes in a table.
#[derive(Debug, Clone)]
pub struct Names {
    claims: HashMap<Box<[u8]>, NameClaim>,
}

/// Priority of a claim to a name: the lower one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamePriority {
    /// The gene's systematic name.
    Systematic = 0,
    /// Its standard name.
    Standard = 1,
    /// An alias SGD lists.
    Alias = 2,
    /// An alias of another database, for example a `UniProt` accession.
    Foreign = 3,
}

impl Names {
    /// The systematic and standard names of a table.
    pub fn new(genes: &GeneTable) -> Self {
        let mut names = Self { claims: HashMap::with_capacity(2 * genes.len()) };
        for (row, gene) in genes.genes().iter().enumerate() {
            let id = GeneId(row as u32);
            names.claim(&gene.systematic, id, NamePriority::Systematic);
            if let Some(standard) = &gene.standard {
                names.claim(standard, id, NamePriority::Standard);
            }
        }
        names
    }

    /// Adds a name of a gene; returns whether the name now means the gene.
    pub fn claim(&mut self, name: &str, gene: GeneId, rank: NamePriority) -> bool {
        if name.is_empty() || name.len() > MAX_NAME {
            return false;
        }
        let claim = NameClaim { rank: rank as u8, meaning: Meaning::Gene(gene) };
        let known = self.claims.entry(name.to_ascii_uppercase().into_bytes().into()).or_insert(claim);
        if claim.rank < known.rank {
            *known = claim;
        } else if claim.rank == known.rank && claim.meaning != known.meaning {
            known.meaning = Meaning::Ambiguous;
        }
        known.meaning == claim.meaning
    }

    /// Returns the gene of a name, in any case.
    pub(crate) fn find(&self, name: &[u8]) -> Meaning {
        self.claim_on(name).map_or(Meaning::Unknown, |claim| claim.meaning)
    }

    fn claim_on(&self, name: &[u8]) -> Option<NameClaim> {
        let mut upper = [0; MAX_NAME];
        let upper = upper.get_mut(..name.len())?;
        upper.copy_from_slice(name);
        upper.make_ascii_uppercase();
        self.claims.get(&*upper).copied()
    }

    /// The gene that has this systematic name.
    pub(crate) fn systematic(&self, name: &[u8]) -> Option<u32> {
        match self.claim_on(name)? {
            NameClaim { rank, meaning: Meaning::Gene(id) } if rank == NamePriority::Systematic as u8 => {
                Some(id.0)
            }
            _ => None,
        }
    }

    /// The gene of a name that is neither unknown nor ambiguous.
    pub fn gene(&self, name: &[u8]) -> Option<u32> {
        match self.find(name) {
            Meaning::Gene(id) => Some(id.0),
            Meaning::Ambiguous | Meaning::Unknown => None,
        }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }
}

/// The names that were not found, with how often each occurred.
#[derive(Debug, Clone, Default)]
pub struct UnresolvedNames {
    /// Rows left out because of an unknown or ambiguous name.
    rows: u64,
    names: BTreeMap<String, UnresolvedName>,
    /// Occurrences beyond the names kept.
    unlisted: u64,
}

/// One name that was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnresolvedName {
    /// How often it occurred.
    pub count: u64,
    /// Location of its first occurrence.
    pub first_line: u64,
    /// Whether several genes claim it, rather than none.
    pub is_ambiguous: bool,
}

/// Names listed at most; a wrong file must not fill the memory with its words.
const MAX_LISTED: usize = 20_000;

impl UnresolvedNames {
    /// Notes a row that is left out, with the name that was not found in it.
    pub fn note(&mut self, names: &Names, name: &[u8], line: u64) {
        self.rows += 1;
        let shown = crate::import::read::shown(name);
        if let Some(known) = self.names.get_mut(&shown) {
            known.count += 1;
        } else if self.names.len() < MAX_LISTED {
            let is_ambiguous = names.find(name) == Meaning::Ambiguous;
            self.names.insert(shown, UnresolvedName { count: 1, first_line: line, is_ambiguous });
        } else {
            self.unlisted += 1;
        }
    }

    /// Rows left out.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Occurrences of names beyond those listed.
    pub(crate) fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> &BTreeMap<String, UnresolvedName> {
        &self.names
    }

    /// The most frequent names.
    pub fn examples(&self) -> Vec<String> {
        let mut names: Vec<(&String, u64)> =
            self.names.iter().map(|(name, found)| (name, found.count)).collect();
        names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        names.into_iter().take(3).map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::Gene;

    #[test]
    fn stronger_claims_win_and_equal_ones_cancel() {
        let gene = |systematic: &str, standard: &str| Gene {
            systematic: systematic.to_owned(),
            standard: Some(standard.to_owned()),
        };
        let table = GeneTable::new(vec![gene("YAL001C", "TFC3"), gene("YAL002W", "VPS8")]).unwrap();
        let mut names = Names::new(&table);
        assert!(names.claim("P1", GeneId(0), NamePriority::Foreign));
        assert!(!names.claim("p1", GeneId(1), NamePriority::Foreign));
        assert!(!names.claim("tfc3", GeneId(1), NamePriority::Alias));
        assert_eq!(names.find(b"yal001c"), Meaning::Gene(GeneId(0)));
        assert_eq!(names.find(b"Tfc3"), Meaning::Gene(GeneId(0)));
        assert_eq!((names.systematic(b"yal002w"), names.systematic(b"VPS8")), (Some(1), None));
        assert_eq!(names.find(b"P1"), Meaning::Ambiguous);
        assert_eq!(names.find(b""), Meaning::Unknown);
        assert_eq!(names.find(&[b'A'; 500]), Meaning::Unknown);
        assert!(names.claim("p1", GeneId(1), NamePriority::Alias), "a stronger claim settles a quarrel");
    }
}
