//! The runs that a run builds on: checked, copied into its folder, and put to use.
//!
//! ```text
//! RUN/from/residuals_of/    a copy of the checkpoint; with what that run itself builds on in its own `from`
//!          start/
//!          with-0/
//! ```
//!
//! So a run stays whole when those it was made from are moved or removed. The hash of their weights is part of what the run is.

use super::{RunDescription, RunError, held_out};
use crate::checkpoint::{self, Checkpoint, Checkpoints};
use crate::config::{FromOptions, RESIDUALS_OF, START, with_name};
use crate::fit::Fit;
use crate::predictor::Predictor;
use knockout_base::error::{Class, Classified};
use knockout_data::cell::{Cell, GeneSets};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::MODELS;
use knockout_solve::gene_factors;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The copies' folder in a run's.
pub(crate) const FOLDER: &str = "from";

/// A run that cannot be built on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Of other data.
    #[error("{} is of another dataset; build on a run of the same one", run.display())]
    OtherDataset {
        /// Folder of the other run.
        run: PathBuf,
    },
    /// Its training part holds what is validated or tested here.
    #[error(
        "{} is of another split ({there}, here {here}): it has seen records that are held out here; train it on the same split",
        run.display()
    )]
    OtherSplit {
        /// Folder of the other run.
        run: PathBuf,
        /// Split of the other run.
        there: String,
        /// Split of the run that is to build on it.
        here: String,
    },
    /// Nothing to take over.
    #[error("{} has no state yet; let it train for an epoch", run.display())]
    NoState {
        /// Folder of the other run.
        run: PathBuf,
    },
    /// A model without factors, or one that has no gene table.
    #[error("{why}")]
    NoFactors {
        /// Reason, as a whole sentence.
        why: String,
    },
    /// A copy that is not what the run began with.
    #[error("{} is not what the run began with; the run cannot be used without it", copy.display())]
    Changed {
        /// Path of the copy in the run directory.
        copy: PathBuf,
    },
    /// A copy that cannot be made.
    #[error("could not copy {}", path.display())]
    Copy {
        /// File of the other run.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

impl Classified for SourceError {
    fn class(&self) -> Class {
        match self {
            Self::Changed { .. } => Class::Damage,
            Self::Copy { .. } => Class::Failure,
            _ => Class::Request,
        }
    }
}

/// Checkpoints of other runs, by the names of their copies.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Where each is, its own sources, and what is in it.
    found: BTreeMap<String, (PathBuf, PathBuf, Checkpoint)>,
}

impl Sources {
    /// The runs that a new run names; their best states in validation.
    pub(crate) fn open(options: &FromOptions, dataset: &Dataset, split: &Split) -> Result<Self, RunError> {
        let mut found = BTreeMap::new();
        for (name, folder) in options.named() {
            let run = PathBuf::from(folder);
            let description = RunDescription::read(&run, &[] as &[&str], MODELS)?;
            if description.manifest.inputs.dataset != dataset.manifest.data_hash() {
                return Err(SourceError::OtherDataset { run }.into());
            }
            let theirs = description.split_of(dataset)?;
            if Part::ALL.into_iter().any(|part| theirs.rows(part) != split.rows(part)) {
                let word = |split: &Split| {
                    let spec = split.spec();
                    format!("{} seed {}", spec.scheme.name(), spec.seed)
                };
                let (there, here) = (word(&theirs), word(split));
                return Err(SourceError::OtherSplit { run, there, here }.into());
            }
            let Some((_, path, checkpoint)) = Checkpoints::of_run(&run).choose(None)? else {
                return Err(SourceError::NoState { run }.into());
            };
            found.insert(name, (path, run.join(FOLDER), checkpoint));
        }
        Ok(Self { found })
    }

    /// The copies in a run's folder, which must be those it began with.
    pub(crate) fn kept(options: &FromOptions, folder: &Path) -> Result<Self, RunError> {
        let mut found = BTreeMap::new();
        for (name, _) in options.named() {
            let copy = folder.join(FOLDER).join(&name);
            let checkpoint = checkpoint::load(&copy)?;
            if options.weights.get(&name) != Some(&checkpoint.weights_hash) {
                return Err(SourceError::Changed { copy }.into());
            }
            found.insert(name, (copy.clone(), copy.join(FOLDER), checkpoint));
        }
        Ok(Self { found })
    }

    /// Hashes of the weights, by name.
    pub(crate) fn hashes(&self) -> BTreeMap<String, String> {
        let hash = |(name, (.., checkpoint)): (&String, &(PathBuf, PathBuf, Checkpoint))| {
            (name.clone(), checkpoint.weights_hash.clone())
        };
        self.found.iter().map(hash).collect()
    }

    /// Copies everything into the folder of a run that is being made.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<(), RunError> {
        for (name, (path, own_sources, _)) in &self.found {
            let copy = folder.join(FOLDER).join(name);
            copy_folder(path, &copy)?;
            if own_sources.is_dir() {
                copy_folder(own_sources, &copy.join(FOLDER))?;
            }
        }
        Ok(())
    }

    /// A predictor of one of them.
    pub(crate) fn predictor(&self, name: &str, cell: &Cell) -> Result<Option<Predictor>, RunError> {
        let Some((_, own_sources, checkpoint)) = self.found.get(name) else { return Ok(None) };
        Ok(Some(Predictor::with_sources(checkpoint, cell, MODELS, own_sources)?))
    }

    /// Predictors of the runs to be stacked, in their order.
    pub(crate) fn stacked(&self, count: usize, cell: &Cell) -> Result<Vec<Predictor>, RunError> {
        let one = |index| self.predictor(&with_name(index), cell);
        (0..count).filter_map(|index| one(index).transpose()).collect()
    }

    /// A fit before its first step, with its residuals and its start.
    pub(crate) fn apply(&self, mut fit: Fit) -> Result<Fit, RunError> {
        let dataset = fit.dataset().clone();
        if let Some(base) = self.predictor(RESIDUALS_OF, &dataset.cell)? {
            let sets: GeneSets = (0..dataset.samples.len()).map(|row| dataset.samples.genes(row)).collect();
            let mut base = base.predict(sets.view())?;
            let rows = fit.split().rows(Part::Train);
            let held_out = self.found.get(RESIDUALS_OF);
            let held_out = held_out.and_then(|(.., kept)| held_out::predictions(&kept.weights, rows.len()));
            for (&row, &value) in rows.iter().zip(held_out.unwrap_or_default()) {
                base[row as usize] = f64::from(value);
            }
            fit = fit.on_residuals(base)?;
        }
        if let Some((_, _, checkpoint)) = self.found.get(START) {
            let factors = gene_factors(&checkpoint.weights, dataset.cell.genes().len()).ok_or_else(|| {
                let model = &checkpoint.state.identity.model;
                let why = format!(
                    "the run of {model} found no factors of genes to start from; take one of low-rank, network-kernel or stack"
                );
                SourceError::NoFactors { why }
            })?;
            if !fit.start_from(&factors) {
                let model = fit.model().name();
                let why = format!("{model} has no table of genes that could start from factors");
                return Err(SourceError::NoFactors { why }.into());
            }
        }
        Ok(fit)
    }
}

/// Copies a folder and all below it. What holds it is made durable when the run's folder appears.
fn copy_folder(from: &Path, to: &Path) -> Result<(), SourceError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SourceError::Copy { path, source }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let path = entry.map_err(failed(from))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(failed(&path))?;
        }
    }
    Ok(())
}
