//! A full step as a tree: the step, its phases, and the largest layers of each phase.

use super::cell::CellFindings;
use crate::profile::run::{PhaseRow, RunProfile};
use knockout_trace::meter::StepPhase;
use serde::Serialize;

/// Layers listed under a phase; the others are together in one row.
const LAYERS: usize = 4;

/// The tree of one model's step.
#[derive(Debug, Clone, Serialize)]
pub struct Breakdown {
    /// Name of the model.
    pub model: String,
    /// Name of the model, with the number of ranks where several were measured.
    pub name: String,
    /// Whether the layers are known: spans were recorded.
    pub recorded: bool,
    /// The rows from top to bottom; the rows below one sum to it.
    pub rows: Vec<BreakdownRow>,
}

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakdownRow {
    /// How deep: 0 is the step.
    pub depth: usize,
    /// Name of the row.
    pub name: String,
    /// Wall time per step.
    pub s: f64,
    /// Wall time per sample.
    pub s_per_sample: f64,
    /// Of the step.
    pub share: f64,
}

/// The branches of a step.
const BRANCHES: [(&str, &[StepPhase]); 4] = [
    ("data pipeline", &[StepPhase::Fetch, StepPhase::Process, StepPhase::Collate, StepPhase::Wait]),
    (
        "model compute",
        &[StepPhase::Forward, StepPhase::Loss, StepPhase::Backward, StepPhase::Barrier, StepPhase::Exchange],
    ),
    ("parameter update", &[StepPhase::Clip, StepPhase::Optimiser]),
    ("around it", &[StepPhase::Logging, StepPhase::Checkpoint, StepPhase::Validation]),
];

impl Breakdown {
    pub(super) fn of(cell: &CellFindings, name: &str) -> Self {
        let profile = &cell.profile;
        let row = |depth, name: &str, s: f64| BreakdownRow {
            depth,
            name: name.to_owned(),
            s,
            s_per_sample: knockout_base::stats::share(s * profile.steps as f64, profile.samples as f64),
            share: knockout_base::stats::share(s, profile.wall_s_per_step),
        };
        let mut rows = vec![row(0, "full step", profile.wall_s_per_step)];
        let phase = |name: &str| profile.phases.iter().find(|row| row.name == name);
        for (name, phases) in BRANCHES {
            let untracked = phase(StepPhase::UNTRACKED).filter(|_| name == "around it");
            let inside: Vec<&PhaseRow> =
                phases.iter().filter_map(|of| phase(of.name())).chain(untracked).collect();
            if inside.is_empty() {
                continue;
            }
            rows.push(row(1, name, inside.iter().map(|row| row.wall_s).sum()));
            for own in inside {
                rows.push(row(2, &own.name, own.wall_s));
                rows.extend(layers(profile, own).into_iter().map(|(name, s)| row(3, &name, s)));
            }
        }
        Self { model: cell.model.clone(), name: name.to_owned(), recorded: cell.recorded, rows }
    }
}

/// The largest layers of a phase, and the rest of it.
fn layers(profile: &RunProfile, phase: &PhaseRow) -> Vec<(String, f64)> {
    let prefix = format!("{}/", phase.name);
    let mut own: Vec<(String, f64)> = profile
        .parts
        .iter()
        .filter_map(|row| Some((row.name.strip_prefix(&prefix)?.to_owned(), row.wall_s)))
        .collect();
    if own.is_empty() {
        return own;
    }
    own.sort_by(|a, b| b.1.total_cmp(&a.1));
    own.truncate(LAYERS);
    let rest = phase.wall_s - own.iter().map(|(_, s)| s).sum::<f64>();
    own.push(("the rest".to_owned(), rest.max(0.0)));
    own
}
