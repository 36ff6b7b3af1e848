//! Gain by more ranks: the same steps on one number of ranks and on others.

use super::cell::{CellFindings, Rounds};
use knockout_base::stats::{Estimate, share};
use knockout_trace::meter::StepPhase;
use serde::Serialize;

/// A model in a mode on several numbers of ranks.
#[derive(Debug, Clone, Serialize)]
pub struct RankScaling {
    /// Name of the model.
    pub model: String,
    /// Its representation.
    pub processor: String,
    /// Name of the mode.
    pub mode: String,
    /// Samples in a batch.
    pub batch: u64,
    /// By the number of ranks, in the order given; the others are compared with the first.
    pub rows: Vec<ScalingRow>,
}

/// The steps on one number of ranks.
#[derive(Debug, Clone, Serialize)]
pub struct ScalingRow {
    /// Number of ranks.
    pub world: u64,
    /// Samples per second of wall time, of all ranks together.
    pub samples_per_s: Estimate,
    /// CPU time of a sample, of all ranks together.
    pub cpu_s_per_sample: Estimate,
    /// How many times as fast as the first row.
    pub speedup: Estimate,
    /// CPU time of a sample by the first row's.
    pub cpu_ratio: Estimate,
    /// Of the first rank's step: waiting for the others.
    pub barrier_share: f64,
    /// Of the first rank's step: exchanging gradients.
    pub exchange_share: f64,
}

impl RankScaling {
    /// Cells that differ in their ranks alone; `None` unless there are several.
    pub(super) fn of(cells: &[&CellFindings], rounds: u64) -> Option<Self> {
        let [first, _, ..] = cells else { return None };
        let base = Rounds::of(&first.profile, rounds);
        let row = |cell: &&CellFindings| {
            let by_round = Rounds::of(&cell.profile, rounds);
            let rates: Vec<f64> = by_round.sample().iter().map(|seconds| share(1.0, *seconds)).collect();
            ScalingRow {
                world: cell.world,
                samples_per_s: Estimate::of(&rates),
                cpu_s_per_sample: cell.cpu_s_per_sample,
                speedup: Estimate::paired(&base.sample(), &by_round.sample(), share),
                cpu_ratio: Estimate::paired(&base.cpu_sample(), &by_round.cpu_sample(), |first, own| {
                    share(own, first)
                }),
                barrier_share: cell.profile.share_of(StepPhase::Barrier.name()),
                exchange_share: cell.profile.share_of(StepPhase::Exchange.name()),
            }
        };
        Some(Self {
            model: first.model.clone(),
            processor: first.processor.clone(),
            mode: first.mode.clone(),
            batch: first.profile.batch,
            rows: cells.iter().map(row).collect(),
        })
    }

    /// The number of ranks that was fastest.
    pub(super) fn fastest(&self) -> Option<&ScalingRow> {
        self.rows.iter().max_by(|a, b| a.speedup.median.total_cmp(&b.speedup.median))
    }
}
