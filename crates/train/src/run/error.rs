//! Why a run cannot begin or go on.

use super::RunFolderError;
use crate::checkpoint::CheckpointError;
use crate::config::ConfigError;
use crate::fit::FitError;
use crate::predictor::PredictorError;
use crate::stores::RunStoreError;
use knockout_screen::{DatasetError, SplitError, SplitFileError};
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
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: ConfigError,
    },
    /// The dataset cannot be opened.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
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
    /// The samples cannot be divided as configured.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The split cannot be written.
    #[error(transparent)]
    SplitFile(#[from] SplitFileError),
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
}
