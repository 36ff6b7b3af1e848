//! The optimiser's options and the schedules they describe.

use crate::schedule::{Accumulation, Cosine, CosineOptions, LearningRate, Plateau, PlateauOptions};
use knockout_base::error::Result;
use knockout_models::limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The optimiser's options: the keys `optimiser.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimiserOptions {
    /// Learning rate at the start (at the top, with `cosine`).
    pub learning_rate: f64,
    /// How it changes.
    pub schedule: ScheduleKind,
    /// Weight decay, in units of the learning rate.
    pub weight_decay: f64,
    /// Gradients are scaled down to this norm; 0 leaves them.
    pub clip_norm: f64,
    /// Batches per optimiser step from an epoch on, such as `["0:1", "10:4"]`.
    pub accumulate: Vec<String>,
    /// The plateau schedule.
    pub plateau: PlateauOptions,
    /// The cosine schedule.
    pub cosine: CosineOptions,
}

/// How the learning rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// Not at all.
    Constant,
    /// It falls where the validation error no longer does.
    Plateau,
    /// Cosine annealing with warm-up and restarts.
    Cosine,
}

impl Default for OptimiserOptions {
    /// The settings of the published DANGO, but here the schedule takes effect.
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            schedule: ScheduleKind::Plateau,
            weight_decay: 1e-6,
            clip_norm: 10.0,
            accumulate: Vec::new(),
            plateau: PlateauOptions {
                factor: 0.2,
                patience: 3,
                threshold: 1e-4,
                cooldown: 2,
                lowest: 1e-9,
                epsilon: 1e-10,
            },
            cosine: CosineOptions { first_cycle: 20, cycle_factor: 2.0, lowest: 1e-6, warmup: 1, gamma: 0.9 },
        }
    }
}

impl OptimiserOptions {
    /// Checks all schedules, also those that are not in use.
    pub(super) fn check(&self) -> Result<()> {
        self.learning_rate()?;
        self.accumulation()?;
        Plateau::new(self.learning_rate, &self.plateau)?;
        // An unused schedule may end above the learning rate.
        Cosine::new(self.learning_rate.max(self.cosine.lowest), &self.cosine)?;
        Ok(())
    }

    /// The schedule of the learning rate, at its start.
    pub fn learning_rate(&self) -> Result<LearningRate> {
        Ok(match self.schedule {
            ScheduleKind::Constant => LearningRate::constant(self.learning_rate)?,
            ScheduleKind::Plateau => LearningRate::Plateau(Plateau::new(self.learning_rate, &self.plateau)?),
            ScheduleKind::Cosine => LearningRate::Cosine(Cosine::new(self.learning_rate, &self.cosine)?),
        })
    }

    /// Batches per optimiser step, by epoch.
    pub fn accumulation(&self) -> Result<Accumulation> {
        let mut steps = BTreeMap::new();
        for text in &self.accumulate {
            let entry = text.split_once(':').and_then(|(epoch, batches)| {
                Some((epoch.trim().parse::<u32>().ok()?, batches.trim().parse::<u32>().ok()?))
            });
            let Some((epoch, batches)) = entry else {
                let rule = "each entry is \"epoch:batches\", such as \"10:4\"";
                let value = format!("{text:?}");
                return Err(limits::out_of_range("optimiser.accumulate", value, rule));
            };
            steps.insert(epoch, batches);
        }
        Accumulation::new(steps)
    }
}
