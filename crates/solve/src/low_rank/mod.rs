//! Low rank: a ridge over genes and query pairs, and low-rank completion of its residuals by nuclear norm.
//!
//! The penalty λ decreases along a path, and each solution starts from the one before. The path ends at the first of at least three
//! values that gains less than 5e-4 in validation Pearson over the best so far. Below the noise level the minimum has hundreds of dimensions
//! of noise, so a λ is abandoned early if it does not validate better than the best so far, either after its first four steps or while its
//! rank still grows. The chosen λ is then solved until the certificate shows the tolerance.

mod complete;
mod observed;
mod subspace;

use crate::additive::{ALPHA, Additive};
use crate::additive_fit::AdditiveFit;
use crate::covariates;
use crate::deviation::{DeviationModel, GeneNoise};
use crate::error::{bad_tensor, check_memory, out_of_range};
use crate::grid::{Grid, GridCells};
use crate::matrix::{Matrix, dot};
use crate::model::{Choice, Problem, Solution, SolveObserver, SolvedOptions, TriedSetting};
use crate::pair_products::{GeneTableRows, PairForm, PairProducts};
use crate::tensor::{Tensor, find, has};
use complete::{CompletionState, LowRankMatrix, StoppingRule, complete};
use knockout_base::error::Error;
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, GeneSetsRef};
use observed::ObservedMatrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Options of the low-rank model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LowRankOptions {
    /// Content features that predict the effects of genes without training records.
    pub covariates: Vec<String>,
    /// Relative gap to the minimum that the certificate must show.
    pub tolerance: f64,
    /// Maximum memory of the matrices, in MiB.
    pub memory_mib: usize,
}

impl Default for LowRankOptions {
    fn default() -> Self {
        Self { covariates: Vec::new(), tolerance: 1e-6, memory_mib: 4096 }
    }
}

/// The first λ, relative to the smallest λ whose minimum is 0.
const FIRST_LAMBDA: f64 = 0.6;
/// Factor between consecutive λ.
const LAMBDA_STEP: f64 = 0.75;
/// Minimum number of λ; after these the path ends with the first that is not chosen.
const MIN_LAMBDAS: usize = 3;
/// Maximum number of λ: the last is 1 % of the first.
const MAX_LAMBDAS: usize = 16;
/// Minimum gain in validation Pearson for a smaller λ. On a large screen the next λ may admit hundreds of dimensions of noise, which cost
/// more than the whole path before and gain nothing.
const MIN_GAIN: f64 = 5e-4;
/// Relative change of the objective per step at which a λ of the path is validated.
const ROUGH: f64 = 2e-4;

impl SolvedOptions for LowRankOptions {
    const NAME: &'static str = "low-rank";
    const SUMMARY: &'static str =
        "ridge of genes and query pairs, and exact low-rank completion of its residuals";

    fn check(&self, cell: &Cell) -> Result<(), Error> {
        if !(self.tolerance >= 1e-7 && self.tolerance < 1.0) {
            return Err(out_of_range("tolerance", &self.tolerance, "it must be at least 1e-7 and below 1"));
        }
        covariates::check(&self.covariates, cell)
    }

    fn prior_knowledge(&self) -> Vec<String> {
        self.covariates.iter().map(|name| format!("covariate {name}")).collect()
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        let gene_count = problem.cell.genes().len();
        let base = AdditiveFit::new(problem, &self.covariates)?;
        let mut model = LowRank::solve(self, problem, &base, observer)?.with_products(gene_count);
        let fitted = model.predict(problem.train.sets.view());
        let noise = GeneNoise::estimate(problem.train, &fitted, gene_count);
        let (sets, predictions) = (problem.val.sets.view(), model.predict(problem.val.sets.view()));
        let unknown: Vec<f64> = sets.iter().map(|set| model.unknown_share(set)).collect();
        model.deviation = DeviationModel::fit(noise, problem, PREFIX, &predictions, &unknown);
        model.choices.extend(model.deviation.choices(PREFIX));
        Ok(Box::new(model))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        let mut model = LowRank::load(tensors, cell)?.with_products(cell.genes().len());
        model.deviation = DeviationModel::load(tensors, PREFIX, cell.genes().len())?;
        Ok(Box::new(model))
    }
}

/// The solved model.
pub(crate) struct LowRank {
    grid: Grid,
    additive: Additive,
    /// Factors of the completed matrix, the singular values in the left one.
    left: Matrix<f32>,
    right: Matrix<f32>,
    /// The completed matrix at pairs; `None` inside a stack, which has its own products.
    products: Option<PairProducts>,
    deviation: DeviationModel,
    choices: Vec<Choice>,
}

const PREFIX: &str = "low_rank";
/// Name of the penalty among the choices.
const LAMBDA: &str = "low_rank.lambda";

impl LowRank {
    /// Solves the completion. With a λ that was chosen before it is not certified.
    pub(crate) fn solve(
        options: &LowRankOptions,
        problem: Problem<'_>,
        base: &AdditiveFit,
        observer: &mut dyn SolveObserver,
    ) -> Result<Self, Error> {
        let (grid, additive) = (&base.grid, &base.additive);
        // Three matrices of the grid's size are held at once, and small factors.
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        check_memory(4 * rows * columns, rows, columns, options.memory_mib)?;
        let observed = ObservedMatrix::new(grid, problem.train.sets.view(), &base.residuals);
        if let Some(lambda) = problem.setting(LAMBDA) {
            let zero = LowRankMatrix::zero(observed.row_count, observed.column_count);
            let start = CompletionState::starting_at(&zero, &observed);
            let until = StoppingRule::SlowProgress { relative_change: ROUGH, is_promising: &|_| true };
            let factors = complete(&observed, lambda, start, until, &mut |_| ()).factors;
            return Ok(Self::new(base, factors, Vec::new()));
        }
        let top = observed.largest_singular_value(&observed.targets);
        let validation = Validation::new(problem, base);
        let (mut path, mut state) = match observer.saved(PART) {
            Some(saved) => LambdaPath::load(&saved)?,
            None => (LambdaPath::new(&observed, validation.pearson(None)), None),
        };
        path.report(additive.alpha, observer);
        while state.is_none() && top > 0.0 && !path.is_over() {
            let lambda = FIRST_LAMBDA * top * LAMBDA_STEP.powi(path.tried.len() as i32);
            let start = CompletionState::starting_at(&path.current, &observed);
            let best = path.best_pearson();
            let is_promising =
                |factors: &LowRankMatrix| validation.pearson(Some(factors)).is_some_and(|found| found > best);
            let until = StoppingRule::SlowProgress { relative_change: ROUGH, is_promising: &is_promising };
            let completed = complete(&observed, lambda, start, until, &mut |_| {
                observer.on_step("low rank", path.tried.len());
            });
            let pearson = validation.pearson(Some(&completed.factors));
            path.add(lambda, pearson, completed.factors);
            path.tried.last().into_iter().for_each(|tried| tried.report(observer));
            if observer.is_save_due() {
                observer.save(PART, path.tensors());
            }
        }
        let lambda = path.best_lambda().unwrap_or(top);
        let (mut factors, mut relative_gap, mut steps) = (path.best.clone(), 0.0, 0);
        if factors.rank() > 0 {
            let start = state.take().unwrap_or_else(|| CompletionState::starting_at(&factors, &observed));
            let path = path.tensors();
            let until = StoppingRule::Certified(options.tolerance);
            let completed = complete(&observed, lambda, start, until, &mut |state| {
                observer.on_step("low rank, certified", state.step());
                if observer.is_save_due() {
                    observer.save(PART, [&path[..], &state.tensors()].concat());
                }
            });
            (factors, relative_gap, steps) = (completed.factors, completed.relative_gap, completed.steps);
        }
        let mut choices = vec![
            Choice::new(ALPHA, additive.alpha),
            Choice::new(LAMBDA, lambda),
            Choice::new("low_rank.rank", factors.rank() as f64),
            Choice::new("low_rank.relative_gap", relative_gap),
            Choice::new("low_rank.steps", steps as f64),
            Choice::new("low_rank.rows", observed.row_count as f64),
            Choice::new("low_rank.columns", observed.column_count as f64),
        ];
        choices.extend(additive.covariates.iter().cloned());
        Ok(Self::new(base, factors, choices))
    }

    /// Creates the model without a completed matrix.
    pub(crate) fn of_additive(base: &AdditiveFit) -> Self {
        let (rows, columns) = (base.grid.rows().len(), base.grid.columns().len());
        Self::new(base, LowRankMatrix::zero(rows, columns), Vec::new())
    }

    fn new(base: &AdditiveFit, factors: LowRankMatrix, choices: Vec<Choice>) -> Self {
        Self {
            grid: base.grid.clone(),
            additive: base.additive.clone(),
            left: factors.scaled_left(),
            right: factors.right,
            products: None,
            deviation: DeviationModel::default(),
            choices,
        }
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the additive part: the intercept and the effects of the genes and the query pair.
    pub(crate) fn additive(&self, set: &[u32]) -> f64 {
        self.additive.predict(&self.grid, set)
    }

    /// Returns whether a gene has training records.
    pub(crate) fn is_known(&self, gene: u32) -> bool {
        self.additive.is_known(gene)
    }

    /// Returns the share of a set's genes without training records.
    fn unknown_share(&self, set: &[u32]) -> f64 {
        let unknown = set.iter().filter(|&&gene| !self.additive.is_known(gene)).count();
        unknown as f64 / set.len().max(1) as f64
    }

    /// Returns the tensors without those of the standard deviations.
    pub(crate) fn own_tensors(&self) -> Vec<Tensor> {
        let mut tensors = vec![
            Tensor::from_matrix("low_rank.left", &self.left),
            Tensor::from_matrix("low_rank.right", &self.right),
        ];
        tensors.extend(self.grid.tensors());
        tensors.extend(self.additive.tensors());
        tensors
    }

    /// Returns the value of the completed matrix; 0 for sets without a cell.
    pub(crate) fn completed(&self, set: &[u32]) -> f64 {
        let entry =
            |row: usize, column: usize| -> f64 { f64::from(dot(self.left.row(row), self.right.row(column))) };
        self.grid.cells(set).mean(entry).unwrap_or(0.0)
    }

    /// Calls a function with the completed matrix at pairs as a bilinear form, times a weight.
    ///
    /// Every pair must have two cells or none. This does not hold if triples add columns of their own; then there is no form.
    pub(crate) fn with_form<T>(&self, weight: f64, use_form: impl FnOnce(PairForm<'_>) -> T) -> Option<T> {
        let grid = &self.grid;
        (grid.pair_rows().next().is_none()).then(|| {
            use_form(PairForm {
                weight: 0.5 * weight,
                x: GeneTableRows { table: &self.left, row_of: &|gene| grid.row_of_gene(gene) },
                y: GeneTableRows { table: &self.right, row_of: &|gene| grid.column_of_gene(gene) },
            })
        })
    }

    fn with_products(mut self, genes: usize) -> Self {
        self.products = self.with_form(1.0, |form| PairProducts::new(genes, &[form]));
        self
    }

    pub(crate) fn load(tensors: &[Tensor], cell: &Cell) -> Result<Self, Error> {
        let gene_count = cell.genes().len();
        let grid = Grid::load(tensors, gene_count)?;
        let left = find(tensors, "low_rank.left")?.matrix_with_rows(grid.rows().len())?;
        let right = find(tensors, "low_rank.right")?.matrix_with_rows(grid.columns().len())?;
        if left.columns() != right.columns() {
            return Err(bad_tensor("low_rank.right"));
        }
        let additive = Additive::load(tensors, &grid, gene_count)?;
        let (deviation, choices) = (DeviationModel::default(), Vec::new());
        Ok(Self { grid, additive, left, right, products: None, deviation, choices })
    }
}

impl Solution for LowRank {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let predict = |(i, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => self.additive(set) + f64::from(of_pairs[i]),
            _ => self.additive(set) + self.completed(set),
        };
        sets.iter().enumerate().map(predict).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>, _: &[f64]) -> Option<Vec<f64>> {
        Some(self.deviation.deviations(sets, sets.iter().map(|set| self.unknown_share(set))))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.deviation.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.own_tensors();
        tensors.extend(self.deviation.tensors(PREFIX));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

/// Validates completed matrices.
struct Validation<'a> {
    scores: &'a [f64],
    /// Predictions of the additive part.
    additive: Vec<f64>,
    cells: Vec<GridCells>,
}

impl<'a> Validation<'a> {
    fn new(problem: Problem<'a>, base: &AdditiveFit) -> Self {
        let sets = problem.val.sets.view();
        let cells = sets.iter().map(|set| base.grid.cells(set)).collect();
        Self { scores: &problem.val.scores, additive: base.predict(sets), cells }
    }

    /// Returns the validation Pearson of the additive part plus a completed matrix.
    fn pearson(&self, factors: Option<&LowRankMatrix>) -> Option<f64> {
        let Some(factors) = factors else { return pearson(&self.additive, self.scores) };
        let left = factors.scaled_left();
        let entry = |row: usize, column: usize| f64::from(dot(left.row(row), factors.right.row(column)));
        let predict = |(additive, cells): (&f64, &GridCells)| additive + cells.mean(entry).unwrap_or(0.0);
        let predictions: Vec<f64> = self.additive.par_iter().zip(&self.cells).map(predict).collect();
        pearson(&predictions, self.scores)
    }
}

/// Name of the saved state.
const PART: &str = "low-rank";

/// A λ that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TriedLambda {
    lambda: f64,
    rank: usize,
    /// Validation Pearson; -2 if undefined.
    pearson: f64,
}

/// The path of λ so far.
#[derive(Debug, Clone, PartialEq)]
struct LambdaPath {
    /// Validation Pearson of the additive part.
    additive: f64,
    tried: Vec<TriedLambda>,
    /// The chosen completion.
    best: LowRankMatrix,
    /// The last completion, from which the next one starts.
    current: LowRankMatrix,
}

impl LambdaPath {
    fn new(observed: &ObservedMatrix, additive: Option<f64>) -> Self {
        let zero = LowRankMatrix::zero(observed.row_count, observed.column_count);
        Self { additive: additive.unwrap_or(-2.0), tried: Vec::new(), best: zero.clone(), current: zero }
    }

    /// Returns the validation Pearson of the chosen λ.
    fn best_pearson(&self) -> f64 {
        self.best_index().map_or(self.additive, |i| self.tried[i].pearson)
    }

    /// Returns the index of the chosen λ: the last that gains enough over the one chosen before, or over the additive part.
    fn best_index(&self) -> Option<usize> {
        let mut best = (None, self.additive);
        for (i, tried) in self.tried.iter().enumerate() {
            let min_gain = if best.0.is_some() { MIN_GAIN } else { 0.0 };
            if tried.pearson > best.1 + min_gain {
                best = (Some(i), tried.pearson);
            }
        }
        best.0
    }

    fn best_lambda(&self) -> Option<f64> {
        self.best_index().map(|i| self.tried[i].lambda)
    }

    fn is_over(&self) -> bool {
        let count = self.tried.len();
        count == MAX_LAMBDAS || (count >= MIN_LAMBDAS && self.best_index() != Some(count - 1))
    }

    fn add(&mut self, lambda: f64, pearson: Option<f64>, factors: LowRankMatrix) {
        self.tried.push(TriedLambda { lambda, rank: factors.rank(), pearson: pearson.unwrap_or(-2.0) });
        if self.best_index() == Some(self.tried.len() - 1) {
            self.best = factors.clone();
        }
        self.current = factors;
    }

    fn report(&self, alpha: f64, observer: &mut dyn SolveObserver) {
        let setting = format!("ridge of genes and query pairs, alpha {alpha}");
        let validation_pearson = Some(self.additive).filter(|&r| r > -2.0);
        observer.on_setting(TriedSetting { setting, validation_pearson });
        self.tried.iter().for_each(|tried| tried.report(observer));
    }

    fn tensors(&self) -> Vec<Tensor> {
        let rows = self.tried.iter().flat_map(|tried| [tried.lambda, tried.rank as f64, tried.pearson]);
        let numbers: Vec<f64> = [self.additive].into_iter().chain(rows).collect();
        let mut tensors = vec![Tensor::from_doubles("path", &numbers)];
        tensors.extend(self.best.tensors("best"));
        tensors.extend(self.current.tensors("current"));
        tensors
    }

    /// Loads the path, and the state of the certified completion if it had begun.
    fn load(tensors: &[Tensor]) -> Result<(Self, Option<CompletionState>), Error> {
        let numbers = find(tensors, "path")?.doubles()?;
        let (additive, rows) = numbers.split_first().ok_or_else(|| bad_tensor("path"))?;
        let (rows, _) = rows.as_chunks::<3>();
        let tried =
            rows.iter().map(|&[lambda, rank, pearson]| TriedLambda { lambda, rank: rank as usize, pearson });
        let best = LowRankMatrix::load(tensors, "best")?;
        let current = LowRankMatrix::load(tensors, "current")?;
        let has_state = has(tensors, CompletionState::FIRST);
        let state = has_state.then(|| CompletionState::load(tensors)).transpose()?;
        Ok((Self { additive: *additive, tried: tried.collect(), best, current }, state))
    }
}

impl TriedLambda {
    fn report(&self, observer: &mut dyn SolveObserver) {
        observer.on_setting(TriedSetting {
            setting: format!("low rank, lambda {:.4}, rank {}", self.lambda, self.rank),
            validation_pearson: Some(self.pearson).filter(|&r| r > -2.0),
        });
    }
}
