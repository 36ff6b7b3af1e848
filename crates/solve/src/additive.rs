//! The additive part of a model: an intercept and an effect per gene and per query pair.
//!
//! It is fitted by the ridge with the highest validation Pearson.

use crate::covariates::{CovariateModel, GeneEffect};
use crate::grid::{Grid, RowKey};
use crate::model::{Choice, Problem};
use crate::ridge::{Design, Ridge};
use crate::tensor::{Tensor, find_vector, has};
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;
use std::collections::BTreeMap;

/// A fitted additive part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Additive {
    intercept: f32,
    genes: Vec<f32>,
    /// Effects of query pairs, in the order of the grid's pairs.
    pairs: BTreeMap<(u32, u32), f32>,
    /// Whether each gene has training records.
    is_known: Vec<bool>,
    /// The ridge penalty; 0 if the part was loaded.
    pub(crate) alpha: f64,
    /// Coefficients of the covariates; empty if the part was loaded.
    pub(crate) covariates: Vec<Choice>,
}

/// Name of the penalty among the choices.
pub(crate) const ALPHA: &str = "additive.alpha";
/// Tensor of `is_known`; stored only if it does not follow from the gene effects (0 means unknown).
const KNOWN: &str = "additive.known";

impl Additive {
    /// Fits the ridge. Genes without training records get the effect expected from the named covariates, or 0 without any.
    pub(crate) fn fit(problem: Problem<'_>, grid: &Grid, covariates: &[String]) -> Result<Self, Error> {
        let gene_count = problem.cell.genes().len();
        let column: BTreeMap<(u32, u32), u32> = grid.pair_rows().zip(gene_count as u32..).collect();
        let design = |sets: GeneSetsRef<'_>| {
            let indicators = sets.iter().map(|set| {
                let pair = query(grid, set).and_then(|pair| column.get(&pair).copied());
                set.iter().copied().chain(pair)
            });
            Design::from_sets(indicators, gene_count + column.len())
        };
        let (train, val) = (design(problem.train.sets.view()), design(problem.val.sets.view()));
        let ridge = match problem.setting(ALPHA) {
            Some(alpha) => Ridge::fit_one(&train, &problem.train.scores, alpha)?,
            None => Ridge::fit_best(&train, &problem.train.scores, &val, &problem.val.scores)?,
        };
        let effect = |column: usize| ridge.coefficients[column] as f32;
        let mut genes: Vec<f32> = (0..gene_count).map(effect).collect();
        let mut effects: Vec<GeneEffect> =
            genes.iter().map(|&value| GeneEffect { value: f64::from(value), records: 0 }).collect();
        problem.train.sets.view().iter().flatten().for_each(|&gene| effects[gene as usize].records += 1);
        let covariates = CovariateModel::fit(covariates, problem.cell, &effects);
        let is_known: Vec<bool> = effects.iter().map(|effect| effect.records > 0).collect();
        let mut choices = Vec::new();
        if let Some(covariates) = covariates {
            let new = genes.iter_mut().zip(covariates.expected).zip(&is_known).filter(|(_, known)| !**known);
            new.for_each(|((gene, expected), _)| *gene = expected as f32);
            choices = covariates.choices;
        }
        Ok(Self {
            intercept: ridge.intercept as f32,
            genes,
            pairs: column.iter().map(|(&pair, &column)| (pair, effect(column as usize))).collect(),
            is_known,
            alpha: ridge.alpha,
            covariates: choices,
        })
    }

    /// Predicts the score of a set.
    pub(crate) fn predict(&self, grid: &Grid, set: &[u32]) -> f64 {
        let genes: f64 = set.iter().map(|&gene| f64::from(self.genes[gene as usize])).sum();
        let pair = query(grid, set).and_then(|pair| self.pairs.get(&pair));
        f64::from(self.intercept) + genes + pair.map_or(0.0, |&value| f64::from(value))
    }

    /// Returns whether a gene has training records.
    pub(crate) fn is_known(&self, gene: u32) -> bool {
        self.is_known[gene as usize]
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let pairs: Vec<f32> = self.pairs.values().copied().collect();
        let mut tensors = vec![
            Tensor::vector("additive.intercept", vec![self.intercept]),
            Tensor::vector("additive.genes", self.genes.clone()),
            Tensor::vector("additive.pairs", pairs),
        ];
        // With covariates an unknown gene has an effect; a known gene may have the effect 0.
        if self.genes.iter().zip(&self.is_known).any(|(gene, &is_known)| (*gene != 0.0) != is_known) {
            let known = self.is_known.iter().map(|&is_known| f32::from(u8::from(is_known))).collect();
            tensors.push(Tensor::vector(KNOWN, known));
        }
        tensors
    }

    pub(crate) fn load(tensors: &[Tensor], grid: &Grid, gene_count: usize) -> Result<Self, Error> {
        let vector = |name: &str, length: usize| find_vector(tensors, name, length);
        let pairs: Vec<(u32, u32)> = grid.pair_rows().collect();
        let genes = vector("additive.genes", gene_count)?;
        let known = if has(tensors, KNOWN) { vector(KNOWN, gene_count)? } else { genes.clone() };
        Ok(Self {
            intercept: vector("additive.intercept", 1)?[0],
            pairs: pairs.iter().copied().zip(vector("additive.pairs", pairs.len())?).collect(),
            is_known: known.iter().map(|&known| known != 0.0).collect(),
            genes,
            alpha: 0.0,
            covariates: Vec::new(),
        })
    }
}

/// Returns the query pair of a triple.
fn query(grid: &Grid, set: &[u32]) -> Option<(u32, u32)> {
    match grid.split_triple(set)? {
        (RowKey::Pair(a, b), _) => Some((a, b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneSets;

    #[test]
    fn known_genes_are_stored_if_they_do_not_follow_from_the_effects() {
        let grid = Grid::from_sets(GeneSets::default().view());
        for (is_known, stored) in [([true, false], 3), ([false, true], 4), ([true, true], 4)] {
            let part = Additive {
                intercept: 1.0,
                genes: vec![0.5, 0.0],
                pairs: BTreeMap::new(),
                is_known: is_known.to_vec(),
                alpha: 0.0,
                covariates: Vec::new(),
            };
            assert_eq!(part.tensors().len(), stored);
            assert_eq!(Additive::load(&part.tensors(), &grid, 2).unwrap(), part);
        }
    }
}
