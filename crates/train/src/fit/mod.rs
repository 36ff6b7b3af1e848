//! A model being fitted: steps, validation and the state between them.
//!
//! A [`Fit`] takes one step at a time and writes no file. [`crate::run::Run`] drives it and stores its results;
//! `bench` calls `measure_steps` without a `Run`. Its only clock is the meter's.

mod report;

pub use report::{EpochReport, Improved, Position, StepReport};

use crate::config::{Config, Identity};
use crate::loader::{EpochBatches, Loader, LoaderOptions, LoaderPlan};
use crate::metrics::Metrics;
use crate::schedule::{Accumulation, Best, Better, EarlyStopping, Improvement, LearningRate};
use crate::step::shards::{Sharding, StepResult};
use crate::step::{Mode, StepPlan, Trainer, diverged};
use crate::tensors::{Tensor, TensorRef, weights_hash};
use knockout_base::error::{Error, Result};
use knockout_data::batch::{Graphs, Store};
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Dataset, LabelStats, Part, Split};
use knockout_engine::grad::Tape;
use knockout_engine::kernel::Scalar as _;
use knockout_models::{Input, LossPosition, Model};
use knockout_ranks::Ranks;
use knockout_solve::GeneFactors;
use knockout_trace::meter::{Gauge, Meter, StepPhase};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A model, its optimiser and the state of training.
pub struct Fit {
    pub(crate) config: Config,
    pub(crate) dataset: Arc<Dataset>,
    /// The dataset with the scores that are trained on, or its residuals after another run.
    trained_on: Arc<Dataset>,
    /// Predictions of that other run for every sample.
    base: Option<Vec<f64>>,
    split: Arc<Split>,
    store: Option<Arc<Store>>,
    sharding: Sharding,
    pub(crate) model: Box<dyn Model>,
    pub(crate) trainer: Trainer,
    pub(crate) labels: LabelStats,
    accumulation: Accumulation,
    pub(crate) learning_rate: LearningRate,
    pub(crate) stopping: Option<EarlyStopping>,
    pub(crate) best_pearson: Best,
    pub(crate) best_mse: Best,
    pub(crate) position: Position,
    /// Loss × samples and samples of the epoch so far.
    pub(crate) epoch_loss: f64,
    pub(crate) epoch_samples: f64,
    /// Parts of the loss × samples of the epoch so far, by name.
    pub(crate) epoch_parts: BTreeMap<String, f64>,
    /// The remaining batches of the epoch, if its first batch was loaded.
    pub(crate) batches: Option<EpochBatches>,
}

impl Fit {
    /// A model before its first step.
    pub fn new(config: Config, dataset: Arc<Dataset>, split: Arc<Split>) -> Result<Self> {
        config.check(&dataset.cell)?;
        config
            .check_memory(&dataset.cell, members_at_once(&config, &dataset, split.rows(Part::Train).len()))?;
        let model = config.model.build(&dataset.cell, config.seed)?;
        for part in [Part::Train, Part::Val] {
            if split.rows(part).is_empty() {
                let part = part.name();
                let advice = "choose another scheme, shares or subset";
                return Err(Error::request(format!("the {part} part of the split has no samples; {advice}")));
            }
        }
        check_scores(&dataset, &split)?;
        let labels = dataset.samples.label_stats(split.rows(Part::Train));
        let labels = labels.filter(|labels| labels.sd > 0.0).ok_or_else(constant_scores)?;
        let patience = config.run.patience;
        let sharding = Sharding::new(config.train.shards, config.train.gather_every, Ranks::alone())?;
        Ok(Self {
            trainer: Trainer::new(
                model.parameters(),
                config.optimiser.weight_decay,
                config.optimiser.clip_norm,
            ),
            model,
            labels,
            accumulation: config.optimiser.accumulation()?,
            learning_rate: config.optimiser.learning_rate()?,
            stopping: (patience > 0).then(|| EarlyStopping::new(Better::Max, patience, 0.0)),
            best_pearson: Best::new(Better::Max),
            best_mse: Best::new(Better::Min),
            position: Position::default(),
            epoch_loss: 0.0,
            epoch_samples: 0.0,
            epoch_parts: BTreeMap::new(),
            batches: None,
            config,
            trained_on: Arc::clone(&dataset),
            base: None,
            dataset,
            split,
            store: None,
            sharding,
        })
    }

    /// Shares the work of every step with other processes, which must make the same calls. Weights and metrics equal those of
    /// one process.
    pub fn on_ranks(mut self, ranks: Ranks) -> Result<Self> {
        self.sharding = Sharding::new(self.config.train.shards, self.config.train.gather_every, ranks)?;
        Ok(self)
    }

    /// The processes that share the work.
    pub fn ranks(&self) -> &Ranks {
        &self.sharding.ranks
    }

    /// Trains on the scores minus `base`, a prediction for every sample. Predictions and validation are about the sum.
    pub(crate) fn on_residuals(mut self, base: Vec<f64>) -> Result<Self> {
        let scores = self.dataset.samples.scores().iter().zip(&base).map(|(score, base)| score - base);
        let samples = self.dataset.samples.clone().with_scores(scores.collect());
        let labels = samples.label_stats(self.split.rows(Part::Train));
        self.labels = labels.filter(|labels| labels.sd > 0.0).ok_or_else(constant_scores)?;
        let manifest = self.dataset.manifest.clone();
        self.trained_on = Arc::new(Dataset { manifest, cell: Arc::clone(&self.dataset.cell), samples });
        self.base = Some(base);
        Ok(self)
    }

    /// Writes factors into the model's gene table, scaled to the size of its initial values, as many as fit. Genes without
    /// factors keep their initial values. Returns whether the model has such a table.
    pub(crate) fn start_from(&mut self, factors: &GeneFactors) -> bool {
        let Some(name) = self.model.gene_table() else { return false };
        let parameters = self.model.parameters_mut();
        let index = (0..parameters.len()).find(|&index| parameters.get(index).name() == name);
        let Some(index) = index else { return false };
        let genes = factors.is_known.len();
        let table = parameters.values_mut(index);
        let width = table.len() / genes.max(1);
        let size = |values: &[f32]| {
            let squares: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            (squares / values.len().max(1) as f64).sqrt()
        };
        let kept = factors.rank.min(width);
        let known: Vec<f32> = factors
            .values
            .chunks_exact(factors.rank)
            .zip(&factors.is_known)
            .filter(|(_, is_known)| **is_known)
            .flat_map(|(row, _)| row[..kept].iter().copied())
            .collect();
        let scale = size(table) / size(&known).max(f64::MIN_POSITIVE);
        let rows = factors.values.chunks_exact(factors.rank).zip(&factors.is_known);
        for (row, (factors, _)) in table.chunks_exact_mut(width).zip(rows).filter(|(_, (_, known))| **known) {
            row.iter_mut()
                .zip(factors)
                .for_each(|(value, &factor)| *value = (f64::from(factor) * scale) as f32);
        }
        true
    }

    /// Reads a stored representation from this store.
    #[must_use]
    pub fn with_store(mut self, store: Option<&Arc<Store>>) -> Self {
        self.store = store.cloned();
        self
    }

    /// Returns the statistics of the scores that it is fitted to.
    pub fn labels(&self) -> LabelStats {
        self.labels
    }

    /// Returns the predictions of the run whose residuals it is fitted to, one for every sample; `None` if it is fitted to the
    /// scores.
    pub fn base(&self) -> Option<&[f64]> {
        self.base.as_deref()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The dataset it is fitted to.
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The split it is fitted by.
    pub fn split(&self) -> &Arc<Split> {
        &self.split
    }

    /// Where training stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Batches of an epoch.
    pub fn batch_count(&self) -> usize {
        self.split.rows(Part::Train).len().div_ceil(self.config.batch)
    }

    /// Takes the next batch of the epoch as far as `mode` goes; `None` when the epoch has no more.
    pub fn step(&mut self, mode: Mode, meter: &mut Meter) -> Result<Option<StepReport>> {
        let (epoch, batch_count) = (self.position.epoch, self.batch_count());
        let mut batches = self.batches.take().unwrap_or_else(|| {
            let loader = self.loader().with_recorder(meter.recorder());
            loader.epoch(u64::from(epoch), self.position.batch as usize)
        });
        let plan = StepPlan {
            mode,
            at: LossPosition::new(epoch, self.position.step),
            group: self.accumulation.group(epoch, self.position.batch, batch_count as u32),
            begins_group: self.position.batch.is_multiple_of(self.accumulation.batches_at(epoch)),
            learning_rate: self.learning_rate.rate(),
            labels: self.labels,
        };
        self.sharding.ranks.note_step(self.position.step + 1);
        let taken = if self.sharding.is_whole() {
            self.step_whole(&mut batches, plan, meter)?
        } else {
            self.trainer.step_in_shards(&mut *self.model, &mut batches, plan, &self.sharding, meter)?
        };
        let Some(StepResult { outcome, samples }) = taken else { return Ok(None) };
        self.batches = Some(batches);
        self.position.step += 1;
        self.position.batch += 1;
        self.position.optimiser_step = self.trainer.optimiser.step;
        self.epoch_loss += outcome.loss * samples as f64;
        self.epoch_samples += samples as f64;
        for (name, value) in &outcome.parts {
            *self.epoch_parts.entry(name.clone()).or_default() += value * samples as f64;
        }
        meter.gauge(Gauge::Pool, self.buffer_bytes());
        let times = meter.end_step(samples)?;
        Ok(Some(StepReport {
            position: self.position,
            batches: batch_count,
            outcome,
            learning_rate: self.learning_rate.rate(),
            times,
        }))
    }

    /// Takes a batch as it is.
    fn step_whole(
        &mut self,
        batches: &mut EpochBatches,
        plan: StepPlan,
        meter: &mut Meter,
    ) -> Result<Option<StepResult>> {
        let Some(loaded) = batches.next_batch()? else { return Ok(None) };
        meter.load(loaded.times());
        let outcome = self.trainer.step(&mut *self.model, loaded.batch(), &loaded.graphs(), plan, meter)?;
        Ok(Some(StepResult { outcome, samples: loaded.batch().len() }))
    }

    /// Returns the bytes of the model's buffers and of those that kernels share.
    pub fn buffer_bytes(&self) -> u64 {
        (self.model.parameters().allocated_bytes() + f32::pool().allocated_bytes()) as u64
    }

    /// Returns whether the loss couples the samples of a batch.
    pub fn couples_samples(&self) -> bool {
        self.model.couples_samples()
    }

    /// Returns whether early stopping has ended the training.
    pub(crate) fn is_out_of_patience(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_exhausted())
    }

    /// Returns whether the optimiser has used all gradients. Inside a group of accumulated batches they are part of the state.
    pub(crate) fn is_between_groups(&self) -> bool {
        self.position.batch.is_multiple_of(self.accumulation.batches_at(self.position.epoch))
            || self.position.batch as usize == self.batch_count()
    }

    /// Moves to the batch that this zero-based step of a run takes, so that several measurements take the same batches. The weights
    /// stay as they are.
    pub fn seek(&mut self, step: u64) {
        let batches = self.batch_count().max(1) as u64;
        self.batches = None;
        self.position.step = step;
        (self.position.epoch, self.position.batch) = ((step / batches) as u32, (step % batches) as u32);
    }

    /// Takes batches in a mode until step `until`, across epochs and without validation, for a profile. `on_step` may stop it
    /// after a step; on several ranks all must stop after the same one.
    pub fn measure_steps(
        &mut self,
        mode: Mode,
        until: u64,
        meter: &mut Meter,
        mut on_step: impl FnMut(&StepReport) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        while self.position.step < until && flow.is_continue() {
            match self.step(mode, meter)? {
                Some(report) => flow = meter.time(StepPhase::Logging, || on_step(&report)),
                None => self.begin_epoch(),
            }
        }
        self.batches = None;
        Ok(flow)
    }

    fn begin_epoch(&mut self) {
        (self.position.epoch, self.position.batch) = (self.position.epoch + 1, 0);
        (self.epoch_loss, self.epoch_samples) = (0.0, 0.0);
        self.epoch_parts.clear();
        self.batches = None;
    }

    /// Returns the results of the epoch so far, and the metrics of these predictions for the validation part. A prediction that
    /// is not finite means that the model has diverged.
    pub fn report(&self, predictions: &[f64]) -> Result<EpochReport> {
        let rows = self.split.rows(Part::Val);
        let targets: Vec<f64> = rows.iter().map(|&row| self.dataset.samples.scores()[row as usize]).collect();
        let validation = Metrics::of(predictions, &targets);
        if validation.count > 0 && !validation.mse.is_some_and(f64::is_finite) {
            return Err(self.diverged("a prediction for the validation part"));
        }
        let samples = self.epoch_samples.max(1.0);
        Ok(EpochReport {
            position: self.position,
            train_loss: self.epoch_loss / samples,
            loss_parts: self.epoch_parts.iter().map(|(name, sum)| (name.clone(), sum / samples)).collect(),
            learning_rate: self.learning_rate.rate(),
            validation,
            weights_hash: weights_hash(&self.weights()),
        })
    }

    /// Refuses a state with a number that is not finite: a run could not be resumed from it.
    pub(crate) fn check_finite(&self) -> Result<()> {
        let is_broken = |values: &[f32]| values.iter().any(|value| !value.is_finite());
        let moments = &self.trainer.optimiser.moments;
        for (index, (weight, moments)) in self.weights().iter().zip(moments).enumerate() {
            let name = weight.name;
            if is_broken(weight.values) {
                return Err(self.diverged(&format!("the parameter {name:?}")));
            }
            if is_broken(&moments.first) || is_broken(&moments.second) {
                return Err(self.diverged(&format!("a moment of {name:?}")));
            }
            if !self.is_between_groups() && is_broken(self.trainer.gradients.parameter(index)) {
                return Err(self.diverged(&format!("the gradient of {name:?}")));
            }
        }
        for (name, buffer) in self.model.loss_buffers() {
            if is_broken(buffer.features()) || is_broken(buffer.labels()) {
                return Err(self.diverged(&format!("the loss buffer {name:?}")));
            }
        }
        Ok(())
    }

    fn diverged(&self, what: &str) -> Error {
        diverged(self.position.step, self.position.epoch, what)
    }

    /// Records a validation; returns the measures by which the model is the best so far.
    pub fn observe(&mut self, validation: &Metrics) -> Improved {
        let [pearson, mse] = [validation.pearson, validation.mse].map(|value| value.unwrap_or(f64::NAN));
        let epoch = self.position.epoch;
        Improved {
            pearson: self.best_pearson.observe(epoch, pearson) == Improvement::Improved,
            mse: self.best_mse.observe(epoch, mse) == Improvement::Improved,
        }
    }

    /// Ends an epoch after its validation: schedules are stepped and the next epoch begins. Returns whether patience is left.
    pub fn end_epoch(&mut self, validation: &Metrics) -> Improvement {
        let [pearson, mse] = [validation.pearson, validation.mse].map(|value| value.unwrap_or(f64::NAN));
        self.learning_rate.end_epoch(mse);
        let epoch = self.position.epoch;
        let progress =
            self.stopping.as_mut().map_or(Improvement::Improved, |stopping| stopping.observe(epoch, pearson));
        self.begin_epoch();
        progress
    }

    /// Returns the predictions for a part, in the order of its rows and in the units of the scores.
    pub fn predict(&self, part: Part) -> Vec<f64> {
        self.predict_until(part, &|| false).unwrap_or_default()
    }

    /// Predicts a part on this process alone, until `wants_stop` returns true: then `None`. It is called before every batch of
    /// `run.predict_batch` samples.
    pub(crate) fn predict_until(&self, part: Part, wants_stop: &dyn Fn() -> bool) -> Option<Vec<f64>> {
        let mut predictions = Vec::new();
        while predictions.len() < self.split.rows(part).len() {
            if wants_stop() {
                return None;
            }
            let from = predictions.len();
            predictions.extend(self.predict_batch(part, from));
        }
        Some(predictions)
    }

    /// Appends the predictions of the next batch of a part, or of one batch per rank; returns whether more follow.
    pub fn predict_next_batch(&self, part: Part, predictions: &mut Vec<f64>) -> Result<bool> {
        let (ranks, from) = (&self.sharding.ranks, predictions.len());
        let mine = self.predict_batch(part, from + ranks.rank() * self.config.run.predict_batch);
        if ranks.is_alone() {
            predictions.extend(mine);
        } else {
            let bytes: Vec<u8> = mine.iter().flat_map(|value| value.to_le_bytes()).collect();
            for bytes in ranks.all_gather(&bytes)? {
                predictions.extend(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
            }
        }
        Ok(predictions.len() < self.split.rows(part).len())
    }

    /// Returns the predictions of one batch of a part.
    fn predict_batch(&self, part: Part, from: usize) -> Vec<f64> {
        let (rows, batch) = (self.split.rows(part), self.config.run.predict_batch);
        let rows = &rows[from.min(rows.len())..rows.len().min(from.saturating_add(batch))];
        let sets = rows.iter().map(|&row| self.dataset.samples.genes(row as usize));
        let mut predictions = predict_sets(&*self.model, self.labels, batch, sets, &|| ());
        if let Some(base) = &self.base {
            let added = predictions.iter_mut().zip(rows);
            added.for_each(|(prediction, &row)| *prediction += base[row as usize]);
        }
        predictions
    }

    fn loader(&self) -> Loader {
        let plan = LoaderPlan {
            options: LoaderOptions { processor: self.config.processor(), ..self.config.loader.clone() },
            batch_size: self.config.batch,
            drop_last: false,
            shuffle: true,
            seed: self.config.seed,
            shards: self.sharding.shards.clone(),
        };
        Loader::new(&self.trained_on, self.split.rows(Part::Train), plan).with_store(self.store.as_ref())
    }

    /// Returns the identity of the run; a checkpoint of another one is refused.
    pub fn identity(&self) -> Identity {
        self.config.identity(&self.dataset.cell.genes().hash().to_hex())
    }

    /// Replaces all weights by those of the same model trained elsewhere, matched by name and shape. On an error nothing has
    /// changed.
    pub fn adopt(&mut self, weights: &[Tensor]) -> Result<()> {
        let refuse = |name: &str, problem: &str| {
            let advice = "they must be those of a model of the same configuration";
            Error::request(format!("the weights do not fit the model: {name:?} {problem}; {advice}"))
        };
        let parameters = self.model.parameters_mut();
        let mut found = Vec::with_capacity(parameters.len());
        for index in 0..parameters.len() {
            let entry = parameters.get(index);
            let (name, expected) = (entry.name(), entry.shape());
            let tensor = weights.iter().find(|tensor| tensor.name == name);
            let tensor = tensor.ok_or_else(|| refuse(name, "is not among them"))?;
            if tensor.shape != expected || tensor.values.len() != entry.values().len() {
                return Err(refuse(name, &format!("has shape {:?} instead of {expected:?}", tensor.shape)));
            }
            if tensor.values.iter().any(|value| !value.is_finite()) {
                return Err(refuse(name, "holds a number that is not finite"));
            }
            found.push(tensor);
        }
        let is_foreign = |tensor: &&Tensor| !found.iter().any(|known| known.name == tensor.name);
        if let Some(foreign) = weights.iter().find(is_foreign) {
            return Err(refuse(&foreign.name, "is not a parameter of the model"));
        }
        for (index, tensor) in found.into_iter().enumerate() {
            parameters.values_mut(index).copy_from_slice(&tensor.values);
        }
        Ok(())
    }

    pub(crate) fn weights(&self) -> Vec<TensorRef<'_>> {
        let entries = self.model.parameters().iter();
        entries
            .map(|entry| TensorRef { name: entry.name(), shape: entry.shape(), values: entry.values() })
            .collect()
    }
}

/// Predicts sets in batches; `on_batch` is called before each.
pub(crate) fn predict_sets<'s>(
    model: &dyn Model,
    labels: LabelStats,
    batch: usize,
    sets: impl Iterator<Item = &'s [u32]>,
    on_batch: &dyn Fn(),
) -> Vec<f64> {
    let (mut sets, mut chunk, mut predictions) = (sets.peekable(), GeneSets::default(), Vec::new());
    while sets.peek().is_some() {
        on_batch();
        chunk.clear();
        sets.by_ref().take(batch).for_each(|set| chunk.push(set));
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, Input::evaluated(chunk.view(), &Graphs::None));
        let values = tape.value(forward.predictions).iter();
        predictions.extend(values.map(|&value| labels.restore(f64::from(value))));
    }
    predictions
}

/// Returns the number of deleted genes in the samples of a batch that are computed at once, of sets of the mean size.
fn members_at_once(config: &Config, dataset: &Dataset, train_rows: usize) -> usize {
    let samples = config.batch.div_ceil(config.train.shards).min(train_rows);
    let mean_size = dataset.samples.gene_sets().genes().len() as f64 / dataset.samples.len().max(1) as f64;
    (samples as f64 * mean_size) as usize
}

/// Returns the error of scores that a model cannot be fitted to.
pub(crate) fn constant_scores() -> Error {
    Error::request("the training scores are all equal: there is nothing to learn")
}

/// Models compute in `f32`: a score beyond its range could be neither fitted nor evaluated.
fn check_scores(dataset: &Dataset, split: &Split) -> Result<()> {
    for row in Part::ALL.into_iter().flat_map(|part| split.rows(part)) {
        let score = dataset.samples.scores()[*row as usize];
        if score.is_infinite() || score.abs() > f64::from(f32::MAX) {
            return Err(Error::damage(format!(
                "the score of sample {row} is {score:e}, beyond what a model can be trained on (±3.4e38); remove it or rescale the scores"
            )));
        }
    }
    Ok(())
}
