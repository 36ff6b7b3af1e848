//! The findings of one run: where a step's time goes, per batch and per sample, with its spread over the steps.

use super::conditions::Conditions;
use super::finding::{RunFinding, RunWarning};
use crate::profile::functions::FunctionSamples;
use crate::profile::reads::MemoryReads;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a measurement was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Date and time of its beginning, in UTC: `2026-11-19T04:14:03Z`.
    pub began: String,
    /// Duration in seconds, warm-up and preparation included.
    pub took_s: f64,
}

/// The findings of one run. Times are seconds, and means over the steps unless noted. `knockout-report` adds the
/// sentences to make the document of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunProfile {
    /// See `RUN_SCHEMA`.
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
    /// Warm-up steps, which are not measured.
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
    /// Spread of the wall time of steps.
    pub step: StepSpread,
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
    /// Floating-point operations per second that the multipliers of its threads can do, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_flop_per_s: Option<f64>,
    /// Functions that took the CPU time, where they were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<FunctionSamples>,
    /// Reads from memory, or why they are not counted, where functions were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_reads: Option<MemoryReads>,
    /// Findings that stand out, computed from the figures above.
    #[serde(skip)]
    pub findings: Vec<RunFinding>,
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<RunWarning>,
    /// When it was measured; `None` in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Conditions of the measurement.
    pub conditions: Conditions,
    /// The steps themselves, from which comparisons compute the spread.
    pub per_step: PerStep,
}

/// Spread of a time over the steps, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StepSpread {
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
    /// Spread over the steps.
    pub spread: StepSpread,
    /// Most resident bytes at its end, where they were sampled.
    pub rss_bytes: Option<u64>,
    /// Floating-point operations of matrix products, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub products: Option<ProductRates>,
}

/// Matrix products of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProductRates {
    /// Floating-point operations per step: two for a multiplication and an addition.
    pub flop: f64,
    /// Those per second of the phase's wall time.
    pub flop_per_s: f64,
    /// Their rate as a fraction of what the multipliers can do, where that was measured.
    pub share_of_peak: Option<f64>,
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
    /// Floating-point operations of matrix products by phase, where there were any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flop: BTreeMap<String, Vec<u64>>,
}

impl RunProfile {
    /// A phase's share of the step's wall time; 0 if it did not run.
    pub fn share_of(&self, name: &str) -> f64 {
        self.phases.iter().find(|row| row.name == name).map_or(0.0, |row| row.share)
    }
}
