//! Models at the batch size that they train with, where the experiment's common one is smaller, and models beside each other.
//!
//! One batch size for all models makes them take the same records. A model whose step hardly depends on the batch looks far slower per
//! sample than it trains.

use super::breakdown::Breakdown;
use super::cell::{CellFindings, Rounds, ranks_text};
use super::decompose::{PartShare, shares_by_phases};
use knockout_base::stats::{Estimate, share};
use serde::Serialize;

/// A model at its own batch, measured in the same rounds as at the common one.
#[derive(Debug, Clone, Serialize)]
pub struct OwnBatch {
    /// Name of the model, with its batch, and with the number of ranks where several were measured.
    #[serde(skip)]
    pub name: String,
    /// Batch of all models.
    pub common_batch: u64,
    /// Time per sample at the common batch by time at its own: how many times as fast it trains.
    pub gain: Estimate,
    /// The steps, in the furthest mode that was measured.
    #[serde(skip)]
    pub cell: CellFindings,
    /// The recorded steps, which have times of layers.
    #[serde(skip)]
    pub recorded: Option<CellFindings>,
    /// Parts of a full step as a tree, if full steps were measured.
    pub breakdown: Option<Breakdown>,
}

/// A model beside others.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRow {
    /// Name of the model, with the number of ranks where several were measured.
    pub name: String,
    /// Name of the model.
    pub model: String,
    /// Number of ranks.
    pub world: u64,
    /// Mode of the steps: the furthest that was measured.
    pub mode: String,
    /// Samples in a batch.
    pub batch: u64,
    /// Whether each model has its own batch here; else all have the common one.
    pub is_own: bool,
    /// Wall time of a batch.
    pub s_per_batch: Estimate,
    /// Wall time of a sample.
    pub s_per_sample: Estimate,
    /// CPU time of a sample, of all threads.
    pub cpu_s_per_sample: Estimate,
    /// Wall time of a sample by that of the first model, round by round.
    pub ratio: Estimate,
    /// Ratio of the CPU times.
    pub cpu_ratio: Estimate,
    /// Shares of the parts of a step, by phases.
    pub parts: Vec<PartShare>,
}

impl ModelRow {
    /// Returns the share of a part of the step.
    pub fn share_of(&self, part: &str) -> Option<f64> {
        self.parts.iter().find(|own| own.name == part).map(|own| own.share)
    }
}

impl OwnBatch {
    /// Pairs the cells of a model at its own batch with the one at the common batch.
    pub(super) fn of(
        common: &CellFindings,
        cell: CellFindings,
        recorded: Option<CellFindings>,
        several_worlds: bool,
        rounds: u64,
    ) -> Self {
        let name = named(&cell, several_worlds, Some(cell.profile.batch));
        let per_sample = |cell: &CellFindings| Rounds::of(&cell.profile, rounds).sample();
        let is_full = cell.mode == "full";
        Self {
            common_batch: common.profile.batch,
            gain: Estimate::paired(&per_sample(common), &per_sample(&cell), share),
            breakdown: is_full.then(|| Breakdown::of(recorded.as_ref().unwrap_or(&cell), &name)),
            name,
            cell,
            recorded,
        }
    }
}

fn named(cell: &CellFindings, several_worlds: bool, batch: Option<u64>) -> String {
    let batch = batch.map_or_else(String::new, |batch| format!(", batch {batch}"));
    let ranks = if several_worlds { format!(", {}", ranks_text(cell.world)) } else { String::new() };
    format!("{}{batch}{ranks}", cell.model)
}

/// Returns the rows of models that were measured on the same ranks; `is_own` tells whether each has its own batch.
pub(super) fn model_rows(
    cells: &[&CellFindings],
    is_own: bool,
    several_worlds: bool,
    rounds: u64,
) -> Vec<ModelRow> {
    let Some(first) = cells.first() else { return Vec::new() };
    let of = |cell: &CellFindings| {
        let by_round = Rounds::of(&cell.profile, rounds);
        (by_round.sample(), by_round.cpu_sample())
    };
    let base = of(first);
    let row = |cell: &&CellFindings| {
        let own = of(cell);
        ModelRow {
            name: named(cell, several_worlds, None),
            model: cell.model.clone(),
            world: cell.world,
            mode: cell.mode.clone(),
            batch: cell.profile.batch,
            is_own,
            s_per_batch: cell.s_per_batch,
            s_per_sample: cell.s_per_sample,
            cpu_s_per_sample: cell.cpu_s_per_sample,
            ratio: Estimate::paired(&base.0, &own.0, |first, own| share(own, first)),
            cpu_ratio: Estimate::paired(&base.1, &own.1, |first, own| share(own, first)),
            parts: shares_by_phases(cell, rounds),
        }
    };
    cells.iter().map(row).collect()
}
