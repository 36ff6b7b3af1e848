//! Orders over records, query pairs and genes that depend on names and the seed alone.

use crate::cell::GeneTable;
use crate::screen::Samples;
use std::collections::{BTreeMap, HashMap};

/// Hashes everything a split needs.
pub(super) struct Keys<'a> {
    pub(super) samples: &'a Samples,
    seed: u64,
    /// Returns a hash of each gene's systematic name, which represents the gene in larger hashes.
    gene_hashes: Vec<u64>,
    /// The first row with the genes and kind of each row.
    first_alleles: Vec<u32>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(samples: &'a Samples, genes: &GeneTable, seed: u64) -> Self {
        let hash = |name: &str| first_word(&blake3::hash(name.as_bytes()));
        let gene_hashes = genes.genes().iter().map(|gene| hash(&gene.systematic)).collect();
        Self { samples, seed, gene_hashes, first_alleles: samples.first_alleles() }
    }

    /// Returns whether no earlier row has the same genes and kind with other alleles.
    pub(super) fn is_first(&self, row: u32) -> bool {
        self.first_alleles[row as usize] == row
    }

    /// All rows, in the seed's order for this purpose.
    pub(super) fn records_in_order(&self, purpose: &str) -> Vec<u32> {
        let rows = 0..self.samples.len() as u32;
        let key = |row: u32| {
            let row = row as usize;
            self.key(purpose, self.samples.genes(row), self.samples.kind(row))
        };
        sorted(rows.map(|row| ((key(row), self.alleles_hash(row as usize)), row)).collect())
    }

    /// Returns a hash of the alleles of a row, which orders the alleles of a set; 0 where none are stored.
    fn alleles_hash(&self, row: usize) -> u64 {
        let mut alleles = self.samples.alleles(row).peekable();
        if alleles.peek().is_none() {
            return 0;
        }
        // By the gene's hash: neither the order of the gene table nor that of the alleles matters.
        let mut words: Vec<(u64, &str, String)> = alleles
            .map(|allele| {
                let name = allele.name.as_deref().unwrap_or_default().to_ascii_lowercase();
                (self.gene_hashes[allele.gene as usize], allele.kind.as_str(), name)
            })
            .collect();
        words.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for (gene, kind, name) in words {
            hasher.update(&gene.to_le_bytes());
            hasher.update(kind.as_bytes());
            hasher.update(b"\0");
            hasher.update(name.as_bytes());
            hasher.update(b"\0");
        }
        first_word(&hasher.finalize())
    }

    /// Query pairs with their rows, in the seed's order; `Err` names the first row without one. Where alleles are stored, all rows of a
    /// gene set belong to the query of its first one.
    pub(super) fn pairs_in_order(&self) -> Result<Vec<Vec<u32>>, usize> {
        let mut groups: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
        let mut query_of_set: Option<HashMap<&[u32], &[u32]>> = self.samples.has_alleles().then(HashMap::new);
        for row in 0..self.samples.len() {
            let query = self.samples.query(row);
            if query.is_empty() {
                return Err(row);
            }
            let query = match &mut query_of_set {
                Some(queries) => *queries.entry(self.samples.genes(row)).or_insert(query),
                None => query,
            };
            groups.entry(query).or_default().push(row as u32);
        }
        let keyed = groups.into_iter().map(|(query, rows)| (self.key("pair", query, ""), rows)).collect();
        Ok(sorted(keyed))
    }

    /// The genes that occur in samples, in the seed's order.
    pub(super) fn genes_in_order(&self) -> Vec<u32> {
        let mut occurs = vec![false; self.gene_hashes.len()];
        for &gene in self.samples.gene_sets().genes() {
            occurs[gene as usize] = true;
        }
        let genes = (0..occurs.len() as u32).filter(|&gene| occurs[gene as usize]);
        sorted(genes.map(|gene| (self.key("gene", &[gene], ""), gene)).collect())
    }

    fn key(&self, purpose: &str, genes: &[u32], kind: &str) -> u64 {
        let mut hashes: Vec<u64> = genes.iter().map(|&gene| self.gene_hashes[gene as usize]).collect();
        // By hash, not by row: the order of the gene table must not matter.
        hashes.sort_unstable();
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        bytes.extend_from_slice(&(purpose.len() as u32).to_le_bytes());
        bytes.extend_from_slice(purpose.as_bytes());
        for hash in hashes {
            bytes.extend_from_slice(&hash.to_le_bytes());
        }
        bytes.extend_from_slice(kind.as_bytes());
        first_word(&blake3::hash(&bytes))
    }
}

fn first_word(hash: &blake3::Hash) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(word)
}

/// Sorted by key, of equal keys the earlier first.
fn sorted<K: Ord + Copy, T>(mut keyed: Vec<(K, T)>) -> Vec<T> {
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, unit)| unit).collect()
}
