//! The experiment as a whole: the document every report is a rendering of.

use super::EXPERIMENT_SCHEMA;
use super::ablation::{Ablation, SwitchRuns};
use super::breakdown::Breakdown;
use super::cell::CellFindings;
use super::decision::{self, Decision};
use super::decompose::Decomposition;
use super::insights::{self, Insight, NextStep};
use super::ratio::{CellRatio, RecordingCost};
use crate::run::RunProfile;
use knockout_fault::{Class, Classified};
use knockout_stats::FEWEST_FOR_INTERVAL;
use serde::Serialize;
use std::collections::BTreeSet;

/// How the cells were measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExperimentPlan {
    /// What the dataset is called.
    pub dataset: String,
    /// Rounds: in each, every cell has its turn.
    pub rounds: u64,
    /// Steps of a turn that count.
    pub steps: u64,
    /// Steps of a turn before them that do not.
    pub warmup: u64,
}

/// Measurements that do not make an experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Nothing was measured.
    #[error("no cell was measured")]
    Empty,
    /// A cell has other steps than its rounds should have given.
    #[error("{cell} has {found} steps, but {rounds} rounds of {steps} were asked for")]
    Steps {
        /// Name of the cell.
        cell: String,
        /// Steps that were measured.
        found: u64,
        /// Rounds asked for.
        rounds: u64,
        /// Steps asked for in each round.
        steps: u64,
    },
    /// Two cells did not take the same batches.
    #[error("{a} and {b} took batches of other sizes, so they did not see the same records")]
    Records {
        /// Name of the first cell.
        a: String,
        /// Name of the cell that took other batches.
        b: String,
    },
    /// Two cells are of different data or machines.
    #[error("{a} and {b} differ in {what}: cells of one experiment share their data, threads and machine")]
    Unlike {
        /// Name of the first cell.
        a: String,
        /// Name of the cell that differs from it.
        b: String,
        /// Condition in which they differ.
        what: String,
    },
}

/// A reason to distrust an experiment's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExperimentWarning {
    /// Rounds too few for an interval: bounds are the range seen.
    FewRounds(u64),
}

/// The findings of an experiment. Times are seconds. What needs words (cells' profiles, insights, decisions, warnings) is not
/// serialised here: `knockout-report` makes the document of `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct Experiment {
    /// See [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    /// `experiment`
    pub kind: &'static str,
    /// How it was measured.
    pub plan: ExperimentPlan,
    /// Conditions all cells share: name and value.
    pub conditions: Vec<(String, String)>,
    /// The models, in the order asked for.
    pub models: Vec<String>,
    /// Every cell.
    #[serde(skip)]
    pub cells: Vec<CellFindings>,
    /// Cells that differ in one thing, beside each other.
    pub ratios: Vec<CellRatio>,
    /// Where a full step goes, by model.
    pub decomposition: Vec<Decomposition>,
    /// The same as a tree with its largest layers, by model.
    pub breakdown: Vec<Breakdown>,
    /// What recording costs, by model.
    pub recording: Vec<RecordingCost>,
    /// Switches that were tried, by model.
    pub ablation: Vec<Ablation>,
    /// Questions the figures answer.
    #[serde(skip)]
    pub decisions: Vec<Decision>,
    /// What stands out.
    #[serde(skip)]
    pub insights: Vec<Insight>,
    /// What to do next.
    #[serde(skip)]
    pub next_steps: Vec<NextStep>,
    /// What to know before trusting the figures.
    #[serde(skip)]
    pub warnings: Vec<ExperimentWarning>,
}

/// Conditions that may differ between cells of one experiment.
const VARIED: [&str; 4] = ["model", "mode", "processor", "profiler"];

impl Experiment {
    /// The findings of cells that were measured in turns, and of switches that had theirs beside a baseline.
    pub fn of(
        plan: ExperimentPlan,
        profiles: Vec<RunProfile>,
        switches: Vec<SwitchRuns>,
    ) -> Result<Self, ExperimentError> {
        let names = |part: fn(&RunProfile) -> &String| {
            let mut seen = BTreeSet::new();
            profiles.iter().map(part).filter(|name| seen.insert((*name).clone())).cloned().collect::<Vec<_>>()
        };
        let (models, processors) =
            (names(|run| &run.conditions.model), names(|run| &run.conditions.processor));
        let rounds = plan.rounds;
        let cells: Vec<CellFindings> =
            profiles.into_iter().map(|profile| CellFindings::of(profile, rounds, processors.len())).collect();
        check(&plan, &cells)?;
        let mut experiment = Self {
            schema: EXPERIMENT_SCHEMA,
            kind: "experiment",
            conditions: shared_conditions(&cells),
            ratios: ratios(&cells, &models, &processors, rounds),
            decomposition: Vec::new(),
            breakdown: Vec::new(),
            recording: Vec::new(),
            ablation: switches.into_iter().map(|runs| Ablation::of(runs, rounds)).collect(),
            decisions: Vec::new(),
            insights: Vec::new(),
            next_steps: Vec::new(),
            warnings: warnings(&plan),
            plan,
            models,
            cells,
        };
        for model in &experiment.models {
            for processor in &processors {
                let of: Vec<&CellFindings> = experiment
                    .cells
                    .iter()
                    .filter(|cell| !cell.recorded && cell.model == *model && cell.processor == *processor)
                    .collect();
                experiment.decomposition.extend(Decomposition::of(&of, rounds));
            }
            let full = experiment
                .cells
                .iter()
                .find(|cell| cell.model == *model && cell.mode == "full" && !cell.recorded);
            experiment.breakdown.extend(experiment.recorded(model).or(full).map(Breakdown::of));
            let pair = full.zip(experiment.recorded(model));
            experiment.recording.extend(pair.map(|(off, on)| RecordingCost::of(off, on, rounds)));
        }
        experiment.decisions = decision::all(&experiment);
        experiment.insights = insights::insights(&experiment);
        experiment.next_steps = insights::next_steps(&experiment);
        Ok(experiment)
    }

    /// The cell of a model in a mode, not recorded.
    pub fn cell(&self, model: &str, processor: &str, mode: &str) -> Option<&CellFindings> {
        self.cells.iter().find(|cell| {
            !cell.recorded && cell.model == model && cell.processor == processor && cell.mode == mode
        })
    }

    /// The recorded cell of a model: the one that knows layers.
    pub fn recorded(&self, model: &str) -> Option<&CellFindings> {
        self.cells.iter().find(|cell| cell.recorded && cell.model == model)
    }
}

fn check(plan: &ExperimentPlan, cells: &[CellFindings]) -> Result<(), ExperimentError> {
    let Some(first) = cells.first() else { return Err(ExperimentError::Empty) };
    for cell in cells {
        if cell.profile.steps != plan.rounds * plan.steps {
            return Err(ExperimentError::Steps {
                cell: cell.name.clone(),
                found: cell.profile.steps,
                rounds: plan.rounds,
                steps: plan.steps,
            });
        }
        let pair = || (first.name.clone(), cell.name.clone());
        let unlike = first.profile.conditions.differences(&cell.profile.conditions);
        let unlike = unlike.into_iter().find(|row| !VARIED.contains(&row.what.as_str()));
        if let Some(row) = unlike {
            let (a, b) = pair();
            return Err(ExperimentError::Unlike { a, b, what: row.what });
        }
        if cell.profile.per_step.samples != first.profile.per_step.samples {
            let (a, b) = pair();
            return Err(ExperimentError::Records { a, b });
        }
    }
    Ok(())
}

fn shared_conditions(cells: &[CellFindings]) -> Vec<(String, String)> {
    let of = |cell: &CellFindings| {
        let entries = cell.profile.conditions.entries().into_iter();
        entries
            .filter(|(name, value)| !VARIED.contains(name) && !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    };
    cells.first().map(of).unwrap_or_default()
}

fn ratios(cells: &[CellFindings], models: &[String], processors: &[String], rounds: u64) -> Vec<CellRatio> {
    let find = |model: &String, processor: &String, mode: &str| {
        cells.iter().find(|cell| {
            !cell.recorded && cell.model == *model && cell.processor == *processor && cell.mode == mode
        })
    };
    let modes: Vec<&str> = {
        let mut seen = BTreeSet::new();
        cells.iter().map(|cell| cell.mode.as_str()).filter(|mode| seen.insert(*mode)).collect()
    };
    let mut out = Vec::new();
    for mode in modes {
        for processor in processors {
            for model in models.iter().skip(1) {
                let pair = models
                    .first()
                    .and_then(|first| find(first, processor, mode))
                    .zip(find(model, processor, mode));
                out.extend(pair.map(|(a, b)| CellRatio::of("model", a, b, rounds)));
            }
        }
        for model in models {
            for processor in processors.iter().skip(1) {
                let pair = processors
                    .first()
                    .and_then(|first| find(model, first, mode))
                    .zip(find(model, processor, mode));
                out.extend(pair.map(|(a, b)| CellRatio::of("processor", a, b, rounds)));
            }
        }
    }
    out
}

fn warnings(plan: &ExperimentPlan) -> Vec<ExperimentWarning> {
    let is_few = plan.rounds < FEWEST_FOR_INTERVAL as u64;
    is_few.then_some(ExperimentWarning::FewRounds(plan.rounds)).into_iter().collect()
}

impl Classified for ExperimentError {
    fn class(&self) -> Class {
        Class::Failure
    }
}
