//! Copies of the checkpoints that a run builds on.
//!
//! ```text
//! RUN/from/residuals_of/    a copy of the checkpoint; the base runs of that run are in its own `from`
//!          start/
//!          with-0/
//! ```
//!
//! A run stays whole when its base runs are moved or removed. The hash of their weights is part of its identity.

use super::Predictor;
use crate::checkpoint::{self, Checkpoint};
use crate::config::{FromOptions, with_name};
use crate::context::at;
use knockout_base::error::{Error, Result};
use knockout_data::cell::Cell;
use knockout_models::MODELS;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the copies in a run's folder.
pub const BASE_RUNS: &str = "from";

/// Checkpoints of the runs that a run builds on, by the names of their copies.
#[derive(Debug, Default)]
pub struct BaseRuns {
    found: BTreeMap<String, BaseRun>,
}

#[derive(Debug)]
struct BaseRun {
    /// Folder of the checkpoint.
    path: PathBuf,
    /// Folder of the copies that this run itself builds on.
    own_base_runs: PathBuf,
    checkpoint: Checkpoint,
}

impl BaseRuns {
    /// Adds a checkpoint of a run under the name of its copy.
    pub(crate) fn insert(&mut self, name: String, path: PathBuf, run: &Path, checkpoint: Checkpoint) {
        let own_base_runs = run.join(BASE_RUNS);
        self.found.insert(name, BaseRun { path, own_base_runs, checkpoint });
    }

    /// Reads the copies in a run's folder, which must be unchanged.
    pub fn kept(options: &FromOptions, folder: &Path) -> Result<Self> {
        let mut base_runs = Self::default();
        for (name, _) in options.named() {
            let copy = folder.join(BASE_RUNS).join(&name);
            let checkpoint = checkpoint::load(&copy)?;
            if options.weights.get(&name) != Some(&checkpoint.weights_hash) {
                let copy = copy.display();
                return Err(Error::damage(format!(
                    "{copy} is not what the run began with; the run cannot be used without it"
                )));
            }
            base_runs.insert(name, copy.clone(), &copy, checkpoint);
        }
        Ok(base_runs)
    }

    /// Returns the hashes of the weights, by name.
    pub(crate) fn hashes(&self) -> BTreeMap<String, String> {
        let hash = |(name, run): (&String, &BaseRun)| (name.clone(), run.checkpoint.weights_hash.clone());
        self.found.iter().map(hash).collect()
    }

    /// Returns the checkpoint of one of them.
    pub(crate) fn checkpoint(&self, name: &str) -> Option<&Checkpoint> {
        self.found.get(name).map(|run| &run.checkpoint)
    }

    /// Copies everything into the folder of a run that is being created.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<()> {
        for (name, run) in &self.found {
            let copy = folder.join(BASE_RUNS).join(name);
            copy_folder(&run.path, &copy)?;
            if run.own_base_runs.is_dir() {
                copy_folder(&run.own_base_runs, &copy.join(BASE_RUNS))?;
            }
        }
        Ok(())
    }

    /// Returns a predictor of one of them; `None` if the run does not build on it.
    pub(crate) fn predictor(&self, name: &str, cell: &Cell) -> Result<Option<Predictor>> {
        let open =
            |run: &BaseRun| Predictor::with_base_folder(&run.checkpoint, cell, MODELS, &run.own_base_runs);
        self.found.get(name).map(open).transpose()
    }

    /// Returns predictors of the runs to be stacked, in their order.
    pub(crate) fn stacked(&self, count: usize, cell: &Cell) -> Result<Vec<Predictor>> {
        let one = |index| self.predictor(&with_name(index), cell);
        (0..count).filter_map(|index| one(index).transpose()).collect()
    }
}

/// Copies a folder and all below it. The copy becomes durable when the folder that holds it is committed.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(at("copy", to))?;
    for entry in fs::read_dir(from).map_err(at("copy", from))? {
        let path = entry.map_err(at("copy", from))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(at("copy", &path))?;
        }
    }
    Ok(())
}
