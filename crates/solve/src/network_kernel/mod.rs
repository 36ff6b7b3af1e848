//! The network kernel: a Gaussian process over gene pairs (or query pairs and arrays) in which two records are alike when their
//! genes are alike in the cell's networks. It predicts for genes that training never saw.

mod answers;
mod features;
mod field;
mod mixture;
mod neighbourhood;
mod posterior;
mod process;

use crate::base::Base;
use crate::deviation::{Loudness, Spread};
use crate::grid::Grid;
use crate::model::{Choice, Problem, Records, Solution, SolveError, SolvedOptions, Stage, Watch};
use crate::pair_products::{Form, PairProducts};
use crate::tensor::{Tensor, tensor};
use answers::{Answers, Shared};
use features::Features;
use field::{Fields, Place};
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use neighbourhood::Neighbourhoods;
use process::{Gradients, Shifted};
use serde::{Deserialize, Serialize};

/// Options of the network kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkKernelOptions {
    /// Networks that may be used; empty means all.
    pub networks: Vec<String>,
    /// Annotations that are used as well: genes are alike where they share terms.
    pub annotations: Vec<String>,
    /// Directions at most that the likeness of genes is kept in.
    pub rank: usize,
    /// The relative residual at which the equations count as solved.
    pub tolerance: f64,
    /// Memory for matrices at most, in MiB.
    pub memory_mib: usize,
}

impl Default for NetworkKernelOptions {
    fn default() -> Self {
        Self { networks: Vec::new(), annotations: Vec::new(), rank: 256, tolerance: 1e-2, memory_mib: 4096 }
    }
}

/// Steps of conjugate gradients when a setting is only tried.
const TRIAL_STEPS: usize = 12;
/// Steps at most for the setting that is kept.
const MOST_STEPS: usize = 100;
/// Genes that are enough to choose settings with.
const TRIAL_GENES: usize = 1_500;
/// Validation records that are enough to choose settings with.
const TRIAL_RECORDS: usize = 2_000;
/// The gain in validation Pearson that is worth another step in the same direction.
const LEAST_GAIN: f64 = 3e-4;
/// Variances of the noise that are tried, in units of the scores' variance.
const NOISES: [f32; 8] = [0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
/// From one of what a gene shares with itself to the next.
const OWN_STEP: f32 = 3.0;
/// Steps at most in one direction.
const MOST_OWN_STEPS: usize = 3;
/// How much single genes count in the likeness of query pairs: what is tried first, and what then.
const SINGLE: f32 = 0.3;
const OTHER_SINGLES: [f32; 2] = [1.0, 0.0];

/// What is chosen on the validation part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Setting {
    /// What a gene shares with itself beyond the networks.
    own: f32,
    /// Variance of the noise, in units of the scores' variance.
    noise: f32,
    /// How much single genes count in the likeness of query pairs; 0 without triples.
    single: f32,
}

/// What the state of this part of the work is kept as.
const PART: &str = "network-kernel";

impl SolvedOptions for NetworkKernelOptions {
    const NAME: &'static str = "network-kernel";
    const SUMMARY: &'static str =
        "Gaussian process over the cell's networks; predicts genes that training never saw";

    fn check(&self, cell: &Cell) -> Result<(), SolveError> {
        let out_of_range = |key, value, rule| Err(SolveError::OutOfRange { key, value, rule });
        if !(self.tolerance >= 1e-5 && self.tolerance < 1.0) {
            return out_of_range("tolerance", self.tolerance.to_string(), "it must lie from 1e-5 to 1");
        }
        if !(1..=8_192).contains(&self.rank) {
            return out_of_range("rank", self.rank.to_string(), "it must lie from 1 to 8192");
        }
        let have = || cell.networks().iter().map(|network| network.name().to_owned()).collect();
        if let Some(name) = self.networks.iter().find(|name| cell.network(name).is_none()) {
            return Err(SolveError::NotInDataset { what: "network", name: name.clone(), have: have() });
        }
        let have = || cell.annotations().iter().map(|set| set.name().to_owned()).collect();
        match self.annotations.iter().find(|name| cell.annotation(name).is_none()) {
            Some(name) => {
                Err(SolveError::NotInDataset { what: "annotations", name: name.clone(), have: have() })
            }
            None => Ok(()),
        }
    }

    fn prior_knowledge(&self) -> Vec<String> {
        self.annotations.iter().map(|name| format!("annotations {name}")).collect()
    }

    fn solve(&self, problem: Problem<'_>, watch: &mut dyn Watch) -> Result<Box<dyn Solution>, SolveError> {
        let mut kernel =
            NetworkKernel::solve(self, problem, &Base::of(problem, &[])?, watch)?.with_products();
        let fitted = kernel.predict(problem.train.sets.view());
        let loudness = Loudness::of(problem.train, &fitted, problem.cell.genes().len());
        drop(fitted);
        let (sets, predictions) = (problem.val.sets.view(), kernel.predict(problem.val.sets.view()));
        let doubt = kernel.variances(sets);
        kernel.spread = Spread::fit(loudness, problem.val, &predictions, &doubt);
        kernel.choices.extend(kernel.spread.choices(PREFIX));
        Ok(Box::new(kernel))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        let mut kernel = NetworkKernel::load(tensors, cell)?.with_products();
        kernel.spread = Spread::load(tensors, PREFIX, cell.genes().len())?;
        Ok(Box::new(kernel))
    }
}

/// The solved model.
pub(crate) struct NetworkKernel {
    answers: Answers,
    /// Mean and standard deviation of the training scores.
    mean: f32,
    sd: f32,
    setting: Setting,
    mixture: Vec<f32>,
    /// What it says of pairs; only where it is no part of another model, which has its own.
    products: Option<PairProducts>,
    spread: Spread,
    choices: Vec<Choice>,
}

const PREFIX: &str = "network_kernel";

/// What predictions of one set after the other share.
#[derive(Default)]
pub(crate) struct Scratch(Shared);

impl NetworkKernelOptions {
    /// Neighbourhoods in networks and among terms, by the names that their weights are reported with.
    fn neighbourhoods(&self, cell: &Cell) -> Vec<(String, Neighbourhoods)> {
        let uses = |name: &str| self.networks.is_empty() || self.networks.iter().any(|used| used == name);
        let networks = cell.networks().iter().filter(|network| uses(network.name()));
        let gene_count = cell.genes().len();
        let networks =
            networks.map(|network| (network.name().to_owned(), Neighbourhoods::of(network, gene_count)));
        let annotations = self.annotations.iter().filter_map(|name| cell.annotation(name));
        let annotations = annotations
            .map(|set| (format!("annotations.{}", set.name()), Neighbourhoods::of_annotations(set)));
        networks.chain(annotations).collect()
    }

    fn check_memory(&self, grid: &Grid, gene_count: usize) -> Result<(), SolveError> {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        let triples = grid.pair_rows().count();
        let rank = self.rank.min(columns);
        // Two fields over the grid, the kernel of query pairs, and tables of all genes.
        let numbers = 2 * rows * columns + triples * (triples + 3 * gene_count) + 8 * gene_count * rank;
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
        watch: &mut dyn Watch,
    ) -> Result<Self, SolveError> {
        let (grid, gene_count) = (&base.grid, problem.cell.genes().len());
        options.check_memory(grid, gene_count)?;
        let (names, networks): (Vec<String>, Vec<Neighbourhoods>) =
            options.neighbourhoods(problem.cell).into_iter().unzip();
        let (mean, sd) = mean_and_deviation(&problem.train.scores);
        let scores: Vec<f32> =
            problem.train.scores.iter().map(|score| ((score - mean) / sd) as f32).collect();
        let sets = problem.train.sets.view();
        let features_of =
            |mixture: &[f32]| Features::of(&networks, mixture, &grid.genes(), gene_count, options.rank);

        // What a version of before kept, which did not know all settings, is not gone on with.
        let kept =
            watch.kept(PART).filter(|kept| Begun::TENSORS.iter().all(|name| tensor(kept, name).is_ok()));
        let begun = if let Some(kept) = &kept {
            Begun::load(kept, names.len(), features_of, watch)?
        } else {
            let begin = |mixture: Vec<f32>, watch: &mut dyn Watch| {
                let features = features_of(&mixture);
                let mut trials = Trials::new(grid, sets, &scores, &features, problem.val);
                let tried = trials.run(&features, grid, watch);
                let (fields, gradients) = trials.end();
                Begun { mixture, features, tried, fields, gradients }
            };
            // Of the first so many; the others have no weight.
            let mixture = |count: usize| -> Vec<f32> {
                let weights = mixture::weights(&networks[..count], grid, sets, &base.residuals);
                let mut weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
                weights.resize(names.len(), 0.0);
                weights
            };
            let begun = begin(mixture(names.len()), watch);
            // Annotations explain how alike known genes are; whether they also help to predict is for the validation part to say.
            let networks_alone = names.len() - options.annotations.len();
            if begun.mixture[networks_alone..].iter().any(|&weight| weight > 0.0) {
                let without = begin(mixture(networks_alone), watch);
                if without.pearson() > begun.pearson() { without } else { begun }
            } else {
                begun
            }
        };
        drop(networks);
        let tried_before = begun.tensors();
        let Begun { mixture, features, tried, fields, gradients } = begun;
        let setting = Tried::best(&tried);

        let mut fields = fields.unwrap_or_else(|| Fields::of(grid, sets, &scores, &features, |_| true));
        drop(scores);
        fields.set(&features, setting.own, setting.single);
        let count = fields.cells().map(field::Cells::len).sum();
        let mut gradients = match kept {
            Some(kept) => Gradients::load(&kept, count)?,
            None => gradients.unwrap_or_else(|| Gradients::new(&fields)),
        };
        let mut keep = |gradients: &Gradients| {
            watch.step("network kernel", gradients.step);
            if watch.wants_state() {
                watch.keep(PART, [&tried_before[..], &gradients.tensors()[..]].concat());
            }
        };
        // What the trials found may be enough.
        keep(&gradients);
        gradients.run(&mut fields, setting.noise, MOST_STEPS, options.tolerance, &mut keep);
        let weights = names.iter().zip(&mixture);
        let weights = weights
            .map(|(name, &weight)| Choice::new(format!("network_kernel.weight.{name}"), f64::from(weight)));
        let chosen = [
            Choice::new("network_kernel.own", f64::from(setting.own)),
            Choice::new("network_kernel.noise", f64::from(setting.noise)),
            Choice::new("network_kernel.directions", features.vectors.columns() as f64),
            Choice::new("network_kernel.steps", gradients.step as f64),
        ];
        let single = fields.triples.is_some().then(|| f64::from(setting.single));
        let single = single.map(|single| Choice::new("network_kernel.single", single));
        let choices = weights.chain(chosen).chain(single).collect();
        let answers = Answers::of(fields, &gradients.solution, features, grid, setting);
        let (mean, sd) = (mean as f32, sd as f32);
        Ok(Self { answers, mean, sd, setting, mixture, products: None, spread: Spread::default(), choices })
    }

    /// The process's own variances of sets, in the scores' units.
    pub(crate) fn variances(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let unit = f64::from(self.sd).powi(2);
        let mut variances = self.answers.variances(sets);
        for variance in &mut variances {
            *variance *= unit;
        }
        variances
    }

    /// What it says of pairs beside [`NetworkKernel::mean`], as a form, times a weight.
    pub(crate) fn form(&self, weight: f64) -> Option<Form<'_>> {
        self.answers.form(weight * f64::from(self.sd))
    }

    /// The mean of the training scores.
    pub(crate) fn mean(&self) -> f64 {
        f64::from(self.mean)
    }

    fn with_products(mut self) -> Self {
        self.products = self.form(1.0).map(|form| PairProducts::of(self.answers.genes(), &[form]));
        self
    }

    pub(crate) fn predict_one(&self, set: &[u32], scratch: &mut Scratch) -> f64 {
        f64::from(self.mean) + f64::from(self.sd) * self.answers.value(set, &mut scratch.0)
    }

    pub(crate) fn load(tensors: &[Tensor], cell: &Cell) -> Result<Self, SolveError> {
        let numbers = tensor(tensors, "network_kernel.numbers")?;
        let (mean, sd, own, noise, single) = match numbers.values[..] {
            [mean, sd, own, noise, single] => (mean, sd, own, noise, single),
            // Of a version whose query pairs were alike by both genes alone.
            [mean, sd, own, noise] => (mean, sd, own, noise, 0.0),
            _ => return Err(SolveError::Tensor { name: numbers.name.clone() }),
        };
        let setting = Setting { own, noise, single };
        let mixture = tensor(tensors, "network_kernel.mixture")?.values.clone();
        let answers = Answers::load(tensors, cell.genes().len(), setting)?;
        Ok(Self {
            answers,
            mean,
            sd,
            setting,
            mixture,
            products: None,
            spread: Spread::default(),
            choices: Vec::new(),
        })
    }

    /// What has to be stored beside the grid.
    pub(crate) fn own_tensors(&self) -> Vec<Tensor> {
        let Setting { own, noise, single } = self.setting;
        let numbers = vec![self.mean, self.sd, own, noise, single];
        let mut tensors = self.answers.tensors();
        tensors.push(Tensor::new("network_kernel.numbers", &[numbers.len()], numbers));
        tensors.push(Tensor::new("network_kernel.mixture", &[self.mixture.len()], self.mixture.clone()));
        tensors
    }

    pub(crate) fn chosen(&self) -> &[Choice] {
        &self.choices
    }
}

impl Solution for NetworkKernel {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = Scratch::default();
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let one = |(place, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => self.mean() + f64::from(of_pairs[place]),
            _ => self.predict_one(set, &mut scratch),
        };
        sets.iter().enumerate().map(one).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(self.spread.deviations(sets, self.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.spread.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.own_tensors();
        tensors.extend(self.answers.grid().tensors());
        tensors.extend(self.spread.tensors(PREFIX));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        self.choices.clone()
    }
}

fn mean_and_deviation(scores: &[f64]) -> (f64, f64) {
    let variance = knockout_base::stats::sum_of_squared_deviations(scores) / scores.len() as f64;
    (knockout_base::stats::mean(scores), variance.sqrt())
}

/// Every k-th record.
fn some(records: &Records, k: usize) -> Records {
    let mut some = Records::default();
    for (set, &score) in records.sets.view().iter().zip(&records.scores).step_by(k) {
        some.sets.push(set);
        some.scores.push(score);
    }
    some
}

/// A setting that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tried {
    setting: Setting,
    /// -2 where it is undefined.
    pearson: f64,
}

impl Tried {
    const TENSOR: &str = "settings";

    fn best(tried: &[Self]) -> Setting {
        let mut best = Self { setting: Setting { own: 1.0, noise: 1.0, single: 0.0 }, pearson: -3.0 };
        for &tried in tried {
            if tried.pearson > best.pearson {
                best = tried;
            }
        }
        best.setting
    }

    /// The highest validation Pearson.
    fn highest(tried: &[Self]) -> f64 {
        tried.iter().map(|tried| tried.pearson).fold(-3.0, f64::max)
    }

    fn say(&self, watch: &mut dyn Watch) {
        let Setting { own, noise, single } = self.setting;
        let single = if single > 0.0 { format!(", single {single}") } else { String::new() };
        watch.stage(Stage {
            tried: format!("network kernel, own {own:.3}, noise {noise:.3}{single}"),
            validation_pearson: Some(self.pearson).filter(|&r| r > -2.0),
        });
    }

    fn tensor(tried: &[Self]) -> Tensor {
        let one = |tried: &Self| {
            let Setting { own, noise, single } = tried.setting;
            [f64::from(own), f64::from(noise), f64::from(single), tried.pearson]
        };
        Tensor::of_doubles(Self::TENSOR, &tried.iter().flat_map(one).collect::<Vec<_>>())
    }

    fn load_all(tensors: &[Tensor]) -> Result<Vec<Self>, SolveError> {
        let numbers = tensor(tensors, Self::TENSOR)?.doubles()?;
        let one = |&[own, noise, single, pearson]: &[f64; 4]| Self {
            setting: Setting { own: own as f32, noise: noise as f32, single: single as f32 },
            pearson,
        };
        Ok(numbers.as_chunks::<4>().0.iter().map(one).collect())
    }
}

/// A mixture of networks and annotations, and the settings that were tried with it.
struct Begun {
    mixture: Vec<f32>,
    features: Features,
    tried: Vec<Tried>,
    /// What the trials leave to go on with, where they had all records.
    fields: Option<Fields>,
    gradients: Option<Gradients>,
}

impl Begun {
    const MIXTURE: &str = "mixture";
    /// What of it is kept.
    const TENSORS: [&str; 2] = [Self::MIXTURE, Tried::TENSOR];

    /// Validation Pearson of the best setting.
    fn pearson(&self) -> f64 {
        Tried::highest(&self.tried)
    }

    fn tensors(&self) -> [Tensor; 2] {
        let mixture = Tensor::new(Self::MIXTURE, &[self.mixture.len()], self.mixture.clone());
        [mixture, Tried::tensor(&self.tried)]
    }

    fn load(
        kept: &[Tensor],
        count: usize,
        features_of: impl Fn(&[f32]) -> Features,
        watch: &mut dyn Watch,
    ) -> Result<Self, SolveError> {
        let mixture = tensor(kept, Self::MIXTURE)?.of_length(count)?.to_vec();
        let tried = Tried::load_all(kept)?;
        for tried in &tried {
            tried.say(watch);
        }
        Ok(Self { features: features_of(&mixture), mixture, tried, fields: None, gradients: None })
    }
}

/// Settings are tried on the validation part, and where there are very many genes on a part of them.
struct Trials {
    fields: Fields,
    /// Whether the fields have all records.
    reach: Reach,
    /// Records that lie in the fields, and the others.
    places: Vec<Place>,
    elsewhere: GeneSets,
    /// Scores of both, in this order.
    scores: Vec<f64>,
    /// What was found for the best setting so far.
    begun: Option<Gradients>,
}

/// The records that trials are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    Some,
}

impl Trials {
    fn new(grid: &Grid, sets: GeneSetsRef<'_>, scores: &[f32], features: &Features, val: &Records) -> Self {
        let known = grid.genes();
        let stride = known.len().div_ceil(TRIAL_GENES).max(1);
        let (mut is_left_out, mut few) = (vec![false; features.genes()], Records::default());
        known.iter().enumerate().for_each(|(place, &gene)| is_left_out[gene as usize] = place % stride > 0);
        // Records of known genes become fewer because their genes do; of the others as large a share is taken, or settings would be
        // chosen for new genes alone.
        let mut others = [0_usize; 3];
        let mut is_one_in = |strides: usize| {
            others[strides] += 1;
            others[strides].is_multiple_of(stride.pow(strides as u32))
        };
        let is_new = |gene: u32| known.binary_search(&gene).is_err();
        for (set, &score) in val.sets.view().iter().zip(&val.scores) {
            let is_kept = match (set.len(), grid.part_of_triple(set)) {
                // Of a triple only its array counts: all query pairs stay.
                (_, Some((_, array))) if is_new(array) => is_one_in(1),
                (_, Some((_, array))) => !is_left_out[array as usize],
                (3, None) => is_one_in(1),
                _ => {
                    let new = set.iter().filter(|&&gene| is_new(gene)).count();
                    !set.iter().any(|&gene| is_left_out[gene as usize]) && is_one_in(new.min(2))
                }
            };
            if is_kept {
                few.sets.push(set);
                few.scores.push(score);
            }
        }
        // What is said of new query pairs is summed up record by record; pairs are looked up.
        if grid.pair_rows().next().is_some() {
            few = some(&few, few.scores.len().div_ceil(2 * TRIAL_RECORDS).max(1));
        }
        let (reach, val) = if stride == 1 || few.scores.len() < TRIAL_RECORDS {
            (Reach::All, val)
        } else {
            (Reach::Some, &few)
        };
        let counts = |gene: u32| reach == Reach::All || !is_left_out[gene as usize];
        let fields = Fields::of(grid, sets, scores, features, counts);
        let (mut places, mut elsewhere) = (Vec::new(), GeneSets::default());
        let (mut scores, mut others) = (Vec::new(), Vec::new());
        for (set, &score) in val.sets.view().iter().zip(&val.scores) {
            if let Some(place) = fields.place(grid, set) {
                places.push(place);
                scores.push(score);
            } else {
                elsewhere.push(set);
                others.push(score);
            }
        }
        scores.extend(others);
        Self { fields, reach, places, elsewhere, scores, begun: None }
    }

    /// Tries all noises for what a gene shares with itself, and goes on in the direction in which validation improves; then what single genes
    /// of query pairs count.
    fn run(&mut self, features: &Features, grid: &Grid, watch: &mut dyn Watch) -> Vec<Tried> {
        let mut tried = Vec::new();
        let single = if self.fields.triples.is_some() { SINGLE } else { 0.0 };
        self.judge((1.0, single), features, grid, &mut tried, watch);
        for step in [OWN_STEP, 1.0 / OWN_STEP] {
            let (mut own, mut taken) = (1.0, 0);
            while taken < MOST_OWN_STEPS {
                own *= step;
                if !self.judge((own, single), features, grid, &mut tried, watch) {
                    break;
                }
                taken += 1;
            }
            if taken > 0 {
                break;
            }
        }
        if self.fields.triples.is_some() {
            let own = Tried::best(&tried).own;
            for single in OTHER_SINGLES {
                self.judge((own, single), features, grid, &mut tried, watch);
            }
        }
        tried
    }

    /// The fields and what was found for the best setting, where they have all records.
    fn end(self) -> (Option<Fields>, Option<Gradients>) {
        match self.reach {
            Reach::All => (Some(self.fields), self.begun),
            Reach::Some => (None, None),
        }
    }

    /// Tries all noises; whether it is worth going on.
    fn judge(
        &mut self,
        (own, single): (f32, f32),
        features: &Features,
        grid: &Grid,
        tried: &mut Vec<Tried>,
        watch: &mut dyn Watch,
    ) -> bool {
        self.fields.set(features, own, single);
        let before = Tried::highest(tried);
        let places = &self.places;
        let said = |fields: &Fields| places.iter().map(|&place| fields.last(place)).collect();
        let shifted = Shifted::solve(&mut self.fields, &NOISES, TRIAL_STEPS, said);
        for (place, noise) in NOISES.into_iter().enumerate() {
            let mut predictions: Vec<f64> = shifted.said(place).into_iter().map(f64::from).collect();
            // No step at all was needed where all targets are 0.
            predictions.resize(self.places.len(), 0.0);
            if !self.elsewhere.is_empty() {
                let (solution, sets) = (shifted.solution(place), self.elsewhere.view());
                predictions.extend(self.fields.predict(&solution, features, grid, sets));
            }
            let pearson = pearson(&predictions, &self.scores).unwrap_or(-2.0);
            if self.reach == Reach::All && pearson > Tried::highest(tried) {
                self.begun = Some(shifted.gradients(place));
            }
            tried.push(Tried { setting: Setting { own, noise, single }, pearson });
            watch.step("network kernel, settings", tried.len());
        }
        let first = tried.len() - NOISES.len();
        let best = Tried::best(&tried[first..]);
        tried[first..].iter().filter(|tried| tried.setting == best).for_each(|tried| tried.say(watch));
        Tried::highest(tried) > before + LEAST_GAIN
    }
}
