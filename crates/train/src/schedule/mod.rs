//! Schedules over epochs: the learning rate, the number of accumulated batches, whether to continue.
//!
//! Every schedule is a value: it can be saved in the middle of a run and resumed exactly. It depends on neither the optimiser,
//! the loader nor the clock.

mod accumulation;
mod cosine;
mod plateau;
mod stopping;

pub use accumulation::{Accumulation, AccumulationGroup, GroupEnd};
pub use cosine::{Cosine, CosineOptions};
pub use plateau::{Plateau, PlateauOptions};
pub use stopping::{Best, Better, EarlyStopping, Improvement};

use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// A learning rate by epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "name")]
pub enum LearningRate {
    /// Constant over all epochs.
    Constant {
        /// Learning rate of every epoch.
        #[serde(with = "crate::exact")]
        rate: f64,
    },
    /// Cosine annealing with warm-up and restarts.
    Cosine(Cosine),
    /// Lowered where the monitored value no longer improves.
    Plateau(Plateau),
}

impl LearningRate {
    /// Creates a constant rate.
    pub fn constant(rate: f64) -> Result<Self> {
        positive("learning_rate", rate)?;
        Ok(Self::Constant { rate })
    }

    /// Refuses a schedule that cannot be resumed, such as one from a damaged file.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Constant { rate } => positive("learning_rate", *rate),
            Self::Cosine(cosine) => cosine.check(),
            Self::Plateau(plateau) => plateau.check(),
        }
    }

    /// The rate in force.
    pub fn rate(&self) -> f64 {
        match self {
            Self::Constant { rate } => *rate,
            Self::Cosine(cosine) => cosine.rate(),
            Self::Plateau(plateau) => plateau.rate(),
        }
    }

    /// Ends an epoch, after its validation: `monitored` is the value that a plateau watches (NaN where it is undefined).
    pub fn end_epoch(&mut self, monitored: f64) {
        match self {
            Self::Constant { .. } => {}
            Self::Cosine(cosine) => cosine.end_epoch(),
            Self::Plateau(plateau) => plateau.observe(monitored),
        }
    }
}

/// Refuses a value of a schedule: `rule` states what it must be.
pub(crate) fn refuse(key: &str, value: impl Display, rule: &str) -> Result<()> {
    Err(Error::request(format!("the schedule's {key} (optimiser.*) is {value}, but {rule}")))
}

fn positive(key: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { refuse(key, value, "it must be a number above 0") }
}

fn not_negative(key: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        refuse(key, value, "it must be a number from 0 up")
    }
}
