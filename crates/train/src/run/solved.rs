//! A run of a model that is solved instead of trained step by step: the same folder, checkpoints and metrics, in one stroke.
//!
//! Solving is deterministic and takes seconds to minutes, so a run that was interrupted begins again; its folder says what it is
//! from the first moment, and its checkpoint is whole or absent.

use super::writer::RunWriter;
use super::{
    EpochTimes, LogPosition, MetricsLine, RunContext, RunDescription, RunError, RunFolder, read_metrics,
    start_folder,
};
use crate::baseline;
use crate::checkpoint::{
    Checkpoints, Contents, ModelCard, Number, Position, Saved, Slot, State, TensorRef, weights_hash,
};
use crate::config::{Config, ConfigError};
use crate::fit::{EpochReport, FitError};
use crate::metrics::Metrics;
use crate::schedule::LearningRate;
use knockout_model::{MODELS, OptionsError};
use knockout_screen::{Dataset, Part, Split};
use knockout_solve::{Choice, Problem, Stage};
use knockout_trace::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A run of a solved model.
pub struct SolvedRun {
    folder: RunFolder,
    config: Config,
    dataset: Arc<Dataset>,
    split: Arc<Split>,
}

/// What solving gave.
#[derive(Debug, Clone)]
pub struct Solved {
    /// The line of `metrics.jsonl`.
    pub line: MetricsLine,
    /// What was chosen on the validation part, and how exact the solution is.
    pub choices: Vec<Choice>,
    /// The checkpoint.
    pub saved: Saved,
    /// Predictions for the validation part, where it was solved now and not before.
    pub validation: Option<Vec<f64>>,
}

impl SolvedRun {
    /// Starts a run in a new folder. It appears with everything that decides the run, or not at all.
    pub fn create(
        folder: &Path,
        dataset: Arc<Dataset>,
        mut config: Config,
        context: &RunContext,
    ) -> Result<Self, RunError> {
        config.check(&dataset.cell)?;
        let split = Arc::new(config.split(&dataset)?);
        config.split = config.split.resolved(&split);
        let folder = start_folder(folder, &dataset, &split, &config, context)?;
        Ok(Self { folder, config, dataset, split })
    }

    /// Opens a run to solve it if it was interrupted; its dataset may be elsewhere now. Overrides that change its numbers are
    /// refused.
    pub fn resume<S: AsRef<str>>(
        folder: &Path,
        overrides: &[S],
        dataset_folder: Option<&Path>,
    ) -> Result<Self, RunError> {
        let run = RunFolder::open(folder)?;
        let mut description = RunDescription::read(folder, overrides, MODELS)?;
        if let Some(dataset_folder) = dataset_folder {
            description = description.with_dataset(dataset_folder);
        }
        let (dataset, split) = description.open_dataset()?;
        Checkpoints::at(&run.checkpoints()).clean()?;
        Ok(Self { folder: run, config: description.config, dataset, split })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.folder()
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Its split.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Solves, unless that was done already. `on_stage` hears of every setting that is tried on the validation part.
    pub fn solve(&self, on_stage: &mut dyn FnMut(Stage)) -> Result<Solved, RunError> {
        let checkpoints = Checkpoints::at(&self.folder.checkpoints());
        if let Some((path, checkpoint)) = checkpoints.newest(Slot::Last)?
            && let Some(line) = read_metrics(self.folder())?.pop()
        {
            let numbers = checkpoint.state.numbers.into_iter();
            let choices = numbers.map(|(name, number)| Choice { name, value: number.0 }).collect();
            let saved = Saved { path, weights_hash: checkpoint.weights_hash };
            return Ok(Solved { line, choices, saved, validation: None });
        }
        let solver = self
            .config
            .model
            .solver()
            .ok_or(ConfigError::from(OptionsError::NoSteps { name: self.config.model.name() }))?;
        let records = |part| baseline::records(&self.dataset.samples, self.split.rows(part));
        let (train, val) = (records(Part::Train), records(Part::Val));
        let problem = Problem { cell: &self.dataset.cell, train: &train, val: &val };
        let clock = SystemClock::new();
        let began = (clock.now_nanos(), clock.cpu_nanos());
        let solution = solver.solve(problem, on_stage)?;
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        let train_seconds = seconds(began.0, clock.now_nanos());

        let tensors = solution.tensors();
        let weights: Vec<TensorRef<'_>> = tensors
            .iter()
            .map(|tensor| TensorRef { name: &tensor.name, shape: &tensor.shape, values: &tensor.values })
            .collect();
        let labels =
            self.dataset.samples.label_stats(self.split.rows(Part::Train)).ok_or(FitError::ConstantScores)?;
        let fitted = Metrics::of(&solution.predict(train.sets.view()), &train.scores);
        let validation = solution.predict(val.sets.view());
        let position = Position { step: 1, optimiser_step: 0, epoch: 0, batch: 0 };
        let learning_rate = LearningRate::constant(1.0).map_err(ConfigError::from)?;
        let report = EpochReport {
            position,
            // On standardised scores, as the losses of the other models are.
            train_loss: fitted.mse.unwrap_or(f64::NAN) / (labels.sd * labels.sd),
            loss_parts: BTreeMap::new(),
            learning_rate: learning_rate.rate(),
            validation: Metrics::of(&validation, &val.scores),
            weights_hash: weights_hash(&weights),
        };
        let times = EpochTimes {
            train_seconds,
            validation_seconds: 0.0,
            cpu_seconds: seconds(began.1, clock.cpu_nanos()),
            samples_per_second: train.scores.len() as f64 / train_seconds.max(1e-9),
        };
        let mut writer = RunWriter::open(&self.folder, LogPosition::START, None)?;
        let line = writer.epoch(&report, times)?;
        let choices = solution.choices();
        for choice in &choices {
            writer.say(&format!("{} {}", choice.name, choice.value))?;
        }
        let state = State {
            identity: self.config.identity(&self.dataset.cell.genes().hash().to_hex()),
            position,
            seed: self.config.seed,
            learning_rate,
            early_stopping: None,
            best: BTreeMap::new(),
            loss_buffers: BTreeMap::new(),
            metrics: writer.position()?,
            numbers: choices.iter().map(|choice| (choice.name.clone(), Number(choice.value))).collect(),
            card: Some(ModelCard::new(self.config.to_toml()?, labels, &self.dataset.cell)),
        };
        let contents = Contents {
            weights: &weights,
            first_moments: &[],
            second_moments: &[],
            buffers: &[],
            state: &state,
        };
        // Last at the end: where it is, all are.
        checkpoints.save(Slot::BestPearson, &contents)?;
        checkpoints.save(Slot::BestMse, &contents)?;
        let saved = checkpoints.save(Slot::Last, &contents)?;
        Ok(Solved { line, choices, saved, validation: Some(validation) })
    }
}
