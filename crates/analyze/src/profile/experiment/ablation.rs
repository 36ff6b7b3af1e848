//! Switches that were tried: each beside the baseline in every round, ranked by what it gained.

use super::cell::Rounds;
use crate::profile::run::RunProfile;
use knockout_base::stats::{Estimate, relative_iqr};
use serde::Serialize;

/// Measurements of one model's switches.
#[derive(Debug, Clone)]
pub struct SwitchRuns {
    /// The model without any, measured in the same way as with them.
    pub baseline: RunProfile,
    /// Each change with its own measurement.
    pub switches: Vec<SwitchResult>,
}

/// A change that could make training faster.
#[derive(Debug, Clone)]
pub struct SwitchResult {
    /// Its name in tables.
    pub name: String,
    /// Overrides that turn it on.
    pub keys: Vec<String>,
    /// Effects other than on time; empty if none.
    pub note: String,
    /// Outcome of the switch.
    pub outcome: SwitchOutcome,
}

/// Outcome of a switch.
#[derive(Debug, Clone)]
pub enum SwitchOutcome {
    /// It was measured.
    Measured(Box<RunProfile>),
    /// It makes no sense here, and why.
    NotApplicable(String),
}

/// All switches of one model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelAblation {
    /// Name of the model.
    pub model: String,
    /// Samples in a batch of the model without any switch.
    pub batch: u64,
    /// Wall time of a sample without any switch, in a full step.
    pub baseline_s_per_sample: Estimate,
    /// Those that were measured, the largest gain first.
    pub tried: Vec<Tried>,
    /// Those that make no sense here: name and reason.
    pub not_applicable: Vec<(String, String)>,
    /// The time whose gain they are ranked by: CPU time where rounds of wall time differ more.
    pub ranked_by: RankedBy,
}

/// The time that switches are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RankedBy {
    /// Wall time.
    Wall,
    /// CPU time.
    Cpu,
}

/// Rounds of wall time that differ by less than this share of their median rank as they are.
const STEADY: f64 = 0.05;

/// A switch that was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Tried {
    /// Name of the switch in tables.
    pub name: String,
    /// Overrides that turn it on.
    pub keys: Vec<String>,
    /// Effects other than on time.
    pub note: String,
    /// Wall time of a sample with it.
    pub s_per_sample: Estimate,
    /// How many times as fast: time per sample without it by time with it, paired by round.
    pub gain: Estimate,
    /// Ratio of the CPU times.
    pub cpu_gain: Estimate,
    /// Most memory of the engine's buffers, where it was sampled.
    pub pool_bytes: Option<u64>,
    /// Effect of the switch on the time of a step.
    #[serde(rename = "verdict")]
    pub effect: Effect,
}

/// Effect of a switch on the time of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Effect {
    /// The interval of the gain is above 1.
    #[serde(rename = "faster")]
    Faster,
    /// It is below 1.
    #[serde(rename = "slower")]
    Slower,
    /// It includes 1.
    #[serde(rename = "no difference")]
    NoDifference,
    /// There is no interval.
    #[serde(rename = "too few rounds")]
    TooFewRounds,
}

impl Effect {
    fn of(gain: &Estimate) -> Self {
        match gain {
            gain if !gain.is_interval() => Self::TooFewRounds,
            gain if gain.low > 1.0 => Self::Faster,
            gain if gain.high < 1.0 => Self::Slower,
            _ => Self::NoDifference,
        }
    }
}

impl ModelAblation {
    pub(super) fn of(runs: SwitchRuns, rounds: u64) -> Self {
        let SwitchRuns { baseline, switches } = runs;
        let without = Rounds::of(&baseline, rounds).sample();
        let cpu_without = Rounds::of(&baseline, rounds).cpu_sample();
        let (mut tried, mut not_applicable) = (Vec::new(), Vec::new());
        for SwitchResult { name, keys, note, outcome } in switches {
            match outcome {
                SwitchOutcome::NotApplicable(reason) => not_applicable.push((name, reason)),
                SwitchOutcome::Measured(profile) => {
                    let by_round = Rounds::of(&profile, rounds);
                    let (with, cpu_with) = (by_round.sample(), by_round.cpu_sample());
                    let times = |without: f64, with: f64| without / with;
                    let gain = Estimate::paired(&without, &with, times);
                    tried.push(Tried {
                        name,
                        keys,
                        note,
                        s_per_sample: Estimate::of(&with),
                        effect: Effect::of(&gain),
                        gain,
                        cpu_gain: Estimate::paired(&cpu_without, &cpu_with, times),
                        pool_bytes: profile.pool_bytes,
                    });
                }
            }
        }
        let noise = relative_iqr(&without);
        let ranked_by =
            if noise > STEADY && noise > relative_iqr(&cpu_without) { RankedBy::Cpu } else { RankedBy::Wall };
        let ranks = |tried: &Tried| match ranked_by {
            RankedBy::Wall => tried.gain.median,
            RankedBy::Cpu => tried.cpu_gain.median,
        };
        tried.sort_by(|a, b| ranks(b).total_cmp(&ranks(a)));
        Self {
            model: baseline.model.clone(),
            batch: baseline.batch,
            baseline_s_per_sample: Estimate::of(&without),
            tried,
            not_applicable,
            ranked_by,
        }
    }
}
