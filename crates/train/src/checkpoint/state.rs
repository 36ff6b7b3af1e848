//! Where a run stands, beside its tensors.

use super::identity::Identity;
use crate::run::Position;
use crate::schedule::{Best, EarlyStopping, LearningRate, ScheduleError};
use knockout_model::loss::BufferState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Batches trained on since the start: the step that metrics name.
    pub step: u64,
    /// Steps of the optimiser: the t of `AdamW`.
    pub optimiser_step: u64,
    /// From 0.
    pub epoch: u32,
    /// Batches of this epoch that are done: where the loader goes on.
    pub batch: u32,
}

/// A float that survives bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Number(#[serde(with = "crate::exact")] pub f64);

/// Everything but the tensors.
///
/// Random numbers need no state of their own: each use is keyed by the seed, its purpose, the epoch and the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// What the run is.
    pub identity: Identity,
    /// Where it stands.
    pub place: Place,
    /// Key of everything random: order of samples, dropout, choice of stored rows.
    pub seed: u64,
    /// The learning rate's schedule.
    pub learning_rate: LearningRate,
    /// When to give up, if ever.
    pub early_stopping: Option<EarlyStopping>,
    /// The best value of each metric so far, by name.
    pub best: BTreeMap<String, Best>,
    /// Where each loss buffer stands, by name; its rows are among the tensors.
    pub loss_buffers: BTreeMap<String, BufferState>,
    /// Where the metrics file ended.
    pub metrics: Position,
    /// Other numbers by name: the labels' mean and deviation, the running loss of an unfinished epoch, …
    pub numbers: BTreeMap<String, Number>,
}

/// More steps than any run takes, and few enough that one more is another number as a float too.
const MOST_STEPS: u64 = 1 << 53;

impl State {
    /// Refuses a state that no run can be in: going on from it would fail in the middle of an epoch.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        for (key, value) in
            [("place.step", self.place.step), ("place.optimiser_step", self.place.optimiser_step)]
        {
            if value > MOST_STEPS {
                let rule = "no run takes that many steps";
                return Err(ScheduleError { key, value: value.to_string(), rule });
            }
        }
        self.learning_rate.check()
    }
}
