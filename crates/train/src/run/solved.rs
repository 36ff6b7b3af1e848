//! A run of a model that is solved instead of trained step by step: the same folder, checkpoints and metrics, in one stroke.
//!
//! Solving is deterministic and takes seconds to minutes. Where it takes longer, what was found is kept in `solving/` from time to
//! time, and a run that was killed goes on there to the same bits; its folder says what it is from the first moment, and its
//! checkpoint is whole or absent.

use super::sources::Sources;
use super::writer::RunWriter;
use super::{
    EpochTimes, LogPosition, MetricsLine, RunContext, RunDescription, RunError, RunFolder, held_out,
    read_metrics, start_folder,
};
use crate::baseline;
use crate::checkpoint::{
    CheckpointError, Checkpoints, Contents, ModelCard, Number, Position, Saved, Slot, State, TensorRef,
    load_tensors, save_tensors, weights_hash,
};
use crate::config::{Config, ConfigError};
use crate::fit::{EpochReport, FitError};
use crate::metrics::Metrics;
use crate::predictor::{STACKED_INTERCEPT, STACKED_OWN, stacked_weight};
use crate::schedule::LearningRate;
use knockout_base::error::Error;
use knockout_base::stats::pearson;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::{MODELS, Solver};
use knockout_solve::{Choice, Problem, Records, Solution, SolveObserver, StackWeights, Tensor, TriedSetting};
use knockout_trace::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A run of a solved model.
pub struct SolvedRun {
    folder: RunFolder,
    config: Config,
    dataset: Arc<Dataset>,
    split: Arc<Split>,
}

/// The folder of what was found so far.
pub(super) const SOLVING: &str = "solving";
/// Seconds after which what was found so far is saved again.
const SAVE_SECONDS: f64 = 60.0;

/// Whoever watches a run being solved.
pub trait SolveProgress {
    /// Hears of every setting that was tried on the validation part.
    fn stage(&mut self, stage: TriedSetting);

    /// Hears of every step of something long: what it is, and which step.
    fn step(&mut self, _what: &str, _step: usize) {}
}

/// Whoever only wants to hear of settings.
impl<F: FnMut(TriedSetting)> SolveProgress for F {
    fn stage(&mut self, stage: TriedSetting) {
        self(stage);
    }
}

/// Saves what was found so far in a folder of a run, from time to time.
pub(super) struct SolveCheckpoints<'a> {
    run: &'a Path,
    /// Relative to the run.
    folder: &'a Path,
    progress: &'a mut dyn SolveProgress,
    last: Instant,
    failed: Option<CheckpointError>,
}

impl<'a> SolveCheckpoints<'a> {
    pub(super) fn new(run: &'a Path, folder: &'a Path, progress: &'a mut dyn SolveProgress) -> Self {
        Self { run, folder, progress, last: Instant::now(), failed: None }
    }

    /// What went wrong with saving, if anything did.
    pub(super) fn end(self) -> Result<(), CheckpointError> {
        self.failed.map_or(Ok(()), Err)
    }

    fn name(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.tensors"))
    }
}

impl SolveObserver for SolveCheckpoints<'_> {
    fn on_setting(&mut self, tried: TriedSetting) {
        self.progress.stage(tried);
    }

    fn on_step(&mut self, what: &str, step: usize) {
        self.progress.step(what, step);
    }

    fn is_save_due(&mut self) -> bool {
        self.last.elapsed().as_secs_f64() >= SAVE_SECONDS
    }

    fn save(&mut self, part: &'static str, state: Vec<Tensor>) {
        if let Err(error) = save_tensors(self.run, &self.name(part), &state) {
            self.failed = Some(error);
        }
        self.last = Instant::now();
    }

    fn saved(&mut self, part: &'static str) -> Option<Vec<Tensor>> {
        load_tensors(&self.run.join(self.name(part)))
    }
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

/// How the model is solved; an error where it is trained step by step.
fn solver(config: &Config) -> Result<&dyn Solver, ConfigError> {
    let name = config.model.name();
    config.model.solver().ok_or_else(|| {
        Error::request(format!("{name} is trained step by step, not solved; train it as a run of steps"))
            .into()
    })
}

/// Training and validation records.
fn records(dataset: &Dataset, split: &Split) -> [Records; 2] {
    [Part::Train, Part::Val].map(|part| baseline::records(&dataset.samples, split.rows(part)))
}

impl SolvedRun {
    /// Starts a run in a new folder. It appears with everything that decides the run, or not at all.
    pub fn create(
        folder: &Path,
        dataset: Arc<Dataset>,
        mut config: Config,
        context: &RunContext,
    ) -> Result<Self, RunError> {
        solver(&config)?;
        config.check(&dataset.cell)?;
        let split = Arc::new(config.split(&dataset)?);
        config.split = config.split.resolved(&split);
        let [train, val] = records(&dataset, &split);
        // Before there is a folder: one without a result would be in the way of the next attempt.
        Problem { cell: &dataset.cell, train: &train, val: &val }.check()?;
        let sources = Sources::open(&config.from, &dataset, &split)?;
        config.from.weights = sources.hashes();
        let folder = start_folder(folder, &dataset, &split, &config, context, &sources)?;
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
        solver(&description.config)?;
        if let Some(dataset_folder) = dataset_folder {
            description = description.with_dataset(dataset_folder);
        }
        let (dataset, split) = description.open_dataset()?;
        Checkpoints::at(&run.checkpoints()).clean()?;
        let config = description.config;
        Ok(Self { folder: run, config, dataset, split })
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

    /// Solves, unless that was done already.
    pub fn solve(&self, progress: &mut dyn SolveProgress) -> Result<Solved, RunError> {
        let checkpoints = Checkpoints::at(&self.folder.checkpoints());
        if let Some((path, checkpoint)) = checkpoints.newest(Slot::Last)?
            && let Some(line) = read_metrics(self.folder())?.pop()
        {
            let numbers = checkpoint.state.numbers.into_iter();
            let choices = numbers.map(|(name, number)| Choice { name, value: number.0 }).collect();
            let saved = Saved { path, weights_hash: checkpoint.weights_hash };
            return Ok(Solved { line, choices, saved, validation: None });
        }
        let solver = solver(&self.config)?;
        let [train, val] = records(&self.dataset, &self.split);
        let problem = Problem { cell: &self.dataset.cell, train: &train, val: &val };
        let clock = SystemClock::new();
        let began = (clock.now_nanos(), clock.cpu_nanos());
        let mut saving = SolveCheckpoints::new(self.folder(), Path::new(SOLVING), progress);
        let solution = solver.solve(problem, &mut saving)?;
        saving.end()?;
        let folds = self.config.residuals.folds;
        let of = (&*self.dataset, &*self.split, &val);
        let held_out = if folds == 0 {
            None
        } else {
            Some(held_out::solve(solver, of, folds, self.folder(), progress)?)
        };
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        let train_seconds = seconds(began.0, clock.now_nanos());

        let mut tensors = solution.tensors();
        let held_out_pearson = held_out.as_ref().and_then(|held_out| {
            let predicted: Vec<f64> = held_out.values.iter().map(|&value| f64::from(value)).collect();
            pearson(&predicted, &train.scores)
        });
        tensors.extend(held_out);
        let weights: Vec<TensorRef<'_>> = tensors.iter().map(TensorRef::from).collect();
        let labels =
            self.dataset.samples.label_stats(self.split.rows(Part::Train)).ok_or(FitError::ConstantScores)?;
        let stacked = self.stack(&*solution, &train, &val)?;
        // Nothing but this figure of the training part is kept, and ranks of millions of records take memory.
        let squares = stacked.train.iter().zip(&train.scores).map(|(fitted, score)| (fitted - score).powi(2));
        let train_mse = squares.sum::<f64>() / train.scores.len() as f64;
        let validation = stacked.validation;
        let position = Position { step: 1, optimiser_step: 0, epoch: 0, batch: 0 };
        let learning_rate = LearningRate::constant(1.0).map_err(ConfigError::from)?;
        let report = EpochReport {
            position,
            // On standardised scores, as the losses of the other models are.
            train_loss: train_mse / (labels.sd * labels.sd),
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
        let line = MetricsLine::of(&report, times);
        writer.epoch(&line, times)?;
        let mut choices = solution.choices();
        choices.extend(stacked.choices);
        let held_out =
            held_out_pearson.map(|value| Choice { name: "residuals.held_out_pearson".to_owned(), value });
        choices.extend(held_out);
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
        // Of no use any more; what cannot be removed only takes space.
        std::fs::remove_dir_all(self.folder().join(SOLVING)).ok();
        Ok(Solved { line, choices, saved, validation: Some(validation) })
    }

    /// The solution's predictions, stacked with those of other runs by least squares on the validation part where there are some.
    fn stack(&self, solution: &dyn Solution, train: &Records, val: &Records) -> Result<Stacked, RunError> {
        let [mut fitted, mut validation] = [train, val].map(|records| solution.predict(records.sets.view()));
        let with = &self.config.from.with;
        if with.is_empty() {
            return Ok(Stacked { train: fitted, validation, choices: Vec::new() });
        }
        let sources = Sources::kept(&self.config.from, self.folder())?;
        let runs = sources.stacked(with.len(), &self.dataset.cell)?;
        let of_runs = |records: &Records| {
            let predictions = runs.iter().map(|run| run.predict(records.sets.view()));
            Ok::<_, RunError>(predictions.collect::<Result<Vec<_>, _>>()?)
        };
        let (on_train, on_validation) = (of_runs(train)?, of_runs(val)?);
        let columns: Vec<Vec<f64>> = [validation.clone()].into_iter().chain(on_validation.clone()).collect();
        let StackWeights { intercept, weights } = StackWeights::fit(&columns, &val.scores);
        for (own, others) in [(&mut fitted, &on_train), (&mut validation, &on_validation)] {
            for (record, sum) in own.iter_mut().enumerate() {
                let others = others.iter().zip(&weights[1..]).map(|(other, weight)| weight * other[record]);
                *sum = weights[0] * *sum + intercept + others.sum::<f64>();
            }
        }
        let choice = |name: String, value: f64| Choice { name, value };
        let mut choices = vec![choice(STACKED_INTERCEPT.to_owned(), intercept)];
        choices.push(choice(STACKED_OWN.to_owned(), weights[0]));
        let of_run = |(index, &weight): (usize, &f64)| choice(stacked_weight(index), weight);
        choices.extend(weights[1..].iter().enumerate().map(of_run));
        Ok(Stacked { train: fitted, validation, choices })
    }
}

/// Predictions for both parts, and how they were weighted.
struct Stacked {
    train: Vec<f64>,
    validation: Vec<f64>,
    choices: Vec<Choice>,
}
