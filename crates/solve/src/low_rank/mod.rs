//! Low rank: an additive ridge, and the completion of what it leaves with the least nuclear norm.

mod complete;
mod observed;

use crate::additive::Additive;
use crate::base::Base;
use crate::grid::Grid;
use crate::matrix::Matrix;
use crate::model::{Choice, Problem, Solution, SolveError, SolvedOptions, SolvedTensor, Stage, tensor};
use complete::{Completed, Factors, Until, complete};
use knockout_cell::{Cell, GeneSetsRef};
use knockout_stats::pearson;
use observed::Observed;
use serde::{Deserialize, Serialize};

/// Options of the low-rank model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LowRankOptions {
    /// The relative distance to the minimum that the certificate must show.
    pub tolerance: f64,
    /// Memory for matrices at most, in MiB.
    pub memory_mib: usize,
}

impl Default for LowRankOptions {
    fn default() -> Self {
        Self { tolerance: 1e-6, memory_mib: 4096 }
    }
}

/// The first λ, as a share of the least at which nothing is left.
const FIRST: f64 = 0.6;
/// From one λ to the next.
const SHRINK: f64 = 0.75;
/// λ after which the path ends when validation has not improved.
const PATIENCE: usize = 2;
/// Most λ on the path: the last is 1 % of the first.
const MOST: usize = 16;
/// The share by which a step lowers the objective when a λ of the path is good enough to be judged.
const ROUGH: f64 = 2e-4;

impl SolvedOptions for LowRankOptions {
    const NAME: &'static str = "low-rank";
    const SUMMARY: &'static str = "additive ridge and exact low-rank completion of what it leaves";

    fn check(&self, _cell: &Cell) -> Result<(), SolveError> {
        if !(self.tolerance >= 1e-10 && self.tolerance < 1.0) {
            let value = self.tolerance.to_string();
            return Err(SolveError::OutOfRange {
                key: "tolerance",
                value,
                rule: "it must lie from 1e-10 to 1",
            });
        }
        Ok(())
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Box<dyn Solution>, SolveError> {
        Ok(Box::new(LowRank::solve(self, problem, &Base::of(problem)?, on_stage)?))
    }

    fn load(&self, tensors: &[SolvedTensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        Ok(Box::new(LowRank::load(tensors, cell)?))
    }
}

/// The solved model.
pub(crate) struct LowRank {
    grid: Grid,
    additive: Additive,
    /// Factors of the completed matrix, the singular values in the left one.
    left: Matrix<f32>,
    right: Matrix<f32>,
    choices: Vec<Choice>,
}

impl LowRank {
    pub(crate) fn solve(
        options: &LowRankOptions,
        problem: Problem<'_>,
        base: &Base,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Self, SolveError> {
        let (grid, additive) = (&base.grid, &base.additive);
        options.check_memory(grid)?;
        let observed = Observed::of(grid, problem.train.sets.view(), &base.residuals);
        let alone = base.predict(problem.val.sets.view());
        let judge = |factors: &Factors| {
            let left = factors.scaled_left();
            let entry = |row: usize, column: usize| -> f64 {
                left.row(row).iter().zip(factors.right.row(column)).map(|(a, b)| a * b).sum()
            };
            let sets = problem.val.sets.view();
            let predictions = alone
                .iter()
                .zip(sets.iter())
                .map(|(alone, set)| alone + grid.cells(set).mean(entry).unwrap_or(0.0));
            pearson(&predictions.collect::<Vec<_>>(), &problem.val.scores)
        };
        let top = observed.largest_singular_value(&observed.targets);
        let nothing = Factors::zero(observed.row_count, observed.column_count);
        let mut best = (judge(&nothing), top, Completed { factors: nothing, relative_gap: 0.0, steps: 0 });
        on_stage(Stage {
            tried: format!("additive ridge, alpha {}", additive.alpha),
            validation_pearson: best.0,
        });
        let (mut lambda, mut missed) = (FIRST * top, 0);
        let mut current = best.2.factors.clone();
        for _ in 0..MOST {
            if top <= 0.0 || missed == PATIENCE {
                break;
            }
            let completed = complete(&observed, lambda, &current, Until::Slow(ROUGH));
            let validation_pearson = judge(&completed.factors);
            on_stage(Stage {
                tried: format!("low rank, lambda {lambda:.4}, rank {}", completed.factors.rank()),
                validation_pearson,
            });
            current = completed.factors.clone();
            if validation_pearson > best.0 {
                (best, missed) = ((validation_pearson, lambda, completed), 0);
            } else {
                missed += 1;
            }
            lambda *= SHRINK;
        }
        let (_, lambda, mut completed) = best;
        if completed.factors.rank() > 0 {
            completed = complete(&observed, lambda, &completed.factors, Until::Certified(options.tolerance));
        }
        let choices = vec![
            Choice::new("additive.alpha", additive.alpha),
            Choice::new("low_rank.lambda", lambda),
            Choice::new("low_rank.rank", completed.factors.rank() as f64),
            Choice::new("low_rank.relative_gap", completed.relative_gap),
            Choice::new("low_rank.steps", completed.steps as f64),
            Choice::new("low_rank.rows", observed.row_count as f64),
            Choice::new("low_rank.columns", observed.column_count as f64),
        ];
        let left = narrow(&completed.factors.scaled_left());
        let right = narrow(&completed.factors.right);
        Ok(Self { grid: grid.clone(), additive: additive.clone(), left, right, choices })
    }

    /// What the genes and the query pair add.
    pub(crate) fn additive(&self, set: &[u32]) -> f64 {
        self.additive.predict(&self.grid, set)
    }

    /// What the completed matrix adds; 0 where it says nothing.
    pub(crate) fn completed(&self, set: &[u32]) -> f64 {
        let entry = |row: usize, column: usize| -> f64 {
            let (left, right) = (self.left.row(row), self.right.row(column));
            f64::from(left.iter().zip(right).map(|(a, b)| a * b).sum::<f32>())
        };
        self.grid.cells(set).mean(entry).unwrap_or(0.0)
    }

    pub(crate) fn load(tensors: &[SolvedTensor], cell: &Cell) -> Result<Self, SolveError> {
        let missing = |name: &str| SolveError::Tensor { name: name.to_owned() };
        let gene_count = cell.genes().len();
        let grid = Grid::load(tensors, gene_count)?;
        let factor = |name: &str, size: usize| {
            let stored = tensor(tensors, name)?;
            match stored.shape[..] {
                [rows, rank] if rows == size && stored.values.len() == rows * rank => {
                    Ok(Matrix::new(rows, rank, stored.values.clone()))
                }
                _ => Err(missing(name)),
            }
        };
        let left = factor("low_rank.left", grid.rows().len())?;
        let right = factor("low_rank.right", grid.columns().len())?;
        if left.columns() != right.columns() {
            return Err(missing("low_rank.right"));
        }
        let additive = Additive::load(tensors, &grid, gene_count)?;
        Ok(Self { grid, additive, left, right, choices: Vec::new() })
    }
}

impl LowRankOptions {
    /// Three matrices of the grid's size are held at once, and factors of at most its smaller side.
    fn check_memory(&self, grid: &Grid) -> Result<(), SolveError> {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        let needed_mib = 4 * rows * columns * size_of::<f64>() / (1 << 20);
        if needed_mib > self.memory_mib {
            return Err(SolveError::TooLarge { rows, columns, needed_mib, limit_mib: self.memory_mib });
        }
        Ok(())
    }
}

impl Solution for LowRank {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        sets.iter().map(|set| self.additive(set) + self.completed(set)).collect()
    }

    fn tensors(&self) -> Vec<SolvedTensor> {
        let matrix = |name: &str, matrix: &Matrix<f32>| {
            SolvedTensor::new(name, &[matrix.rows(), matrix.columns()], matrix.values().to_vec())
        };
        let mut tensors = vec![matrix("low_rank.left", &self.left), matrix("low_rank.right", &self.right)];
        tensors.extend(self.grid.tensors());
        tensors.extend(self.additive.tensors());
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

fn narrow(matrix: &Matrix<f64>) -> Matrix<f32> {
    let values = matrix.values().iter().map(|&value| value as f32).collect();
    Matrix::new(matrix.rows(), matrix.columns(), values)
}
