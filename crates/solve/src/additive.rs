//! The additive part of a model: an intercept, a number per gene and a number per query pair, fitted by the ridge that validates
//! best.

use crate::grid::{Grid, Row};
use crate::model::{Problem, SolveError};
use crate::ridge::{Design, Ridge};
use crate::tensor::{Tensor, tensor};
use knockout_cell::GeneSetsRef;
use std::collections::BTreeMap;

/// A fitted additive part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Additive {
    intercept: f32,
    genes: Vec<f32>,
    /// In the order of the grid's pairs.
    pairs: BTreeMap<(u32, u32), f32>,
    /// The ridge's penalty; 0 for a part that was loaded.
    pub(crate) alpha: f64,
}

impl Additive {
    pub(crate) fn fit(problem: Problem<'_>, grid: &Grid) -> Result<Self, SolveError> {
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
        Ok(Self {
            intercept: ridge.intercept as f32,
            genes: (0..gene_count).map(number).collect(),
            pairs: column.iter().map(|(&pair, &place)| (pair, number(place as usize))).collect(),
            alpha: ridge.alpha,
        })
    }

    pub(crate) fn predict(&self, grid: &Grid, set: &[u32]) -> f64 {
        let genes: f64 = set.iter().map(|&gene| f64::from(self.genes[gene as usize])).sum();
        let pair = query(grid, set).and_then(|pair| self.pairs.get(&pair));
        f64::from(self.intercept) + genes + pair.map_or(0.0, |&value| f64::from(value))
    }

    /// Whether training had a record of a gene: the ridge gives any other no effect at all.
    pub(crate) fn knows(&self, gene: u32) -> bool {
        self.genes[gene as usize] != 0.0
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let pairs: Vec<f32> = self.pairs.values().copied().collect();
        vec![
            Tensor::new("additive.intercept", &[1], vec![self.intercept]),
            Tensor::new("additive.genes", &[self.genes.len()], self.genes.clone()),
            Tensor::new("additive.pairs", &[pairs.len()], pairs),
        ]
    }

    pub(crate) fn load(tensors: &[Tensor], grid: &Grid, gene_count: usize) -> Result<Self, SolveError> {
        let of_length =
            |name: &str, length: usize| tensor(tensors, name)?.of_length(length).map(<[f32]>::to_vec);
        let pairs: Vec<(u32, u32)> = grid.pair_rows().collect();
        Ok(Self {
            intercept: of_length("additive.intercept", 1)?[0],
            genes: of_length("additive.genes", gene_count)?,
            pairs: pairs.iter().copied().zip(of_length("additive.pairs", pairs.len())?).collect(),
            alpha: 0.0,
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
