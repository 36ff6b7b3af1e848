//! What a solved model is given, what it gives, and what can go wrong.

use crate::tensor::Tensor;
use knockout_base::error::{Class, Classified};
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Deleted genes and their scores.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The deleted genes of each record, ascending.
    pub sets: GeneSets,
    /// Their scores.
    pub scores: Vec<f64>,
}

/// What a model is solved for.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The genes and their networks.
    pub cell: &'a Cell,
    /// What is fitted to.
    pub train: &'a Records,
    /// What settings are chosen on.
    pub val: &'a Records,
}

impl Problem<'_> {
    /// Refuses what nothing can be learnt from.
    pub fn check(&self) -> Result<(), SolveError> {
        let is_constant = |scores: &[f64]| scores.windows(2).all(|pair| pair[0] == pair[1]);
        if self.train.scores.is_empty() {
            return Err(SolveError::NoTraining);
        }
        if is_constant(&self.train.scores) {
            return Err(SolveError::ConstantScores);
        }
        if self.val.scores.len() < 2 || is_constant(&self.val.scores) {
            return Err(SolveError::NoValidation { count: self.val.scores.len() });
        }
        Ok(())
    }
}

/// A setting that was tried on the validation part: what a progress line and a metrics file tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// What was tried, such as `lambda 12.3, rank 40`.
    pub tried: String,
    /// Pearson correlation on the validation part.
    pub validation_pearson: Option<f64>,
}

/// Something that was chosen or found, to be reported: a name and a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What it is, such as `low_rank.lambda`.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl Choice {
    pub(crate) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// Whoever watches a solution being found, and keeps what was found so far.
pub trait Watch {
    /// Hears of every setting that was tried.
    fn stage(&mut self, _stage: Stage) {}

    /// Hears of every step of something long: what it is, and which step.
    fn step(&mut self, _what: &str, _step: usize) {}

    /// Whether it is time to keep what was found so far.
    fn wants_state(&mut self) -> bool {
        false
    }

    /// Keeps the state of a part of the work, in the place of the one before.
    fn keep(&mut self, _part: &'static str, _state: Vec<Tensor>) {}

    /// The state that was kept of a part, by this process or by one before it that was given the same problem.
    fn kept(&mut self, _part: &'static str) -> Option<Vec<Tensor>> {
        None
    }
}

/// Nobody.
impl Watch for () {}

/// A solved model.
pub trait Solution: Send + Sync {
    /// Predictions in the scores' units, one for each set of deleted genes.
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64>;

    /// The standard deviation of a new measurement around each prediction, where the model has one.
    fn deviations(&self, _sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        None
    }

    /// How many of these deviations hold 95 % of new measurements; one holds 68 %.
    fn wide_interval(&self) -> Option<f64> {
        None
    }

    /// Everything that [`SolvedOptions::load`] needs beside the options and the cell.
    fn tensors(&self) -> Vec<Tensor>;

    /// What was chosen on the way, and how exact the solution is.
    fn choices(&self) -> Vec<Choice>;
}

/// Options of a solved model: the keys `model.*` of a configuration.
pub trait SolvedOptions:
    Serialize + DeserializeOwned + Default + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Name on the command line, in configurations and in reports.
    const NAME: &'static str;
    /// One line for `--help`.
    const SUMMARY: &'static str;

    /// Checks what can be checked before anything is computed.
    fn check(&self, cell: &Cell) -> Result<(), SolveError>;

    /// What it takes from beyond the screen and the networks, by name: whoever reads its figures should know, because annotations may have been
    /// inferred from the very interactions that are predicted.
    fn prior_knowledge(&self) -> Vec<String> {
        Vec::new()
    }

    /// Solves for the training part.
    fn solve(&self, problem: Problem<'_>, watch: &mut dyn Watch) -> Result<Box<dyn Solution>, SolveError>;

    /// A solution from what [`Solution::tensors`] gave, bit for bit.
    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError>;
}

/// Why there is no solution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// Nothing to fit to.
    #[error("the training part has no samples")]
    NoTraining,
    /// Nothing to choose settings on.
    #[error(
        "no setting can be chosen on a validation part of {count} sample{} or of equal scores; raise split.val",
        if *count == 1 { "" } else { "s" }
    )]
    NoValidation {
        /// Records of the part.
        count: usize,
    },
    /// Nothing to explain.
    #[error("all training scores are equal: there is nothing to explain")]
    ConstantScores,
    /// The ridge's equations were not solved.
    #[error(
        "the ridge with alpha {alpha} was not solved after {iterations} steps (relative residual {residual:e}); \
         are the scores of very different size?"
    )]
    NotConverged {
        /// The strength of the penalty.
        alpha: f64,
        /// Steps taken.
        iterations: usize,
        /// What was left.
        residual: f64,
    },
    /// A value out of range.
    #[error("model.{key} is {value}, but {rule}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it has to be.
        rule: &'static str,
    },
    /// A network, annotations or a feature that the dataset does not have.
    #[error("the dataset has no {what} {name:?}; {}", there_are(have))]
    NotInDataset {
        /// The kind of thing.
        what: &'static str,
        /// The name configured.
        name: String,
        /// The names there are.
        have: Vec<String>,
    },
    /// A matrix that would not fit.
    #[error(
        "{rows} x {columns} matrices are needed, {needed_mib} MiB in all, more than model.memory_mib={limit_mib}; raise it, or \
         use fewer genes"
    )]
    TooLarge {
        /// Rows of the largest.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// What all of them need.
        needed_mib: usize,
        /// What is allowed.
        limit_mib: usize,
    },
    /// A stored solution of other shapes.
    #[error("the stored solution has no tensor {name} of the right shape")]
    Tensor {
        /// The tensor.
        name: String,
    },
}

/// The names there are, or how they get there.
fn there_are(names: &[String]) -> String {
    if names.is_empty() {
        "it has none (`knockout data import` takes them in)".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    }
}

impl Classified for SolveError {
    fn class(&self) -> Class {
        match self {
            Self::OutOfRange { .. }
            | Self::NotInDataset { .. }
            | Self::NoValidation { .. }
            | Self::TooLarge { .. } => Class::Request,
            Self::Tensor { .. } => Class::Damage,
            Self::NoTraining | Self::ConstantScores | Self::NotConverged { .. } => Class::Failure,
        }
    }
}
