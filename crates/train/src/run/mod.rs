//! A run: a model that is trained or solved, and the folder that keeps its results.
//!
//! ```no_run
//! use knockout_train::config::Config;
//! use knockout_train::run::{Event, Run, RunContext};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dataset = std::sync::Arc::new(knockout_data::screen::Dataset::open("yeast".as_ref())?);
//! let config = Config::of("dango", &dataset.cell, &["epochs=2"])?;
//! let context = RunContext::new("yeast");
//! let mut run = Run::create(std::path::Path::new("runs/first"), dataset, config, &context)?;
//! for event in &mut run {
//!     if let Event::Epoch(line) = event? {
//!         println!("epoch {}: {:?}", line.epoch, line.val.pearson);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Run::resume`] continues from the newest checkpoint to the same bits. [`RunDescription`] reads the manifest and configuration of a
//! run. A network takes steps ([`Event::Step`]), a solver tries settings ([`Event::Tried`]); both end with the metrics of an epoch and
//! [`Event::End`].

mod base_runs;
mod context;
mod description;
mod event;
mod files;
mod folder;
mod listing;
mod manifest;
mod metrics;
mod residual_folds;
mod solved;
mod solving;
mod tensorboard;
mod training;
mod writer;

pub use context::{AdoptedRows, RunContext, dataset_word, default_folder};
pub use description::{RunDescription, other_dataset};
pub use event::{End, Event};
pub use folder::{NewRunFiles, RunFolder};
pub use listing::{RunList, RunState, RunSummary};
pub use manifest::{Inputs, RunManifest};
pub use metrics::{EpochTimes, MetricsHistory, MetricsLine, MetricsLog, Resumed, read_history, read_metrics};
pub use tensorboard::{EventWriter, NamedScalar};

use crate::checkpoint::Saved;
use crate::config::Config;
use crate::fit::Fit;
use crate::predictor::Predictor;
use crate::tensors::Tensor;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::{MODELS, ModelEntry};
use knockout_ranks::Ranks;
use knockout_solve::Choice;
use solved::Solving;
use std::path::Path;
use std::sync::Arc;
use training::Training;

/// A run under way: an iterator of [`Event`]s. It ends with [`Event::End`] or with an error.
pub struct Run(RunKind);

enum RunKind {
    Training(Box<Training>),
    Solving(Box<Solving>),
}

impl Run {
    /// Starts a run in a new folder. It appears with everything that its numbers depend on, or not at all.
    pub fn create(
        folder: impl Into<Folder>,
        dataset: Arc<Dataset>,
        config: Config,
        context: &RunContext,
    ) -> Result<Self> {
        let folder = folder.into();
        Ok(Self(if config.model.entry().is_solved {
            one_process(&config, &context.ranks)?;
            RunKind::Solving(Box::new(Solving::create(&folder, dataset, config, context)?))
        } else {
            RunKind::Training(Box::new(Training::create(&folder, dataset, config, context)?))
        }))
    }

    /// Resumes a run at its newest checkpoint, or from its start. Overrides that change its numbers are refused, and so is another
    /// instruction set than the run began with, unless this CPU lacks that one: see [`Self::other_instructions`].
    pub fn resume<S: AsRef<str>>(folder: impl Into<Folder>, overrides: &[S]) -> Result<Self> {
        Self::resume_with(folder, overrides, None, MODELS)
    }

    /// Resumes a run whose dataset may be elsewhere now, and whose model is one of `models`.
    pub fn resume_with<S: AsRef<str>>(
        folder: impl Into<Folder>,
        overrides: &[S],
        dataset_folder: Option<&Path>,
        models: &[ModelEntry],
    ) -> Result<Self> {
        Self::resume_on(&Ranks::alone(), folder, overrides, dataset_folder, models)
    }

    /// Resumes a run on several processes, each of which calls this. Their number may change.
    pub fn resume_on<S: AsRef<str>>(
        ranks: &Ranks,
        folder: impl Into<Folder>,
        overrides: &[S],
        dataset_folder: Option<&Path>,
        models: &[ModelEntry],
    ) -> Result<Self> {
        let mut description = RunDescription::read(folder, overrides, models)?;
        if let Some(dataset_folder) = dataset_folder {
            description = description.with_dataset(dataset_folder);
        }
        Ok(Self(if description.config.model.entry().is_solved {
            one_process(&description.config, ranks)?;
            RunKind::Solving(Box::new(Solving::resume(description)?))
        } else {
            RunKind::Training(Box::new(Training::resume(description, overrides, ranks)?))
        }))
    }

    /// Returns the network and its position in training; `None` for a model that is solved.
    pub fn fit(&self) -> Option<&Fit> {
        match &self.0 {
            RunKind::Training(run) => Some(run.fit()),
            RunKind::Solving(_) => None,
        }
    }

    /// Returns the run's folder.
    pub fn folder(&self) -> &Path {
        match &self.0 {
            RunKind::Training(run) => run.folder(),
            RunKind::Solving(run) => run.folder(),
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        match &self.0 {
            RunKind::Training(run) => run.fit().config(),
            RunKind::Solving(run) => run.config(),
        }
    }

    /// Returns the dataset.
    pub fn dataset(&self) -> &Arc<Dataset> {
        match &self.0 {
            RunKind::Training(run) => run.fit().dataset(),
            RunKind::Solving(run) => run.dataset(),
        }
    }

    /// Returns the split.
    pub fn split(&self) -> &Arc<Split> {
        match &self.0 {
            RunKind::Training(run) => run.fit().split(),
            RunKind::Solving(run) => run.split(),
        }
    }

    /// Returns the processes that share the work.
    pub fn ranks(&self) -> Ranks {
        self.fit().map_or_else(Ranks::alone, |fit| fit.ranks().clone())
    }

    /// Returns the number of steps taken so far; 0 for a model that is solved.
    pub fn step_count(&self) -> u64 {
        self.fit().map_or(0, |fit| fit.position().step)
    }

    /// Returns the step that the run was resumed from, if it was.
    pub fn resumed_from(&self) -> Option<u64> {
        match &self.0 {
            RunKind::Training(run) => run.resumed_from(),
            RunKind::Solving(_) => None,
        }
    }

    /// Returns what resuming found in the metrics file: lines cut off behind the checkpoint, and lines before it that are missing.
    pub fn resumed_metrics(&self) -> Resumed {
        match &self.0 {
            RunKind::Training(run) => run.resumed_metrics(),
            RunKind::Solving(_) => Resumed::default(),
        }
    }

    /// Returns the instruction set that a resumed run began with, if this CPU lacks it. The results may then differ in the
    /// last bits.
    pub fn other_instructions(&self) -> Option<&str> {
        match &self.0 {
            RunKind::Training(run) => run.other_instructions(),
            RunKind::Solving(_) => None,
        }
    }

    /// Returns the newest state that this value has saved to resume from.
    pub fn last_saved(&self) -> Option<&Saved> {
        match &self.0 {
            RunKind::Training(run) => run.last_saved(),
            RunKind::Solving(run) => run.last_saved(),
        }
    }

    /// Returns the settings that a solver chose, and the accuracy of its solution; empty before its end and for networks.
    pub fn choices(&self) -> &[Choice] {
        match &self.0 {
            RunKind::Training(_) => &[],
            RunKind::Solving(run) => run.choices(),
        }
    }

    /// Predicts the validation part with the model as it is now; `None` if `wants_stop` returned true meanwhile. Predictions of the
    /// last validation are used again.
    pub fn predict_validation(&self, wants_stop: &dyn Fn() -> bool) -> Result<Option<Vec<f64>>> {
        match &self.0 {
            RunKind::Training(run) => Ok(match run.validation_predictions() {
                Some(predictions) => Some(predictions.to_vec()),
                None => run.fit().predict_until(Part::Val, wants_stop),
            }),
            RunKind::Solving(run) => {
                if let Some(predictions) = run.validation_predictions() {
                    return Ok(Some(predictions.to_vec()));
                }
                let Some(saved) = run.last_saved() else { return Ok(None) };
                let (samples, rows) = (&run.dataset().samples, run.split().rows(Part::Val));
                let sets: GeneSets = rows.iter().map(|&row| samples.genes(row as usize)).collect();
                Predictor::open(&saved.path, &run.dataset().cell)?.predict(sets.view()).map(Some)
            }
        }
    }

    /// Requests the end: the state is saved after the step under way. A solver ends at its next step, and was saved at most a minute
    /// before.
    pub fn stop(&mut self) {
        match &mut self.0 {
            RunKind::Training(run) => run.stop(),
            RunKind::Solving(run) => run.stop(),
        }
    }

    /// Ends as after [`Self::stop`] as soon as `wants_stop` returns true. It is called after every step and, while validating, after
    /// every batch of predictions.
    pub fn stop_when(&mut self, wants_stop: impl Fn() -> bool + Send + Sync + 'static) {
        match &mut self.0 {
            RunKind::Training(run) => run.stop_when(Box::new(wants_stop)),
            RunKind::Solving(run) => run.stop_when(Box::new(wants_stop)),
        }
    }

    /// Returns the model of a network's run before its first step, with the residuals and factors of the runs that it builds on. No
    /// folder is created.
    pub fn first_fit(config: Config, dataset: Arc<Dataset>) -> Result<Fit> {
        base_runs::new_fit(config, dataset).map(|(fit, _)| fit)
    }

    /// Adopts weights that were trained elsewhere, as the result of one epoch: they are validated, the epoch's line is written and the
    /// state saved in every slot. `train_loss` is that epoch's mean loss on standardised scores. Returns `None` if
    /// [`Self::stop_when`] ended it: then nothing was written. A model that is solved has no weights to adopt.
    ///
    /// For a run that has just begun; resumed, it continues from these weights with an optimiser that has no history.
    pub fn adopt(&mut self, weights: &[Tensor], train_loss: f64) -> Result<Option<MetricsLine>> {
        match &mut self.0 {
            RunKind::Training(run) => run.adopt(weights, train_loss),
            RunKind::Solving(run) => {
                let model = run.config().model.name();
                Err(Error::request(format!("{model} is solved, not trained: it has no weights to take over")))
            }
        }
    }
}

impl Iterator for Run {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            RunKind::Training(run) => run.next(),
            RunKind::Solving(run) => run.next(),
        }
    }
}

/// Refuses ranks for a model that has no steps to share.
fn one_process(config: &Config, ranks: &Ranks) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    let model = config.model.name();
    Err(Error::request(format!(
        "{model} is solved by one process, not trained step by step; start it without --ranks, mpirun or srun"
    )))
}
