//! The choice of the hyperparameters on the validation part.
//!
//! All noises are tried in one solution, whose steps also give the predictions of the validation part. The last solution continues from
//! the best trial. With more than 1,500 genes, settings are tried on every k-th gene and on an equal share of the validation records
//! of known and of new genes; the chosen setting is then solved from the beginning.

use super::setting::KernelSetting;
use crate::grid::Grid;
use crate::model::{Records, SolveObserver, TriedSetting};
use crate::process::{
    ConjugateGradients, FieldCell, KernelFeatures, ProcessFields, ShiftedConjugateGradients,
};
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_base::stats::pearson;
use knockout_data::cell::{GeneSets, GeneSetsRef};

/// Steps of conjugate gradients per trial.
const TRIAL_STEPS: usize = 12;
/// Number of genes that suffices for trials.
const TRIAL_GENES: usize = 1_500;
/// Number of validation records that suffices for trials.
const TRIAL_RECORDS: usize = 2_000;
/// Minimum gain in validation Pearson to continue in the same direction.
const MIN_GAIN: f64 = 3e-4;
/// Noise variances to try, in units of the variance of the scores.
const NOISES: [f32; 8] = [0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
/// Factor between tried nuggets.
const NUGGET_STEP: f32 = 3.0;
/// Maximum number of steps of the nugget in one direction.
const MAX_NUGGET_STEPS: usize = 3;
/// Weight of single genes in the similarity of query pairs: the first to try, and the others.
const SINGLE: f32 = 0.3;
const OTHER_SINGLES: [f32; 2] = [1.0, 0.0];

/// A setting with its validation Pearson.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SettingTrial {
    setting: KernelSetting,
    /// -2 if undefined.
    pearson: f64,
}

impl SettingTrial {
    const TENSOR: &str = "settings";

    fn best(trials: &[Self]) -> KernelSetting {
        let mut best =
            Self { setting: KernelSetting { nugget: 1.0, noise: 1.0, single: 0.0 }, pearson: -3.0 };
        for &trial in trials {
            if trial.pearson > best.pearson {
                best = trial;
            }
        }
        best.setting
    }

    /// Returns the highest validation Pearson.
    fn highest(trials: &[Self]) -> f64 {
        trials.iter().map(|trial| trial.pearson).fold(-3.0, f64::max)
    }

    fn report(&self, observer: &mut dyn SolveObserver) {
        let KernelSetting { nugget, noise, single } = self.setting;
        let single = if single > 0.0 { format!(", single {single}") } else { String::new() };
        observer.on_setting(TriedSetting {
            setting: format!("network kernel, own {nugget:.3}, noise {noise:.3}{single}"),
            validation_pearson: Some(self.pearson).filter(|&r| r > -2.0),
        });
    }

    fn tensor(trials: &[Self]) -> Tensor {
        let numbers = |trial: &Self| {
            let KernelSetting { nugget, noise, single } = trial.setting;
            [f64::from(nugget), f64::from(noise), f64::from(single), trial.pearson]
        };
        Tensor::from_doubles(Self::TENSOR, &trials.iter().flat_map(numbers).collect::<Vec<_>>())
    }

    fn load_all(tensors: &[Tensor]) -> Result<Vec<Self>, Error> {
        let numbers = find(tensors, Self::TENSOR)?.doubles()?;
        let trial = |&[nugget, noise, single, pearson]: &[f64; 4]| Self {
            setting: KernelSetting { nugget: nugget as f32, noise: noise as f32, single: single as f32 },
            pearson,
        };
        Ok(numbers.as_chunks::<4>().0.iter().map(trial).collect())
    }
}

/// The trials with one mixture of networks and annotations.
pub(super) struct TriedMixture {
    pub(super) mixture: Vec<f32>,
    pub(super) features: KernelFeatures,
    trials: Vec<SettingTrial>,
    /// The fields and the solver of the best trial, if the trials used all records.
    pub(super) fields: Option<ProcessFields>,
    pub(super) gradients: Option<ConjugateGradients>,
}

impl TriedMixture {
    const MIXTURE: &str = "mixture";

    /// Tries the settings with a mixture; `train` has the grid, the sets and their standardised scores.
    pub(super) fn new(
        mixture: Vec<f32>,
        features: KernelFeatures,
        train: (&Grid, GeneSetsRef<'_>, &[f32]),
        val: &Records,
        observer: &mut dyn SolveObserver,
    ) -> Self {
        let mut search = SettingSearch::new(train, &features, val);
        let trials = search.run(&features, train.0, observer);
        let (fields, gradients) = search.into_solver();
        Self { mixture, features, trials, fields, gradients }
    }

    /// Takes a setting that was chosen before.
    pub(super) fn chosen(mixture: Vec<f32>, features: KernelFeatures, setting: KernelSetting) -> Self {
        let trials = vec![SettingTrial { setting, pearson: -2.0 }];
        Self { mixture, features, trials, fields: None, gradients: None }
    }

    /// Returns the best setting.
    pub(super) fn setting(&self) -> KernelSetting {
        SettingTrial::best(&self.trials)
    }

    /// Returns the validation Pearson of the best setting.
    pub(super) fn pearson(&self) -> f64 {
        SettingTrial::highest(&self.trials)
    }

    pub(super) fn tensors(&self) -> [Tensor; 2] {
        [Tensor::vector(Self::MIXTURE, self.mixture.clone()), SettingTrial::tensor(&self.trials)]
    }

    /// Returns whether a saved state has the trials; states of earlier versions lack some settings.
    pub(super) fn is_in(saved: &[Tensor]) -> bool {
        has(saved, Self::MIXTURE) && has(saved, SettingTrial::TENSOR)
    }

    /// Loads the trials from a saved state, without their solver.
    pub(super) fn load(
        saved: &[Tensor],
        networks: usize,
        features_of: impl Fn(&[f32]) -> KernelFeatures,
        observer: &mut dyn SolveObserver,
    ) -> Result<Self, Error> {
        let mixture = find_vector(saved, Self::MIXTURE, networks)?;
        let trials = SettingTrial::load_all(saved)?;
        for trial in &trials {
            trial.report(observer);
        }
        Ok(Self { features: features_of(&mixture), mixture, trials, fields: None, gradients: None })
    }
}

/// The search for the best setting.
struct SettingSearch {
    fields: ProcessFields,
    records: TrialRecords,
    /// Cells of the validation records that are in the fields, and the other records.
    cells: Vec<FieldCell>,
    elsewhere: GeneSets,
    /// Scores of both, in this order.
    scores: Vec<f64>,
    /// The solver of the best setting so far.
    best: Option<ConjugateGradients>,
}

/// The records that trials use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialRecords {
    All,
    Subset,
}

impl SettingSearch {
    fn new(
        (grid, sets, scores): (&Grid, GeneSetsRef<'_>, &[f32]),
        features: &KernelFeatures,
        val: &Records,
    ) -> Self {
        let known = grid.genes();
        let stride = known.len().div_ceil(TRIAL_GENES).max(1);
        let mut is_left_out = vec![false; features.genes()];
        known.iter().enumerate().for_each(|(i, &gene)| is_left_out[gene as usize] = i % stride > 0);
        let subset = subset(grid, &known, &is_left_out, stride, val);
        let (records, val) = if stride == 1 || subset.scores.len() < TRIAL_RECORDS {
            (TrialRecords::All, val)
        } else {
            (TrialRecords::Subset, &subset)
        };
        let is_used = |gene: u32| records == TrialRecords::All || !is_left_out[gene as usize];
        let fields = ProcessFields::new(grid, sets, scores, features, is_used);
        let (mut cells, mut elsewhere) = (Vec::new(), GeneSets::default());
        let (mut scores, mut other_scores) = (Vec::new(), Vec::new());
        for (set, &score) in val.sets.view().iter().zip(&val.scores) {
            if let Some(cell) = fields.cell(grid, set) {
                cells.push(cell);
                scores.push(score);
            } else {
                elsewhere.push(set);
                other_scores.push(score);
            }
        }
        scores.extend(other_scores);
        Self { fields, records, cells, elsewhere, scores, best: None }
    }

    /// Tries all noises for each nugget, in the direction in which validation improves; then the weights of single genes.
    fn run(
        &mut self,
        features: &KernelFeatures,
        grid: &Grid,
        observer: &mut dyn SolveObserver,
    ) -> Vec<SettingTrial> {
        let mut trials = Vec::new();
        let single = if self.fields.triples.is_some() { SINGLE } else { 0.0 };
        self.try_noises((1.0, single), features, grid, &mut trials, observer);
        for step in [NUGGET_STEP, 1.0 / NUGGET_STEP] {
            let (mut nugget, mut taken) = (1.0, 0);
            while taken < MAX_NUGGET_STEPS {
                nugget *= step;
                if !self.try_noises((nugget, single), features, grid, &mut trials, observer) {
                    break;
                }
                taken += 1;
            }
            if taken > 0 {
                break;
            }
        }
        if self.fields.triples.is_some() {
            let nugget = SettingTrial::best(&trials).nugget;
            for single in OTHER_SINGLES {
                self.try_noises((nugget, single), features, grid, &mut trials, observer);
            }
        }
        trials
    }

    /// Returns the fields and the solver of the best setting, if they have all records.
    fn into_solver(self) -> (Option<ProcessFields>, Option<ConjugateGradients>) {
        match self.records {
            TrialRecords::All => (Some(self.fields), self.best),
            TrialRecords::Subset => (None, None),
        }
    }

    /// Tries all noises; returns whether validation improved enough to continue in this direction.
    fn try_noises(
        &mut self,
        (nugget, single): (f32, f32),
        features: &KernelFeatures,
        grid: &Grid,
        trials: &mut Vec<SettingTrial>,
        observer: &mut dyn SolveObserver,
    ) -> bool {
        self.fields.set(features, nugget, single);
        let before = SettingTrial::highest(trials);
        let cells = &self.cells;
        let read = |fields: &ProcessFields| cells.iter().map(|&cell| fields.last_product(cell)).collect();
        let shifted = ShiftedConjugateGradients::solve(&mut self.fields, &NOISES, TRIAL_STEPS, read);
        for (i, noise) in NOISES.into_iter().enumerate() {
            let mut predictions: Vec<f64> = shifted.predictions(i).into_iter().map(f64::from).collect();
            // There was no step if all targets are 0.
            predictions.resize(self.cells.len(), 0.0);
            if !self.elsewhere.is_empty() {
                let (solution, sets) = (shifted.solution(i), self.elsewhere.view());
                predictions.extend(self.fields.predict(&solution, features, grid, sets));
            }
            let pearson = pearson(&predictions, &self.scores).unwrap_or(-2.0);
            if self.records == TrialRecords::All && pearson > SettingTrial::highest(trials) {
                self.best = Some(shifted.solver(i));
            }
            trials.push(SettingTrial { setting: KernelSetting { nugget, noise, single }, pearson });
            observer.on_step("network kernel, settings", trials.len());
        }
        let first = trials.len() - NOISES.len();
        let best = SettingTrial::best(&trials[first..]);
        trials[first..].iter().filter(|trial| trial.setting == best).for_each(|trial| trial.report(observer));
        SettingTrial::highest(trials) > before + MIN_GAIN
    }
}

/// Returns the validation records for trials with every k-th gene.
///
/// Records of known genes become fewer because their genes do. An equal share of the others is taken; otherwise the settings would be
/// chosen for new genes.
fn subset(grid: &Grid, known: &[u32], is_left_out: &[bool], stride: usize, val: &Records) -> Records {
    let mut counts = [0_usize; 3];
    let mut is_sampled = |strides: usize| {
        counts[strides] += 1;
        counts[strides].is_multiple_of(stride.pow(strides as u32))
    };
    let is_new = |gene: u32| known.binary_search(&gene).is_err();
    let mut subset = Records::default();
    for (set, &score) in val.sets.view().iter().zip(&val.scores) {
        let is_kept = match (set.len(), grid.split_triple(set)) {
            // Only the array gene of a triple matters: all query pairs are used.
            (_, Some((_, array))) if is_new(array) => is_sampled(1),
            (_, Some((_, array))) => !is_left_out[array as usize],
            (3, None) => is_sampled(1),
            _ => {
                let new = set.iter().filter(|&&gene| is_new(gene)).count();
                !set.iter().any(|&gene| is_left_out[gene as usize]) && is_sampled(new.min(2))
            }
        };
        if is_kept {
            subset.sets.push(set);
            subset.scores.push(score);
        }
    }
    // New query pairs are summed record by record, which is slow; pairs are looked up.
    if grid.pair_rows().next().is_some() {
        subset = every_kth(&subset, subset.scores.len().div_ceil(2 * TRIAL_RECORDS).max(1));
    }
    subset
}

/// Returns every k-th record.
fn every_kth(records: &Records, k: usize) -> Records {
    let mut chosen = Records::default();
    for (set, &score) in records.sets.view().iter().zip(&records.scores).step_by(k) {
        chosen.sets.push(set);
        chosen.scores.push(score);
    }
    chosen
}
