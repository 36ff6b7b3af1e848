//! Why runs could not be made or set beside each other.

use knockout_base::error::{Class, Classified, class_of_path};
use knockout_train::checkpoint::{CheckpointError, Difference};
use knockout_train::config::ConfigError;
use knockout_train::predictions::PredictionsError;
use knockout_train::predictor::PredictorError;
use knockout_train::run::{RunError, RunFolderError};
use std::io;
use std::path::PathBuf;

/// Runs that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// A run that cannot begin or go on.
    #[error("the run in {}", folder.display())]
    Run {
        /// Folder of the run.
        folder: PathBuf,
        /// Cause.
        source: Box<RunError>,
    },
    /// The folder of a run holds another one.
    #[error(
        "{} holds another run; choose another --out, or move it away: {}",
        folder.display(),
        differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    OtherRun {
        /// Folder of the run.
        folder: PathBuf,
        /// In what they differ.
        differences: Vec<Difference>,
    },
    /// The folder holds what another command began.
    #[error("{} was begun with {key} {found}, and {asked} is asked for now; choose another --out", folder.display())]
    OtherPlan {
        /// Folder of the sweep or benchmark.
        folder: PathBuf,
        /// Name of the setting that differs.
        key: &'static str,
        /// What it was begun with.
        found: String,
        /// What is asked for.
        asked: String,
    },
    /// A file beside the runs is not what was written.
    #[error("{} cannot be read ({source}); move it away to make it again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Position and cause of the syntax error.
        source: serde_json::Error,
    },
    /// A file or folder that cannot be made or read.
    #[error("{}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No such model or baseline.
    #[error("there is no model or baseline {name:?}; choose from {}", known.join(", "))]
    UnknownModel {
        /// The name given.
        name: String,
        /// Names of all models and baselines.
        known: Vec<&'static str>,
    },
    /// Nothing that could be trained is left.
    #[error("no model can be trained: {}", reasons.join("; "))]
    NoModel {
        /// Why, by model.
        reasons: Vec<String>,
    },
    /// A model without settings to search.
    #[error(
        "{name} is solved and chooses its settings itself on the validation part; there is nothing to sweep"
    )]
    NothingToSweep {
        /// Name of the model.
        name: &'static str,
    },
    /// Settings of a sweep that cannot be read.
    #[error("{text:?}: {why}")]
    Setting {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The samples cannot be divided.
    #[error("cannot split {}", dataset.display())]
    Split {
        /// Folder of the dataset.
        dataset: PathBuf,
        /// Cause.
        source: knockout_base::error::Error,
    },
    /// The dataset cannot be opened, or a file cannot be written.
    #[error(transparent)]
    Base(#[from] knockout_base::error::Error),
    /// A configuration cannot be carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run's metrics cannot be read.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    /// A checkpoint cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint cannot predict.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// Predictions cannot be written or used.
    #[error(transparent)]
    Predictions(#[from] PredictionsError),
}

impl Classified for TrialError {
    fn class(&self) -> Class {
        match self {
            Self::Run { source, .. } => source.class(),
            Self::OtherRun { .. }
            | Self::OtherPlan { .. }
            | Self::UnknownModel { .. }
            | Self::NoModel { .. }
            | Self::NothingToSweep { .. }
            | Self::Setting { .. }
            | Self::Split { .. } => Class::Request,
            Self::Damaged { .. } => Class::Damage,
            Self::Io { source, .. } => class_of_path(source.kind()),
            Self::Base(error) => error.class(),
            Self::Config(error) => error.class(),
            Self::Folder(error) => error.class(),
            Self::Checkpoint(error) => error.class(),
            Self::Predictor(error) => error.class(),
            Self::Predictions(error) => error.class(),
        }
    }
}
