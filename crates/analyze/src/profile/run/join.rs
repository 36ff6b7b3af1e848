//! Runs under the same conditions become one: rounds of an experiment that were measured by processes of their own.

use super::conditions::Conditions;
use super::profile::{PerStep, RunProfile};
use knockout_base::error::{Error, Result};
use knockout_trace::meter::{StepLog, StepPhase, StepTimes};
use std::collections::BTreeMap;

impl RunProfile {
    /// One run of the steps of several, in their order. Their conditions must be the same. Layers are not kept: only a recording of all
    /// steps has them.
    pub fn joined(rounds: &[Self]) -> Result<Self> {
        let conditions = rounds.first().map(|round| round.conditions.clone()).unwrap_or_default();
        for round in rounds {
            check_like(&conditions, &round.conditions)?;
        }
        let sum = |part: fn(&Self) -> u64| rounds.iter().map(part).sum();
        let log = StepLog {
            steps: rounds.iter().flat_map(|round| round.per_step.times()).collect(),
            warmed: sum(|round| round.warmed),
            skipped: sum(|round| round.skipped),
            ..StepLog::default()
        };
        let peak = rounds.iter().filter_map(|round| round.peak_rss_bytes).max();
        Ok(Self::of(&log, conditions)?.with_peak_rss(peak))
    }
}

fn check_like(a: &Conditions, b: &Conditions) -> Result<()> {
    match a.differences(b).into_iter().next() {
        None => Ok(()),
        Some(row) => {
            let cell = format!("{} {}", a.model, a.mode);
            Err(Error::failure(format!(
                "two rounds of {cell} differ in {}: {:?} and {:?}; was the machine or the program changed meanwhile?",
                row.what, row.a, row.b
            )))
        }
    }
}

impl PerStep {
    /// The steps one by one.
    fn times(&self) -> Vec<StepTimes> {
        let value = |column: &[u64], step: usize| column.get(step).copied().unwrap_or(0);
        let by_phase = |columns: &BTreeMap<String, Vec<u64>>, step: usize| {
            StepPhase::ALL.map(|phase| columns.get(phase.name()).map_or(0, |column| value(column, step)))
        };
        let times = |step: usize| StepTimes {
            number: step as u64,
            samples: value(&self.samples, step),
            start_nanos: 0,
            wall_nanos: value(&self.wall_nanos, step),
            cpu_nanos: value(&self.cpu_nanos, step),
            phases: by_phase(&self.phases, step),
            background: by_phase(&self.background, step),
            rss_bytes: by_phase(&self.rss_bytes, step),
            pool_bytes: value(&self.pool_bytes, step),
            flop: by_phase(&self.flop, step),
        };
        (0..self.wall_nanos.len()).map(times).collect()
    }
}
