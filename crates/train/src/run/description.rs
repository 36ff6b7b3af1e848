//! The description of a run in its folder: manifest and configuration, and through them its dataset and split.

use super::manifest::DATASET_FOLDER;
use super::{RunFolder, RunManifest};
use crate::checkpoint::Checkpoint;
use crate::config::{Config, IdentityDifference};
use crate::fit::constant_scores;
use crate::predictor::{BaseRuns, Predictor};
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::files::Folder;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::ModelEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The split of a run, in its folder.
pub(crate) const SPLIT_FILE: &str = "split.parquet";

/// The manifest and configuration of a run; also of one that another process is training.
#[derive(Debug)]
pub struct RunDescription {
    folder: Folder,
    /// Folder of the dataset, if it was moved.
    dataset_now: Option<PathBuf>,
    /// Where and with what it was started.
    pub manifest: RunManifest,
    /// Its configuration.
    pub config: Config,
}

impl RunDescription {
    /// Reads a run's description, with overrides that do not change its results. Its model is one of `models`.
    pub fn read<S: AsRef<str>>(
        folder: impl Into<Folder>,
        overrides: &[S],
        models: &[ModelEntry],
    ) -> Result<Self> {
        let folder = folder.into();
        let manifest = RunFolder::read_manifest(&folder)?;
        RunFolder::verify(&folder)?;
        let text = RunFolder::read_config(&folder)?;
        let config = Config::from_toml(&text, models).map_err(|error| {
            let path = folder.path().join("config.toml");
            Error::request(format!("{} is not a configuration of this version: {error}", path.display()))
                .caused_by(error)
        })?;
        let changed = config.with(overrides)?;
        // The identity of a run is fixed at its start, with or without a checkpoint.
        let genes = &manifest.inputs.gene_table;
        let differences = config.identity(genes).differences(&changed.identity(genes));
        if !differences.is_empty() {
            let fixed: Vec<String> = differences.iter().map(fixed).collect();
            let (run, fixed) = (folder.path().display(), fixed.join(", "));
            let message = format!("cannot resume {run}: {fixed}; start a new run to change it");
            return Err(Error::request(message));
        }
        Ok(Self { folder, dataset_now: None, manifest, config: changed })
    }

    /// Path of the run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The run's folder.
    pub fn files(&self) -> &Folder {
        &self.folder
    }

    /// Sets the present folder of the dataset.
    #[must_use]
    pub fn with_dataset(mut self, folder: &Path) -> Self {
        self.dataset_now = Some(folder.to_owned());
        self
    }

    /// Returns the folder of the dataset: the given one, or that at the start of the run.
    pub fn dataset_folder(&self) -> Result<&Path> {
        let then = self.manifest.conditions.get(DATASET_FOLDER).map(Path::new);
        self.dataset_now.as_deref().or(then).ok_or_else(|| {
            let manifest = self.folder().join("manifest.json");
            Error::request(format!("{} lacks the path of its dataset", manifest.display()))
        })
    }

    /// Opens the run's dataset, which must have the contents that it was trained on, and makes its split.
    pub fn open_dataset(&self) -> Result<(Arc<Dataset>, Arc<Split>)> {
        let folder = self.dataset_folder()?;
        if self.dataset_now.is_none() && !folder.exists() {
            let (dataset, run) = (folder.display(), self.folder().display());
            return Err(Error::request(format!(
                "{dataset} is gone, on which {run} was trained; pass its present folder with --data DIR"
            )));
        }
        let dataset = Dataset::open(folder)?;
        if dataset.manifest.data_hash() != self.manifest.inputs.dataset {
            return Err(other_dataset(folder, self.folder()));
        }
        self.config.check(&dataset.cell)?;
        let split = self.split_of(&dataset)?;
        Ok((Arc::new(dataset), Arc::new(split)))
    }

    /// Returns the run's split of its dataset.
    pub fn split_of(&self, dataset: &Dataset) -> Result<Split> {
        match self.split_file() {
            None => self.config.split.apply(dataset),
            // The copy in the run's folder: the original file may be gone or changed.
            Some(file) => {
                Split::decode(self.folder.read(file)?, &dataset.manifest).in_file(self.folder().join(file))
            }
        }
    }

    /// Returns the path of the split's copy in the run's folder, if no recipe reproduces the split.
    pub fn split_file(&self) -> Option<&'static Path> {
        (!self.config.split.file.is_empty()).then_some(Path::new(SPLIT_FILE))
    }

    /// Returns a predictor of one of its checkpoints. Those of earlier versions lack the description of the model, which is
    /// then taken from the run.
    pub fn predictor(&self, checkpoint: &Checkpoint, dataset: &Dataset, split: &Split) -> Result<Predictor> {
        let here = self.config.identity(&dataset.cell.genes().hash().to_hex());
        checkpoint.state.identity.check(&here)?;
        // Statistics of the training targets, which may be the residuals of another run.
        let labels = match &checkpoint.state.card {
            Some(card) => Some(card.labels()),
            None => dataset.samples.label_stats(split.rows(Part::Train)),
        };
        let labels = labels.filter(|labels| labels.sd > 0.0).ok_or_else(constant_scores)?;
        let own = Predictor::with_labels(checkpoint, &self.config, labels, &dataset.cell)?;
        let base_runs = BaseRuns::kept(&self.config.from, &self.folder)?;
        own.with_base_runs(checkpoint, &self.config, &dataset.cell, &base_runs)
    }
}

/// Returns the error of a dataset that a run was not trained on.
pub fn other_dataset(dataset: &Path, run: &Path) -> Error {
    let (dataset, run) = (dataset.display(), run.display());
    Error::request(format!("{dataset} is not the dataset that {run} was trained on (its contents differ)"))
}

fn fixed(difference: &IdentityDifference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!(
        "{} is fixed at {} (got {})",
        difference.key,
        side(&difference.checkpoint),
        side(&difference.here)
    )
}
