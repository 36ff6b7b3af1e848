//! The findings of one run: where a step's time goes, per batch and per sample, with its spread over the steps.

use super::RUN_SCHEMA;
use super::conditions::Conditions;
use super::finding::{self, RunFinding, RunWarning};
use knockout_base::error::{Class, Classified};
use knockout_base::stats::{quantile, share};
use knockout_trace::meter::{StepLog, StepPhase, StepTimes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nothing was measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no step was measured ({warmed} steps of warm-up, {skipped} outside the window); run longer or wait less"
)]
pub struct NoSteps {
    warmed: u64,
    skipped: u64,
}

/// The findings of one run. Times are seconds; means over the steps where nothing else is said. `knockout-report` adds the
/// sentences to make the document of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunProfile {
    /// See [`RUN_SCHEMA`].
    pub schema: u32,
    /// `profile`
    pub kind: String,
    /// Name of the model, as in the conditions.
    pub model: String,
    /// Name of the mode, as in the conditions.
    pub mode: String,
    /// Samples in a batch, as in the conditions.
    pub batch: u64,
    /// Threads, as in the conditions.
    pub threads: u64,
    /// Steps measured.
    pub steps: u64,
    /// Steps thrown away to warm up.
    pub warmed: u64,
    /// Steps outside the window.
    pub skipped: u64,
    /// Samples in the measured steps.
    pub samples: u64,
    /// Wall time of a step.
    pub wall_s_per_step: f64,
    /// CPU time of a step, of all threads.
    pub cpu_s_per_step: f64,
    /// Wall time of a sample.
    pub wall_s_per_sample: f64,
    /// Samples per second of wall time.
    pub samples_per_s: f64,
    /// How much steps differ in wall time.
    pub step: Spread,
    /// Phases in the order of a step, those that took time, and what is in none; their `wall_s` sum to
    /// `wall_s_per_step`.
    pub phases: Vec<PhaseRow>,
    /// Parts of phases; inside the phases' time, not beside it.
    pub parts: Vec<PhaseRow>,
    /// Work of threads that make batches ahead of time; beside the step's time, not part of it.
    pub background: Vec<PhaseRow>,
    /// Most memory of the process, where it is known.
    pub peak_rss_bytes: Option<u64>,
    /// Most memory of the engine's buffers, where it was sampled.
    #[serde(default)]
    pub pool_bytes: Option<u64>,
    /// What stands out, computed from the figures above.
    #[serde(skip)]
    pub verdict: Vec<RunFinding>,
    /// What to know before trusting the figures.
    #[serde(skip)]
    pub warnings: Vec<RunWarning>,
    /// Under what conditions this holds.
    pub conditions: Conditions,
    /// The steps themselves: what comparisons judge the spread by.
    pub per_step: PerStep,
}

/// How much something differs from step to step, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median over the steps, in seconds.
    pub median_s: f64,
    /// Lower quartile.
    pub low_quartile_s: f64,
    /// Upper quartile.
    pub high_quartile_s: f64,
    /// Shortest step.
    pub min_s: f64,
    /// Longest step.
    pub max_s: f64,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// Name of the phase or of its part.
    pub name: String,
    /// Wall time per step.
    pub wall_s: f64,
    /// Fraction of the step's wall time.
    pub share: f64,
    /// Wall time per sample.
    pub wall_s_per_sample: f64,
    /// How much it differs from step to step.
    pub spread: Spread,
    /// Most resident bytes at its end, where they were sampled.
    pub rss_bytes: Option<u64>,
}

/// Every measured step, in whole nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerStep {
    /// Samples in each.
    pub samples: Vec<u64>,
    /// Wall time of each.
    pub wall_nanos: Vec<u64>,
    /// CPU time of each.
    pub cpu_nanos: Vec<u64>,
    /// Time of each by phase, `untracked` included.
    pub phases: BTreeMap<String, Vec<u64>>,
    /// Work of threads that made batches ahead of time, by phase; empty where there were none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub background: BTreeMap<String, Vec<u64>>,
    /// Resident bytes at the end of each phase, where they were sampled.
    #[serde(default)]
    pub rss_bytes: BTreeMap<String, Vec<u64>>,
    /// Bytes of the engine's buffers, where they were sampled.
    #[serde(default)]
    pub pool_bytes: Vec<u64>,
}

const NANOS: f64 = 1e9;

/// Nanoseconds of one thing in each step.
struct Column {
    name: String,
    nanos: Vec<u64>,
    rss_bytes: Option<u64>,
}

impl RunProfile {
    /// The findings of a run.
    pub fn of(log: &StepLog, conditions: Conditions) -> Result<Self, NoSteps> {
        if log.steps.is_empty() {
            return Err(NoSteps { warmed: log.warmed, skipped: log.skipped });
        }
        let per_step = PerStep::of(&log.steps);
        let steps = log.steps.len() as f64;
        let samples: u64 = per_step.samples.iter().sum();
        let wall = sum(&per_step.wall_nanos);
        let wall_s_per_step = wall / NANOS / steps;
        let row = |column: Column| PhaseRow {
            wall_s: sum(&column.nanos) / NANOS / steps,
            share: share(sum(&column.nanos), wall),
            wall_s_per_sample: share(sum(&column.nanos) / NANOS, samples as f64),
            spread: Spread::of(&column.nanos),
            name: column.name,
            rss_bytes: column.rss_bytes,
        };
        let parts = log.parts.iter().map(|(name, nanos)| Column {
            name: name.clone(),
            nanos: nanos.clone(),
            rss_bytes: None,
        });
        let mut profile = Self {
            schema: RUN_SCHEMA,
            kind: "profile".to_owned(),
            model: conditions.model.clone(),
            mode: conditions.mode.clone(),
            batch: conditions.batch,
            threads: conditions.threads,
            steps: log.steps.len() as u64,
            warmed: log.warmed,
            skipped: log.skipped,
            samples,
            wall_s_per_step,
            cpu_s_per_step: sum(&per_step.cpu_nanos) / NANOS / steps,
            wall_s_per_sample: share(wall / NANOS, samples as f64),
            samples_per_s: share(samples as f64, wall / NANOS),
            step: Spread::of(&per_step.wall_nanos),
            phases: phase_columns(&log.steps).into_iter().map(row).collect(),
            parts: parts.map(row).collect(),
            background: columns(&log.steps, |step| &step.background).into_iter().map(row).collect(),
            peak_rss_bytes: log.steps.iter().flat_map(|step| step.rss_bytes).max().filter(|bytes| *bytes > 0),
            pool_bytes: log.steps.iter().map(|step| step.pool_bytes).max().filter(|bytes| *bytes > 0),
            verdict: Vec::new(),
            warnings: Vec::new(),
            conditions,
            per_step,
        };
        profile.judge();
        Ok(profile)
    }

    /// Adds the process's own peak, which sees what samples after phases miss.
    #[must_use]
    pub fn with_peak_rss(mut self, bytes: Option<u64>) -> Self {
        self.peak_rss_bytes = self.peak_rss_bytes.max(bytes);
        self
    }

    /// Derives what stands out from the figures.
    pub(super) fn judge(&mut self) {
        self.verdict = finding::findings(self);
        self.warnings = finding::warnings(self);
    }

    /// A phase's share of the step's wall time; 0 if it did not run.
    pub fn share_of(&self, name: &str) -> f64 {
        self.phases.iter().find(|row| row.name == name).map_or(0.0, |row| row.share)
    }
}

impl PerStep {
    fn of(steps: &[StepTimes]) -> Self {
        let all = |field: fn(&StepTimes) -> u64| steps.iter().map(field).collect();
        Self {
            samples: all(|step| step.samples),
            wall_nanos: all(|step| step.wall_nanos),
            cpu_nanos: all(|step| step.cpu_nanos),
            phases: phase_columns(steps).into_iter().map(|column| (column.name, column.nanos)).collect(),
            background: columns(steps, |step| &step.background)
                .into_iter()
                .map(|column| (column.name, column.nanos))
                .collect(),
            rss_bytes: StepPhase::ALL
                .into_iter()
                .map(|phase| (phase.name().to_owned(), phase_bytes(steps, phase)))
                .filter(|(_, bytes)| bytes.iter().any(|bytes| *bytes > 0))
                .collect(),
            pool_bytes: if steps.iter().any(|step| step.pool_bytes > 0) {
                all(|step| step.pool_bytes)
            } else {
                Vec::new()
            },
        }
    }
}

impl Spread {
    fn of(nanos: &[u64]) -> Self {
        let seconds: Vec<f64> = nanos.iter().map(|nanos| *nanos as f64 / NANOS).collect();
        let at = |share| quantile(&seconds, share).unwrap_or(0.0);
        Self {
            median_s: at(0.5),
            low_quartile_s: at(0.25),
            high_quartile_s: at(0.75),
            min_s: at(0.0),
            max_s: at(1.0),
        }
    }
}

fn phase_bytes(steps: &[StepTimes], phase: StepPhase) -> Vec<u64> {
    steps.iter().map(|step| step.rss_bytes.get(phase as usize).copied().unwrap_or(0)).collect()
}

fn sum(nanos: &[u64]) -> f64 {
    nanos.iter().map(|nanos| u128::from(*nanos)).sum::<u128>() as f64
}

/// The phases that took time, in their order, then what is in none.
fn phase_columns(steps: &[StepTimes]) -> Vec<Column> {
    let mut out = columns(steps, |step| &step.phases);
    let nanos = steps.iter().map(StepTimes::untracked_nanos).collect();
    out.push(Column { name: StepPhase::UNTRACKED.to_owned(), nanos, rss_bytes: None });
    out
}

fn columns(steps: &[StepTimes], by_phase: fn(&StepTimes) -> &[u64; StepPhase::COUNT]) -> Vec<Column> {
    let at =
        |values: &[u64; StepPhase::COUNT], phase: StepPhase| values.get(phase as usize).copied().unwrap_or(0);
    let column = |phase: StepPhase| Column {
        name: phase.name().to_owned(),
        nanos: steps.iter().map(|step| at(by_phase(step), phase)).collect(),
        rss_bytes: steps.iter().map(|step| at(&step.rss_bytes, phase)).max().filter(|bytes| *bytes > 0),
    };
    StepPhase::ALL
        .into_iter()
        .map(column)
        .filter(|column| column.nanos.iter().any(|nanos| *nanos > 0))
        .collect()
}

impl Classified for NoSteps {
    fn class(&self) -> Class {
        Class::Request
    }
}
