//! The experiment as a whole: the document every report is a rendering of.

use super::EXPERIMENT_SCHEMA;
use super::ablation::{Ablation, SwitchRuns};
use super::breakdown::Breakdown;
use super::cell::{CellFindings, ranks_text};
use super::decision::{self, Decision};
use super::decompose::Decomposition;
use super::insights::{self, Insight, NextStep};
use super::ranks::RankScaling;
use super::ratio::{CellRatio, RecordingCost};
use crate::profile::run::RunProfile;
use knockout_base::error::{Class, Classified};
use knockout_base::stats::FEWEST_FOR_INTERVAL;
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
    /// Numbers of ranks that had to share cores; empty where every thread had a core.
    pub crowded: Vec<Crowd>,
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
    /// More threads than cores: ranks took turns on the cores, so wall times say nothing of ranks that have cores of their own.
    Crowded(Crowd),
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
    /// The numbers of ranks, in the order asked for.
    pub worlds: Vec<u64>,
    /// Every cell.
    #[serde(skip)]
    pub cells: Vec<CellFindings>,
    /// Cells that differ in one thing, beside each other.
    pub ratios: Vec<CellRatio>,
    /// Where a full step goes, by model.
    pub decomposition: Vec<Decomposition>,
    /// The same as a tree with its largest layers, by model.
    pub breakdown: Vec<Breakdown>,
    /// What more ranks gain, where several numbers of them were measured.
    pub ranks: Vec<RankScaling>,
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
const VARIED: [&str; 5] = ["model", "mode", "processor", "profiler", "world"];

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
        let mut worlds: Vec<u64> = Vec::new();
        for world in profiles.iter().map(|run| run.conditions.world) {
            if !worlds.contains(&world) {
                worlds.push(world);
            }
        }
        let rounds = plan.rounds;
        let cell = |profile| CellFindings::of(profile, rounds, processors.len(), worlds.len());
        let cells: Vec<CellFindings> = profiles.into_iter().map(cell).collect();
        check(&plan, &cells)?;
        let mut experiment = Self {
            schema: EXPERIMENT_SCHEMA,
            kind: "experiment",
            conditions: shared_conditions(&cells, &worlds),
            ratios: ratios(&cells, &models, &processors, &worlds, rounds),
            decomposition: Vec::new(),
            breakdown: Vec::new(),
            ranks: rank_scalings(&cells, rounds),
            recording: Vec::new(),
            ablation: switches.into_iter().map(|runs| Ablation::of(runs, rounds)).collect(),
            decisions: Vec::new(),
            insights: Vec::new(),
            next_steps: Vec::new(),
            warnings: warnings(&plan),
            plan,
            models,
            worlds,
            cells,
        };
        for model in &experiment.models {
            for &world in &experiment.worlds {
                let cells: Vec<&CellFindings> = experiment
                    .cells
                    .iter()
                    .filter(|cell| !cell.recorded && cell.model == *model && cell.world == world)
                    .collect();
                let name = match experiment.worlds.len() {
                    1 => model.clone(),
                    _ => format!("{model}, {}", ranks_text(world)),
                };
                for processor in &processors {
                    let of: Vec<&CellFindings> =
                        cells.iter().copied().filter(|cell| cell.processor == *processor).collect();
                    experiment.decomposition.extend(Decomposition::of(&of, &name, rounds));
                }
                let full = cells.iter().copied().find(|cell| cell.mode == "full");
                let is_recorded =
                    |cell: &&CellFindings| cell.recorded && cell.model == *model && cell.world == world;
                let recorded = experiment.cells.iter().find(is_recorded);
                experiment.breakdown.extend(recorded.or(full).map(|cell| Breakdown::of(cell, &name)));
                let pair = full.zip(recorded);
                experiment.recording.extend(pair.map(|(off, on)| RecordingCost::of(off, on, rounds)));
            }
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

fn shared_conditions(cells: &[CellFindings], worlds: &[u64]) -> Vec<(String, String)> {
    let is_shared = |name: &str| !VARIED.contains(&name) || (name == "world" && worlds.len() == 1);
    let of = |cell: &CellFindings| {
        let entries = cell.profile.conditions.entries().into_iter();
        entries
            .filter(|(name, value)| is_shared(name) && !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    };
    cells.first().map(of).unwrap_or_default()
}

fn modes(cells: &[CellFindings]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    cells.iter().map(|cell| cell.mode.as_str()).filter(|mode| seen.insert(*mode)).collect()
}

fn ratios(
    cells: &[CellFindings],
    models: &[String],
    processors: &[String],
    worlds: &[u64],
    rounds: u64,
) -> Vec<CellRatio> {
    let find = |model: &String, processor: &String, world: u64, mode: &str| {
        cells.iter().find(|cell| {
            let is_of = cell.model == *model && cell.processor == *processor && cell.world == world;
            !cell.recorded && is_of && cell.mode == mode
        })
    };
    let ([first_model, ..], [first_processor, ..], [first_world, ..]) = (models, processors, worlds) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for mode in modes(cells) {
        let mut compare = |vary, a: Option<&CellFindings>, b: Option<&CellFindings>| {
            out.extend(a.zip(b).map(|(a, b)| CellRatio::of(vary, a, b, rounds)));
        };
        for processor in processors {
            for &world in worlds {
                let first = find(first_model, processor, world, mode);
                for model in models.iter().skip(1) {
                    compare("model", first, find(model, processor, world, mode));
                }
            }
        }
        for model in models {
            for &world in worlds {
                let first = find(model, first_processor, world, mode);
                for processor in processors.iter().skip(1) {
                    compare("processor", first, find(model, processor, world, mode));
                }
            }
            for processor in processors {
                let first = find(model, processor, *first_world, mode);
                for &world in worlds.iter().skip(1) {
                    compare("world", first, find(model, processor, world, mode));
                }
            }
        }
    }
    out
}

/// Cells that differ in their ranks alone, beside each other.
fn rank_scalings(cells: &[CellFindings], rounds: u64) -> Vec<RankScaling> {
    let key = |cell: &CellFindings| (cell.model.clone(), cell.processor.clone(), cell.mode.clone());
    let mut seen = BTreeSet::new();
    let firsts = cells.iter().filter(|cell| !cell.recorded && seen.insert(key(cell)));
    let like = |first: &CellFindings| {
        cells.iter().filter(|cell| !cell.recorded && key(cell) == key(first)).collect::<Vec<_>>()
    };
    firsts.filter_map(|first| RankScaling::of(&like(first), rounds)).collect()
}

fn warnings(plan: &ExperimentPlan) -> Vec<ExperimentWarning> {
    let is_few = plan.rounds < FEWEST_FOR_INTERVAL as u64;
    let few = is_few.then_some(ExperimentWarning::FewRounds(plan.rounds));
    few.into_iter().chain(plan.crowded.iter().copied().map(ExperimentWarning::Crowded)).collect()
}

impl Classified for ExperimentError {
    fn class(&self) -> Class {
        Class::Failure
    }
}
