//! Why a run cannot begin or go on.

use super::{RunFolderError, SourceError};
use crate::checkpoint::{CheckpointError, Difference};
use crate::config::{ConfigError, SplitOptionsError};
use crate::fit::FitError;
use crate::predictor::PredictorError;
use crate::stores::RunStoreError;
use knockout_base::error::{Class, Classified, Error};
use knockout_ranks::WorldError;
use std::path::PathBuf;

/// A run that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder cannot be made, opened or written.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    /// The configuration cannot be read or carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration in a run's folder is of another version.
    #[error("{} is no configuration of this version: {source}", path.display())]
    OtherVersion {
        /// Path of the configuration.
        path: PathBuf,
        /// Why it cannot be read.
        source: ConfigError,
    },
    /// An override would make another run of it.
    #[error(
        "{} was begun with other settings, which decide its numbers; begin a new run for these: {}",
        run.display(),
        differences.iter().map(said).collect::<Vec<_>>().join(", ")
    )]
    OtherSettings {
        /// The run's folder.
        run: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// The run was begun with other instructions of the CPU, which this machine has too.
    #[error(
        "{} was begun with the instruction set {began}, and {here} rounds differently; set KNOCKOUT_ISA={began} to resume to the same bits",
        run.display()
    )]
    OtherInstructions {
        /// The run's folder.
        run: PathBuf,
        /// The instruction set that it was begun with.
        began: &'static str,
        /// The one in use.
        here: &'static str,
    },
    /// The ranks could not go on together.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The dataset cannot be opened, the split cannot be written, or the model cannot be solved.
    #[error(transparent)]
    Data(#[from] Error),
    /// The dataset's path cannot be written down.
    #[error("the path {} is not UTF-8, and a run could not find its dataset again; rename it", dataset.display())]
    NotText {
        /// The dataset's folder.
        dataset: PathBuf,
    },
    /// The run does not say where its dataset is.
    #[error("{} does not say where its dataset is", manifest.display())]
    NoDataset {
        /// The run's manifest.
        manifest: PathBuf,
    },
    /// The dataset is another one than the run was trained on.
    #[error("{} is not the dataset that {} was trained on (its contents differ)", dataset.display(), run.display())]
    OtherDataset {
        /// The dataset's folder.
        dataset: PathBuf,
        /// The run's folder.
        run: PathBuf,
    },
    /// The dataset is no longer where the run found it.
    #[error(
        "{} is gone, on which {} was trained; say where the dataset is now with --data DIR", dataset.display(), run.display()
    )]
    DatasetGone {
        /// Where it was.
        dataset: PathBuf,
        /// The run's folder.
        run: PathBuf,
    },
    /// The samples cannot be divided as configured.
    #[error(transparent)]
    Split(#[from] SplitOptionsError),
    /// A store of precomputed deletions cannot be used.
    #[error(transparent)]
    Store(#[from] RunStoreError),
    /// Training cannot begin or go on.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A checkpoint cannot predict.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// A checkpoint cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A run that this one builds on.
    #[error(transparent)]
    Source(#[from] SourceError),
}

fn said(difference: &Difference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!(
        "{} ({} there, {} asked for)",
        difference.key,
        side(&difference.checkpoint),
        side(&difference.here)
    )
}

impl Classified for RunError {
    fn class(&self) -> Class {
        match self {
            Self::Config(_)
            | Self::OtherSettings { .. }
            | Self::OtherInstructions { .. }
            | Self::NotText { .. }
            | Self::OtherVersion { .. }
            | Self::NoDataset { .. }
            | Self::OtherDataset { .. }
            | Self::DatasetGone { .. } => Class::Request,
            Self::Split(error) => error.class(),
            Self::Folder(error) => error.class(),
            Self::Data(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Fit(error) => error.class(),
            Self::Checkpoint(error) => error.class(),
            Self::Predictor(error) => error.class(),
            Self::Source(error) => error.class(),
            Self::World(error) => error.class(),
        }
    }
}
