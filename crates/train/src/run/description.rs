//! What a run says of itself: its manifest and its configuration, and through them its dataset and split.

use super::{Manifest, RunError, RunFolder};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::fit::FitError;
use crate::predictor::Predictor;
use knockout_model::ModelEntry;
use knockout_screen::{Dataset, Part, Split};
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
        self.open_dataset_at(self.dataset_folder()?)
    }

    /// The same for a dataset that moved to `folder`.
    pub fn open_dataset_at(&self, folder: &Path) -> Result<(Arc<Dataset>, Arc<Split>), RunError> {
        let dataset = Dataset::open(folder)?;
        if dataset.manifest.data_hash() != self.manifest.inputs.dataset {
            let (dataset, run) = (folder.to_owned(), self.folder.clone());
            return Err(RunError::OtherDataset { dataset, run });
        }
        self.config.check(&dataset.cell)?;
        let split = self.split(&dataset)?;
        Ok((Arc::new(dataset), Arc::new(split)))
    }

    /// Makes the run's split of its dataset.
    pub fn split(&self, dataset: &Dataset) -> Result<Split, RunError> {
        Ok(Split::new(&dataset.samples, dataset.cell.genes(), self.config.split_spec())?)
    }

    /// A predictor of one of its checkpoints. Those of earlier versions do not describe their model; the run does.
    pub fn predictor(
        &self,
        checkpoint: &Checkpoint,
        dataset: &Dataset,
        split: &Split,
    ) -> Result<Predictor, RunError> {
        checkpoint
            .state
            .identity
            .check(&self.config.identity(&dataset.cell.genes().hash().to_hex()))
            .map_err(FitError::from)?;
        let labels = dataset.samples.label_stats(split.rows(Part::Train)).ok_or(FitError::ConstantScores)?;
        Ok(Predictor::with_labels(checkpoint, &self.config, labels, &dataset.cell)?)
    }
}
