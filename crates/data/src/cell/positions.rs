//! Positions of genes on chromosomes.

use knockout_base::error::{Error, Result};
use std::collections::BTreeMap;

/// The stretch of a chromosome that a gene occupies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenePosition {
    /// Name of the chromosome.
    pub chromosome: String,
    /// First base, or last on the other strand.
    pub start: u32,
    /// Last base, or first on the other strand.
    pub stop: u32,
}

/// How far two genes are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separation {
    /// The position of a gene is not known.
    Unknown,
    /// They lie on different chromosomes.
    OtherChromosome,
    /// Bases between their middles.
    Bases(u32),
}

/// Positions of the genes of a table, where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenePositions {
    positions: Vec<Option<GenePosition>>,
    /// Number of the chromosome and middle of each gene.
    middles: Vec<Option<(u32, u32)>>,
}

impl GenePositions {
    /// Creates the positions of all genes of a table; `None` if no position is known.
    pub fn new(positions: Vec<Option<GenePosition>>) -> Option<Self> {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let middles: Vec<Option<(u32, u32)>> = positions
            .iter()
            .map(|position| {
                let GenePosition { chromosome, start, stop } = position.as_ref()?;
                let next = numbers.len() as u32;
                let number = *numbers.entry(chromosome.clone()).or_insert(next);
                Some((number, u32::midpoint(*start, *stop)))
            })
            .collect();
        middles.iter().any(Option::is_some).then_some(Self { positions, middles })
    }

    /// Returns how many genes there are.
    pub fn gene_count(&self) -> usize {
        self.positions.len()
    }

    /// Returns the position of a gene.
    pub fn get(&self, gene: usize) -> Option<&GenePosition> {
        self.positions[gene].as_ref()
    }

    /// Returns how far two genes are from each other.
    pub fn separation(&self, a: u32, b: u32) -> Separation {
        match (self.middles[a as usize], self.middles[b as usize]) {
            (Some((first, a)), Some((second, b))) if first == second => Separation::Bases(a.abs_diff(b)),
            (Some(_), Some(_)) => Separation::OtherChromosome,
            _ => Separation::Unknown,
        }
    }

    pub(crate) fn check(&self, gene_count: usize) -> Result<()> {
        let found = self.gene_count();
        if found == gene_count {
            return Ok(());
        }
        Err(Error::damage(format!("there are positions of {found} genes, the table has {gene_count}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_between_middles() {
        let at = |chromosome: &str, start, stop| {
            Some(GenePosition { chromosome: chromosome.to_owned(), start, stop })
        };
        let positions =
            GenePositions::new(vec![at("1", 100, 300), at("1", 1_300, 1_100), at("2", 100, 300), None])
                .unwrap();
        assert_eq!(positions.separation(0, 1), Separation::Bases(1_000));
        assert_eq!(positions.separation(1, 0), Separation::Bases(1_000));
        assert_eq!(positions.separation(0, 2), Separation::OtherChromosome);
        assert_eq!(positions.separation(0, 3), Separation::Unknown);
        assert_eq!(GenePositions::new(vec![None, None]), None);
    }
}
