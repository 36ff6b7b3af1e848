//! The switches of one model, each taking its turn beside the model without any.
//!
//! A model is built anew for every turn, with a switch and without: a dozen of them at once would not fit into memory, and
//! what is measured after the warm-up does not depend on it.

use super::cells::{Ground, Turn, schedule};
use crate::measuring::{self, Recording};
use crate::ui::request_error;
use indicatif::ProgressBar;
use knockout_meter::Meter;
use knockout_profile::experiment::{ExperimentPlan, Switch, SwitchOutcome, SwitchRuns};
use knockout_profile::{Conditions, RunProfile};
use knockout_trace::Recorder;
use knockout_train::config::Config;
use knockout_train::step::Mode;
use knockout_train::switches::{self, Room, switches};

pub(super) struct Options<'a> {
    ground: Ground<'a>,
    baseline: Variant,
    tried: Vec<(switches::Switch, Result<Variant, String>)>,
}

/// A configuration with a meter of its own.
struct Variant {
    config: Config,
    conditions: Conditions,
    meter: Meter,
}

impl<'a> Options<'a> {
    pub(super) fn new(
        config: &Config,
        ground: Ground<'a>,
        plan: &ExperimentPlan,
        room: Room,
    ) -> anyhow::Result<Self> {
        let Ground { dataset, split, .. } = ground;
        let variant = |config: Config, keys: &[String]| {
            let conditions = measuring::conditions(dataset, split, &config, Mode::Full, Recording::Off, keys);
            let meter = measuring::delayed(Meter::new(&Recorder::off(), schedule(plan)).with_memory());
            Variant { config, conditions, meter }
        };
        let mut options = Vec::new();
        for switch in switches(config, &dataset.cell, room) {
            let outcome = match &switch.keys {
                Err(reason) => Err(reason.clone()),
                Ok(keys) => {
                    let changed = knockout_config::resolve(config, keys)?;
                    changed.check(&dataset.cell).map_err(|error| request_error(error.to_string()))?;
                    Ok(variant(changed, keys))
                }
            };
            options.push((switch, outcome));
        }
        Ok(Self { ground, baseline: variant(config.clone(), &[]), tried: options })
    }

    /// Turns of a round.
    pub(super) fn len(&self) -> usize {
        1 + self.tried.iter().filter(|(_, outcome)| outcome.is_ok()).count()
    }

    pub(super) fn take_turns(&mut self, turn: Turn, bar: &ProgressBar) -> anyhow::Result<()> {
        let options = self.tried.iter_mut().filter_map(|(_, outcome)| outcome.as_mut().ok());
        for variant in turn.order(std::iter::once(&mut self.baseline).chain(options)) {
            let mut fit = self.ground.fit(&variant.config)?;
            turn.take(&mut fit, Mode::Full, &mut variant.meter, bar)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> anyhow::Result<SwitchRuns> {
        let mut found = Vec::new();
        for (switch, outcome) in self.tried {
            let outcome = match outcome {
                Ok(variant) => SwitchOutcome::Measured(Box::new(variant.finish()?)),
                Err(reason) => SwitchOutcome::NotApplicable(reason),
            };
            found.push(Switch {
                name: switch.name.to_owned(),
                keys: switch.keys.unwrap_or_default(),
                note: switch.note.to_owned(),
                outcome,
            });
        }
        Ok(SwitchRuns { baseline: self.baseline.finish()?, switches: found })
    }
}

impl Variant {
    fn finish(self) -> anyhow::Result<RunProfile> {
        let (log, _) = self.meter.finish()?;
        RunProfile::of(&log, self.conditions).map_err(|error| request_error(error.to_string()))
    }
}
