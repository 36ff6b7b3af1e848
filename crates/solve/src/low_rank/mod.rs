//! Low rank: a ridge over genes and query pairs, and the completion of what it leaves with the least nuclear norm.

mod complete;
mod observed;
mod subspace;

use crate::additive::Additive;
use crate::base::Base;
use crate::covariates;
use crate::deviation::{Loudness, Spread};
use crate::grid::{Cells, Grid};
use crate::matrix::{Matrix, dot};
use crate::model::{Choice, Problem, Solution, SolveError, SolvedOptions, Stage, Watch};
use crate::pair_products::{Form, PairProducts, Rows};
use crate::tensor::{Tensor, tensor};
use complete::{Factors, State, Until, complete};
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, GeneSetsRef};
use observed::Observed;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Options of the low-rank model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LowRankOptions {
    /// Content features that tell the effect of genes that training never saw.
    pub covariates: Vec<String>,
    /// The relative distance to the minimum that the certificate must show.
    pub tolerance: f64,
    /// Memory for matrices at most, in MiB.
    pub memory_mib: usize,
}

impl Default for LowRankOptions {
    fn default() -> Self {
        Self { covariates: Vec::new(), tolerance: 1e-6, memory_mib: 4096 }
    }
}

/// The first λ, as a share of the least at which nothing is left.
const FIRST: f64 = 0.6;
/// From one λ to the next.
const SHRINK: f64 = 0.75;
/// λ that are tried at least; after these the path ends with the first that is not chosen.
const LEAST: usize = 3;
/// Most λ on the path: the last is 1 % of the first.
const MOST: usize = 16;
/// The gain in validation Pearson that is worth a smaller λ. Of a large screen the next λ may let in all that is noise,
/// hundreds of directions that cost more than the whole path before and gain nothing.
const LEAST_GAIN: f64 = 5e-4;
/// The share by which a step lowers the objective when a λ of the path is good enough to be judged.
const ROUGH: f64 = 2e-4;

impl SolvedOptions for LowRankOptions {
    const NAME: &'static str = "low-rank";
    const SUMMARY: &'static str =
        "ridge of genes and query pairs, and exact low-rank completion of what it leaves";

    fn check(&self, cell: &Cell) -> Result<(), SolveError> {
        if !(self.tolerance >= 1e-7 && self.tolerance < 1.0) {
            let value = self.tolerance.to_string();
            return Err(SolveError::OutOfRange {
                key: "tolerance",
                value,
                rule: "it must lie from 1e-7 to 1",
            });
        }
        covariates::check(&self.covariates, cell)
    }

    fn prior_knowledge(&self) -> Vec<String> {
        self.covariates.iter().map(|name| format!("covariate {name}")).collect()
    }

    fn solve(&self, problem: Problem<'_>, watch: &mut dyn Watch) -> Result<Box<dyn Solution>, SolveError> {
        let gene_count = problem.cell.genes().len();
        let base = Base::of(problem, &self.covariates)?;
        let mut model = LowRank::solve(self, problem, &base, watch)?.with_products(gene_count);
        let fitted = model.predict(problem.train.sets.view());
        let loudness = Loudness::of(problem.train, &fitted, gene_count);
        let (sets, predictions) = (problem.val.sets.view(), model.predict(problem.val.sets.view()));
        let doubt: Vec<f64> = sets.iter().map(|set| model.unknown(set)).collect();
        model.spread = Spread::fit(loudness, problem.val, &predictions, &doubt);
        model.choices.extend(model.spread.choices(PREFIX));
        Ok(Box::new(model))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        let mut model = LowRank::load(tensors, cell)?.with_products(cell.genes().len());
        model.spread = Spread::load(tensors, PREFIX, cell.genes().len())?;
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
    /// What the completed matrix says of pairs; only where the model is no part of another, which has its own.
    products: Option<PairProducts>,
    spread: Spread,
    choices: Vec<Choice>,
}

const PREFIX: &str = "low_rank";

impl LowRank {
    pub(crate) fn solve(
        options: &LowRankOptions,
        problem: Problem<'_>,
        base: &Base,
        watch: &mut dyn Watch,
    ) -> Result<Self, SolveError> {
        let (grid, additive) = (&base.grid, &base.additive);
        options.check_memory(grid)?;
        let observed = Observed::of(grid, problem.train.sets.view(), &base.residuals);
        let top = observed.largest_singular_value(&observed.targets);
        let judge = Judge::of(problem, base);
        let (mut path, mut state) = match watch.kept(PART) {
            Some(kept) => Path::load(&kept)?,
            None => (Path::new(&observed, judge.pearson(None)), None),
        };
        path.say(additive.alpha, watch);
        while state.is_none() && top > 0.0 && !path.is_over() {
            let lambda = FIRST * top * SHRINK.powi(path.tried.len() as i32);
            let start = State::from(&path.current, &observed);
            let best = path.best_pearson();
            let is_worth_it =
                |factors: &Factors| judge.pearson(Some(factors)).is_some_and(|found| found > best);
            let until = Until::Slow { share: ROUGH, is_worth_it: &is_worth_it };
            let completed = complete(&observed, lambda, start, until, &mut |_| {
                watch.step("low rank", path.tried.len());
            });
            let pearson = judge.pearson(Some(&completed.factors));
            path.add(lambda, pearson, completed.factors);
            path.say_last(watch);
            if watch.wants_state() {
                watch.keep(PART, path.tensors());
            }
        }
        let lambda = path.best_lambda().unwrap_or(top);
        let (mut factors, mut relative_gap, mut steps) = (path.best.clone(), 0.0, 0);
        if factors.rank() > 0 {
            let start = state.take().unwrap_or_else(|| State::from(&factors, &observed));
            let kept = path.tensors();
            let completed =
                complete(&observed, lambda, start, Until::Certified(options.tolerance), &mut |state| {
                    watch.step("low rank, certified", state.step());
                    if watch.wants_state() {
                        watch.keep(PART, [&kept[..], &state.tensors()].concat());
                    }
                });
            (factors, relative_gap, steps) = (completed.factors, completed.relative_gap, completed.steps);
        }
        let mut choices = vec![
            Choice::new("additive.alpha", additive.alpha),
            Choice::new("low_rank.lambda", lambda),
            Choice::new("low_rank.rank", factors.rank() as f64),
            Choice::new("low_rank.relative_gap", relative_gap),
            Choice::new("low_rank.steps", steps as f64),
            Choice::new("low_rank.rows", observed.row_count as f64),
            Choice::new("low_rank.columns", observed.column_count as f64),
        ];
        choices.extend(additive.covariates.iter().cloned());
        let (left, right) = (factors.scaled_left(), factors.right);
        let (grid, additive) = (grid.clone(), additive.clone());
        Ok(Self { grid, additive, left, right, products: None, spread: Spread::default(), choices })
    }

    /// What the genes and the query pair add.
    pub(crate) fn additive(&self, set: &[u32]) -> f64 {
        self.additive.predict(&self.grid, set)
    }

    /// The share of a set that training says nothing of.
    fn unknown(&self, set: &[u32]) -> f64 {
        let unknown = set.iter().filter(|&&gene| !self.additive.knows(gene)).count();
        unknown as f64 / set.len().max(1) as f64
    }

    /// What has to be stored for another model that holds it.
    pub(crate) fn own_tensors(&self) -> Vec<Tensor> {
        let mut tensors =
            vec![Tensor::of("low_rank.left", &self.left), Tensor::of("low_rank.right", &self.right)];
        tensors.extend(self.grid.tensors());
        tensors.extend(self.additive.tensors());
        tensors
    }

    /// What the completed matrix adds; 0 where it says nothing.
    pub(crate) fn completed(&self, set: &[u32]) -> f64 {
        let entry =
            |row: usize, column: usize| -> f64 { f64::from(dot(self.left.row(row), self.right.row(column))) };
        self.grid.cells(set).mean(entry).unwrap_or(0.0)
    }

    /// Calls a function with what the completed matrix says of pairs as a form, times a weight. A pair must have two cells or none,
    /// which is so unless triples brought columns of their own: then there is no form.
    pub(crate) fn with_form<T>(&self, weight: f64, use_form: impl FnOnce(Form<'_>) -> T) -> Option<T> {
        let grid = &self.grid;
        (grid.pair_rows().next().is_none()).then(|| {
            use_form(Form {
                weight: 0.5 * weight,
                x: Rows { table: &self.left, place: &|gene| grid.row_of_gene(gene) },
                y: Rows { table: &self.right, place: &|gene| grid.column_of_gene(gene) },
            })
        })
    }

    fn with_products(mut self, genes: usize) -> Self {
        self.products = self.with_form(1.0, |form| PairProducts::of(genes, &[form]));
        self
    }

    pub(crate) fn load(tensors: &[Tensor], cell: &Cell) -> Result<Self, SolveError> {
        let gene_count = cell.genes().len();
        let grid = Grid::load(tensors, gene_count)?;
        let left = tensor(tensors, "low_rank.left")?.matrix_of(grid.rows().len())?;
        let right = tensor(tensors, "low_rank.right")?.matrix_of(grid.columns().len())?;
        if left.columns() != right.columns() {
            return Err(SolveError::Tensor { name: "low_rank.right".to_owned() });
        }
        let additive = Additive::load(tensors, &grid, gene_count)?;
        Ok(Self {
            grid,
            additive,
            left,
            right,
            products: None,
            spread: Spread::default(),
            choices: Vec::new(),
        })
    }
}

impl LowRankOptions {
    /// Three matrices of the grid's size are held at once, and factors of at most its smaller side, which are small beside them.
    fn check_memory(&self, grid: &Grid) -> Result<(), SolveError> {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        let needed_mib = 4 * rows * columns * size_of::<f32>() / (1 << 20);
        if needed_mib > self.memory_mib {
            return Err(SolveError::TooLarge { rows, columns, needed_mib, limit_mib: self.memory_mib });
        }
        Ok(())
    }
}

impl Solution for LowRank {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let one = |(place, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => self.additive(set) + f64::from(of_pairs[place]),
            _ => self.additive(set) + self.completed(set),
        };
        sets.iter().enumerate().map(one).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(self.spread.deviations(sets, sets.iter().map(|set| self.unknown(set))))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.spread.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.own_tensors();
        tensors.extend(self.spread.tensors(PREFIX));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

/// Judges completed matrices by the validation part.
struct Judge<'a> {
    scores: &'a [f64],
    /// What the additive part says.
    alone: Vec<f64>,
    cells: Vec<Cells>,
}

impl<'a> Judge<'a> {
    fn of(problem: Problem<'a>, base: &Base) -> Self {
        let sets = problem.val.sets.view();
        let cells = sets.iter().map(|set| base.grid.cells(set)).collect();
        Self { scores: &problem.val.scores, alone: base.predict(sets), cells }
    }

    fn pearson(&self, factors: Option<&Factors>) -> Option<f64> {
        let Some(factors) = factors else { return pearson(&self.alone, self.scores) };
        let left = factors.scaled_left();
        let entry = |row: usize, column: usize| f64::from(dot(left.row(row), factors.right.row(column)));
        let one = |(alone, cells): (&f64, &Cells)| alone + cells.mean(entry).unwrap_or(0.0);
        let predictions: Vec<f64> = self.alone.par_iter().zip(&self.cells).map(one).collect();
        pearson(&predictions, self.scores)
    }
}

/// What the state of this part of the work is kept as.
const PART: &str = "low-rank";

/// One λ that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tried {
    lambda: f64,
    rank: usize,
    /// -2 where it is undefined.
    pearson: f64,
}

/// The path of λ so far.
#[derive(Debug, Clone, PartialEq)]
struct Path {
    /// Of the additive part alone.
    alone: f64,
    tried: Vec<Tried>,
    /// The completion that validated best, and the last one, which the next starts from.
    best: Factors,
    current: Factors,
}

impl Path {
    fn new(observed: &Observed, alone: Option<f64>) -> Self {
        let nothing = Factors::zero(observed.row_count, observed.column_count);
        Self { alone: alone.unwrap_or(-2.0), tried: Vec::new(), best: nothing.clone(), current: nothing }
    }

    /// Validation Pearson of what is chosen so far.
    fn best_pearson(&self) -> f64 {
        self.best_place().map_or(self.alone, |place| self.tried[place].pearson)
    }

    /// The place of the λ that is chosen: the last that gains enough over the one chosen before, the first of them over the additive part
    /// alone.
    fn best_place(&self) -> Option<usize> {
        let mut best = (None, self.alone);
        for (place, tried) in self.tried.iter().enumerate() {
            let least = if best.0.is_some() { LEAST_GAIN } else { 0.0 };
            if tried.pearson > best.1 + least {
                best = (Some(place), tried.pearson);
            }
        }
        best.0
    }

    fn best_lambda(&self) -> Option<f64> {
        self.best_place().map(|place| self.tried[place].lambda)
    }

    fn is_over(&self) -> bool {
        let count = self.tried.len();
        count == MOST || (count >= LEAST && self.best_place() != Some(count - 1))
    }

    fn add(&mut self, lambda: f64, pearson: Option<f64>, factors: Factors) {
        self.tried.push(Tried { lambda, rank: factors.rank(), pearson: pearson.unwrap_or(-2.0) });
        if self.best_place() == Some(self.tried.len() - 1) {
            self.best = factors.clone();
        }
        self.current = factors;
    }

    fn say(&self, alpha: f64, watch: &mut dyn Watch) {
        let tried = format!("ridge of genes and query pairs, alpha {alpha}");
        watch.stage(Stage { tried, validation_pearson: Some(self.alone).filter(|&r| r > -2.0) });
        self.tried.iter().for_each(|tried| tried.say(watch));
    }

    fn say_last(&self, watch: &mut dyn Watch) {
        self.tried.last().into_iter().for_each(|tried| tried.say(watch));
    }

    fn tensors(&self) -> Vec<Tensor> {
        let rows = self.tried.iter().flat_map(|tried| [tried.lambda, tried.rank as f64, tried.pearson]);
        let numbers: Vec<f64> = [self.alone].into_iter().chain(rows).collect();
        let mut tensors = vec![Tensor::of_doubles("path", &numbers)];
        tensors.extend(self.best.tensors("best"));
        tensors.extend(self.current.tensors("current"));
        tensors
    }

    /// The path, and the state of the last, certified completion, if that had begun.
    fn load(tensors: &[Tensor]) -> Result<(Self, Option<State>), SolveError> {
        let numbers = tensor(tensors, "path")?.doubles()?;
        let missing = || SolveError::Tensor { name: "path".to_owned() };
        let (alone, rows) = numbers.split_first().ok_or_else(missing)?;
        let (rows, _) = rows.as_chunks::<3>();
        let tried =
            rows.iter().map(|&[lambda, rank, pearson]| Tried { lambda, rank: rank as usize, pearson });
        let (best, current) = (Factors::load(tensors, "best")?, Factors::load(tensors, "current")?);
        let state = tensor(tensors, State::FIRST).is_ok().then(|| State::load(tensors)).transpose()?;
        Ok((Self { alone: *alone, tried: tried.collect(), best, current }, state))
    }
}

impl Tried {
    fn say(&self, watch: &mut dyn Watch) {
        watch.stage(Stage {
            tried: format!("low rank, lambda {:.4}, rank {}", self.lambda, self.rank),
            validation_pearson: Some(self.pearson).filter(|&r| r > -2.0),
        });
    }
}
