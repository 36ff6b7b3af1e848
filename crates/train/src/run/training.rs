//! A run of a network, trained step by step.

use super::base_runs;
use super::context::{RunContext, start_folder};
use super::description::{RunDescription, SPLIT_FILE};
use super::event::{End, Event, StopWhen};
use super::files::RunFiles;
use super::metrics::{EpochTimes, MetricsLine, Resumed};
use crate::checkpoint::{EpochSpent, LogPosition, Saved, Slot};
use crate::config::Config;
use crate::fit::{EpochReport, Fit};
use crate::predictor::BaseRuns;
use crate::schedule::Improvement;
use crate::step::Mode;
use crate::stores::Stores;
use crate::tensors::{Tensor, weights_hash};
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::screen::{Dataset, Part};
use knockout_engine::kernel::Isa;
use knockout_ranks::Ranks;
use knockout_trace::meter::{Meter, Schedule, StepPhase};
use knockout_trace::{Clock as _, Recorder, SystemClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run of a network: an iterator of [`Event`]s that ends with [`Event::End`] or with an error.
pub(super) struct Training {
    fit: Fit,
    path: PathBuf,
    /// The files; the first rank has them.
    files: Option<RunFiles>,
    meter: Meter,
    /// Interval of checkpoints inside an epoch.
    save_every: Duration,
    saved_at: Instant,
    last_saved: Option<Saved>,
    resumed_from: Option<u64>,
    stop_requested: bool,
    wants_stop: StopWhen,
    other_instructions: Option<String>,
    stage: Stage,
    /// Validation predictions: of the validation under way, or of the last one.
    validation: Vec<f64>,
    /// Step of the last validation that is complete.
    validated_at: Option<u64>,
    clock: SystemClock,
    /// Time of earlier sessions of this epoch.
    spent_before: EpochSpent,
    /// Wall and CPU time when this epoch (or the rest of it) began, and when its validation did.
    epoch_began: Moment,
    validation_began: Option<Moment>,
    /// Samples trained on since then.
    epoch_samples: u64,
}

/// Wall and CPU time in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Moment {
    wall: u64,
    cpu: u64,
}

impl Moment {
    /// Wall and CPU time from an earlier moment to this one, in seconds.
    fn since(self, earlier: Self) -> [f64; 2] {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        [seconds(earlier.wall, self.wall), seconds(earlier.cpu, self.cpu)]
    }

    fn now(clock: &SystemClock) -> Self {
        Self { wall: clock.now_nanos(), cpu: clock.cpu_nanos() }
    }
}

/// The next action of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Step,
    /// After an epoch; or inside of one, where the run ends.
    Validate(Option<End>),
    End(End),
    Over,
}

impl Training {
    /// Starts a run in a new folder. It appears with everything that decides the run, or not at all.
    pub(super) fn create(
        folder: &Folder,
        dataset: Arc<Dataset>,
        config: Config,
        context: &RunContext,
    ) -> Result<Self> {
        let (fit, base_runs) = base_runs::new_fit(config, dataset)?;
        let (config, dataset, rows) = (fit.config(), fit.dataset(), fit.split().rows(Part::Train));
        let mut stores = Stores::default();
        let store = stores.for_run(config, &context.dataset_folder, dataset, rows)?;
        let fit = fit.with_store(store.as_ref()).on_ranks(context.ranks.clone())?;
        check_ranks_agree(&fit)?;
        let (config, dataset) = (fit.config(), fit.dataset());
        let files = context.ranks.is_first().then(|| -> Result<RunFiles> {
            let run = start_folder(folder, dataset, fit.split(), config, context, &base_runs)?;
            RunFiles::open(run, LogPosition::START, None)
        });
        Ok(Self::begin(fit, folder.path(), files.transpose()?, None))
    }

    /// Resumes a run at its newest checkpoint, or from its start.
    pub(super) fn resume<S: AsRef<str>>(
        description: RunDescription,
        overrides: &[S],
        ranks: &Ranks,
    ) -> Result<Self> {
        let folder = &description.files().clone();
        let run = ranks.is_first().then(|| RunFiles::claim(folder)).transpose()?;
        // The other ranks open the folder after the cleanup.
        ranks.start()?;
        let other_instructions = other_instructions(&description)?;
        let (dataset, split) = description.open_dataset()?;
        let checkpoint = RunFiles::newest(folder)?;
        let mut stores = Stores::default();
        let dataset_folder = description.dataset_folder()?;
        let store = stores.for_run(&description.config, dataset_folder, &dataset, split.rows(Part::Train))?;
        let base_runs = BaseRuns::kept(&description.config.from, folder)?;
        let fit = Fit::new(description.config, dataset, split)?.with_store(store.as_ref());
        let mut fit = base_runs::apply(&base_runs, fit)?.on_ranks(ranks.clone())?;
        let (mut from, mut after_step, mut spent_before) = (LogPosition::START, None, EpochSpent::default());
        if let Some(checkpoint) = checkpoint {
            fit.restore(&checkpoint)?;
            (from, after_step) = (checkpoint.state.metrics, Some(checkpoint.state.position.step));
            spent_before = EpochSpent::of(&checkpoint.state);
        }
        check_ranks_agree(&fit)?;
        let files = run.map(|run| -> Result<RunFiles> {
            if !folder.has(SPLIT_FILE) {
                // Runs of earlier versions could lose it to a kill at their start.
                let bytes = fit.split().encode(&fit.dataset().manifest)?;
                folder.replace(SPLIT_FILE, |out| out.write_all(&bytes))?;
            }
            let mut files = RunFiles::open(run, from, after_step)?;
            let changes: Vec<&str> = overrides.iter().map(AsRef::as_ref).collect();
            let with =
                if changes.is_empty() { String::new() } else { format!(" with {}", changes.join(" ")) };
            files.writer.log_line(&format!("resumed after step {}{with}", after_step.unwrap_or(0)))?;
            if let Some(began) = &other_instructions {
                let here = Isa::current().name();
                let text =
                    format!("begun with the instruction set {began}, which this CPU lacks: now {here}");
                files.writer.log_line(&text)?;
            }
            Ok(files)
        });
        let mut run = Self::begin(fit, folder.path(), files.transpose()?, after_step);
        run.other_instructions = other_instructions;
        run.spent_before = spent_before;
        Ok(run)
    }

    fn begin(fit: Fit, folder: &Path, files: Option<RunFiles>, after_step: Option<u64>) -> Self {
        let clock = SystemClock::new();
        Self {
            validation: Vec::new(),
            validated_at: None,
            spent_before: EpochSpent::default(),
            epoch_began: Moment::now(&clock),
            validation_began: None,
            epoch_samples: 0,
            clock,
            files,
            path: folder.to_owned(),
            // Times every step for its report and discards the times, so that memory does not grow.
            meter: Meter::new(&Recorder::off(), Schedule::AtStep(u64::MAX)),
            save_every: Duration::try_from_secs_f64(fit.config().run.checkpoint_every * 60.0)
                .unwrap_or(Duration::MAX),
            saved_at: Instant::now(),
            last_saved: None,
            resumed_from: after_step,
            stop_requested: false,
            wants_stop: Box::new(|| false),
            other_instructions: None,
            // A run that patience has ended stays ended.
            stage: if fit.is_out_of_patience() { Stage::End(End::Patience) } else { Stage::Step },
            fit,
        }
    }

    /// The model and where training stands.
    pub(super) fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The run's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    /// Returns the step that the run was resumed from, if it was.
    pub(super) fn resumed_from(&self) -> Option<u64> {
        self.resumed_from
    }

    pub(super) fn resumed_metrics(&self) -> Resumed {
        self.files.as_ref().map_or_else(Resumed::default, |files| files.writer.resumed())
    }

    /// Returns the present model's predictions for the validation part, if its last validation computed them.
    pub(super) fn validation_predictions(&self) -> Option<&[f64]> {
        (self.validated_at == Some(self.fit.position().step)).then_some(&self.validation)
    }

    pub(super) fn last_saved(&self) -> Option<&Saved> {
        self.last_saved.as_ref()
    }

    /// Returns the instruction set that a resumed run began with, if this CPU lacks it. The results may then differ from those
    /// on the original CPU.
    pub(super) fn other_instructions(&self) -> Option<&str> {
        self.other_instructions.as_deref()
    }

    /// Requests the end: the state is saved after the current step.
    pub(super) fn stop(&mut self) {
        self.stop_requested = true;
    }

    /// Ends as after [`Self::stop`] as soon as `wants_stop` returns true. It is called after every step and, while validating,
    /// after every batch of predictions.
    pub(super) fn stop_when(&mut self, wants_stop: StopWhen) {
        self.wants_stop = wants_stop;
    }

    /// Logical OR of the stop requests of all ranks, which must call it at the same points.
    fn is_stopping(&self) -> Result<bool> {
        self.fit.ranks().any(self.stop_requested || (self.wants_stop)())
    }

    /// Adopts weights that were trained elsewhere, as the result of one epoch: they are validated, the epoch's line is written
    /// and the state saved in every slot. `train_loss` is that epoch's mean loss on standardised scores. Returns `None` if
    /// [`Self::stop_when`] ended it: then nothing was written.
    ///
    /// For a run that has just started: training continues from these weights with a fresh optimiser.
    pub(super) fn adopt(&mut self, weights: &[Tensor], train_loss: f64) -> Result<Option<MetricsLine>> {
        self.fit.adopt(weights)?;
        let Some(predictions) = self.fit.predict_until(Part::Val, &*self.wants_stop) else {
            return Ok(None);
        };
        let report = EpochReport { train_loss, ..self.fit.report(&predictions)? };
        let times = self.epoch_times(self.epoch_began);
        let line = self.write_epoch(&report, times)?;
        self.fit.observe(&report.validation);
        self.fit.end_epoch(&report.validation);
        // Last at the end: where it is, all are.
        for slot in [Slot::BestPearson, Slot::BestMse, Slot::Last] {
            self.save(slot, EpochSpent::default())?;
        }
        Ok(Some(line))
    }

    /// Advances to the next event.
    fn advance(&mut self) -> Result<Option<Event>> {
        loop {
            match self.stage {
                Stage::Over => return Ok(None),
                Stage::End(end) => {
                    self.stage = Stage::Over;
                    return Ok(Some(Event::End(end)));
                }
                Stage::Validate(end) => return self.validate(end).map(Some),
                Stage::Step => {}
            }
            let is_stopping = self.is_stopping()?;
            let config = self.fit.config();
            let (position, max_steps) = (self.fit.position(), config.max_steps);
            if is_stopping {
                self.save(Slot::Last, self.spent_until(Moment::now(&self.clock)))?;
                self.stage = Stage::End(End::Stopped);
            } else if position.batch == 0 && position.epoch >= config.epochs {
                self.stage = Stage::End(End::Epochs);
            } else if max_steps > 0
                && position.step >= max_steps
                && position.batch as usize != self.fit.batch_count()
            {
                // At the beginning of an epoch the validation and the checkpoint of the one before are there already.
                let is_validated = position.batch == 0 && position.step > 0;
                self.stage =
                    if is_validated { Stage::End(End::Steps) } else { Stage::Validate(Some(End::Steps)) };
            } else if let Some(report) = self.fit.step(Mode::Full, &mut self.meter)? {
                self.epoch_samples += report.times.samples;
                if let Some(files) = &mut self.files {
                    files.writer.step(&report, &mut self.meter)?;
                }
                if self.saved_at.elapsed() >= self.save_every {
                    self.save(Slot::Last, self.spent_until(Moment::now(&self.clock)))?;
                }
                return Ok(Some(Event::Step(report)));
            } else {
                self.stage = Stage::Validate(None);
            }
        }
    }

    fn validate(&mut self, end: Option<End>) -> Result<Event> {
        let began = *self.validation_began.get_or_insert_with(|| {
            self.validation.clear();
            Moment::now(&self.clock)
        });
        if self.is_stopping()? {
            // The validation is done again when the run is resumed.
            self.validation_began = None;
            self.save(Slot::Last, self.spent_until(began))?;
            self.stage = Stage::Over;
            return Ok(Event::End(End::Stopped));
        }
        let Self { fit, meter, validation, .. } = self;
        if meter.time(StepPhase::Validation, || fit.predict_next_batch(Part::Val, validation))? {
            let (done, total) = (validation.len(), fit.split().rows(Part::Val).len());
            return Ok(Event::Validation { done, total });
        }
        let report = fit.report(validation)?;
        let advice = "their memory or their programs differ; train on the machines of rank 0 alone, or exclude that one";
        fit.ranks().all_same("hash of the weights", &report.weights_hash, advice)?;
        self.validation_began = None;
        self.validated_at = Some(report.position.step);
        let spent = self.spent_until(began);
        let times = self.epoch_times(began);
        if let Some(end) = end {
            // In the middle of an epoch, only the limit of steps ends the run. This validation affects neither the schedules
            // nor the best states. Its line comes after the checkpoint, so resuming removes it.
            self.save(Slot::Last, spent)?;
            self.stage = Stage::End(end);
            return Ok(Event::Epoch(self.write_epoch(&report, times)?));
        }
        let line = self.write_epoch(&report, times)?;
        let improved = self.fit.observe(&report.validation);
        for (slot, is_better) in [(Slot::BestPearson, improved.pearson), (Slot::BestMse, improved.mse)] {
            if is_better {
                self.save(slot, EpochSpent::default())?;
            }
        }
        self.stage = match self.fit.end_epoch(&report.validation) {
            Improvement::Exhausted => Stage::End(End::Patience),
            _ => Stage::Step,
        };
        self.save(Slot::Last, EpochSpent::default())?;
        self.meter.restart();
        Ok(Event::Epoch(line))
    }

    /// Returns the time spent on training this epoch up to a moment, in all sessions.
    fn spent_until(&self, moment: Moment) -> EpochSpent {
        let before = self.spent_before;
        let [wall, cpu] = moment.since(self.epoch_began);
        EpochSpent {
            wall_seconds: before.wall_seconds + wall,
            cpu_seconds: before.cpu_seconds + cpu,
            samples: before.samples + self.epoch_samples as f64,
        }
    }

    /// Returns the times of the epoch that ends now, given the start of its validation, and begins the next one.
    fn epoch_times(&mut self, validation_began: Moment) -> EpochTimes {
        let spent = self.spent_until(validation_began);
        let now = Moment::now(&self.clock);
        let [validation_seconds, validation_cpu] = now.since(validation_began);
        (self.spent_before, self.epoch_began, self.epoch_samples) = (EpochSpent::default(), now, 0);
        let train_seconds = spent.wall_seconds;
        EpochTimes {
            train_seconds,
            validation_seconds,
            cpu_seconds: spent.cpu_seconds + validation_cpu,
            samples_per_second: if train_seconds > 0.0 { spent.samples / train_seconds } else { 0.0 },
        }
    }

    fn write_epoch(&mut self, report: &EpochReport, times: EpochTimes) -> Result<MetricsLine> {
        let line = MetricsLine::of(report, times);
        if let Some(files) = &mut self.files {
            files.writer.epoch(&line, times)?;
        }
        Ok(line)
    }

    /// Saves the state, on the first rank: all have the same.
    fn save(&mut self, slot: Slot, spent: EpochSpent) -> Result<()> {
        self.fit.check_finite()?;
        let Self { fit, files, meter, .. } = self;
        let Some(files) = files else { return Ok(()) };
        let saved = meter.time(StepPhase::Checkpoint, || files.save(fit, slot, spent))?;
        if slot == Slot::Last {
            self.saved_at = Instant::now();
            self.last_saved = Some(saved);
        }
        Ok(())
    }
}

/// Checks that all ranks have the same program, dataset, configuration and weights.
fn check_ranks_agree(fit: &Fit) -> Result<()> {
    let ranks = fit.ranks();
    if ranks.is_alone() {
        return Ok(());
    }
    ranks.all_same("version of knockout", env!("CARGO_PKG_VERSION"), "install the same everywhere")?;
    let set = "set KNOCKOUT_ISA to one that all have (see --help), because they round differently";
    ranks.all_same("instruction set", Isa::current().name(), set)?;
    let copy = "all ranks must see the same folder";
    ranks.all_same("dataset", &fit.dataset().manifest.data_hash(), copy)?;
    ranks.all_same("configuration", &fit.identity().config_hash(), "give all ranks the same command")?;
    ranks.all_same("checkpoint", &weights_hash(&fit.weights()), copy)?;
    Ok(())
}

/// Returns the instruction set that a run began with, if it differs from the present one and this CPU lacks it; an error if it
/// could be used.
fn other_instructions(run: &RunDescription) -> Result<Option<String>> {
    let here = Isa::current();
    let began = run.manifest.conditions.get("instructions").filter(|began| *began != here.name());
    let Some(began) = began else { return Ok(None) };
    match Isa::available().into_iter().find(|isa| isa.name() == began) {
        Some(began) => {
            let (run, began, here) = (run.folder().display(), began.name(), here.name());
            Err(Error::request(format!(
                "{run} was begun with the instruction set {began}, and {here} rounds differently; set KNOCKOUT_ISA={began} to resume to the same bits"
            )))
        }
        None => Ok(Some(began.clone())),
    }
}

impl Iterator for Training {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.advance().transpose();
        if matches!(event, Some(Err(_))) {
            self.stage = Stage::Over;
        }
        event
    }
}
