//! Turns: the order of the cells in a round, and their batches.

use knockout_analyze::profile::experiment::ExperimentPlan;
use knockout_base::error::Result;
use knockout_trace::meter::{Meter, Schedule, StepLog};
use knockout_train::fit::Fit;
use knockout_train::step::Mode;
use std::ops::ControlFlow;

/// The batches of one turn, counted over the whole run: all cells take the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    from: u64,
    to: u64,
    round: u64,
}

impl Turn {
    pub(super) fn of(plan: &ExperimentPlan, round: u64) -> Self {
        let length = plan.warmup + plan.steps;
        Self { from: round * length, to: (round + 1) * length, round }
    }

    /// The first batch alone.
    pub(super) const FIRST_BATCH: Self = Self { from: 0, to: 1, round: 0 };

    /// Returns the order of the cells in a round. Every second round is reversed, so that the after-effects of a turn (sleeping
    /// threads, another model in the cache) do not affect the same cell in every round.
    pub(super) fn order<T>(self, takers: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut takers: Vec<T> = takers.into_iter().collect();
        if self.round % 2 == 1 {
            takers.reverse();
        }
        takers
    }

    /// Takes the turn's batches in a mode, unless `on_step` breaks off.
    pub(super) fn take(
        self,
        fit: &mut Fit,
        mode: Mode,
        meter: &mut Meter,
        on_step: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        fit.seek(self.from);
        meter.restart();
        fit.measure_steps(mode, self.to, meter, |_| on_step())
    }
}

/// Every turn begins with steps that do not count.
pub(super) fn schedule(plan: &ExperimentPlan) -> Schedule {
    Schedule::Window { wait: 0, warmup: plan.warmup, active: plan.steps, repeat: plan.rounds }
}

/// Removes the steps after the first ones: those of an interrupted round.
pub(super) fn keep_steps(log: &mut StepLog, steps: usize) {
    log.steps.truncate(steps);
    log.parts.values_mut().for_each(|times| times.truncate(steps));
}
