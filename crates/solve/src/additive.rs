//! The additive part of a model: an intercept, a number per gene and a number per query pair, fitted by the ridge that validates
//! best.

use crate::covariates::{Covariates, Effect};
use crate::grid::{Grid, Row};
use crate::model::{Choice, Problem, SolveError};
use crate::ridge::{Design, Ridge};
use crate::tensor::{Tensor, tensor};
use knockout_data::cell::GeneSetsRef;
use std::collections::BTreeMap;

/// A fitted additive part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Additive {
    intercept: f32,
    genes: Vec<f32>,
    /// In the order of the grid's pairs.
    pairs: BTreeMap<(u32, u32), f32>,
    /// Genes that training has a record of.
    is_known: Vec<bool>,
    /// The ridge's penalty; 0 for a part that was loaded.
    pub(crate) alpha: f64,
    /// What covariates say of genes that training has no record of; nothing for a part that was loaded.
    pub(crate) covariates: Vec<Choice>,
}

/// Genes that training has a record of: stored only where their numbers do not tell.
const KNOWN: &str = "additive.known";

impl Additive {
    /// The ridge. Genes that training has no record of get what the features named `covariates` let expect, or 0 without any.
    pub(crate) fn fit(problem: Problem<'_>, grid: &Grid, covariates: &[String]) -> Result<Self, SolveError> {
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
        let ridge = Ridge::chosen(&train, &problem.train.scores, &val, &problem.val.scores)?;
        let number = |place: usize| ridge.coefficients[place] as f32;
        let mut genes: Vec<f32> = (0..gene_count).map(number).collect();
        let mut effects: Vec<Effect> =
            genes.iter().map(|&value| Effect { value: f64::from(value), records: 0 }).collect();
        problem.train.sets.view().iter().flatten().for_each(|&gene| effects[gene as usize].records += 1);
        let covariates = Covariates::of(covariates, problem.cell, &effects);
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
            pairs: column.iter().map(|(&pair, &place)| (pair, number(place as usize))).collect(),
            is_known,
            alpha: ridge.alpha,
            covariates: choices,
        })
    }

    pub(crate) fn predict(&self, grid: &Grid, set: &[u32]) -> f64 {
        let genes: f64 = set.iter().map(|&gene| f64::from(self.genes[gene as usize])).sum();
        let pair = query(grid, set).and_then(|pair| self.pairs.get(&pair));
        f64::from(self.intercept) + genes + pair.map_or(0.0, |&value| f64::from(value))
    }

    /// Whether training had a record of a gene.
    pub(crate) fn knows(&self, gene: u32) -> bool {
        self.is_known[gene as usize]
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let pairs: Vec<f32> = self.pairs.values().copied().collect();
        let mut tensors = vec![
            Tensor::new("additive.intercept", &[1], vec![self.intercept]),
            Tensor::new("additive.genes", &[self.genes.len()], self.genes.clone()),
            Tensor::new("additive.pairs", &[pairs.len()], pairs),
        ];
        // A gene in no record has a number where covariates say something of it, and one in some may have 0.
        if self.genes.iter().zip(&self.is_known).any(|(gene, &is_known)| (*gene != 0.0) != is_known) {
            let known = self.is_known.iter().map(|&is_known| f32::from(u8::from(is_known))).collect();
            tensors.push(Tensor::new(KNOWN, &[self.genes.len()], known));
        }
        tensors
    }

    pub(crate) fn load(tensors: &[Tensor], grid: &Grid, gene_count: usize) -> Result<Self, SolveError> {
        let of_length =
            |name: &str, length: usize| tensor(tensors, name)?.of_length(length).map(<[f32]>::to_vec);
        let pairs: Vec<(u32, u32)> = grid.pair_rows().collect();
        let genes = of_length("additive.genes", gene_count)?;
        let known =
            if tensor(tensors, KNOWN).is_ok() { of_length(KNOWN, gene_count)? } else { genes.clone() };
        Ok(Self {
            intercept: of_length("additive.intercept", 1)?[0],
            pairs: pairs.iter().copied().zip(of_length("additive.pairs", pairs.len())?).collect(),
            is_known: known.iter().map(|&known| known != 0.0).collect(),
            genes,
            alpha: 0.0,
            covariates: Vec::new(),
        })
    }
}

/// The query pair of a triple.
fn query(grid: &Grid, set: &[u32]) -> Option<(u32, u32)> {
    match (set.len() == 3).then(|| grid.part_of_triple(set))?? {
        (Row::Pair(a, b), _) => Some((a, b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneSets;

    #[test]
    fn whom_training_knows_is_stored_where_numbers_do_not_tell() {
        let grid = Grid::of(GeneSets::default().view());
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
