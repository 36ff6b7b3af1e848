//! Ratios of the times of two cells.

use super::cell::{CellFindings, Rounds};
use knockout_base::stats::Estimate;
use serde::Serialize;

/// Two cells that differ in one setting.
#[derive(Debug, Clone, Serialize)]
pub struct CellRatio {
    /// The condition that differs on purpose: `model`, `processor` or `world`.
    pub vary: &'static str,
    /// The mode of both.
    pub mode: String,
    /// The cell it is compared with.
    pub a: String,
    /// The cell; ratios are `b / a`.
    pub b: String,
    /// Of time per batch.
    pub per_batch: Estimate,
    /// Of time per sample.
    pub per_sample: Estimate,
    /// Of CPU time per sample.
    pub cpu_per_sample: Estimate,
}

impl CellRatio {
    pub(super) fn of(vary: &'static str, a: &CellFindings, b: &CellFindings, rounds: u64) -> Self {
        let of = |cell: &CellFindings| {
            let by_round = Rounds::of(&cell.profile, rounds);
            (by_round.step(), by_round.sample(), by_round.cpu_sample())
        };
        let ((a_step, a_sample, a_cpu), (b_step, b_sample, b_cpu)) = (of(a), of(b));
        let ratio = |a: f64, b: f64| b / a;
        Self {
            vary,
            mode: a.mode.clone(),
            a: a.name.clone(),
            b: b.name.clone(),
            per_batch: Estimate::paired(&a_step, &b_step, ratio),
            per_sample: Estimate::paired(&a_sample, &b_sample, ratio),
            cpu_per_sample: Estimate::paired(&a_cpu, &b_cpu, ratio),
        }
    }
}

/// Cost of recording spans.
#[derive(Debug, Clone, Serialize)]
pub struct RecordingCost {
    /// Name of the model.
    pub model: String,
    /// Time of a step with recording by time without.
    pub ratio: Estimate,
    /// CPU time with recording by CPU time without.
    pub cpu_ratio: Estimate,
}

impl RecordingCost {
    pub(super) fn of(off: &CellFindings, on: &CellFindings, rounds: u64) -> Self {
        let by_round = |cell| Rounds::of(cell, rounds);
        let (off_rounds, on_rounds) = (by_round(&off.profile), by_round(&on.profile));
        let ratio = |off: f64, on: f64| on / off;
        Self {
            model: off.model.clone(),
            ratio: Estimate::paired(&off_rounds.step(), &on_rounds.step(), ratio),
            cpu_ratio: Estimate::paired(&off_rounds.cpu_sample(), &on_rounds.cpu_sample(), ratio),
        }
    }
}
