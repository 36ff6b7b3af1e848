//! Content features: numbers that are known of genes beforehand, such as sequence embeddings or fitness.

use crate::cell::error::{bad_number, feature_rows};
use knockout_base::error::{Error, Result};

/// One row per gene of the table, one named column per feature. What is unknown is NaN.
#[derive(Debug, Clone)]
pub struct Features {
    names: Vec<String>,
    /// `[genes, columns]`.
    values: Vec<f32>,
    gene_count: usize,
}

impl Features {
    /// Checks names (there is one at least, none is empty or occurs twice) and values (as many as there must be, none infinite).
    pub fn new(gene_count: usize, names: Vec<String>, values: Vec<f32>) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::damage("there is no feature"));
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if let Some(name) = twice.or_else(|| names.iter().find(|name| name.is_empty())) {
            return Err(Error::damage(format!("the name of a feature, {name:?}, is empty or occurs twice")));
        }
        if values.len() != gene_count * names.len() {
            return Err(feature_rows(values.len() / names.len(), gene_count));
        }
        if let Some(entry) = values.iter().position(|value| value.is_infinite()) {
            let list = format!("feature {:?}", names[entry % names.len()]);
            return Err(bad_number(&list, entry / names.len(), f64::from(values[entry])));
        }
        Ok(Self { names, values, gene_count })
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of genes.
    pub fn gene_count(&self) -> usize {
        self.gene_count
    }

    /// The features of each gene, NaN where unknown.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.names.len())
    }

    /// One feature of a gene, if it is known.
    pub fn get(&self, gene: usize, column: usize) -> Option<f32> {
        Some(self.values[gene * self.names.len() + column]).filter(|value| !value.is_nan())
    }

    /// Genes of which some feature is known.
    pub(crate) fn known_genes(&self) -> usize {
        self.rows().filter(|row| row.iter().any(|value| !value.is_nan())).count()
    }

    /// `[genes, columns]`: each column with mean 0 and (population) standard deviation 1 over the genes whose value is known; 0 where it is
    /// unknown, and throughout a column without any spread.
    pub fn standardised(&self) -> Vec<f64> {
        let columns = self.names.len();
        let (mut count, mut mean) = (vec![0_usize; columns], vec![0.0; columns]);
        let known = || self.rows().flat_map(|row| row.iter().map(|&value| f64::from(value)).enumerate());
        for (column, value) in known().filter(|(_, value)| !value.is_nan()) {
            count[column] += 1;
            mean[column] += value;
        }
        mean.iter_mut().zip(&count).for_each(|(mean, &count)| *mean /= count.max(1) as f64);
        let mut variance = vec![0.0; columns];
        for (column, value) in known().filter(|(_, value)| !value.is_nan()) {
            let count = count[column] as f64;
            variance[column] += (value - mean[column]) * (value - mean[column]) / count;
        }
        let standardised = |(column, value): (usize, f64)| {
            let deviation = variance[column].sqrt();
            // A column of one value, whose sums leave a rounding error.
            let has_spread = deviation > 1e-9 * mean[column].abs();
            if value.is_nan() || !has_spread { 0.0 } else { (value - mean[column]) / deviation }
        };
        known().map(standardised).collect()
    }

    /// Content hash: what a model trained with them depends on.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"knockout features 1");
        for name in &self.names {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        for value in &self.values {
            // Unknown is unknown, whatever the bits.
            let bits = if value.is_nan() { u32::MAX } else { value.to_bits() };
            hasher.update(&bits.to_le_bytes());
        }
        hasher.finalize()
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.gene_count == other.gene_count && self.hash() == other.hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(names: &[&str], values: &[f32]) -> Result<Features> {
        Features::new(3, names.iter().map(|&name| name.to_owned()).collect(), values.to_vec())
    }

    #[test]
    fn columns_are_standardised_over_what_is_known() {
        let found = features(&["a", "b"], &[1.0, 7.5, f32::NAN, 7.5, 5.0, 7.5]).unwrap();
        assert_eq!(found.standardised(), [-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(found.known_genes(), 3);
        assert_eq!(features(&["a"], &[f32::NAN, 1.0, 1.0]).unwrap().known_genes(), 2);
        assert_eq!(found, found.clone());
        assert_ne!(found, features(&["a", "c"], &[1.0, 7.5, f32::NAN, 7.5, 5.0, 7.5]).unwrap());
    }

    #[test]
    fn impossible_features_are_refused() {
        let message = |names: &[&str], values: &[f32]| features(names, values).unwrap_err().to_string();
        assert_eq!(message(&[], &[]), "there is no feature");
        assert_eq!(message(&["a", "a"], &[0.0; 6]), "the name of a feature, \"a\", is empty or occurs twice");
        assert_eq!(message(&[""], &[0.0; 3]), "the name of a feature, \"\", is empty or occurs twice");
        assert_eq!(message(&["a"], &[0.0; 4]), "there are features of 4 genes, the table has 3");
        assert_eq!(message(&["a"], &[0.0, f32::INFINITY, 0.0]), "entry 1 of feature \"a\" has the value inf");
    }
}
