//! The network kernel: a Gaussian process over gene pairs (or query pairs and arrays) in which two records are alike when their
//! genes are alike in the cell's networks. It predicts for genes that training never saw.

mod mixture;
mod neighbourhood;
mod process;
mod table;

use crate::base::Base;
use crate::deviation::Spread;
use crate::grid::{Cells, Grid};
use crate::matrix::{Matrix, product};
use crate::model::{
    Choice, Problem, Records, Solution, SolveError, SolvedOptions, SolvedTensor, Stage, tensor,
};
use knockout_cell::{Cell, GeneSetsRef};
use knockout_stats::pearson;
use neighbourhood::Neighbourhoods;
use process::Process;
use serde::{Deserialize, Serialize};
use table::Table;

/// Options of the network kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkKernelOptions {
    /// Networks that may be used; empty means all.
    pub networks: Vec<String>,
    /// The relative residual at which the equations count as solved.
    pub tolerance: f64,
    /// Memory for matrices at most, in MiB.
    pub memory_mib: usize,
}

impl Default for NetworkKernelOptions {
    fn default() -> Self {
        Self { networks: Vec::new(), tolerance: 1e-2, memory_mib: 4096 }
    }
}

/// Steps of conjugate gradients when a setting is only tried.
const TRIAL_STEPS: usize = 12;
/// Steps at most for the setting that is kept.
const MOST_STEPS: usize = 100;

/// The gain in validation Pearson that is worth another step in the same direction.
const LEAST_GAIN: f64 = 3e-4;

/// What is chosen on the validation part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Setting {
    /// What a gene shares with itself beyond the networks.
    own: f32,
    /// Variance of the noise, in units of the scores' variance.
    noise: f32,
}

impl SolvedOptions for NetworkKernelOptions {
    const NAME: &'static str = "network-kernel";
    const SUMMARY: &'static str =
        "Gaussian process over the cell's networks; predicts genes that training never saw";

    fn check(&self, cell: &Cell) -> Result<(), SolveError> {
        if !(self.tolerance >= 1e-5 && self.tolerance < 1.0) {
            let value = self.tolerance.to_string();
            return Err(SolveError::OutOfRange {
                key: "tolerance",
                value,
                rule: "it must lie from 1e-5 to 1",
            });
        }
        let have = || cell.networks().iter().map(|network| network.name().to_owned()).collect();
        match self.networks.iter().find(|name| cell.network(name).is_none()) {
            Some(name) => Err(SolveError::NoSuchNetwork { name: name.clone(), have: have() }),
            None => Ok(()),
        }
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Box<dyn Solution>, SolveError> {
        Ok(Box::new(NetworkKernel::solve(self, problem, &Base::of(problem)?, on_stage)?))
    }

    fn load(&self, tensors: &[SolvedTensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        Ok(Box::new(NetworkKernel::load(self, tensors, cell)?))
    }
}

/// The solved model.
pub(crate) struct NetworkKernel {
    table: Table,
    /// Mean and standard deviation of the training scores.
    mean: f32,
    sd: f32,
    setting: Setting,
    mixture: Vec<f32>,
    /// The solution, spread over the cells of the grid.
    alpha: Matrix<f32>,
    /// For every gene as a column, what each row of the grid adds.
    answers: Matrix<f32>,
    spread: Spread,
    choices: Vec<Choice>,
}

const SPREAD: &str = "network_kernel.spread";

impl NetworkKernelOptions {
    fn neighbourhoods(&self, cell: &Cell) -> Vec<(String, Neighbourhoods)> {
        let uses = |name: &str| self.networks.is_empty() || self.networks.iter().any(|used| used == name);
        let networks = cell.networks().iter().filter(|network| uses(network.name()));
        let gene_count = cell.genes().len();
        networks.map(|network| (network.name().to_owned(), Neighbourhoods::of(network, gene_count))).collect()
    }

    fn check_memory(&self, grid: &Grid, gene_count: usize) -> Result<(), SolveError> {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        // Kernels over rows and columns, three fields over the grid, and two tables over all genes.
        let numbers = rows * rows + columns * columns + 3 * rows * columns + gene_count * (rows + columns);
        let needed_mib = numbers * size_of::<f32>() / (1 << 20);
        if needed_mib > self.memory_mib {
            return Err(SolveError::TooLarge { rows, columns, needed_mib, limit_mib: self.memory_mib });
        }
        Ok(())
    }
}

impl NetworkKernel {
    pub(crate) fn solve(
        options: &NetworkKernelOptions,
        problem: Problem<'_>,
        base: &Base,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Self, SolveError> {
        let (grid, gene_count) = (&base.grid, problem.cell.genes().len());
        options.check_memory(grid, gene_count)?;
        let (names, networks): (Vec<String>, Vec<Neighbourhoods>) =
            options.neighbourhoods(problem.cell).into_iter().unzip();
        let (residuals, seen) = as_matrices(grid, problem.train.sets.view(), &base.residuals);
        let mixture: Vec<f32> = mixture::weights(&networks, grid.columns(), &residuals, &seen)
            .into_iter()
            .map(|weight| weight as f32)
            .collect();
        drop((residuals, seen));
        let mut table = Table::new(grid.clone(), &networks, &mixture, gene_count);
        let trained = Trained::of(problem.train, grid);

        // One setting after the other, each in the direction in which validation improves.
        let mut trials = Trials { problem, trained: &trained, best: None, on_stage };
        let start = Setting { own: 1.0, noise: 0.5 };
        trials.judge(&mut table, start);
        let noises: [fn(Setting) -> Setting; 2] =
            [|at| Setting { noise: at.noise * 2.0, ..at }, |at| Setting { noise: at.noise / 2.0, ..at }];
        trials.walk(&mut table, noises);
        let owns: [fn(Setting) -> Setting; 2] =
            [|at| Setting { own: at.own * 3.0, ..at }, |at| Setting { own: at.own / 3.0, ..at }];
        trials.walk(&mut table, owns);
        let (setting, _) = trials.best.unwrap_or((start, None));

        table.set_own(setting.own);
        let alpha = trained.solve(&table, setting.noise, MOST_STEPS, options.tolerance);
        let chosen = names
            .iter()
            .zip(&mixture)
            .map(|(name, &weight)| Choice::new(format!("network_kernel.weight.{name}"), f64::from(weight)))
            .chain([
                Choice::new("network_kernel.own", f64::from(setting.own)),
                Choice::new("network_kernel.noise", f64::from(setting.noise)),
            ]);
        let choices = chosen.collect();
        let (mean, sd) = (trained.mean as f32, trained.sd as f32);
        let answers = table.answers(&alpha, &(0..gene_count as u32).collect::<Vec<_>>());
        let spread = Spread::default();
        let mut kernel = Self { table, mean, sd, setting, mixture, alpha, answers, spread, choices };
        let predictions = kernel.predict(problem.val.sets.view());
        kernel.spread = Spread::fit(problem.val, &predictions, |set| kernel.known_share(set));
        kernel.choices.extend(kernel.spread.choices("network_kernel"));
        Ok(kernel)
    }

    /// How much of a set training has seen: the product over its genes of what is known of each.
    pub(crate) fn known_share(&self, set: &[u32]) -> f64 {
        set.iter().map(|&gene| self.table.known_share(gene)).product()
    }

    pub(crate) fn predict_one(&self, set: &[u32], scratch: &mut Vec<f32>) -> f64 {
        let value = self.table.value(set, &self.answers, scratch);
        f64::from(self.mean) + f64::from(self.sd) * value
    }

    pub(crate) fn load(
        options: &NetworkKernelOptions,
        tensors: &[SolvedTensor],
        cell: &Cell,
    ) -> Result<Self, SolveError> {
        let missing = |name: &str| SolveError::Tensor { name: name.to_owned() };
        let gene_count = cell.genes().len();
        let grid = Grid::load(tensors, gene_count)?;
        options.check_memory(&grid, gene_count)?;
        let stored = tensor(tensors, "network_kernel.alpha")?;
        let shape = [grid.rows().len(), grid.columns().len()];
        if stored.shape != shape || stored.values.len() != shape[0] * shape[1] {
            return Err(missing("network_kernel.alpha"));
        }
        let alpha = Matrix::new(shape[0], shape[1], stored.values.clone());
        let (_, networks): (Vec<String>, Vec<Neighbourhoods>) =
            options.neighbourhoods(cell).into_iter().unzip();
        let mixture = tensor(tensors, "network_kernel.mixture")?.values.clone();
        let numbers = tensor(tensors, "network_kernel.numbers")?;
        let [mean, sd, own, noise] = numbers.values[..] else {
            return Err(missing("network_kernel.numbers"));
        };
        if mixture.len() != networks.len() {
            return Err(missing("network_kernel.mixture"));
        }
        let mut table = Table::new(grid, &networks, &mixture, gene_count);
        table.set_own(own);
        let answers = table.answers(&alpha, &(0..gene_count as u32).collect::<Vec<_>>());
        let setting = Setting { own, noise };
        let spread = Spread::load(tensors, SPREAD)?;
        Ok(Self { table, mean, sd, setting, mixture, alpha, answers, spread, choices: Vec::new() })
    }

    /// What has to be stored beside the grid.
    pub(crate) fn own_tensors(&self) -> Vec<SolvedTensor> {
        let numbers = vec![self.mean, self.sd, self.setting.own, self.setting.noise];
        let alpha = &self.alpha;
        vec![
            self.spread.tensor(SPREAD),
            SolvedTensor::new("network_kernel.numbers", &[4], numbers),
            SolvedTensor::new("network_kernel.mixture", &[self.mixture.len()], self.mixture.clone()),
            SolvedTensor::new(
                "network_kernel.alpha",
                &[alpha.rows(), alpha.columns()],
                alpha.values().to_vec(),
            ),
        ]
    }

    pub(crate) fn chosen(&self) -> &[Choice] {
        &self.choices
    }
}

impl Solution for NetworkKernel {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = Vec::new();
        sets.iter().map(|set| self.predict_one(set, &mut scratch)).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(sets.iter().map(|set| self.spread.deviation(self.known_share(set))).collect())
    }

    fn tensors(&self) -> Vec<SolvedTensor> {
        let mut tensors = self.own_tensors();
        tensors.extend(self.table.grid().tensors());
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

/// The training records that have cells, standardised.
struct Trained {
    cells: Vec<Cells>,
    targets: Vec<f32>,
    mean: f64,
    sd: f64,
}

impl Trained {
    fn of(records: &Records, grid: &Grid) -> Self {
        let mean = knockout_stats::mean(&records.scores);
        let variance =
            knockout_stats::sum_of_squared_deviations(&records.scores) / records.scores.len() as f64;
        let sd = variance.sqrt();
        let cells = records.sets.view().iter().map(|set| grid.cells(set)).zip(&records.scores);
        let kept = cells.filter(|(cells, _)| cells.iter().next().is_some());
        let (cells, targets) = kept.map(|(cells, score)| (cells, ((score - mean) / sd) as f32)).unzip();
        Self { cells, targets, mean, sd }
    }

    fn solve(&self, table: &Table, noise: f32, steps: usize, tolerance: f64) -> Matrix<f32> {
        let (rows, columns) = (table.row_kernel(), table.column_kernel());
        let process = Process { rows: &rows, columns: &columns, cells: &self.cells, noise };
        process.solve(&self.targets, steps, tolerance)
    }
}

/// Settings that were tried on the validation part.
struct Trials<'a, 'p> {
    problem: Problem<'p>,
    trained: &'a Trained,
    best: Option<(Setting, Option<f64>)>,
    on_stage: &'a mut dyn FnMut(Stage),
}

impl Trials<'_, '_> {
    /// Tries a setting; whether it is worth going on in its direction.
    fn judge(&mut self, table: &mut Table, setting: Setting) -> bool {
        table.set_own(setting.own);
        let alpha = self.trained.solve(table, setting.noise, TRIAL_STEPS, 0.0);
        let sets = self.problem.val.sets.view();
        let mut genes: Vec<u32> = sets.iter().flatten().copied().collect();
        genes.sort_unstable();
        genes.dedup();
        let answers = table.answers(&alpha, &genes);
        let mut scratch = Vec::new();
        let predictions: Vec<f64> = sets.iter().map(|set| table.value(set, &answers, &mut scratch)).collect();
        let validation_pearson = pearson(&predictions, &self.problem.val.scores);
        let tried = format!("network kernel, own {:.3}, noise {:.3}", setting.own, setting.noise);
        (self.on_stage)(Stage { tried, validation_pearson });
        let gain = match self.best {
            Some((_, best)) => validation_pearson.unwrap_or(-1.0) - best.unwrap_or(-1.0),
            None => f64::INFINITY,
        };
        if gain > 0.0 {
            self.best = Some((setting, validation_pearson));
        }
        gain > LEAST_GAIN
    }

    /// Follows the first direction in which validation improves, for as long as it does.
    fn walk(&mut self, table: &mut Table, directions: [fn(Setting) -> Setting; 2]) {
        const MOST: usize = 4;
        for step in directions {
            let mut taken = 0;
            while let Some((at, _)) = self.best
                && taken < MOST
                && self.judge(table, step(at))
            {
                taken += 1;
            }
            if taken > 0 {
                break;
            }
        }
    }
}

/// Residuals over the grid, and 1 where there are some.
fn as_matrices(grid: &Grid, sets: GeneSetsRef<'_>, residuals: &[f64]) -> (Matrix<f32>, Matrix<f32>) {
    let mut sums = Matrix::<f32>::zeros(grid.rows().len(), grid.columns().len());
    let mut seen = sums.clone();
    for (set, &residual) in sets.iter().zip(residuals) {
        for (row, column) in grid.cells(set).iter() {
            sums.set(row, column, sums.get(row, column) + residual as f32);
            seen.set(row, column, seen.get(row, column) + 1.0);
        }
    }
    for (sum, seen) in sums.values_mut().iter_mut().zip(seen.values_mut()) {
        if *seen > 0.0 {
            *sum /= *seen;
            *seen = 1.0;
        }
    }
    (sums, seen)
}

/// `a · bᵀ` for tall matrices of the same width.
fn inner_products(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let mut turned = Matrix::zeros(b.columns(), b.rows());
    for row in 0..b.rows() {
        for (column, &value) in b.row(row).iter().enumerate() {
            turned.set(column, row, value);
        }
    }
    product(a, &turned)
}
