//! The first stage of every solved model: the grid of the training sets, the additive part and its residuals.

use crate::additive::Additive;
use crate::grid::Grid;
use crate::model::Problem;
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;

/// The grid, the additive part and the residuals of the training scores.
pub(crate) struct AdditiveFit {
    pub(crate) grid: Grid,
    pub(crate) additive: Additive,
    pub(crate) residuals: Vec<f64>,
}

impl AdditiveFit {
    /// Fits the additive part; `covariates` names the features that predict the effects of genes without training records.
    pub(crate) fn new(problem: Problem<'_>, covariates: &[String]) -> Result<Self, Error> {
        problem.check()?;
        let sets = problem.train.sets.view();
        let grid = Grid::from_sets(sets);
        let additive = Additive::fit(problem, &grid, covariates)?;
        let records = problem.train.scores.iter().zip(sets.iter());
        let residuals = records.map(|(score, set)| score - additive.predict(&grid, set)).collect();
        Ok(Self { grid, additive, residuals })
    }

    /// Returns the predictions of the additive part.
    pub(crate) fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        sets.iter().map(|set| self.additive.predict(&self.grid, set)).collect()
    }
}
