//! What every solved model begins with: the grid of the training sets, the additive part, and what it leaves.

use crate::additive::Additive;
use crate::grid::Grid;
use crate::model::{Problem, SolveError};
use knockout_data::cell::GeneSetsRef;

/// The grid, the additive part and what it leaves of the training scores.
pub(crate) struct Base {
    pub(crate) grid: Grid,
    pub(crate) additive: Additive,
    pub(crate) residuals: Vec<f64>,
}

impl Base {
    /// `covariates` are the features that tell of genes that training never saw.
    pub(crate) fn of(problem: Problem<'_>, covariates: &[String]) -> Result<Self, SolveError> {
        problem.check()?;
        let grid = Grid::of(problem.train.sets.view());
        let additive = Additive::fit(problem, &grid, covariates)?;
        let sets = problem.train.sets.view();
        let residuals = problem.train.scores.iter().zip(sets.iter());
        let residuals = residuals.map(|(score, set)| score - additive.predict(&grid, set)).collect();
        Ok(Self { grid, additive, residuals })
    }

    /// The additive part's predictions.
    pub(crate) fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        sets.iter().map(|set| self.additive.predict(&self.grid, set)).collect()
    }
}
