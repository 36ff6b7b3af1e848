//! The switches of one model, alternating with the model without switches.
//!
//! A model is rebuilt for every turn, with a switch and without: a dozen of them at once would not fit into memory, and the steps after the
//! warm-up do not depend on it.

use super::turn::{Turn, keep_steps, schedule};
use crate::measure::conditions::{Recording, Subject};
use crate::measure::ranks::of_all_ranks;
use knockout_analyze::profile::experiment::{ExperimentPlan, SwitchOutcome, SwitchResult, SwitchRuns};
use knockout_analyze::profile::{Conditions, RunProfile};
use knockout_base::error::Result;
use knockout_trace::meter::Meter;
use knockout_train::config::Config;
use knockout_train::step::Mode;
use knockout_train::switches::{self, BuiltModel, switches};
use std::ops::ControlFlow;

pub(super) struct SwitchTrials<'s> {
    subject: &'s Subject,
    baseline: MeteredConfig,
    tried: Vec<(switches::Switch, Result<MeteredConfig, String>)>,
}

/// A configuration with a meter of its own.
struct MeteredConfig {
    config: Config,
    conditions: Conditions,
    meter: Meter,
}

impl<'s> SwitchTrials<'s> {
    pub(super) fn new(
        config: &Config,
        subject: &'s Subject,
        plan: &ExperimentPlan,
        built: BuiltModel,
    ) -> Result<Self> {
        let cell = &subject.dataset().cell;
        let trial = |config: Config| -> Result<MeteredConfig> {
            let conditions = subject.conditions(&config, Mode::Full, Recording::Off)?;
            let meter = subject.meter(schedule(plan), Recording::Off, None, &conditions)?;
            Ok(MeteredConfig { config, conditions, meter })
        };
        let baseline = trial(config.clone())?;
        let mut tried = Vec::new();
        for switch in switches(config, cell, built) {
            let outcome = match &switch.keys {
                Err(reason) => Err(reason.clone()),
                Ok(keys) => {
                    let changed = config.with(keys)?;
                    changed.check(cell)?;
                    let is_batch = changed.batch != config.batch;
                    let changed = trial(changed)?;
                    // No batch holds more samples than there are.
                    match changed.conditions.batch {
                        batch if is_batch && batch == baseline.conditions.batch => {
                            Err(format!("one batch holds the whole training part, {batch} samples, already"))
                        }
                        _ => Ok(changed),
                    }
                }
            };
            tried.push((switch, outcome));
        }
        Ok(Self { subject, baseline, tried })
    }

    /// Returns the number of turns of a round.
    pub(super) fn len(&self) -> usize {
        1 + self.tried.iter().filter(|(_, outcome)| outcome.is_ok()).count()
    }

    pub(super) fn take_turns(
        &mut self,
        turn: Turn,
        on_step: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let tried = self.tried.iter_mut().filter_map(|(_, outcome)| outcome.as_mut().ok());
        for trial in turn.order(std::iter::once(&mut self.baseline).chain(tried)) {
            let mut fit = self.subject.fit(&trial.config)?;
            if turn.take(&mut fit, Mode::Full, &mut trial.meter, on_step)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the first `steps` steps of every trial: those of whole rounds.
    pub(super) fn finish(self, steps: usize) -> Result<SwitchRuns> {
        let mut found = Vec::new();
        for (switch, outcome) in self.tried {
            let outcome = match outcome {
                Ok(trial) => SwitchOutcome::Measured(Box::new(trial.finish(self.subject, steps)?)),
                Err(reason) => SwitchOutcome::NotApplicable(reason),
            };
            found.push(SwitchResult {
                name: switch.name.to_owned(),
                keys: switch.keys.unwrap_or_default(),
                note: switch.note.to_owned(),
                outcome,
            });
        }
        Ok(SwitchRuns { baseline: self.baseline.finish(self.subject, steps)?, switches: found })
    }
}

impl MeteredConfig {
    fn finish(self, subject: &Subject, steps: usize) -> Result<RunProfile> {
        let (mut log, _) = self.meter.finish()?;
        keep_steps(&mut log, steps);
        of_all_ranks(&mut log, None, subject.ranks())?;
        RunProfile::of(&log, self.conditions)
    }
}
