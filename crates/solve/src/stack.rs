//! The stack: a weighted sum of the additive part, low rank, network kernel, profile neighbours and profile kernel.
//!
//! The weights are fitted by non-negative least squares on the validation part, which no part was fitted to. Sets with a cell in the grid
//! and others have weights of their own: only the additive part and the network kernel predict the others. The weights are used if they
//! predict held-out validation records better than the additive part alone, and that if it predicts them better than the mean.

use crate::additive_fit::AdditiveFit;
use crate::covariates;
use crate::deviation::{DeviationModel, GeneNoise};
use crate::least_squares::StackWeights;
use crate::low_rank::{LowRank, LowRankOptions};
use crate::model::{Choice, Problem, Records, Solution, SolveObserver, SolvedOptions, TriedSetting};
use crate::network_kernel::{KernelScratch, NetworkKernel, NetworkKernelOptions};
use crate::pair_products::{PairForm, PairProducts};
use crate::profile::{ProfileOptions, ProfileParts, WantedParts};
use crate::tensor::{Tensor, find, has};
use knockout_base::error::Error;
use knockout_base::stats::{mean, pearson};
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use serde::{Deserialize, Serialize};

/// A part that a stack can be solved without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackPart {
    /// Low-rank completion of the residuals.
    LowRank,
    /// The Gaussian process over networks.
    NetworkKernel,
    /// Means of the residuals of similar profiles.
    ProfileNeighbours,
    /// The Gaussian process over profiles.
    ProfileKernel,
}

/// Options of the stack: its parts and their options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackOptions {
    /// The parts beside the additive one.
    pub parts: Vec<StackPart>,
    /// Features that the strength of a gene's interactions is expected from. A dataset may lack those of the default.
    pub amplitudes: Vec<String>,
    /// Options of the low-rank part.
    pub low_rank: LowRankOptions,
    /// Options of the network kernel.
    pub network_kernel: NetworkKernelOptions,
    /// Options of profile neighbours and profile kernel.
    pub profile: ProfileOptions,
}

impl Default for StackOptions {
    fn default() -> Self {
        use StackPart::{LowRank, NetworkKernel, ProfileKernel, ProfileNeighbours};
        Self {
            parts: vec![LowRank, NetworkKernel, ProfileNeighbours, ProfileKernel],
            amplitudes: AMPLITUDES.map(str::to_owned).to_vec(),
            low_rank: LowRankOptions::default(),
            network_kernel: NetworkKernelOptions::default(),
            profile: ProfileOptions::default(),
        }
    }
}

const PARTS: usize = 5;
const PART_NAMES: [&str; PARTS] =
    ["additive", "low_rank", "network_kernel", "profile_neighbours", "profile_kernel"];
/// Features that amplitudes are expected from by default, where a dataset has them.
const AMPLITUDES: [&str; 2] = ["fitness", "essential"];
const WEIGHTS: &str = "stack.weights";
const NEW_WEIGHTS: &str = "stack.new_weights";
const PREFIX: &str = "stack";
/// Minimum number of validation records with a cell, or without one, for weights of their own.
const MIN_RECORDS: usize = 100;

impl SolvedOptions for StackOptions {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str =
        "ridge of genes and query pairs + low-rank + network-kernel, weighted on the validation part";

    fn check(&self, cell: &Cell) -> Result<(), Error> {
        self.low_rank.check(cell)?;
        self.network_kernel.check(cell)?;
        let named: Vec<String> =
            self.amplitudes.iter().filter(|name| !AMPLITUDES.contains(&name.as_str())).cloned().collect();
        covariates::check(&named, cell)?;
        self.profile.check()
    }

    fn prior_knowledge(&self) -> Vec<String> {
        [self.low_rank.prior_knowledge(), self.network_kernel.prior_knowledge()].concat()
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        let base = AdditiveFit::new(problem, &self.low_rank.covariates)?;
        let low_rank = LowRank::solve(&self.low_rank, problem, &base, observer)?;
        let kernel = NetworkKernel::solve(&self.network_kernel, &self.amplitudes, problem, &base, observer)?;
        let wanted = WantedParts {
            neighbours: self.has(StackPart::ProfileNeighbours),
            kernel: self.has(StackPart::ProfileKernel),
        };
        let train = problem.train.sets.view();
        let profiles = ProfileParts::solve(&self.profile, wanted, train, &base, kernel.features(), observer);
        drop(base);
        let parts = StackParts { low_rank, kernel, profiles };
        let (known, new) = parts.fit_weights(self, problem.val, observer);
        let mut stack = Stack::new(parts, known, Some(new), problem.cell);
        let (sets, predictions) = (problem.val.sets.view(), stack.predict(problem.val.sets.view()));
        observer.on_setting(TriedSetting {
            setting: "stack".to_owned(),
            validation_pearson: pearson(&predictions, &problem.val.scores),
        });
        let fitted = stack.predict(train);
        let noise = GeneNoise::estimate(problem.train, &fitted, problem.cell.genes().len());
        stack.deviation =
            DeviationModel::fit(noise, problem.val, &predictions, &stack.parts.kernel.variances(sets));
        Ok(Box::new(stack))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        let low_rank = LowRank::load(tensors, cell)?;
        let profiles = ProfileParts::load(tensors, low_rank.grid())?;
        let parts = StackParts { low_rank, kernel: NetworkKernel::load(tensors, cell)?, profiles };
        let known = PartWeights::load(find(tensors, WEIGHTS)?)?;
        // Earlier versions had one list of weights.
        let new = if has(tensors, NEW_WEIGHTS) {
            Some(PartWeights::load(find(tensors, NEW_WEIGHTS)?)?)
        } else {
            None
        };
        let mut stack = Stack::new(parts, known, new, cell);
        stack.deviation = DeviationModel::load(tensors, PREFIX, cell.genes().len())?;
        Ok(Box::new(stack))
    }
}

impl StackOptions {
    fn has(&self, part: StackPart) -> bool {
        self.parts.contains(&part)
    }
}

/// An intercept and the weight of each part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PartWeights {
    intercept: f32,
    parts: [f32; PARTS],
}

impl PartWeights {
    /// Fits non-negative weights of some parts to some records; `predictions` has a vector per part.
    fn fit(predictions: &[Vec<f64>; PARTS], used: [bool; PARTS], scores: &[f64], records: &[usize]) -> Self {
        let of_records =
            |values: &[f64]| -> Vec<f64> { records.iter().map(|&record| values[record]).collect() };
        let columns: Vec<usize> = (0..PARTS).filter(|&part| used[part]).collect();
        let fitted: Vec<Vec<f64>> = columns.iter().map(|&part| of_records(&predictions[part])).collect();
        let found = StackWeights::fit(&fitted, &of_records(scores));
        let mut parts = [0.0; PARTS];
        columns.iter().zip(found.weights).for_each(|(&part, weight)| parts[part] = weight as f32);
        Self { intercept: found.intercept as f32, parts }
    }

    /// Returns the weighted sum at a record.
    fn sum(&self, predictions: &[Vec<f64>; PARTS], record: usize) -> f64 {
        let terms =
            self.parts.iter().zip(predictions).map(|(&weight, part)| f64::from(weight) * part[record]);
        f64::from(self.intercept) + terms.sum::<f64>()
    }

    /// Loads weights; those of parts that an earlier version did not have are 0.
    fn load(tensor: &Tensor) -> Result<Self, Error> {
        if let [intercept, additive, low_rank, kernel] = tensor.values[..] {
            return Ok(Self { intercept, parts: [additive, low_rank, kernel, 0.0, 0.0] });
        }
        let [intercept, parts @ ..] = tensor.array::<{ PARTS + 1 }>()?;
        Ok(Self { intercept, parts })
    }

    fn tensor(&self, name: &str) -> Tensor {
        Tensor::vector(name, [&[self.intercept], &self.parts[..]].concat())
    }

    fn choices(&self, prefix: &str) -> Vec<Choice> {
        let named = |(name, weight): (&&str, f32)| Choice::new(format!("{prefix}.{name}"), f64::from(weight));
        let parts = PART_NAMES.iter().zip(self.parts);
        [(&"intercept", self.intercept)].into_iter().chain(parts).map(named).collect()
    }
}

/// The solved parts.
struct StackParts {
    low_rank: LowRank,
    kernel: NetworkKernel,
    profiles: ProfileParts,
}

impl StackParts {
    /// Returns whether a set has a cell, which low rank and profiles need.
    fn has_cell(&self, set: &[u32]) -> bool {
        self.low_rank.grid().cells(set).iter().next().is_some()
    }

    /// Returns the prediction of each part.
    fn of_set(&self, set: &[u32], scratch: &mut KernelScratch) -> [f64; PARTS] {
        let Self { low_rank, kernel, profiles: ProfileParts { neighbours, kernel: profile_kernel } } = self;
        let grid = low_rank.grid();
        [
            low_rank.additive(set),
            low_rank.completed(set),
            kernel.predict_one(set, scratch),
            neighbours.as_ref().map_or(0.0, |part| part.value(grid, set)),
            profile_kernel.as_ref().map_or(0.0, |part| part.value(grid, set)),
        ]
    }

    /// Fits the weights of sets with a cell, and of the others.
    fn fit_weights(
        &self,
        options: &StackOptions,
        val: &Records,
        observer: &mut dyn SolveObserver,
    ) -> (PartWeights, PartWeights) {
        let mut predictions: [Vec<f64>; PARTS] = Default::default();
        let mut scratch = KernelScratch::default();
        for set in val.sets.view().iter() {
            let parts = self.of_set(set, &mut scratch);
            predictions.iter_mut().zip(parts).for_each(|(column, value)| column.push(value));
        }
        let report = |part: usize, is_solved: bool, observer: &mut dyn SolveObserver| {
            let sums: Vec<f64> = predictions[0].iter().zip(&predictions[part]).map(|(a, b)| a + b).collect();
            if is_solved {
                observer.on_setting(TriedSetting {
                    setting: PART_NAMES[part].replace('_', " "),
                    validation_pearson: pearson(&sums, &val.scores),
                });
            }
        };
        report(3, self.profiles.neighbours.is_some(), observer);
        report(4, self.profiles.kernel.is_some(), observer);
        let low_rank = options.has(StackPart::LowRank);
        let kernel = options.has(StackPart::NetworkKernel);
        let (known, new): (Vec<usize>, Vec<usize>) =
            (0..val.scores.len()).partition(|&record| self.has_cell(val.sets.get(record)));
        let all: Vec<usize> = (0..val.scores.len()).collect();
        let records = |own: Vec<usize>| if own.len() < MIN_RECORDS { all.clone() } else { own };
        let fit = |used, records: &[usize]| validated(&predictions, used, &val.scores, records);
        (
            fit([true, low_rank, kernel, true, true], &records(known)),
            fit([true, false, kernel, false, false], &records(new)),
        )
    }

    /// Returns low rank, network kernel and profile kernel as one inner product; `None` if one of them has no bilinear form.
    fn pair_products(&self, weights: &PartWeights, genes: usize) -> Option<PairProducts> {
        let [_, low_rank, kernel, _, profile_kernel] = weights.parts.map(f64::from);
        let grid = self.low_rank.grid();
        self.low_rank.with_form(low_rank, |low_rank| {
            let kernel = self.kernel.form(kernel)?;
            Some(match &self.profiles.kernel {
                None => PairProducts::new(genes, &[low_rank, kernel]),
                Some(part) => part.with_form(grid, profile_kernel, |profile_kernel: PairForm<'_>| {
                    PairProducts::new(genes, &[low_rank, kernel, profile_kernel])
                }),
            })
        })?
    }
}

/// Fits weights; leaves out parts, or all of them, if the sum does not predict records that it was not fitted to better than without.
fn validated(
    predictions: &[Vec<f64>; PARTS],
    used: [bool; PARTS],
    scores: &[f64],
    records: &[usize],
) -> PartWeights {
    let half = |first: usize| -> Vec<usize> { records.iter().copied().skip(first).step_by(2).collect() };
    let halves = [half(0), half(1)];
    let squared_errors = |used: [bool; PARTS]| -> Vec<f64> {
        let fits = [1, 0].map(|other: usize| PartWeights::fit(predictions, used, scores, &halves[other]));
        let of_half = |(half, fit): (&Vec<usize>, &PartWeights)| -> Vec<f64> {
            half.iter().map(|&record| (scores[record] - fit.sum(predictions, record)).powi(2)).collect()
        };
        halves.iter().zip(&fits).flat_map(of_half).collect()
    };
    let additive = [used[0], false, false, false, false];
    let mut best = ([false; PARTS], squared_errors([false; PARTS]));
    for used in [additive, used] {
        let errors = squared_errors(used);
        if mean(&errors) < mean(&best.1) {
            best = (used, errors);
        }
    }
    PartWeights::fit(predictions, best.0, scores, records)
}

struct Stack {
    parts: StackParts,
    /// The sum at sets with a cell, or at all sets.
    known: WeightedSum,
    /// The sum at sets without a cell.
    new: Option<WeightedSum>,
    deviation: DeviationModel,
}

/// A weighted sum of parts.
struct WeightedSum {
    weights: PartWeights,
    /// The bilinear parts at pairs.
    products: Option<PairProducts>,
}

impl WeightedSum {
    fn new(parts: &StackParts, weights: PartWeights, genes: usize) -> Self {
        Self { weights, products: parts.pair_products(&weights, genes) }
    }

    fn predict(&self, parts: &StackParts, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = KernelScratch::default();
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let (intercept, weights) = (f64::from(self.weights.intercept), self.weights.parts.map(f64::from));
        let [additive, _, kernel, neighbours, _] = weights;
        let constant = intercept + kernel * parts.kernel.mean();
        let grid = parts.low_rank.grid();
        let of_neighbours =
            |set: &[u32]| parts.profiles.neighbours.as_ref().map_or(0.0, |part| part.value(grid, set));
        let predict = |(i, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => {
                let bilinear = constant + additive * parts.low_rank.additive(set) + f64::from(of_pairs[i]);
                if neighbours == 0.0 { bilinear } else { bilinear + neighbours * of_neighbours(set) }
            }
            _ => {
                let terms = weights.iter().zip(parts.of_set(set, &mut scratch));
                intercept + terms.map(|(weight, part)| weight * part).sum::<f64>()
            }
        };
        sets.iter().enumerate().map(predict).collect()
    }
}

impl Stack {
    fn new(parts: StackParts, known: PartWeights, new: Option<PartWeights>, cell: &Cell) -> Self {
        let sum = |weights| WeightedSum::new(&parts, weights, cell.genes().len());
        let (known, new) = (sum(known), new.map(sum));
        Self { parts, known, new, deviation: DeviationModel::default() }
    }
}

impl Solution for Stack {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let Some(new) = &self.new else { return self.known.predict(&self.parts, sets) };
        let has_cell: Vec<bool> = sets.iter().map(|set| self.parts.has_cell(set)).collect();
        let of = |sum: &WeightedSum, wanted: bool| {
            let chosen = sets.iter().zip(&has_cell).filter(|(_, has)| **has == wanted).map(|(set, _)| set);
            sum.predict(&self.parts, chosen.collect::<GeneSets>().view()).into_iter()
        };
        let (mut of_known, mut of_new) = (of(&self.known, true), of(new, false));
        has_cell.iter().filter_map(|&has| if has { of_known.next() } else { of_new.next() }).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(self.deviation.deviations(sets, self.parts.kernel.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.deviation.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.parts.low_rank.own_tensors();
        tensors.extend(self.parts.kernel.own_tensors());
        tensors.extend(self.parts.profiles.tensors());
        tensors.extend(self.deviation.tensors(PREFIX));
        tensors.push(self.known.weights.tensor(WEIGHTS));
        tensors.extend(self.new.as_ref().map(|new| new.weights.tensor(NEW_WEIGHTS)));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = self.parts.low_rank.choices();
        choices.extend(self.parts.kernel.choices());
        choices.extend(self.known.weights.choices("stack.weight"));
        choices.extend(self.new.iter().flat_map(|new| new.weights.choices("stack.new_weight")));
        choices.extend(self.deviation.choices(PREFIX));
        choices
    }
}
