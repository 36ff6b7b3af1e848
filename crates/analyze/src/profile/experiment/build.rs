//! Makes the findings of an experiment from the profiles of its cells.

use super::ablation::{ModelAblation, SwitchRuns};
use super::breakdown::Breakdown;
use super::cell::{CellFindings, ranks_text};
use super::decompose::Decomposition;
use super::findings::{Experiment, ExperimentPlan, ExperimentWarning};
use super::own_batch::{ModelRow, OwnBatch, model_rows};
use super::ranks::RankScaling;
use super::ratio::{CellRatio, RecordingCost};
use super::{EXPERIMENT_SCHEMA, judge};
use crate::profile::run::RunProfile;
use knockout_base::error::{Error, Result};
use knockout_base::stats::FEWEST_FOR_INTERVAL;
use std::collections::BTreeSet;

/// Conditions that may differ between cells of one experiment.
const VARIED: [&str; 5] = ["model", "mode", "processor", "profiler", "world"];

impl Experiment {
    /// Returns the findings of cells that were measured alternately, and of switches that were measured beside a baseline.
    pub fn of(plan: ExperimentPlan, profiles: Vec<RunProfile>, switches: Vec<SwitchRuns>) -> Result<Self> {
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
        // All models are measured with the smallest of their batches; some also with their own.
        let common = profiles.iter().map(|run| run.conditions.batch).min().unwrap_or(0);
        let cell = |profile| CellFindings::of(profile, rounds, processors.len(), worlds.len());
        let (cells, own): (Vec<CellFindings>, Vec<CellFindings>) =
            profiles.into_iter().map(cell).partition(|cell| cell.profile.batch == common);
        check(&plan, &cells)?;
        let own_batch = own_batches(&cells, own, worlds.len() > 1, rounds)?;
        let mut experiment = Self {
            schema: EXPERIMENT_SCHEMA,
            kind: "experiment",
            conditions: shared_conditions(&cells, &worlds),
            model_rows: beside_each_other(&cells, &own_batch, &models, &worlds, rounds),
            ratios: ratios(&cells, &models, &processors, &worlds, rounds),
            decomposition: Vec::new(),
            breakdown: Vec::new(),
            ranks: rank_scalings(cells.iter().chain(own_batch.iter().map(|own| &own.cell)), rounds),
            recording: Vec::new(),
            ablation: switches.into_iter().map(|runs| ModelAblation::of(runs, rounds)).collect(),
            answers: Vec::new(),
            findings: Vec::new(),
            next_steps: Vec::new(),
            warnings: warnings(&plan),
            plan,
            models,
            worlds,
            cells,
            own_batch,
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
                    let name = match processors.len() {
                        1 => name.clone(),
                        _ => format!("{name}, {processor}"),
                    };
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
        experiment.answers = judge::answers(&experiment);
        experiment.findings = judge::findings(&experiment);
        experiment.next_steps = judge::next_steps(&experiment);
        Ok(experiment)
    }
}

fn check(plan: &ExperimentPlan, cells: &[CellFindings]) -> Result<()> {
    let Some(first) = cells.first() else { return Err(Error::failure("no cell was measured")) };
    for cell in cells {
        if cell.profile.steps != plan.rounds * plan.steps {
            return Err(Error::failure(format!(
                "{} has {} steps, but the plan has {} rounds of {}",
                cell.name, cell.profile.steps, plan.rounds, plan.steps
            )));
        }
        let (a, b) = (&first.name, &cell.name);
        let unlike = first.profile.conditions.differences(&cell.profile.conditions);
        let unlike = unlike.into_iter().find(|row| !VARIED.contains(&row.what.as_str()));
        if let Some(row) = unlike {
            return Err(Error::failure(format!(
                "{a} and {b} differ in {}: cells of one experiment share their data, threads and machine",
                row.what
            )));
        }
        if cell.profile.per_step.samples != first.profile.per_step.samples {
            return Err(Error::failure(format!(
                "{a} and {b} took batches of other sizes, so they did not see the same records"
            )));
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
fn rank_scalings<'c>(cells: impl Iterator<Item = &'c CellFindings>, rounds: u64) -> Vec<RankScaling> {
    let key = |cell: &CellFindings| {
        (cell.model.clone(), cell.processor.clone(), cell.mode.clone(), cell.profile.batch)
    };
    let cells: Vec<&CellFindings> = cells.filter(|cell| !cell.recorded).collect();
    let mut seen = BTreeSet::new();
    let firsts = cells.iter().filter(|cell| seen.insert(key(cell)));
    let like = |first: &CellFindings| {
        cells.iter().copied().filter(|cell| key(cell) == key(first)).collect::<Vec<_>>()
    };
    firsts.filter_map(|first| RankScaling::of(&like(first), rounds)).collect()
}

/// Pairs the cells of models at their own batch with those at the common one.
fn own_batches(
    cells: &[CellFindings],
    own: Vec<CellFindings>,
    several_worlds: bool,
    rounds: u64,
) -> Result<Vec<OwnBatch>> {
    let (recorded, timed): (Vec<CellFindings>, Vec<CellFindings>) =
        own.into_iter().partition(|cell| cell.recorded);
    let pair = |mut cell: CellFindings| {
        let is_like = |other: &CellFindings| {
            other.model == cell.model && other.mode == cell.mode && other.world == cell.world
        };
        let is_partner =
            |other: &&CellFindings| !other.recorded && is_like(other) && other.processor == cell.processor;
        let Some(common) = cells.iter().find(is_partner) else {
            return Err(Error::failure(format!("{} has no cell at the common batch", cell.name)));
        };
        let unlike = common.profile.conditions.differences(&cell.profile.conditions);
        if let Some(row) = unlike.into_iter().find(|row| row.what != "batch") {
            return Err(Error::failure(format!("{} differs in {} at its own batch", cell.name, row.what)));
        }
        if common.profile.steps != cell.profile.steps {
            return Err(Error::failure(format!(
                "{} has another number of steps at its own batch",
                cell.name
            )));
        }
        let with_batch = |cell: &mut CellFindings| {
            cell.name = format!("{}, batch {}", cell.name, cell.profile.batch);
        };
        let mut recorded = recorded.iter().find(|other| is_like(other)).cloned();
        recorded.as_mut().into_iter().for_each(with_batch);
        with_batch(&mut cell);
        Ok(OwnBatch::of(common, cell, recorded, several_worlds, rounds))
    };
    timed.into_iter().map(pair).collect()
}

/// Models beside each other on every number of ranks: at the common batch, then each at its own.
fn beside_each_other(
    cells: &[CellFindings],
    own: &[OwnBatch],
    models: &[String],
    worlds: &[u64],
    rounds: u64,
) -> Vec<ModelRow> {
    let Some(mode) = modes(cells).last().copied() else { return Vec::new() };
    let common = |model: &String, world: u64| {
        let is_of = |cell: &&CellFindings| !cell.recorded && cell.model == *model && cell.world == world;
        cells.iter().filter(is_of).find(|cell| cell.mode == mode)
    };
    let own_of = |model: &String, world: u64| {
        own.iter().map(|own| &own.cell).find(|cell| cell.model == *model && cell.world == world)
    };
    let mut rows = Vec::new();
    for is_own in [false, true] {
        if is_own && own.is_empty() {
            break;
        }
        for &world in worlds {
            let of = |model| own_of(model, world).filter(|_| is_own).or_else(|| common(model, world));
            let cells: Vec<&CellFindings> = models.iter().filter_map(of).collect();
            rows.extend(model_rows(&cells, is_own, worlds.len() > 1, rounds));
        }
    }
    rows
}

fn warnings(plan: &ExperimentPlan) -> Vec<ExperimentWarning> {
    let is_few = plan.rounds < FEWEST_FOR_INTERVAL as u64;
    let few = is_few.then_some(ExperimentWarning::FewRounds(plan.rounds));
    few.into_iter().chain(plan.crowded.iter().copied().map(ExperimentWarning::Crowded)).collect()
}
