//! A training run: a [`Fit`] and the folder that keeps what it gives.
//!
//! ```no_run
//! use knockout_train::config::Config;
//! use knockout_train::run::{Event, Run, RunContext};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dataset = std::sync::Arc::new(knockout_screen::Dataset::open("yeast".as_ref())?);
//! let config = Config::of("dango", &dataset.cell, &["epochs=2"])?;
//! let context = RunContext::new("yeast");
//! let mut run = Run::create("runs/first".as_ref(), dataset, config, &context)?;
//! for event in &mut run {
//!     if let Event::Epoch(line) = event? {
//!         println!("epoch {}: {:?}", line.epoch, line.val.pearson);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Run::resume`] goes on from the newest checkpoint to the same bits. [`RunDescription`] reads what a run says of itself.

mod description;
mod error;
mod folder;
mod manifest;
mod metrics;
mod tensorboard;
mod writer;

pub use description::RunDescription;
pub use error::RunError;
pub use folder::{RunFolder, RunFolderError, RunFolderErrorKind, Start};
pub use manifest::{Inputs, Manifest};
pub use metrics::{LogPosition, MetricsLine, MetricsLog, Resumed, read_metrics};
pub use tensorboard::{EventWriter, Scalar};

use crate::checkpoint::{Checkpoints, Saved, Slot};
use crate::config::Config;
use crate::fit::{Fit, StepReport};
use crate::schedule::Progress;
use crate::step::Mode;
use crate::stores::Stores;
use knockout_kernel::Isa;
use knockout_meter::{Meter, Schedule, StepPhase};
use knockout_model::{MODELS, ModelEntry};
use knockout_screen::{Dataset, Part, Split};
use knockout_trace::Recorder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use writer::RunWriter;

const SPLIT: &str = "split.parquet";

/// What a run says of itself beside its configuration.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Folder of the dataset.
    pub dataset_folder: PathBuf,
    /// What was changed from the defaults, `key=value` each.
    pub overrides: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub commit: String,
}

impl RunContext {
    /// A run on the dataset in this folder.
    pub fn new(dataset_folder: impl Into<PathBuf>) -> Self {
        Self {
            dataset_folder: dataset_folder.into(),
            overrides: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: "unknown".to_owned(),
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `epochs` were trained.
    Epochs,
    /// `max_steps` was reached.
    Steps,
    /// No improvement for as long as patience allows.
    Patience,
    /// [`Run::stop`]; the state is saved.
    Stopped,
}

/// What happened in a run.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "steps are what there is most of")]
pub enum Event {
    /// A step was taken.
    Step(StepReport),
    /// An epoch, or a part of one at the end of a run, was validated and its line written.
    Epoch(MetricsLine),
    /// The run is over and its newest state that can be resumed is saved; no event follows.
    End(End),
}

/// A run under way: an iterator of [`Event`]s. It ends with [`Event::End`] or with an error.
pub struct Run {
    fit: Fit,
    folder: RunFolder,
    writer: RunWriter,
    checkpoints: Checkpoints,
    meter: Meter,
    /// Interval of checkpoints inside an epoch.
    save_every: Duration,
    saved_at: Instant,
    last_saved: Option<Saved>,
    resumed_from: Option<u64>,
    stop_requested: bool,
    wants_stop: Box<dyn Fn() -> bool + Send + Sync>,
    other_instructions: Option<String>,
    stage: Stage,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Step,
    /// After an epoch; or inside of one, where the run ends.
    Validate(Option<End>),
    End(End),
    Over,
}

impl Run {
    /// Starts a run in a new folder. It appears with everything that decides the run, or not at all.
    pub fn create(
        folder: &Path,
        dataset: Arc<Dataset>,
        config: Config,
        context: &RunContext,
    ) -> Result<Self, RunError> {
        let split = Arc::new(Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec())?);
        let mut stores = Stores::default();
        let store = stores.for_run(&config, &context.dataset_folder, &dataset, split.rows(Part::Train))?;
        let fit = Fit::new(config, dataset, split)?.with_store(store.as_ref());
        let (config, dataset) = (fit.config(), fit.dataset());
        let dataset_folder =
            std::path::absolute(&context.dataset_folder).unwrap_or_else(|_| context.dataset_folder.clone());
        // Written down with other letters it would not be found again.
        let Some(dataset_folder) = dataset_folder.to_str() else {
            return Err(RunError::NotText { dataset: dataset_folder });
        };
        let manifest = Manifest {
            schema: 1,
            version: context.version.clone(),
            commit: context.commit.clone(),
            seed: config.seed,
            host: crate::machine::host(),
            inputs: Inputs::of(dataset),
            conditions: BTreeMap::from([
                ("dataset_folder".to_owned(), dataset_folder.to_owned()),
                ("threads".to_owned(), rayon::current_num_threads().to_string()),
                ("instructions".to_owned(), Isa::current().name().to_owned()),
                ("precision".to_owned(), "f32".to_owned()),
            ]),
        };
        let start = Start { config: &config.to_toml()?, overrides: &context.overrides, manifest: &manifest };
        let run = RunFolder::create_with(folder, start, |staged| -> Result<(), RunError> {
            Ok(fit.split().save(&staged.join(SPLIT), &dataset.manifest)?)
        })?;
        Self::begin(fit, run, LogPosition::START, None)
    }

    /// Goes on with a run where its newest checkpoint left it, or from its start. Overrides that change its numbers are refused, and
    /// so is another instruction set than the run was begun with, unless this CPU lacks that one: see
    /// [`Self::other_instructions`].
    pub fn resume<S: AsRef<str>>(folder: &Path, overrides: &[S]) -> Result<Self, RunError> {
        Self::resume_with(folder, overrides, MODELS)
    }

    /// The same, where the model is one of `models`.
    pub fn resume_with<S: AsRef<str>>(
        folder: &Path,
        overrides: &[S],
        models: &[ModelEntry],
    ) -> Result<Self, RunError> {
        let run = RunFolder::open(folder)?;
        let description = RunDescription::read(folder, overrides, models)?;
        let other_instructions = other_instructions(&description)?;
        let (dataset, split) = description.open_dataset()?;
        let checkpoints = Checkpoints::at(&run.checkpoints());
        checkpoints.clean()?;
        let checkpoint = checkpoints.newest(Slot::Last)?.map(|(_, checkpoint)| checkpoint);
        let mut stores = Stores::default();
        let dataset_folder = description.dataset_folder()?;
        let store = stores.for_run(&description.config, dataset_folder, &dataset, split.rows(Part::Train))?;
        let mut fit = Fit::new(description.config, dataset, split)?.with_store(store.as_ref());
        let (mut from, mut after_step) = (LogPosition::START, None);
        if let Some(checkpoint) = checkpoint {
            fit.restore(&checkpoint)?;
            (from, after_step) = (checkpoint.state.metrics, Some(checkpoint.state.position.step));
        }
        if !folder.join(SPLIT).exists() {
            // Runs of earlier versions could lose it to a kill at their start.
            fit.split().save(&folder.join(SPLIT), &fit.dataset().manifest)?;
        }
        let mut run = Self::begin(fit, run, from, after_step)?;
        let changes: Vec<&str> = overrides.iter().map(AsRef::as_ref).collect();
        let with = if changes.is_empty() { String::new() } else { format!(" with {}", changes.join(" ")) };
        run.writer.say(&format!("resumed after step {}{with}", after_step.unwrap_or(0)))?;
        if let Some(began) = &other_instructions {
            let here = Isa::current().name();
            run.writer
                .say(&format!("begun with the instruction set {began}, which this CPU lacks: now {here}"))?;
        }
        run.other_instructions = other_instructions;
        Ok(run)
    }

    fn begin(
        fit: Fit,
        folder: RunFolder,
        from: LogPosition,
        after_step: Option<u64>,
    ) -> Result<Self, RunError> {
        Ok(Self {
            writer: RunWriter::open(&folder, from, after_step)?,
            checkpoints: Checkpoints::at(&folder.checkpoints()),
            // Times every step for its report and keeps none, so that a long run does not grow.
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
            folder,
        })
    }

    /// The model and where training stands.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.folder()
    }

    /// The step that the run was resumed from, if it was.
    pub fn resumed_from(&self) -> Option<u64> {
        self.resumed_from
    }

    /// What resuming found in the metrics file: lines cut off behind the checkpoint, and lines before it that are missing.
    pub fn resumed_metrics(&self) -> Resumed {
        self.writer.resumed()
    }

    /// The newest state that this value has saved to go on from.
    pub fn last_saved(&self) -> Option<&Saved> {
        self.last_saved.as_ref()
    }

    /// The instruction set that a resumed run was begun with, where this CPU lacks it: its numbers are not those that it would have
    /// come to there.
    pub fn other_instructions(&self) -> Option<&str> {
        self.other_instructions.as_deref()
    }

    /// Asks for the end: after the step under way the state is saved.
    pub fn stop(&mut self) {
        self.stop_requested = true;
    }

    /// Ends as after [`Self::stop`] as soon as `wants_stop` says so. It is asked after every step and, while validating, after every
    /// batch of predictions.
    pub fn stop_when(&mut self, wants_stop: impl Fn() -> bool + Send + Sync + 'static) {
        self.wants_stop = Box::new(wants_stop);
    }

    fn is_stopping(&self) -> bool {
        self.stop_requested || (self.wants_stop)()
    }

    /// Does what comes next, up to something to tell.
    fn advance(&mut self) -> Result<Option<Event>, RunError> {
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
            let config = self.fit.config();
            let (position, max_steps) = (self.fit.position(), config.max_steps);
            if self.is_stopping() {
                self.save(Slot::Last)?;
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
                self.writer.step(&report, &mut self.meter)?;
                if self.saved_at.elapsed() >= self.save_every {
                    self.save(Slot::Last)?;
                }
                return Ok(Some(Event::Step(report)));
            } else {
                self.stage = Stage::Validate(None);
            }
        }
    }

    fn validate(&mut self, end: Option<End>) -> Result<Event, RunError> {
        let (stop_requested, wants_stop) = (self.stop_requested, &self.wants_stop);
        let report = self.fit.validate(&mut self.meter, &|| stop_requested || wants_stop())?;
        let Some(report) = report else {
            // The validation is done again when the run is resumed.
            self.save(Slot::Last)?;
            self.stage = Stage::Over;
            return Ok(Event::End(End::Stopped));
        };
        if let Some(end) = end {
            // In the middle of an epoch, where only the limit of this sitting ends it: neither the schedules nor the best states may
            // see this validation, and its line is written behind the checkpoint, which cuts it off when the run is resumed.
            self.save(Slot::Last)?;
            self.stage = Stage::End(end);
            return Ok(Event::Epoch(self.writer.epoch(&report)?));
        }
        let line = self.writer.epoch(&report)?;
        for slot in self.fit.observe(&report.validation) {
            self.save(slot)?;
        }
        self.stage = match self.fit.end_epoch(&report.validation) {
            Progress::Exhausted => Stage::End(End::Patience),
            _ => Stage::Step,
        };
        self.save(Slot::Last)?;
        self.meter.restart();
        Ok(Event::Epoch(line))
    }

    fn save(&mut self, slot: Slot) -> Result<(), RunError> {
        self.fit.check_finite()?;
        let Self { fit, checkpoints, meter, writer, .. } = self;
        let saved = meter.time(StepPhase::Checkpoint, || -> Result<Saved, RunError> {
            Ok(fit.save(checkpoints, slot, writer.position()?)?)
        })?;
        if slot == Slot::Last {
            self.saved_at = Instant::now();
            self.last_saved = Some(saved);
        }
        Ok(())
    }
}

/// The instruction set that a run was begun with, where it is another than here and this CPU lacks it; an error if it could be used.
fn other_instructions(run: &RunDescription) -> Result<Option<String>, RunError> {
    let here = Isa::current();
    let began = run.manifest.conditions.get("instructions").filter(|began| *began != here.name());
    let Some(began) = began else { return Ok(None) };
    match Isa::available().into_iter().find(|isa| isa.name() == began) {
        Some(began) => Err(RunError::OtherInstructions {
            run: run.folder().to_owned(),
            began: began.name(),
            here: here.name(),
        }),
        None => Ok(Some(began.clone())),
    }
}

impl Iterator for Run {
    type Item = Result<Event, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.advance().transpose();
        if matches!(event, Some(Err(_))) {
            self.stage = Stage::Over;
        }
        event
    }
}
