//! One batch through the model: the phases of a step, in the order every report lists them.

pub(crate) mod shards;

use crate::schedule::{AccumulationGroup, GroupEnd};
use knockout_base::error::{Class, Error, Result};
use knockout_data::batch::{Batch, Graphs};
use knockout_data::screen::LabelStats;
use knockout_engine::grad::{
    AdamW, AdamWConfig, Gradients, ObservedOperation, Observer, Parameters, Pass, Tape, clip_factor,
};
use knockout_models::{Input, LossPosition, Model};
use knockout_trace::meter::{Meter, StepPhase};
use knockout_trace::{Recorder, SpanGuard};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// How far a step goes. Each mode runs exactly the phases it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Fetching, processing and collating.
    Data,
    /// As `Data`, and the model and its loss.
    Forward,
    /// As `Forward`, and gradients.
    Backward,
    /// Like `Backward`, with clipping and the optimiser: training.
    Full,
}

impl Mode {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Data, Self::Forward, Self::Backward, Self::Full];

    /// Returns the name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Full => "full",
        }
    }
}

/// Returns the error of a one-based step in which a loss, gradient, parameter, moment or prediction is not finite.
pub(crate) fn diverged(step: u64, epoch: u32, what: &str) -> Error {
    let message = format!(
        "step {step} (epoch {}) diverged: {what} is not finite; lower optimiser.learning_rate or optimiser.clip_norm",
        epoch + 1
    );
    Error::new(Class::Diverged, message)
}

/// Returns the error of a step that diverged at this point of a run.
fn diverged_at(at: LossPosition, what: &str) -> Error {
    diverged(at.step + 1, at.epoch, what)
}

/// The optimiser and its memory.
#[derive(Debug)]
pub struct Trainer {
    /// `AdamW`'s state.
    pub optimiser: AdamW<f32>,
    /// Gradients of the present group of accumulated batches.
    pub(crate) gradients: Gradients<f32>,
    clip_norm: f64,
    targets: Vec<f32>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepOutcome {
    /// The loss; 0 in modes without one.
    pub loss: f64,
    /// Terms of the loss by name, for the log.
    pub parts: Vec<(String, f64)>,
    /// The norm of the gradients before clipping, where the optimiser stepped.
    pub gradient_norm: Option<f64>,
}

/// Mode, position and rates of a step.
#[derive(Debug, Clone, Copy)]
pub struct StepPlan {
    /// How far to go.
    pub mode: Mode,
    /// Position in the run, for schedules and random choices of the loss.
    pub at: LossPosition,
    /// Position in its group of accumulated batches.
    pub group: AccumulationGroup,
    /// Whether it is the first of its group.
    pub begins_group: bool,
    /// Learning rate of the optimiser in this step.
    pub learning_rate: f64,
    /// How scores become targets.
    pub labels: LabelStats,
}

impl Trainer {
    /// Creates the state before the first step. A `clip_norm` of 0 disables clipping.
    pub fn new(parameters: &Parameters<f32>, weight_decay: f64, clip_norm: f64) -> Self {
        let config = AdamWConfig { weight_decay, ..AdamWConfig::default() };
        Self {
            optimiser: AdamW::new(config, parameters),
            gradients: Gradients::zeros(parameters),
            clip_norm,
            targets: Vec::new(),
        }
    }

    /// Runs a batch as far as the mode goes.
    pub fn step(
        &mut self,
        model: &mut dyn Model,
        batch: &Batch,
        graphs: &Graphs<'_>,
        plan: StepPlan,
        meter: &mut Meter,
    ) -> Result<StepOutcome> {
        let mut outcome = StepOutcome::default();
        if plan.mode == Mode::Data {
            return Ok(outcome);
        }
        let spans = Spans::new(meter.recorder().clone());
        self.targets.clear();
        self.targets.extend(batch.scores.iter().map(|&score| plan.labels.standardise(score) as f32));
        let sets = batch.genes.view();
        let input = Input { sets, graphs, training: Some(plan.at) };

        let mut tape =
            Tape::new(model.parameters()).observed(spans.as_ref().map(|spans| spans as &dyn Observer));
        let forward = meter.time(StepPhase::Forward, || model.forward(&mut tape, input));
        let loss = meter.time(StepPhase::Loss, || model.loss(&mut tape, &forward, &self.targets, plan.at));
        outcome.loss = f64::from(tape.scalar(loss.total));
        outcome.parts = loss.parts;
        if !outcome.loss.is_finite() {
            return Err(diverged_at(plan.at, "the loss"));
        }
        if plan.mode == Mode::Forward {
            return Ok(outcome);
        }

        meter.time(StepPhase::Backward, || {
            if plan.begins_group {
                self.gradients.clear();
            }
            tape.backward(loss.total, &mut self.gradients);
        });
        if plan.mode == Mode::Backward || plan.group.ends == GroupEnd::Accumulate {
            return Ok(outcome);
        }

        outcome.gradient_norm = Some(self.update(model, plan, meter)?);
        Ok(outcome)
    }

    /// Clips the gradients of a group of batches and takes an optimiser step; returns the norm before clipping.
    pub(crate) fn update(&mut self, model: &mut dyn Model, plan: StepPlan, meter: &mut Meter) -> Result<f64> {
        let share = 1.0 / f64::from(plan.group.batches);
        let norm = meter.time(StepPhase::Clip, || self.gradients.norm() * share);
        if !norm.is_finite() {
            let index = self.gradients.first_not_finite().unwrap_or(0);
            let name = model.parameters().get(index).name();
            return Err(diverged_at(plan.at, &format!("the gradient of {name:?}")));
        }
        let clip = if self.clip_norm > 0.0 { clip_factor(norm, self.clip_norm) } else { 1.0 };
        meter.time(StepPhase::Optimiser, || {
            self.optimiser.update(model.parameters_mut(), &self.gradients, plan.learning_rate, share * clip);
        });
        Ok(norm)
    }
}

/// Records the tape's operations as parts of the phases.
#[derive(Debug)]
pub(crate) struct Spans {
    recorder: Recorder,
    open: RefCell<Vec<SpanGuard>>,
}

impl Spans {
    pub(crate) fn new(recorder: Recorder) -> Option<Self> {
        recorder.is_recording().then(|| Self { recorder, open: RefCell::default() })
    }
}

impl Observer for Spans {
    fn begin(&self, pass: Pass, operation: ObservedOperation<'_>) {
        let of_loss = operation.name.strip_prefix("loss.");
        let phase = match (pass, of_loss) {
            (Pass::Forward, None) => StepPhase::Forward,
            (Pass::Forward, Some(_)) => StepPhase::Loss,
            (Pass::Backward, _) => StepPhase::Backward,
        };
        let name = of_loss.unwrap_or(operation.name);
        let span = self
            .recorder
            .span(operation.part.map_or_else(|| phase.part(name), |part| phase.part_of(part, name)));
        let shape = operation.shape.as_ref().map_or(&[][..], |shape| shape.sizes());
        self.open.borrow_mut().push(if shape.is_empty() { span } else { span.output(shape) });
    }

    fn end(&self) {
        self.open.borrow_mut().pop();
    }
}
