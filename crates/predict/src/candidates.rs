//! The gene sets to predict: numbered, enumerated by range, filtered one by one. Only sets that a file or the dataset lists are
//! held in memory; combinations never are.

use crate::combination::{Combination, binomial};
use hashbrown::HashSet;
use knockout_base::error::{Error, Result};
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use knockout_data::screen::{Part, Samples, Split};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The gene sets to predict.
#[derive(Debug, Clone)]
pub enum CandidateSpec {
    /// All sets of `order` genes out of `genes`; with `with`, those that complete it.
    Combinations {
        /// Genes of a set, `with` included.
        order: usize,
        /// Rows of the gene table to choose from.
        genes: Vec<u32>,
        /// Genes that every set has.
        with: Vec<u32>,
    },
    /// Sets that a user listed.
    Listed(GeneSets),
    /// The samples of a part of the dataset.
    DatasetPart(Part),
}

/// The gene sets to leave out.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// Sets that the dataset has a score for.
    pub measured: bool,
    /// Sets with one of these genes.
    pub exclude: Vec<u32>,
    /// Sets with a gene of fewer edges, over all networks and both directions.
    pub min_degree: usize,
}

/// The description of candidates in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidatesEntry {
    /// In words.
    pub what: String,
    /// Number of candidates, those that filters leave out included.
    pub count: u64,
    /// Genes of the largest set.
    pub order: usize,
    /// blake3 over everything that determines the numbering of the sets and the filters.
    pub hash: String,
}

/// Numbered gene sets, each sorted.
#[derive(Debug)]
pub struct Candidates {
    source: GeneSetSource,
    /// Genes that a set may have.
    allowed: Vec<bool>,
    measured: HashSet<Box<[u32]>>,
    description: CandidatesEntry,
}

#[derive(Debug)]
enum GeneSetSource {
    Combinations { genes: Vec<u32>, choose: usize, with: Vec<u32> },
    Listed(GeneSets),
}

impl Candidates {
    /// Numbers what was chosen.
    pub fn new(
        choice: CandidateSpec,
        filters: &Filters,
        cell: &Cell,
        samples: &Samples,
        split: &Split,
    ) -> Result<Self> {
        let gene_count = cell.genes().len();
        let mut allowed: Vec<bool> =
            (0..gene_count).map(|gene| total_degree(cell, gene) >= filters.min_degree).collect();
        filters.exclude.iter().for_each(|&gene| allowed[gene as usize] = false);
        let measured = if filters.measured {
            samples.gene_sets().iter().map(Box::from).collect()
        } else {
            HashSet::new()
        };
        let mut what;
        let source = match choice {
            CandidateSpec::Combinations { order, mut genes, mut with } => {
                with.sort_unstable();
                if let Some(pair) = with.windows(2).find(|pair| pair[0] == pair[1]) {
                    let name = cell.genes().genes()[pair[0] as usize].systematic.clone();
                    return Err(repeated_gene("--with", &name));
                }
                // A gene that is named is allowed, whatever the filters are.
                for &gene in &with {
                    allowed[gene as usize] = true;
                }
                genes.retain(|gene| allowed[*gene as usize] && !with.contains(gene));
                genes.sort_unstable();
                genes.dedup();
                if with.len() >= order {
                    let query = with.len();
                    return Err(Error::request(format!(
                        "a query of {query} genes leaves nothing to choose in sets of {order}; name fewer genes or choose larger sets"
                    )));
                }
                let choose = order - with.len();
                what = format!("sets of {order} genes out of {}", genes.len());
                if !with.is_empty() {
                    let names: Vec<&str> =
                        with.iter().map(|&gene| cell.genes().genes()[gene as usize].name()).collect();
                    what = format!(
                        "sets of {order} genes: {} and {choose} of {} others",
                        names.join(", "),
                        genes.len()
                    );
                }
                GeneSetSource::Combinations { genes, choose, with }
            }
            CandidateSpec::Listed(sets) => {
                what = "listed sets".to_owned();
                GeneSetSource::Listed(sets)
            }
            CandidateSpec::DatasetPart(part) => {
                let rows = split.rows(part);
                what = format!("the {} part of the {} split", part.name(), split.spec().scheme.name());
                GeneSetSource::Listed(rows.iter().map(|&row| samples.genes(row as usize)).collect())
            }
        };
        if filters.measured {
            what.push_str(", measured ones left out");
        }
        if !filters.exclude.is_empty() || filters.min_degree > 0 {
            let count = allowed.iter().filter(|&&is_allowed| !is_allowed).count();
            let genes = if count == 1 { "gene" } else { "genes" };
            what = format!("{what}, {count} {genes} left out");
        }
        let description = CandidatesEntry {
            what,
            count: source.count(),
            order: source.order(),
            hash: hash_of(&source, &allowed, filters, samples),
        };
        if description.count == 0 {
            return Err(nothing_to_predict(&description.what));
        }
        Ok(Self { source, allowed, measured, description })
    }

    /// Number of candidates, those that filters leave out included.
    pub fn count(&self) -> u64 {
        self.description.count
    }

    /// Returns their description.
    pub fn description(&self) -> &CandidatesEntry {
        &self.description
    }

    /// Sizes of sets that occur.
    pub fn orders(&self) -> Vec<usize> {
        match &self.source {
            GeneSetSource::Combinations { choose, with, .. } => vec![choose + with.len()],
            GeneSetSource::Listed(sets) => {
                let mut orders: Vec<usize> = sets.view().iter().map(<[u32]>::len).collect();
                orders.sort_unstable();
                orders.dedup();
                orders
            }
        }
    }

    /// Returns the genes of the candidates that filters leave, without those that every candidate has.
    pub fn genes(&self) -> BTreeSet<u32> {
        const BLOCK: u64 = 1 << 16;
        let (wanted, with): (Option<usize>, &[u32]) = match &self.source {
            GeneSetSource::Combinations { genes, with, choose } => {
                if self.measured.is_empty() && genes.len() >= *choose {
                    return genes.iter().copied().collect();
                }
                (Some(genes.len()), with)
            }
            GeneSetSource::Listed(_) => (None, &[]),
        };
        let (mut found, mut numbers, mut sets) = (BTreeSet::new(), Vec::new(), GeneSets::default());
        let mut start = 0;
        // Combinations have all genes after a few blocks.
        while start < self.count() && wanted != Some(found.len()) {
            let end = (start + BLOCK).min(self.count());
            self.fill(start..end, &mut numbers, &mut sets);
            found.extend(sets.view().genes().iter().filter(|gene| !with.contains(gene)));
            numbers.clear();
            sets.clear();
            start = end;
        }
        found
    }

    /// Appends the candidates of a range that filters leave, with their numbers.
    pub fn fill(&self, range: Range<u64>, numbers: &mut Vec<u64>, sets: &mut GeneSets) {
        match &self.source {
            GeneSetSource::Listed(listed) => {
                for number in range {
                    self.push(number, listed.get(number as usize), numbers, sets);
                }
            }
            GeneSetSource::Combinations { genes, choose, with } => {
                if range.is_empty() {
                    return;
                }
                let mut combination = Combination::at(genes.len() as u64, *choose, range.start);
                let (mut set, mut fixed) = (Vec::with_capacity(choose + with.len()), Vec::new());
                let mut number = range.start;
                while number < range.end {
                    let Some((&first, start)) = combination.elements().split_last() else { return };
                    // Sets that differ only in their last element.
                    let lasts = &genes[first as usize..];
                    let count = (lasts.len() as u64).min(range.end - number);
                    let lasts = &lasts[..count as usize];
                    fixed.clear();
                    fixed.extend(start.iter().map(|&element| genes[element as usize]));
                    if with.is_empty() && self.measured.is_empty() {
                        // Genes to choose from are allowed ones: nothing is left out.
                        numbers.extend(number..number + count);
                        sets.push_each(&fixed, lasts);
                    } else {
                        for (number, &last) in (number..).zip(lasts) {
                            set.clear();
                            set.extend_from_slice(&fixed);
                            set.push(last);
                            set.extend_from_slice(with);
                            set.sort_unstable();
                            self.push(number, &set, numbers, sets);
                        }
                    }
                    number += count;
                    combination.advance_beyond_last();
                }
            }
        }
    }

    fn push(&self, number: u64, set: &[u32], numbers: &mut Vec<u64>, sets: &mut GeneSets) {
        let is_left_out = || !self.measured.is_empty() && self.measured.contains(set);
        if set.iter().all(|&gene| self.allowed[gene as usize]) && !is_left_out() {
            numbers.push(number);
            sets.push(set);
        }
    }
}

impl GeneSetSource {
    fn count(&self) -> u64 {
        match self {
            Self::Combinations { genes, choose, .. } => binomial(genes.len() as u64, *choose),
            Self::Listed(sets) => sets.len() as u64,
        }
    }

    fn order(&self) -> usize {
        match self {
            Self::Combinations { choose, with, .. } => choose + with.len(),
            Self::Listed(sets) => sets.view().iter().map(<[u32]>::len).max().unwrap_or(0),
        }
    }
}

/// The error of a request without a candidate.
pub(crate) fn nothing_to_predict(what: &str) -> Error {
    Error::request(format!("nothing to predict: {what}"))
}

/// The error of a set that names a gene twice.
pub(crate) fn repeated_gene(origin: &str, name: &str) -> Error {
    Error::request(format!("{origin} names {name} twice; a set has every gene once"))
}

/// Edges of a gene over all networks, both directions.
fn total_degree(cell: &Cell, gene: usize) -> usize {
    cell.networks().iter().map(|network| network.degree(gene)).sum()
}

fn hash_of(source: &GeneSetSource, allowed: &[bool], filters: &Filters, samples: &Samples) -> String {
    let mut hasher = blake3::Hasher::new();
    let numbers = |hasher: &mut blake3::Hasher, values: &mut dyn Iterator<Item = u32>, count: usize| {
        hasher.update(&(count as u64).to_le_bytes());
        values.for_each(|value| {
            hasher.update(&value.to_le_bytes());
        });
    };
    let all = |hasher: &mut blake3::Hasher, sets: GeneSetsRef<'_>| {
        numbers(hasher, &mut sets.offsets().iter().copied(), sets.offsets().len());
        numbers(hasher, &mut sets.genes().iter().copied(), sets.genes().len());
    };
    match source {
        GeneSetSource::Combinations { genes, choose, with } => {
            hasher.update(b"combinations 1");
            numbers(&mut hasher, &mut genes.iter().copied(), genes.len());
            numbers(&mut hasher, &mut with.iter().copied(), *choose);
        }
        GeneSetSource::Listed(sets) => {
            hasher.update(b"listed 1");
            all(&mut hasher, sets.view());
        }
    }
    numbers(&mut hasher, &mut allowed.iter().map(|&is_allowed| u32::from(is_allowed)), allowed.len());
    if filters.measured {
        hasher.update(b"not measured");
        all(&mut hasher, samples.gene_sets());
    }
    hasher.finalize().to_hex().to_string()
}
