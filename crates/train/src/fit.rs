//! The training loop.
//!
//! [`Fit::run`] is the whole of it: epochs of steps, validation after each, a learning rate that is really stepped, the best
//! and the last state handed to whoever keeps them. It reads no clock but the meter's and writes no file; the watcher does.

use crate::checkpoint::{
    Checkpoint, Contents, Identity, IdentityError, Number, Place, State, Tensor, TensorRef, weights_hash,
};
use crate::config::{Config, ConfigError};
use crate::metrics::Metrics;
use crate::run::Position;
use crate::schedule::{Accumulation, Best, EarlyStopping, LearningRate, Mode as Better, Progress};
use crate::step::{Mode, NotFinite, StepOutcome, StepPlan, Trainer};
use knockout_batch::{Batch, BatchError, Graphs, Loader, LoaderPlan, Store};
use knockout_grad::Tape;
use knockout_meter::{Gauge, Meter, StepPhase, StepTimes};
use knockout_model::loss::{CircularBuffer, Restored};
use knockout_model::{Input, LossAt, Model};
use knockout_screen::{Dataset, LabelStats, Part, Split};
use knockout_trace::TraceFileError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A run under way.
pub struct Fit<'a> {
    config: &'a Config,
    dataset: &'a Dataset,
    split: &'a Split,
    store: Option<&'a Store>,
    model: Box<dyn Model>,
    trainer: Trainer,
    labels: LabelStats,
    accumulation: Accumulation,
    rate: LearningRate,
    stopping: Option<EarlyStopping>,
    best_pearson: Best,
    best_mse: Best,
    place: Place,
    /// Loss × samples and samples of the epoch so far.
    epoch_loss: f64,
    epoch_samples: f64,
}

/// What the watcher wants after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The next step.
    GoOn,
    /// A checkpoint, then the next step.
    Save,
    /// A checkpoint, then the end.
    Stop,
}

/// Why a state is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// To go on from.
    Last,
    /// The best validation Pearson so far.
    BestPearson,
    /// The least validation MSE so far.
    BestMse,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All epochs.
    Epochs,
    /// All steps.
    Steps,
    /// No improvement for as long as patience allows.
    Patience,
    /// The watcher asked for it; the state was handed over.
    Stopped,
}

/// A step that was taken.
#[derive(Debug)]
pub struct StepReport<'r> {
    /// Where the run is now.
    pub place: Place,
    /// Batches of an epoch.
    pub batches: usize,
    /// What the batch gave.
    pub outcome: &'r StepOutcome,
    /// The learning rate.
    pub learning_rate: f64,
    /// How long it took.
    pub times: StepTimes,
}

/// An epoch that ended.
#[derive(Debug)]
pub struct EpochReport<'r> {
    /// Where the run is: the epoch that ended, its last step.
    pub place: Place,
    /// Mean loss over the epoch's samples.
    pub train_loss: f64,
    /// The learning rate it ran at.
    pub learning_rate: f64,
    /// Over the full validation part, in the scores' own units.
    pub validation: &'r Metrics,
    /// Of all parameters; see [`weights_hash`].
    pub weights_hash: String,
}

/// What keeping gives; whoever keeps has errors of their own.
pub type Kept<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Who keeps what a run gives.
pub trait Watch {
    /// After every step.
    fn step(&mut self, report: &StepReport<'_>) -> Kept<Wish>;
    /// After every epoch.
    fn epoch(&mut self, report: &EpochReport<'_>) -> Kept<()>;
    /// Where the metrics' file ends now: part of every state.
    fn position(&mut self) -> Kept<Position>;
    /// Keeps a state.
    fn keep(&mut self, occasion: Occasion, contents: &Contents<'_>) -> Kept<()>;
}

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The configuration cannot be carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A part of the split is empty.
    #[error("the {part} part of the split has no samples; choose another scheme, shares or subset")]
    EmptyPart {
        /// The part.
        part: &'static str,
    },
    /// The training scores are all the same.
    #[error("the training scores are all equal: there is nothing to learn")]
    ConstantScores,
    /// A sample that cannot be loaded.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A number left the range of floats.
    #[error(
        "step {step} (epoch {epoch}) diverged: {source}; lower optimiser.learning_rate or set optimiser.clip_norm"
    )]
    Diverged {
        /// The step, from 1.
        step: u64,
        /// The epoch, from 0.
        epoch: u32,
        /// What is not finite.
        source: NotFinite,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// What the run gave could not be kept.
    #[error("{0}")]
    Keep(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A checkpoint of another run.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A checkpoint goes on after the end of its epoch.
    #[error("the checkpoint is at batch {batch} of an epoch that has {batches}; resume from another one")]
    Place {
        /// The batches that are done.
        batch: u32,
        /// Those of an epoch.
        batches: usize,
    },
    /// A checkpoint does not hold what the model needs.
    #[error("the checkpoint has no tensor {name:?} of {count} numbers")]
    Tensor {
        /// The parameter.
        name: String,
        /// How many numbers it has.
        count: usize,
    },
    /// A checkpoint's loss buffer is not one of this loss.
    #[error("the checkpoint's loss buffer {name:?} does not fit: {why}")]
    Buffer {
        /// The buffer.
        name: String,
        /// Why not.
        why: String,
    },
}

impl<'a> Fit<'a> {
    /// A run before its first step.
    pub fn new(config: &'a Config, dataset: &'a Dataset, split: &'a Split) -> Result<Self, FitError> {
        let model = config.build(&dataset.cell)?;
        for part in [Part::Train, Part::Val] {
            if split.rows(part).is_empty() {
                return Err(FitError::EmptyPart { part: part.name() });
            }
        }
        let labels = dataset.samples.label_stats(split.rows(Part::Train)).ok_or(FitError::ConstantScores)?;
        let patience = config.run.patience;
        Ok(Self {
            trainer: Trainer::new(
                model.parameters(),
                config.optimiser.weight_decay,
                config.optimiser.clip_norm,
            ),
            model,
            labels,
            accumulation: config.accumulation()?,
            rate: config.learning_rate().map_err(ConfigError::from)?,
            stopping: (patience > 0).then(|| EarlyStopping::new(Better::Max, patience, 0.0)),
            best_pearson: Best::new(Better::Max),
            best_mse: Best::new(Better::Min),
            place: Place::default(),
            epoch_loss: 0.0,
            epoch_samples: 0.0,
            config,
            dataset,
            split,
            store: None,
        })
    }

    /// Gives it the store that a saved representation is read from.
    #[must_use]
    pub fn with_store(mut self, store: Option<&'a Store>) -> Self {
        self.store = store;
        self
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Where the run is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Trains until epochs, steps, patience or the watcher end it.
    pub fn run(&mut self, meter: &mut Meter, watch: &mut dyn Watch) -> Result<End, FitError> {
        while self.place.epoch < self.config.epochs {
            let outcome = self.steps(Mode::Full, self.config.max_steps, meter, watch)?;
            if let Some(End::Stopped) = outcome {
                self.keep(Occasion::Last, watch)?;
                return Ok(End::Stopped);
            }
            let validation = meter.time(StepPhase::Validation, || self.measure(Part::Val));
            let report = EpochReport {
                place: self.place,
                train_loss: self.epoch_loss / self.epoch_samples.max(1.0),
                learning_rate: self.rate.rate(),
                validation: &validation,
                weights_hash: weights_hash(&self.weights()),
            };
            watch.epoch(&report).map_err(FitError::Keep)?;
            let (pearson, mse) = (validation.pearson.unwrap_or(f64::NAN), validation.mse.unwrap_or(f64::NAN));
            let better = [
                (Occasion::BestPearson, self.best_pearson.observe(self.place.epoch, pearson)),
                (Occasion::BestMse, self.best_mse.observe(self.place.epoch, mse)),
            ];
            for (occasion, progress) in better {
                if progress == Progress::Improved {
                    self.keep(occasion, watch)?;
                }
            }
            if let Some(end) = outcome {
                // In the middle of an epoch: the schedules have not seen its end.
                self.keep(Occasion::Last, watch)?;
                return Ok(end);
            }
            self.rate.end_epoch(mse);
            let exhausted = self
                .stopping
                .as_mut()
                .is_some_and(|stopping| stopping.observe(self.place.epoch, pearson) == Progress::Exhausted);
            (self.place.epoch, self.place.batch) = (self.place.epoch + 1, 0);
            (self.epoch_loss, self.epoch_samples) = (0.0, 0.0);
            self.keep(Occasion::Last, watch)?;
            meter.restart();
            if exhausted {
                return Ok(End::Patience);
            }
        }
        Ok(End::Epochs)
    }

    /// Goes to where a run of single batches is before this step, so that several measurements take the same batches. The
    /// weights stay as they are.
    pub fn seek(&mut self, step: u64) {
        let batches = self.loader().batch_count().max(1) as u64;
        self.place.step = step;
        (self.place.epoch, self.place.batch) = ((step / batches) as u32, (step % batches) as u32);
    }

    /// Takes `steps` batches in a mode, over as many epochs as that needs: what a profile measures. Nothing is validated.
    pub fn measure_steps(
        &mut self,
        mode: Mode,
        steps: u64,
        meter: &mut Meter,
        watch: &mut dyn Watch,
    ) -> Result<(), FitError> {
        while self.steps(mode, steps, meter, watch)?.is_none() {
            (self.place.epoch, self.place.batch) = (self.place.epoch + 1, 0);
        }
        Ok(())
    }

    /// The rest of an epoch; `Some` where it ended before its last batch.
    fn steps(
        &mut self,
        mode: Mode,
        max_steps: u64,
        meter: &mut Meter,
        watch: &mut dyn Watch,
    ) -> Result<Option<End>, FitError> {
        let loader = self.loader().with_recorder(meter.recorder());
        let (batches, epoch, start) = (loader.batch_count(), self.place.epoch, self.place.batch as usize);
        let mut end: Result<Option<End>, FitError> = Ok(None);
        if max_steps > 0 && self.place.step >= max_steps {
            return Ok(Some(End::Steps));
        }
        loader.epoch(u64::from(epoch), start, |prepared| {
            meter.load(prepared.times());
            let group = self.accumulation.group(epoch, self.place.batch, batches as u32);
            let plan = StepPlan {
                mode,
                at: LossAt { epoch, step: self.place.step },
                group,
                begins_group: self.place.batch.is_multiple_of(self.accumulation.batches_at(epoch)),
                learning_rate: self.rate.rate(),
                labels: self.labels,
            };
            let outcome = match self.trainer.step(
                &mut *self.model,
                prepared.batch(),
                &prepared.graphs(),
                plan,
                meter,
            ) {
                Ok(outcome) => outcome,
                Err(source) => {
                    end = Err(FitError::Diverged { step: self.place.step + 1, epoch, source });
                    return ControlFlow::Break(());
                }
            };
            let samples = prepared.batch().len();
            self.place.step += 1;
            self.place.batch += 1;
            self.place.optimiser_step = self.trainer.optimiser.step;
            self.epoch_loss += outcome.loss * samples as f64;
            self.epoch_samples += samples as f64;
            end = self.after_step(&outcome, samples, batches, meter, watch).map(|wish| match wish {
                Wish::Stop => Some(End::Stopped),
                _ if self.place.step == max_steps && self.place.batch < batches as u32 => Some(End::Steps),
                _ => None,
            });
            if matches!(end, Ok(None)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        end
    }

    fn after_step(
        &mut self,
        outcome: &StepOutcome,
        samples: usize,
        batches: usize,
        meter: &mut Meter,
        watch: &mut dyn Watch,
    ) -> Result<Wish, FitError> {
        meter.gauge(Gauge::Pool, self.model.parameters().allocated_bytes() as u64);
        let times = meter.end_step(samples)?;
        let report =
            StepReport { place: self.place, batches, outcome, learning_rate: self.rate.rate(), times };
        let wish = meter.time(StepPhase::Logging, || watch.step(&report)).map_err(FitError::Keep)?;
        // Between accumulated batches there are gradients that no checkpoint holds: wait for the group's end.
        let whole = self.place.batch.is_multiple_of(self.accumulation.batches_at(self.place.epoch))
            || self.place.batch as usize == batches;
        match wish {
            Wish::Save if whole => {
                self.keep(Occasion::Last, watch)?;
                Ok(Wish::GoOn)
            }
            Wish::Stop if !whole => Ok(Wish::GoOn),
            wish => Ok(wish),
        }
    }

    /// The predictions for a part, in the order of its rows and in the scores' own units.
    pub fn predict(&self, part: Part) -> Vec<f64> {
        let rows = self.split.rows(part);
        let (mut batch, mut predictions) = (Batch::default(), Vec::with_capacity(rows.len()));
        for rows in rows.chunks(self.config.run.predict_batch) {
            batch.fetch(&self.dataset.samples, rows);
            let sets = batch.genes.view();
            let mut tape = Tape::new(self.model.parameters());
            let forward = self.model.forward(&mut tape, Input::evaluated(sets, &Graphs::None));
            let values = tape.value(forward.predictions).iter();
            predictions.extend(values.map(|&value| self.labels.restore(f64::from(value))));
        }
        predictions
    }

    fn measure(&self, part: Part) -> Metrics {
        let rows = self.split.rows(part);
        let targets: Vec<f64> = rows.iter().map(|&row| self.dataset.samples.scores()[row as usize]).collect();
        Metrics::of(&self.predict(part), &targets)
    }

    fn loader(&self) -> Loader<'a> {
        let plan = LoaderPlan {
            kind: self.config.processor(),
            collation: self.config.loader.collate.collation(),
            batch_size: self.config.batch,
            drop_last: false,
            shuffle: true,
            seed: self.config.seed,
            rank: 0,
            world: 1,
            threads: self.config.loader.threads,
            depth: self.config.loader.depth,
        };
        let loader = Loader::new(self.dataset, self.split.rows(Part::Train), plan);
        match self.store {
            Some(store) => loader.with_store(store),
            None => loader,
        }
    }

    fn weights(&self) -> Vec<TensorRef<'_>> {
        let entries = self.model.parameters().iter();
        entries
            .map(|entry| TensorRef { name: entry.name(), shape: entry.shape(), values: entry.values() })
            .collect()
    }

    /// What identifies the run: a checkpoint of another one is refused.
    pub fn identity(&self) -> Identity {
        self.config.identity(&self.dataset.cell.genes().hash().to_hex())
    }

    fn keep(&self, occasion: Occasion, watch: &mut dyn Watch) -> Result<(), FitError> {
        let buffers = self.model.loss_buffers();
        let state = State {
            identity: self.identity(),
            place: self.place,
            seed: self.config.seed,
            learning_rate: self.rate.clone(),
            early_stopping: self.stopping,
            best: BTreeMap::from([
                ("pearson".to_owned(), self.best_pearson),
                ("mse".to_owned(), self.best_mse),
            ]),
            loss_buffers: buffers.iter().map(|(name, buffer)| ((*name).to_owned(), buffer.state())).collect(),
            metrics: watch.position().map_err(FitError::Keep)?,
            numbers: BTreeMap::from([
                ("epoch_loss".to_owned(), Number(self.epoch_loss)),
                ("epoch_samples".to_owned(), Number(self.epoch_samples)),
            ]),
        };
        let (weights, moments) = (self.weights(), &self.trainer.optimiser.moments);
        let with = |of: fn(&knockout_grad::Moments<f32>) -> &[f32]| -> Vec<TensorRef<'_>> {
            weights
                .iter()
                .zip(moments)
                .map(|(weight, moments)| TensorRef { values: of(moments), ..*weight })
                .collect()
        };
        let (first, second) = (with(|moments| &moments.first), with(|moments| &moments.second));
        let rows: Vec<BufferRows<'_>> = buffers.iter().flat_map(BufferRows::of).collect();
        let contents = Contents {
            weights: &weights,
            first_moments: &first,
            second_moments: &second,
            buffers: &rows.iter().map(BufferRows::tensor).collect::<Vec<_>>(),
            state: &state,
        };
        watch.keep(occasion, &contents).map_err(FitError::Keep)
    }

    /// Takes up a state that was kept; one of another run is refused.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), FitError> {
        checkpoint.state.identity.check(&self.identity())?;
        let (batch, batches) = (checkpoint.state.place.batch, self.loader().batch_count());
        if batch as usize > batches {
            return Err(FitError::Place { batch, batches });
        }
        let parameters = self.model.parameters_mut();
        for (place, moments) in self.trainer.optimiser.moments.iter_mut().enumerate() {
            let name = parameters.get(place).name().to_owned();
            copy_tensor(&checkpoint.weights, &name, parameters.values_mut(place))?;
            copy_tensor(&checkpoint.first_moments, &name, &mut moments.first)?;
            copy_tensor(&checkpoint.second_moments, &name, &mut moments.second)?;
        }
        for (name, state) in &checkpoint.state.loss_buffers {
            let rows = |part: &str| {
                let (name, count) = (format!("{name}.{part}"), state.capacity);
                let found = checkpoint.buffers.iter().find(|tensor| tensor.name == name);
                found.map(|tensor| &tensor.values[..]).ok_or(FitError::Tensor { name, count })
            };
            let taken = self
                .model
                .restore_loss_buffer(name, *state, rows("features")?, rows("labels")?)
                .map_err(|error| FitError::Buffer { name: name.clone(), why: error.to_string() })?;
            if taken == Restored::Unknown {
                let why = "this loss has no buffer of that name".to_owned();
                return Err(FitError::Buffer { name: name.clone(), why });
            }
        }
        let state = &checkpoint.state;
        self.trainer.optimiser.step = state.place.optimiser_step;
        self.place = state.place;
        self.rate = state.learning_rate.clone();
        self.stopping = state.early_stopping;
        let best = |name: &str, otherwise: Best| state.best.get(name).copied().unwrap_or(otherwise);
        self.best_pearson = best("pearson", self.best_pearson);
        self.best_mse = best("mse", self.best_mse);
        let number = |name: &str| state.numbers.get(name).map_or(0.0, |number| number.0);
        (self.epoch_loss, self.epoch_samples) = (number("epoch_loss"), number("epoch_samples"));
        Ok(())
    }
}

/// One side of a loss buffer as a tensor of a checkpoint.
struct BufferRows<'b> {
    name: String,
    shape: [usize; 2],
    values: &'b [f32],
}

impl<'b> BufferRows<'b> {
    fn of((name, buffer): &'b (&'static str, CircularBuffer<f32>)) -> [Self; 2] {
        let state = buffer.state();
        [
            Self {
                name: format!("{name}.features"),
                shape: [state.capacity, state.feature_width],
                values: buffer.features(),
            },
            Self {
                name: format!("{name}.labels"),
                shape: [state.capacity, state.label_width],
                values: buffer.labels(),
            },
        ]
    }

    fn tensor(&self) -> TensorRef<'_> {
        TensorRef { name: &self.name, shape: &self.shape, values: self.values }
    }
}

fn copy_tensor(tensors: &[Tensor], name: &str, slots: &mut [f32]) -> Result<(), FitError> {
    let found = tensors.iter().find(|tensor| tensor.name == name && tensor.values.len() == slots.len());
    let Some(tensor) = found else {
        return Err(FitError::Tensor { name: name.to_owned(), count: slots.len() });
    };
    slots.copy_from_slice(&tensor.values);
    Ok(())
}
