//! The network kernel: a Gaussian process over gene pairs, or over query pairs and array genes.
//!
//! The covariance of two records depends on how similar their genes are in the cell's networks, so it predicts genes without training
//! records. The similarity is a mixture of networks ([`mixture`]) in at most `model.rank` directions, which are computed from the sparse
//! networks without a gene-by-gene matrix ([`features`]). The equations are solved by conjugate gradients on matrices of genes, never
//! over pairs of records ([`crate::process`]). The hyperparameters are chosen in [`trials`]; predictions come from
//! [`tables`].

mod amplitude;
mod features;
mod mixture;
mod neighbourhood;
mod setting;
mod tables;
mod trials;
mod variance;

use crate::additive_fit::AdditiveFit;
use crate::deviation::{DeviationModel, GeneNoise};
use crate::error::{bad_tensor, check_memory, not_in_dataset, out_of_range};
use crate::grid::Grid;
use crate::model::{Choice, Problem, Solution, SolveObserver, SolvedOptions};
use crate::pair_products::{PairForm, PairProducts};
use crate::process::{ConjugateGradients, KernelFeatures, ProcessFields};
use crate::tensor::{Tensor, find, has};
pub(crate) use amplitude::Amplitudes;
use knockout_base::error::Error;
use knockout_data::cell::{Annotations, Cell, GeneSetsRef, Network};
use neighbourhood::Neighbourhoods;
use serde::{Deserialize, Serialize};
use setting::KernelSetting;
use tables::{PosteriorTables, TripleCache};
use trials::TriedMixture;

/// Options of the network kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkKernelOptions {
    /// Names of the networks to use; empty for all.
    pub networks: Vec<String>,
    /// Names of annotations to use as well: genes are similar if they share terms.
    pub annotations: Vec<String>,
    /// Maximum number of directions of the gene similarity.
    pub rank: usize,
    /// Relative residual at which the equations are considered solved.
    pub tolerance: f64,
    /// Maximum memory of the matrices, in MiB.
    pub memory_mib: usize,
}

impl Default for NetworkKernelOptions {
    fn default() -> Self {
        Self { networks: Vec::new(), annotations: Vec::new(), rank: 256, tolerance: 1e-2, memory_mib: 4096 }
    }
}

/// Maximum number of steps of conjugate gradients for the chosen setting.
const MAX_STEPS: usize = 100;
/// Name of the saved state.
const PART: &str = "network-kernel";
const PREFIX: &str = "network_kernel";
/// Names of the choices that decide a solution; that of a network follows the first.
const WEIGHT: &str = "network_kernel.weight.";
const OWN: &str = "network_kernel.own";
const NOISE: &str = "network_kernel.noise";
const SINGLE: &str = "network_kernel.single";
/// Tensor of a saved state: 1 if amplitudes are used.
const WITH_AMPLITUDES: &str = "with_amplitudes";

impl SolvedOptions for NetworkKernelOptions {
    const NAME: &'static str = "network-kernel";
    const SUMMARY: &'static str =
        "Gaussian process over the cell's networks; predicts genes without training records";

    fn check(&self, cell: &Cell) -> Result<(), Error> {
        if !(self.tolerance >= 1e-5 && self.tolerance < 1.0) {
            return Err(out_of_range("tolerance", &self.tolerance, "it must be at least 1e-5 and below 1"));
        }
        if !(1..=8_192).contains(&self.rank) {
            return Err(out_of_range("rank", &self.rank, "it must be from 1 to 8192"));
        }
        if let Some(name) = self.networks.iter().find(|name| cell.network(name).is_none()) {
            let known = cell.networks().iter().map(Network::name);
            return Err(not_in_dataset("network", name, known));
        }
        if let Some(name) = self.annotations.iter().find(|name| cell.annotation(name).is_none()) {
            return Err(not_in_dataset(
                "annotations",
                name,
                cell.annotations().iter().map(Annotations::name),
            ));
        }
        Ok(())
    }

    fn networks(&self, cell: &Cell) -> Vec<String> {
        if self.networks.is_empty() {
            return cell.networks().iter().map(|network| network.name().to_owned()).collect();
        }
        self.networks.clone()
    }

    fn prior_knowledge(&self) -> Vec<String> {
        self.annotations.iter().map(|name| format!("annotations {name}")).collect()
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        let base = AdditiveFit::new(problem, &[])?;
        let mut kernel = NetworkKernel::solve(self, &[], problem, &base, observer)?.with_products();
        drop(base);
        let fitted = kernel.predict(problem.train.sets.view());
        let noise = GeneNoise::estimate(problem.train, &fitted, problem.cell.genes().len());
        drop(fitted);
        let (sets, predictions) = (problem.val.sets.view(), kernel.predict(problem.val.sets.view()));
        kernel.deviation = DeviationModel::fit(noise, problem, PREFIX, &predictions, &kernel.variances(sets));
        kernel.choices.extend(kernel.deviation.choices(PREFIX));
        Ok(Box::new(kernel))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        let mut kernel = NetworkKernel::load(tensors, cell)?.with_products();
        kernel.deviation = DeviationModel::load(tensors, PREFIX, cell.genes().len())?;
        Ok(Box::new(kernel))
    }
}

impl NetworkKernelOptions {
    /// Returns the neighbourhoods in networks and annotations, with the names of their weights in reports.
    fn neighbourhoods(&self, cell: &Cell) -> Vec<(String, Neighbourhoods)> {
        let uses = |name: &str| self.networks.is_empty() || self.networks.iter().any(|used| used == name);
        let networks = cell.networks().iter().filter(|network| uses(network.name()));
        let gene_count = cell.genes().len();
        let networks = networks
            .map(|network| (network.name().to_owned(), Neighbourhoods::in_network(network, gene_count)));
        let annotations = self.annotations.iter().filter_map(|name| cell.annotation(name));
        let annotations = annotations
            .map(|set| (format!("annotations.{}", set.name()), Neighbourhoods::in_annotations(set)));
        networks.chain(annotations).collect()
    }

    fn check_memory(&self, grid: &Grid, gene_count: usize) -> Result<(), Error> {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        let triples = grid.pair_rows().count();
        let rank = self.rank.min(columns);
        // Two fields over the grid, the kernel of query pairs, and tables of all genes.
        let values = 2 * rows * columns + triples * (triples + 3 * gene_count) + 8 * gene_count * rank;
        check_memory(values, rows, columns, self.memory_mib)
    }
}

/// The solved model.
pub(crate) struct NetworkKernel {
    tables: PosteriorTables,
    /// Mean and standard deviation of the training scores.
    mean: f32,
    sd: f32,
    setting: KernelSetting,
    mixture: Vec<f32>,
    /// The process at pairs; `None` inside a stack, which has its own products.
    products: Option<PairProducts>,
    deviation: DeviationModel,
    choices: Vec<Choice>,
}

/// Intermediate results that predictions of consecutive sets share.
#[derive(Default)]
pub(crate) struct KernelScratch(TripleCache);

impl NetworkKernel {
    /// Solves the process; `amplitudes` names features that amplitudes may be expected from.
    pub(crate) fn solve(
        options: &NetworkKernelOptions,
        amplitudes: &[String],
        problem: Problem<'_>,
        base: &AdditiveFit,
        observer: &mut dyn SolveObserver,
    ) -> Result<Self, Error> {
        let (grid, gene_count) = (&base.grid, problem.cell.genes().len());
        options.check_memory(grid, gene_count)?;
        let (names, networks): (Vec<String>, Vec<Neighbourhoods>) =
            options.neighbourhoods(problem.cell).into_iter().unzip();
        let (mean, sd) = mean_and_deviation(&problem.train.scores);
        let scores: Vec<f32> =
            problem.train.scores.iter().map(|score| ((score - mean) / sd) as f32).collect();
        let sets = problem.train.sets.view();
        let features_of = |mixture: &[f32]| {
            KernelFeatures::of_networks(&networks, mixture, &grid.genes(), gene_count, options.rank)
        };

        let mut amplitudes = Amplitudes::expected(amplitudes, problem.cell, sets, &base.residuals);
        let scaled = |features: KernelFeatures, amplitudes: &Option<Amplitudes>| match amplitudes {
            Some(amplitudes) => features.scaled(&amplitudes.values),
            None => features,
        };

        let saved =
            observer.saved(PART).filter(|saved| TriedMixture::is_in(saved) && has(saved, WITH_AMPLITUDES));
        let chosen = chosen_setting(problem, &names);
        let tried = if let Some((mixture, setting)) = chosen {
            amplitudes = amplitudes.filter(|_| has_choice(problem, amplitude::PREFIX));
            let features = scaled(features_of(&mixture), &amplitudes);
            TriedMixture::chosen(mixture, features, setting)
        } else if let Some(saved) = &saved {
            amplitudes =
                amplitudes.filter(|_| find(saved, WITH_AMPLITUDES).is_ok_and(|flag| flag.values == [1.0]));
            let features_of = |mixture: &[f32]| scaled(features_of(mixture), &amplitudes);
            TriedMixture::load(saved, names.len(), features_of, observer)?
        } else {
            // Weights of the first networks; those of the others are 0.
            let mixture = |count: usize| -> Vec<f32> {
                let weights = mixture::fit_weights(&networks[..count], grid, sets, &base.residuals);
                let mut weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
                weights.resize(names.len(), 0.0);
                weights
            };
            let all = mixture(names.len());
            let features = features_of(&all);
            amplitudes = amplitudes.filter(|found| found.improve(&features, base, sets, &scores));
            let mut try_mixture = |mixture: Vec<f32>, features: KernelFeatures| {
                let features = scaled(features, &amplitudes);
                TriedMixture::new(mixture, features, (grid, sets, &scores), problem.val, observer)
            };
            let tried = try_mixture(all, features);
            // Annotations may explain the similarity of known genes without helping predictions, so they are validated.
            let network_count = names.len() - options.annotations.len();
            if tried.mixture[network_count..].iter().any(|&weight| weight > 0.0) {
                let mixture = mixture(network_count);
                let features = features_of(&mixture);
                let without = try_mixture(mixture, features);
                if without.pearson() > tried.pearson() { without } else { tried }
            } else {
                tried
            }
        };
        drop(networks);
        let with_amplitudes =
            Tensor::vector(WITH_AMPLITUDES, vec![f32::from(u8::from(amplitudes.is_some()))]);
        let tried_tensors = [&tried.tensors()[..], &[with_amplitudes]].concat();
        let setting = tried.setting();
        let TriedMixture { mixture, features, fields, gradients, .. } = tried;

        let mut fields =
            fields.unwrap_or_else(|| ProcessFields::new(grid, sets, &scores, &features, |_| true));
        drop(scores);
        fields.set(&features, setting.nugget, setting.single);
        let mut gradients = match saved {
            Some(saved) => ConjugateGradients::load(&saved, fields.len())?,
            None => gradients.unwrap_or_else(|| ConjugateGradients::new(&fields)),
        };
        let mut on_step = |gradients: &ConjugateGradients| {
            observer.on_step("network kernel", gradients.step);
            if observer.is_save_due() {
                observer.save(PART, [&tried_tensors[..], &gradients.tensors()[..]].concat());
            }
        };
        // The trials may have converged already.
        on_step(&gradients);
        gradients.run(&mut fields, setting.noise, MAX_STEPS, options.tolerance, &mut on_step);

        let weight =
            |(name, &weight): (&String, &f32)| Choice::new(format!("{WEIGHT}{name}"), f64::from(weight));
        let mut choices: Vec<Choice> = names.iter().zip(&mixture).map(weight).collect();
        choices.extend([
            Choice::new(OWN, f64::from(setting.nugget)),
            Choice::new(NOISE, f64::from(setting.noise)),
            Choice::new("network_kernel.directions", features.vectors.columns() as f64),
            Choice::new("network_kernel.steps", gradients.step as f64),
        ]);
        if fields.triples.is_some() {
            choices.push(Choice::new(SINGLE, f64::from(setting.single)));
        }
        choices.extend(amplitudes.into_iter().flat_map(|amplitudes| amplitudes.choices));
        let tables = PosteriorTables::new(fields, &gradients.solution, features, grid, setting);
        let (mean, sd, deviation) = (mean as f32, sd as f32, DeviationModel::default());
        Ok(Self { tables, mean, sd, setting, mixture, products: None, deviation, choices })
    }

    /// Returns the variances of the process at sets, in squared units of the scores.
    pub(crate) fn variances(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let unit = f64::from(self.sd).powi(2);
        let mut variances = self.tables.variances(sets);
        for variance in &mut variances {
            *variance *= unit;
        }
        variances
    }

    /// Returns the process at pairs, without [`NetworkKernel::mean`], as a bilinear form times a weight.
    pub(crate) fn form(&self, weight: f64) -> Option<PairForm<'_>> {
        self.tables.form(weight * f64::from(self.sd))
    }

    /// Returns the mean of the training scores.
    pub(crate) fn mean(&self) -> f64 {
        f64::from(self.mean)
    }

    /// Returns the features of all genes.
    pub(crate) fn features(&self) -> &KernelFeatures {
        self.tables.features()
    }

    fn with_products(mut self) -> Self {
        self.products = self.form(1.0).map(|form| PairProducts::new(self.tables.genes(), &[form]));
        self
    }

    pub(crate) fn predict_one(&self, set: &[u32], scratch: &mut KernelScratch) -> f64 {
        f64::from(self.mean) + f64::from(self.sd) * self.tables.value(set, &mut scratch.0)
    }

    pub(crate) fn load(tensors: &[Tensor], cell: &Cell) -> Result<Self, Error> {
        let numbers = find(tensors, "network_kernel.numbers")?;
        let (mean, sd, nugget, noise, single) = match numbers.values[..] {
            [mean, sd, nugget, noise, single] => (mean, sd, nugget, noise, single),
            // An earlier version had no weight of single genes.
            [mean, sd, nugget, noise] => (mean, sd, nugget, noise, 0.0),
            _ => return Err(bad_tensor(&numbers.name)),
        };
        let setting = KernelSetting { nugget, noise, single };
        let mixture = find(tensors, "network_kernel.mixture")?.values.clone();
        let tables = PosteriorTables::load(tensors, cell.genes().len(), setting)?;
        let (deviation, choices) = (DeviationModel::default(), Vec::new());
        Ok(Self { tables, mean, sd, setting, mixture, products: None, deviation, choices })
    }

    /// Returns the tensors without those of the grid and the standard deviations.
    pub(crate) fn own_tensors(&self) -> Vec<Tensor> {
        let KernelSetting { nugget, noise, single } = self.setting;
        let numbers = vec![self.mean, self.sd, nugget, noise, single];
        let mut tensors = self.tables.tensors();
        tensors.push(Tensor::vector("network_kernel.numbers", numbers));
        tensors.push(Tensor::vector("network_kernel.mixture", self.mixture.clone()));
        tensors
    }
}

impl Solution for NetworkKernel {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = KernelScratch::default();
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let predict = |(i, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => self.mean() + f64::from(of_pairs[i]),
            _ => self.predict_one(set, &mut scratch),
        };
        sets.iter().enumerate().map(predict).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>, _: &[f64]) -> Option<Vec<f64>> {
        Some(self.deviation.deviations(sets, self.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.deviation.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.own_tensors();
        tensors.extend(self.tables.grid().tensors());
        tensors.extend(self.deviation.tensors(PREFIX));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

/// Returns the weights of networks and the setting that were chosen before.
fn chosen_setting(problem: Problem<'_>, names: &[String]) -> Option<(Vec<f32>, KernelSetting)> {
    let number = |name: &str| problem.setting(name).map(|value| value as f32);
    let weight = |name: &String| number(&format!("{WEIGHT}{name}"));
    let mixture = names.iter().map(weight).collect::<Option<Vec<f32>>>()?;
    let single = number(SINGLE).unwrap_or(0.0);
    Some((mixture, KernelSetting { nugget: number(OWN)?, noise: number(NOISE)?, single }))
}

fn has_choice(problem: Problem<'_>, prefix: &str) -> bool {
    problem.settings.iter().any(|choice| choice.name.starts_with(prefix))
}

fn mean_and_deviation(scores: &[f64]) -> (f64, f64) {
    let variance = knockout_base::stats::sum_of_squared_deviations(scores) / scores.len() as f64;
    (knockout_base::stats::mean(scores), variance.sqrt())
}
