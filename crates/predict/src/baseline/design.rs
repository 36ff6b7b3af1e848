//! Query pairs with enough records, and the design matrix of a linear model: indicators of a record's genes and of its query
//! pair.

use knockout_data::screen::Samples;
use knockout_solve::ridge::Design;
use std::collections::BTreeMap;

/// Query pairs that occur often enough in training to have an estimate of their own.
#[derive(Debug, Clone, Default)]
pub struct PairVocabulary {
    /// The mean training score of each pair, by the pair's genes; in ascending order.
    means: BTreeMap<Vec<u32>, f64>,
}

impl PairVocabulary {
    /// Training records a pair needs to be in the vocabulary.
    pub const LEAST_RECORDS: usize = 5;

    /// Finds the pairs with enough training records. Records without a query belong to no pair.
    pub fn of(samples: &Samples, train: &[u32]) -> Self {
        let mut scores: BTreeMap<&[u32], (f64, usize)> = BTreeMap::new();
        for &row in train {
            let query = samples.query(row as usize);
            if !query.is_empty() {
                let entry = scores.entry(query).or_default();
                *entry = (entry.0 + samples.scores()[row as usize], entry.1 + 1);
            }
        }
        let known = scores.into_iter().filter(|(_, (_, count))| *count >= Self::LEAST_RECORDS);
        Self { means: known.map(|(pair, (sum, count))| (pair.to_vec(), sum / count as f64)).collect() }
    }

    /// How many pairs are known.
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// The pairs, ascending.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.means.keys().map(Vec::as_slice)
    }

    /// The mean training score of a pair.
    pub fn mean(&self, query: &[u32]) -> Option<f64> {
        self.means.get(query).copied()
    }
}

/// Returns the design matrix of rows: one column per gene of the table, then one per pair of the vocabulary (give an empty one for genes
/// alone).
pub fn design(samples: &Samples, gene_count: usize, pairs: &PairVocabulary, rows: &[u32]) -> Design {
    let column_of: BTreeMap<&[u32], u32> = pairs.pairs().zip(gene_count as u32..).collect();
    let sets = rows.iter().map(|&row| {
        let pair = column_of.get(samples.query(row as usize)).copied();
        samples.genes(row as usize).iter().copied().chain(pair)
    });
    Design::from_sets(sets, gene_count + pairs.len())
}
