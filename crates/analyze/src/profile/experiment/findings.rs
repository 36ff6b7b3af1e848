//! The findings of an experiment, which every report renders.

use super::ablation::ModelAblation;
use super::answer::Answer;
use super::breakdown::Breakdown;
use super::cell::CellFindings;
use super::decompose::Decomposition;
use super::finding::{ExperimentFinding, NextStep};
use super::own_batch::{ModelRow, OwnBatch};
use super::ranks::RankScaling;
use super::ratio::{CellRatio, RecordingCost};
use crate::profile::run::Measured;
use serde::Serialize;

/// How the cells were measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExperimentPlan {
    /// Name of the dataset.
    pub dataset: String,
    /// Rounds: in each, every cell has its turn.
    pub rounds: u64,
    /// Steps of a turn that count.
    pub steps: u64,
    /// Steps of a turn before them that do not.
    pub warmup: u64,
    /// Numbers of ranks that had to share cores; empty where every thread had a core.
    pub crowded: Vec<Crowd>,
    /// When it was measured; `None` if that is unknown.
    pub measured: Option<Measured>,
}

/// Ranks that had to share cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Crowd {
    /// Number of ranks.
    pub world: u64,
    /// Threads of the ranks on one machine together.
    pub threads: u64,
    /// Cores of that machine.
    pub cores: u64,
}

/// A reason to distrust an experiment's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExperimentWarning {
    /// Rounds too few for an interval: bounds are the range seen.
    FewRounds(u64),
    /// More threads than cores: ranks shared cores, so wall times do not hold for ranks with cores of their own.
    Crowded(Crowd),
}

/// The findings of an experiment. Times are seconds. Fields with sentences (profiles, findings, answers, warnings) are not
/// serialised here: `knockout-report` makes the document of `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct Experiment {
    /// See `EXPERIMENT_SCHEMA`.
    pub schema: u32,
    /// `experiment`
    pub kind: &'static str,
    /// How it was measured.
    pub plan: ExperimentPlan,
    /// Conditions all cells share: name and value.
    pub conditions: Vec<(String, String)>,
    /// The models, in the order given.
    pub models: Vec<String>,
    /// The numbers of ranks, in the order given.
    pub worlds: Vec<u64>,
    /// Every cell.
    #[serde(skip)]
    pub cells: Vec<CellFindings>,
    /// Models at their own batch, where that is larger than the common one.
    #[serde(skip)]
    pub own_batch: Vec<OwnBatch>,
    /// Models beside each other, at the common batch and then each at its own.
    pub model_rows: Vec<ModelRow>,
    /// Pairs of cells that differ in one setting.
    pub ratios: Vec<CellRatio>,
    /// Where a full step goes, by model.
    pub decomposition: Vec<Decomposition>,
    /// Parts of a full step as a tree with its largest layers, by model.
    pub breakdown: Vec<Breakdown>,
    /// Gain by more ranks, where several numbers of them were measured.
    pub ranks: Vec<RankScaling>,
    /// Cost of recording, by model.
    pub recording: Vec<RecordingCost>,
    /// Switches that were tried, by model.
    pub ablation: Vec<ModelAblation>,
    /// Questions the figures answer.
    #[serde(skip)]
    pub answers: Vec<Answer>,
    /// Findings that stand out.
    #[serde(skip)]
    pub findings: Vec<ExperimentFinding>,
    /// Next steps, the most promising first.
    #[serde(skip)]
    pub next_steps: Vec<NextStep>,
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<ExperimentWarning>,
}

impl Experiment {
    /// The cell of a model in a mode, not recorded.
    pub fn cell(&self, model: &str, processor: &str, mode: &str) -> Option<&CellFindings> {
        self.cells.iter().find(|cell| {
            !cell.recorded && cell.model == model && cell.processor == processor && cell.mode == mode
        })
    }

    /// Returns the rows of models each at its own batch; where all train with the common one, at that.
    pub fn own_rows(&self) -> impl Iterator<Item = &ModelRow> {
        let has_own = !self.own_batch.is_empty();
        self.model_rows.iter().filter(move |row| row.is_own == has_own)
    }

    /// The recorded cell of a model, which has times of layers.
    pub fn recorded(&self, model: &str) -> Option<&CellFindings> {
        self.cells.iter().find(|cell| cell.recorded && cell.model == model)
    }
}
