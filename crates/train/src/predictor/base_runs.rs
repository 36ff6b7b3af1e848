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
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::cell::Cell;
use knockout_models::MODELS;
use std::collections::BTreeMap;

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
    folder: Folder,
    /// Folder that holds the copies that this run itself builds on.
    run: Folder,
    checkpoint: Checkpoint,
}

impl BaseRuns {
    /// Adds a checkpoint of a run under the name of its copy.
    pub(crate) fn insert(&mut self, name: String, folder: Folder, run: Folder, checkpoint: Checkpoint) {
        self.found.insert(name, BaseRun { folder, run, checkpoint });
    }

    /// Reads the copies in a run's folder, which must be unchanged.
    pub fn kept(options: &FromOptions, run: &Folder) -> Result<Self> {
        let mut base_runs = Self::default();
        for (name, _) in options.named() {
            let copy = run.below(BASE_RUNS).below(&name);
            let checkpoint = checkpoint::load(&copy)?;
            if options.weights.get(&name) != Some(&checkpoint.weights_hash) {
                let copy = copy.path().display();
                return Err(Error::damage(format!(
                    "{copy} is not what the run began with; the run cannot be used without it"
                )));
            }
            base_runs.insert(name, copy.clone(), copy, checkpoint);
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

    /// Copies everything into the folder of a run that is being created, which becomes durable when it is committed.
    pub(crate) fn copy_to(&self, new: &Folder) -> Result<()> {
        for (name, BaseRun { folder, run, .. }) in &self.found {
            let copy = new.below(BASE_RUNS).below(name);
            folder.copy_to(&copy)?;
            if run.has(BASE_RUNS) {
                run.below(BASE_RUNS).copy_to(&copy.below(BASE_RUNS))?;
            }
        }
        Ok(())
    }

    /// Returns a predictor of one of them; `None` if the run does not build on it.
    pub(crate) fn predictor(&self, name: &str, cell: &Cell) -> Result<Option<Predictor>> {
        let open = |run: &BaseRun| Predictor::with_base_folder(&run.checkpoint, cell, MODELS, &run.run);
        self.found.get(name).map(open).transpose()
    }

    /// Returns predictors of the runs to be stacked, in their order.
    pub(crate) fn stacked(&self, count: usize, cell: &Cell) -> Result<Vec<Predictor>> {
        let one = |index| self.predictor(&with_name(index), cell);
        (0..count).filter_map(|index| one(index).transpose()).collect()
    }
}
