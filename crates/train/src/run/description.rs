//! What a run says of itself: its manifest and its configuration, and through them its dataset and split.

use super::{Manifest, RunError, RunFolder};
use crate::config::Config;
use knockout_model::ModelEntry;
use knockout_screen::{Dataset, Split};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run's folder as it describes itself; also of a run that another process is training.
#[derive(Debug)]
pub struct RunDescription {
    folder: PathBuf,
    /// Where and with what it was started.
    pub manifest: Manifest,
    /// Its configuration.
    pub config: Config,
}

impl RunDescription {
    /// Reads a run's description, with overrides that do not touch its numbers. Its model is one of `models`.
    pub fn read<S: AsRef<str>>(
        folder: &Path,
        overrides: &[S],
        models: &[ModelEntry],
    ) -> Result<Self, RunError> {
        let manifest = RunFolder::read_manifest(folder)?;
        let text = RunFolder::read_config(folder)?;
        let config = Config::from_toml(&text, models)
            .map_err(|source| RunError::OtherVersion { path: folder.join("config.toml"), source })?;
        Ok(Self { folder: folder.to_owned(), manifest, config: config.with(overrides)? })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the dataset was when the run began.
    pub fn dataset_folder(&self) -> Result<&Path, RunError> {
        self.manifest
            .conditions
            .get("dataset_folder")
            .map(Path::new)
            .ok_or_else(|| RunError::NoDataset { manifest: self.folder.join("manifest.json") })
    }

    /// Opens the run's dataset, which must have the contents that it was trained on, and makes its split.
    pub fn open_dataset(&self) -> Result<(Arc<Dataset>, Arc<Split>), RunError> {
        let folder = self.dataset_folder()?;
        let dataset = Dataset::open(folder)?;
        if dataset.manifest.data_hash() != self.manifest.inputs.dataset {
            let (dataset, run) = (folder.to_owned(), self.folder.clone());
            return Err(RunError::OtherDataset { dataset, run });
        }
        self.config.check(&dataset.cell)?;
        let split = Split::new(&dataset.samples, dataset.cell.genes(), self.config.split_spec())?;
        Ok((Arc::new(dataset), Arc::new(split)))
    }
}
