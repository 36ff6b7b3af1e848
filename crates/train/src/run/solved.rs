//! A run of a model that is solved instead of trained step by step: the same folder, checkpoints and metrics.
//!
//! Solving is deterministic and takes seconds to minutes. The solver saves its state in `solving/` of the run folder once a minute, and
//! a run that was killed resumes there to the same bits. The checkpoint is complete or absent.

use super::context::{RunContext, start_folder};
use super::event::{End, Event, StopWhen};
use super::solving::{SOLVING, SolveCheckpoints, SolveProgress};
use super::writer::RunWriter;
use super::{EpochTimes, MetricsLine, RunDescription, RunFolder, base_runs, read_metrics, residual_folds};
use crate::checkpoint::{Checkpoints, Contents, LogPosition, ModelCard, Number, Saved, Slot, State};
use crate::config::Config;
use crate::fit::{EpochReport, Position, constant_scores};
use crate::metrics::Metrics;
use crate::predictor::{BaseRuns, STACKED_INTERCEPT, STACKED_OWN, stacked_weight};
use crate::schedule::LearningRate;
use crate::tensors::{TensorRef, weights_hash};
use crate::workers::workers;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_base::stats::pearson;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::Solver;
use knockout_solve::{
    Choice, Problem, Records, Solution, SolveObserver, StackWeights, TriedSetting, recalibrate,
};
use knockout_trace::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// A run of a solved model: an iterator of [`Event`]s that ends with [`Event::End`] or with an error.
///
/// The solver runs on a thread of its own, with as many workers as the pool of the caller has. It waits until each of its events is
/// taken. Dropping the run ends the solver at its next event.
pub(super) struct Solving {
    run: Arc<SolverRun>,
    progress: SolverState,
    wants_stop: StopWhen,
    stop: Arc<AtomicBool>,
    solved: Option<Solved>,
}

enum SolverState {
    Ready,
    Running { events: Receiver<Event>, thread: JoinHandle<Result<Solved>> },
    Solved,
    Over,
}

/// The folder and input of a solver.
struct SolverRun {
    folder: RunFolder,
    config: Config,
    dataset: Arc<Dataset>,
    split: Arc<Split>,
}

/// The result of solving.
#[derive(Debug, Clone)]
struct Solved {
    /// The line of `metrics.jsonl`.
    line: MetricsLine,
    /// Settings chosen on the validation part, and the accuracy of the solution.
    choices: Vec<Choice>,
    saved: Saved,
    /// Predictions for the validation part; `None` if the run was solved before.
    validation: Option<Vec<f64>>,
}

/// Unwinds a solver that is to end.
struct Halted;

/// Sends the solver's progress to the run.
struct Reports {
    events: SyncSender<Event>,
    stop: Arc<AtomicBool>,
}

impl Reports {
    fn send(&self, event: Event) {
        if self.stop.load(Ordering::Relaxed) || self.events.send(event).is_err() {
            resume_unwind(Box::new(Halted));
        }
    }
}

impl SolveProgress for Reports {
    fn setting(&mut self, tried: TriedSetting) {
        self.send(Event::Tried(tried));
    }

    fn step(&mut self, what: &str, step: usize) {
        self.send(Event::Solving { what: what.to_owned(), step });
    }
}

impl Solving {
    fn begin(run: SolverRun) -> Self {
        Self {
            run: Arc::new(run),
            progress: SolverState::Ready,
            wants_stop: Box::new(|| false),
            stop: Arc::default(),
            solved: None,
        }
    }

    /// Starts a run in a new folder. It appears with everything that decides the run, or not at all.
    pub(super) fn create(
        folder: &Folder,
        dataset: Arc<Dataset>,
        mut config: Config,
        context: &RunContext,
    ) -> Result<Self> {
        solver(&config)?;
        config.check(&dataset.cell)?;
        let split = Arc::new(config.split.apply(&dataset)?);
        config.split = config.split.resolved(&split);
        let [train, val] = solved_records(&dataset, &split);
        // Checked before the folder exists: a folder without a result would block the next attempt.
        Problem::new(&dataset.cell, &train, &val).check()?;
        let base_runs = base_runs::open(&config.from, &dataset, &split)?;
        config.from.weights = base_runs.hashes();
        let folder = start_folder(folder, &dataset, &split, &config, context, &base_runs)?;
        Ok(Self::begin(SolverRun { folder, config, dataset, split }))
    }

    /// Resumes a run.
    pub(super) fn resume(description: RunDescription) -> Result<Self> {
        let folder = RunFolder::open(description.files())?;
        solver(&description.config)?;
        let (dataset, split) = description.open_dataset()?;
        Checkpoints::at(folder.checkpoints()).clean()?;
        Ok(Self::begin(SolverRun { folder, config: description.config, dataset, split }))
    }

    pub(super) fn folder(&self) -> &Path {
        self.run.folder.folder()
    }

    pub(super) fn config(&self) -> &Config {
        &self.run.config
    }

    pub(super) fn dataset(&self) -> &Arc<Dataset> {
        &self.run.dataset
    }

    pub(super) fn split(&self) -> &Arc<Split> {
        &self.run.split
    }

    pub(super) fn stop_when(&mut self, wants_stop: StopWhen) {
        self.wants_stop = wants_stop;
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn last_saved(&self) -> Option<&Saved> {
        self.solved.as_ref().map(|solved| &solved.saved)
    }

    pub(super) fn choices(&self) -> &[Choice] {
        self.solved.as_ref().map_or(&[], |solved| &solved.choices)
    }

    pub(super) fn validation_predictions(&self) -> Option<&[f64]> {
        self.solved.as_ref()?.validation.as_deref()
    }

    fn start(&self) -> Result<SolverState> {
        // Each event is taken before the solver continues.
        let (sender, events) = mpsc::sync_channel(0);
        let mut reports = Reports { events: sender, stop: Arc::clone(&self.stop) };
        let run = Arc::clone(&self.run);
        let unstarted = |error: &dyn std::fmt::Display| {
            Error::failure(format!("could not start the threads of the solver: {error}"))
        };
        let pool = workers(rayon::current_num_threads()).map_err(|error| unstarted(&error))?;
        let work = move || pool.install(|| run.solve(&mut reports));
        let thread = thread::Builder::new().name("solver".to_owned()).spawn(work);
        Ok(SolverState::Running { events, thread: thread.map_err(|error| unstarted(&error))? })
    }

    fn advance(&mut self) -> Result<Option<Event>> {
        if matches!(self.progress, SolverState::Ready) {
            self.progress = self.start()?;
        }
        while let SolverState::Running { events, .. } = &self.progress {
            if (self.wants_stop)() {
                self.stop();
            }
            match events.recv() {
                Ok(_) if self.stop.load(Ordering::Relaxed) => {}
                Ok(event) => return Ok(Some(event)),
                Err(_) => return self.finish().map(Some),
            }
        }
        if matches!(self.progress, SolverState::Solved) {
            self.progress = SolverState::Over;
            return Ok(Some(Event::End(End::Solved)));
        }
        Ok(None)
    }

    /// Takes the result of the solver's thread, which has ended.
    fn finish(&mut self) -> Result<Event> {
        let SolverState::Running { thread, .. } = std::mem::replace(&mut self.progress, SolverState::Over)
        else {
            return Ok(Event::End(End::Stopped));
        };
        match thread.join() {
            Ok(solved) => {
                let solved = self.solved.insert(solved?);
                self.progress = SolverState::Solved;
                Ok(Event::Epoch(solved.line.clone()))
            }
            Err(payload) if payload.is::<Halted>() => Ok(Event::End(End::Stopped)),
            Err(payload) => resume_unwind(payload),
        }
    }
}

impl Iterator for Solving {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

impl Drop for Solving {
    fn drop(&mut self) {
        if let SolverState::Running { events, thread } =
            std::mem::replace(&mut self.progress, SolverState::Over)
        {
            self.stop();
            drop(events);
            // A panic of the solver can no longer be reported.
            thread.join().ok();
        }
    }
}

/// Returns the solver of a model; an error if the model is trained step by step.
fn solver(config: &Config) -> Result<&dyn Solver> {
    let name = config.model.name();
    config.model.solver().ok_or_else(|| {
        Error::request(format!("{name} is trained step by step, not solved; train it as a run of steps"))
    })
}

/// The records that a solver is fitted to and chooses settings on: one for each gene set and kind.
fn solved_records(dataset: &Dataset, split: &Split) -> [Records; 2] {
    [Part::Train, Part::Val].map(|part| Records::of_sets(&dataset.samples, split.rows(part)))
}

impl SolverRun {
    fn folder(&self) -> &Folder {
        self.folder.files()
    }

    /// Returns the result of an earlier session.
    fn finished(&self, checkpoints: &Checkpoints) -> Result<Option<Solved>> {
        let Some((path, checkpoint)) = checkpoints.newest(Slot::Last)? else { return Ok(None) };
        let Some(line) = read_metrics(self.folder())?.pop() else { return Ok(None) };
        let numbers = checkpoint.state.numbers.into_iter();
        let choices = numbers.map(|(name, number)| Choice { name, value: number.0 }).collect();
        let saved = Saved { path, weights_hash: checkpoint.weights_hash };
        Ok(Some(Solved { line, choices, saved, validation: None }))
    }

    /// Solves, unless that was done already.
    fn solve(&self, progress: &mut dyn SolveProgress) -> Result<Solved> {
        let checkpoints = Checkpoints::at(self.folder.checkpoints());
        if let Some(solved) = self.finished(&checkpoints)? {
            return Ok(solved);
        }
        let solver = solver(&self.config)?;
        let [train, val] = solved_records(&self.dataset, &self.split);
        let problem = Problem::new(&self.dataset.cell, &train, &val);
        let clock = SystemClock::new();
        let began = (clock.now_nanos(), clock.cpu_nanos());
        let mut saving = SolveCheckpoints::new(self.folder(), SOLVING, progress);
        let solution = solver.solve(problem, &mut saving)?;
        saving.end()?;
        let solve = |problem: Problem<'_>, observer: &mut dyn SolveObserver| solver.solve(problem, observer);
        let solution = recalibrate(&solve, problem, solution, &mut GeneFolds(&mut *progress))?;
        let folds = self.config.residuals.folds;
        let of = (&*self.dataset, &*self.split, &val);
        let held_out = if folds == 0 {
            None
        } else {
            Some(residual_folds::solve(solver, of, folds, self.folder(), progress)?)
        };
        // Figures are of all samples, each beside the prediction of its set.
        let [train, val] =
            [Part::Train, Part::Val].map(|part| Records::of(&self.dataset.samples, self.split.rows(part)));
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        let train_seconds = seconds(began.0, clock.now_nanos());

        let mut tensors = solution.tensors();
        let held_out_pearson = held_out.as_ref().and_then(|held_out| {
            let predicted: Vec<f64> = held_out.values.iter().map(|&value| f64::from(value)).collect();
            pearson(&predicted, &train.scores)
        });
        tensors.extend(held_out);
        let weights: Vec<TensorRef<'_>> = tensors.iter().map(TensorRef::from).collect();
        let labels = self.dataset.samples.label_stats(self.split.rows(Part::Train));
        let labels = labels.ok_or_else(constant_scores)?;
        let stacked = self.stack(&*solution, &train, &val)?;
        // Only this figure of the training part is stored; the ranks for Spearman would need much memory.
        let squares = stacked.train.iter().zip(&train.scores).map(|(fitted, score)| (fitted - score).powi(2));
        let train_mse = squares.sum::<f64>() / train.scores.len() as f64;
        let validation = stacked.validation;
        let position = Position { step: 1, optimiser_step: 0, epoch: 0, batch: 0 };
        let learning_rate = LearningRate::constant(1.0)?;
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
            writer.log_line(&format!("{} {}", choice.name, choice.value))?;
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
        let saved = self.save(&checkpoints, &weights, &state)?;
        Ok(Solved { line, choices, saved, validation: Some(validation) })
    }

    /// Writes the checkpoint, and removes those of solving. The only state is the last and the best.
    fn save(&self, checkpoints: &Checkpoints, weights: &[TensorRef<'_>], state: &State) -> Result<Saved> {
        let contents = Contents { weights, first_moments: &[], second_moments: &[], buffers: &[], state };
        let saved = checkpoints.save(Slot::Last, &contents)?;
        // No longer needed; a failed removal only costs disk space.
        self.folder().remove(SOLVING).ok();
        Ok(saved)
    }

    /// The solution's predictions, stacked with those of other runs by least squares on the validation part where there are some.
    fn stack(&self, solution: &dyn Solution, train: &Records, val: &Records) -> Result<Stacked> {
        let [mut fitted, mut validation] = [train, val].map(|records| solution.predict(records.sets.view()));
        let with = &self.config.from.with;
        if with.is_empty() {
            return Ok(Stacked { train: fitted, validation, choices: Vec::new() });
        }
        let base_runs = BaseRuns::kept(&self.config.from, self.folder())?;
        let runs = base_runs.stacked(with.len(), &self.dataset.cell)?;
        let of_runs = |records: &Records| {
            let predictions = runs.iter().map(|run| run.predict(records.sets.view()));
            predictions.collect::<Result<Vec<_>>>()
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

/// Reports the steps of solving folds of genes.
struct GeneFolds<'a>(&'a mut dyn SolveProgress);

impl SolveObserver for GeneFolds<'_> {
    fn on_step(&mut self, computation: &str, step: usize) {
        self.0.step(&format!("folds of genes, {computation}"), step);
    }
}

/// Predictions for both parts, and how they were weighted.
struct Stacked {
    train: Vec<f64>,
    validation: Vec<f64>,
    choices: Vec<Choice>,
}
