//! The interface of the solved models: the problem, the options, the observer and the solution.

use crate::error::no_training_samples;
use crate::tensor::Tensor;
use knockout_base::error::Error;
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use knockout_data::screen::{Samples, WeightedMean};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt;

/// Sets of deleted genes with their scores.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The deleted genes of each record, ascending.
    pub sets: GeneSets,
    /// The score of each record.
    pub scores: Vec<f64>,
}

impl Records {
    /// Collects the records of some rows, their genes ascending.
    pub fn of(samples: &Samples, rows: &[u32]) -> Self {
        let mut records = Self::default();
        for &row in rows {
            records.sets.push_sorted(samples.genes(row as usize));
            records.scores.push(samples.scores()[row as usize]);
        }
        records
    }

    /// Collects one record for each gene set and kind of some rows: the mean score of its alleles, weighted by how many measurements
    /// each stands for. A prediction is one number for a gene set, so its alleles are one observation. Without stored alleles the
    /// records are those of [`Records::of`].
    pub fn of_sets(samples: &Samples, rows: &[u32]) -> Self {
        if !samples.has_alleles() {
            return Self::of(samples, rows);
        }
        let first = samples.first_alleles();
        let mut record_of: HashMap<u32, usize> = HashMap::with_capacity(rows.len());
        let (mut sets, mut means) = (GeneSets::default(), Vec::<WeightedMean>::new());
        for &row in rows {
            let sample = samples.get(row as usize);
            let record = *record_of.entry(first[row as usize]).or_insert_with(|| {
                sets.push_sorted(sample.genes);
                means.push(WeightedMean::default());
                means.len() - 1
            });
            means[record].add(sample.score, sample.duplicates);
        }
        Self { sets, scores: means.into_iter().map(|mean| mean.value).collect() }
    }
}

/// The input of [`SolvedOptions::solve`].
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The genes and their networks.
    pub cell: &'a Cell,
    /// The records that the model is fitted to.
    pub train: &'a Records,
    /// The records that settings are chosen on.
    pub val: &'a Records,
    /// Choices of a solution of nearly the same records. Settings among them are used as they are instead of being searched.
    pub settings: &'a [Choice],
}

impl<'a> Problem<'a> {
    /// Creates a problem whose settings are all to be chosen.
    pub fn new(cell: &'a Cell, train: &'a Records, val: &'a Records) -> Self {
        Self { cell, train, val, settings: &[] }
    }

    /// Returns a setting that was chosen before.
    pub(crate) fn setting(&self, name: &str) -> Option<f64> {
        self.settings.iter().find(|choice| choice.name == name).map(|choice| choice.value)
    }

    /// Rejects parts that are empty or have equal scores only.
    pub fn check(&self) -> Result<(), Error> {
        let is_constant = |scores: &[f64]| scores.windows(2).all(|pair| pair[0] == pair[1]);
        if self.train.scores.is_empty() {
            return Err(no_training_samples());
        }
        if is_constant(&self.train.scores) {
            return Err(Error::failure("all training scores are equal: there is nothing to explain"));
        }
        let count = self.val.scores.len();
        if count < 2 || is_constant(&self.val.scores) {
            let samples = if count == 1 { "1 sample".to_owned() } else { format!("{count} samples") };
            return Err(Error::request(format!(
                "cannot choose settings on a validation part of {samples} or of equal scores; raise split.val"
            )));
        }
        Ok(())
    }
}

/// A setting that was tried on the validation part.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedSetting {
    /// Description of the setting, such as `low rank, lambda 12.3, rank 40`.
    pub setting: String,
    /// Pearson correlation on the validation part.
    pub validation_pearson: Option<f64>,
}

/// A setting that was chosen or a figure that was computed, with its name in reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Name, such as `low_rank.lambda`.
    pub name: String,
    /// Value.
    pub value: f64,
}

impl Choice {
    pub(crate) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// Receives the progress of a solver and stores its intermediate states.
pub trait SolveObserver {
    /// Called for every setting that was tried.
    fn on_setting(&mut self, _tried: TriedSetting) {}

    /// Called for every step of a long computation, with its name and the number of the step.
    fn on_step(&mut self, _computation: &str, _step: usize) {}

    /// Returns whether the solver should save its state now.
    fn is_save_due(&mut self) -> bool {
        false
    }

    /// Saves the state of a part of the work; replaces the last one of that part.
    fn save(&mut self, _part: &'static str, _state: Vec<Tensor>) {}

    /// Returns the saved state of a part, written by this process or an earlier one for the same problem.
    fn saved(&mut self, _part: &'static str) -> Option<Vec<Tensor>> {
        None
    }
}

/// Ignores all progress.
impl SolveObserver for () {}

/// A training record that was held out, with the prediction of a solution without it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutRecord {
    /// The genes of the pair.
    pub genes: [u32; 2],
    /// Whether each gene was held out with all its records.
    pub is_new: [bool; 2],
    /// The score.
    pub score: f64,
    /// The prediction.
    pub prediction: f64,
    /// Its standard deviation before calibration.
    pub sd: f64,
}

/// A solved model.
pub trait Solution: Send + Sync {
    /// Predicts a score for each set of deleted genes.
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64>;

    /// Returns the standard deviation of a new measurement around each prediction, if the model estimates it. `predictions` are those of
    /// [`predict`](Self::predict), so that no set is predicted twice.
    fn deviations(&self, _sets: GeneSetsRef<'_>, _predictions: &[f64]) -> Option<Vec<f64>> {
        None
    }

    /// Returns how many standard deviations cover 95 % of new measurements; one covers 68 %.
    fn wide_interval(&self) -> Option<f64> {
        None
    }

    /// Returns how many standard deviations cover 95 % of new measurements of each set, given its prediction.
    fn wide_intervals(&self, sets: GeneSetsRef<'_>, _predictions: &[f64]) -> Option<Vec<f64>> {
        self.wide_interval().map(|wide| vec![wide; sets.len()])
    }

    /// Returns training records that the solver held out, where it did.
    fn held_out(&self) -> &[HeldOutRecord] {
        &[]
    }

    /// Returns everything that [`SolvedOptions::load`] needs beside the options and the cell.
    fn tensors(&self) -> Vec<Tensor>;

    /// Returns the chosen settings and the accuracy of the solution.
    fn choices(&self) -> Vec<Choice>;

    /// Returns the terms that add up to the prediction of a set of ascending genes; `None` if the model has no parts.
    fn terms(&self, _set: &[u32]) -> Option<Vec<SumTerm>> {
        None
    }

    /// Returns the measured profiles that the prediction of a set of ascending genes uses, the most similar first.
    fn similar_profiles(&self, _set: &[u32], _train: &Records) -> Vec<SimilarProfile> {
        Vec::new()
    }
}

/// A measured profile that is similar to one of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarProfile {
    /// The gene or the query pair of the set whose profile it resembles.
    pub like: Vec<u32>,
    /// The gene or the query pair of the profile.
    pub genes: Vec<u32>,
    /// The measured set: `genes` in place of `like`, ascending.
    pub set: Vec<u32>,
    /// Correlation of the profiles around the additive part, shrunk if they share few partners.
    pub similarity: f64,
    /// Mean residual of the measured set: its score without the additive part.
    pub residual: f64,
    /// Contribution of the profile to the profile neighbours.
    pub effect: f64,
}

/// A term of a prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SumTerm {
    /// Name of the part, such as `low_rank`.
    pub part: String,
    /// Prediction of the part, around the mean training score if it predicts scores.
    pub value: f64,
    /// Weight of the part.
    pub weight: f64,
    /// Contribution of the part: the product of both.
    pub contribution: f64,
}

impl SumTerm {
    /// Creates the term of a part.
    pub fn new(part: impl Into<String>, value: f64, weight: f64) -> Self {
        Self { part: part.into(), value, weight, contribution: weight * value }
    }
}

/// Options of a solved model: the keys `model.*` of a configuration.
pub trait SolvedOptions:
    Serialize + DeserializeOwned + Default + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Name on the command line, in configurations and in reports.
    const NAME: &'static str;
    /// One line for `--help`.
    const SUMMARY: &'static str;
    /// The setting, as `key=value`, that leaves out what takes the longest.
    const FAST: Option<&'static str> = None;

    /// Checks the options against the cell before anything is computed.
    fn check(&self, cell: &Cell) -> Result<(), Error>;

    /// Returns the names of inputs beyond the screen and the networks. Reports name them, because annotations may have been inferred
    /// from the interactions that are predicted.
    fn prior_knowledge(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the names of the networks that it reads.
    fn networks(&self, _cell: &Cell) -> Vec<String> {
        Vec::new()
    }

    /// Returns the names of the features that it reads, beside covariates.
    fn features(&self, _cell: &Cell) -> Vec<String> {
        Vec::new()
    }

    /// Fits the model to the training part and chooses its settings on the validation part.
    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error>;

    /// Restores a solution from [`Solution::tensors`]; its predictions are the same bit for bit.
    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error>;
}
