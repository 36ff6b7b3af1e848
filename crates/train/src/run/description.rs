//! What a run says of itself: its manifest and its configuration, and through them its dataset and split.

use super::sources::Sources;
use super::{Manifest, RunError, RunFolder};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::fit::FitError;
use crate::predictor::Predictor;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::ModelEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The split of a run, in its folder.
pub(crate) const SPLIT_FILE: &str = "split.parquet";

/// A run's folder as it describes itself; also of a run that another process is training.
#[derive(Debug)]
pub struct RunDescription {
    folder: PathBuf,
    /// Where the dataset is now, if not where it was.
    dataset_now: Option<PathBuf>,
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
        RunFolder::verify(folder)?;
        let text = RunFolder::read_config(folder)?;
        let config = Config::from_toml(&text, models)
            .map_err(|source| RunError::OtherVersion { path: folder.join("config.toml"), source })?;
        let changed = config.with(overrides)?;
        // What a run is was decided when it began, whether or not it has a checkpoint yet.
        let genes = &manifest.inputs.gene_table;
        let differences = config.identity(genes).differences(&changed.identity(genes));
        if !differences.is_empty() {
            return Err(RunError::OtherSettings { run: folder.to_owned(), differences });
        }
        Ok(Self { folder: folder.to_owned(), dataset_now: None, manifest, config: changed })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same run with its dataset in another folder: runs and datasets move.
    #[must_use]
    pub fn with_dataset(mut self, folder: &Path) -> Self {
        self.dataset_now = Some(folder.to_owned());
        self
    }

    /// Where the dataset is: as told, or where it was when the run began.
    pub fn dataset_folder(&self) -> Result<&Path, RunError> {
        let then = self.manifest.conditions.get("dataset_folder").map(Path::new);
        self.dataset_now
            .as_deref()
            .or(then)
            .ok_or_else(|| RunError::NoDataset { manifest: self.folder.join("manifest.json") })
    }

    /// Opens the run's dataset, which must have the contents that it was trained on, and makes its split.
    pub fn open_dataset(&self) -> Result<(Arc<Dataset>, Arc<Split>), RunError> {
        let folder = self.dataset_folder()?;
        if self.dataset_now.is_none() && !folder.exists() {
            return Err(RunError::DatasetGone { dataset: folder.to_owned(), run: self.folder.clone() });
        }
        let dataset = Dataset::open(folder)?;
        if dataset.manifest.data_hash() != self.manifest.inputs.dataset {
            let (dataset, run) = (folder.to_owned(), self.folder.clone());
            return Err(RunError::OtherDataset { dataset, run });
        }
        self.config.check(&dataset.cell)?;
        let split = self.split_of(&dataset)?;
        Ok((Arc::new(dataset), Arc::new(split)))
    }

    /// The split that the run is trained by, of its dataset.
    pub fn split_of(&self, dataset: &Dataset) -> Result<Split, RunError> {
        match self.split_file() {
            None => Ok(self.config.split(dataset)?),
            // The run's own copy: the file that it was given may be gone or changed.
            Some(file) => Ok(Split::load(&self.folder.join(file), &dataset.manifest)?),
        }
    }

    /// The run's own copy of its split in its folder, where it was given one that no recipe makes again.
    pub fn split_file(&self) -> Option<&'static Path> {
        (!self.config.split.file.is_empty()).then_some(Path::new(SPLIT_FILE))
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
        // Of what the model was trained on, which may be what another run leaves of the scores.
        let labels = match &checkpoint.state.card {
            Some(card) => Some(card.labels()),
            None => dataset.samples.label_stats(split.rows(Part::Train)),
        };
        let labels = labels.filter(|labels| labels.sd > 0.0).ok_or(FitError::ConstantScores)?;
        let own = Predictor::with_labels(checkpoint, &self.config, labels, &dataset.cell)?;
        let sources = Sources::kept(&self.config.from, &self.folder)?;
        Ok(own.upon(checkpoint, &self.config, &dataset.cell, &sources)?)
    }
}
