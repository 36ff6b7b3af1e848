//! Where a full step's time goes, found out in two independent ways: by the phases inside the full run, and by what each mode
//! takes longer than the one before it. Where they disagree by more than their spread, one of them is wrong.

use super::cell::{CellFindings, Rounds};
use knockout_meter::StepPhase;
use knockout_stats::Estimate;
use knockout_stats::share;
use serde::Serialize;

/// A disagreement below this share of a step is nobody's business.
const NEGLIGIBLE: f64 = 0.01;

/// The parts of one model's step.
#[derive(Debug, Clone, Serialize)]
pub struct Decomposition {
    /// Name of the model.
    pub model: String,
    /// The same, and on how many ranks where several numbers of them were measured.
    pub name: String,
    /// Ranks.
    pub world: u64,
    /// Name of the representation.
    pub processor: String,
    /// Wall time of a full step.
    pub step_s: Estimate,
    /// Its parts, in their order; both ways sum to the step, the second without what ranks waited in the data mode.
    pub components: Vec<Component>,
}

/// One part of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Component {
    /// Name of the part.
    pub name: &'static str,
    /// The difference it is measured by: `backward - forward`, or the mode alone.
    pub modes: &'static str,
    /// Its phases inside the full run.
    pub phases: Vec<String>,
    /// Seconds per step by its phases in the full run.
    pub by_phases_s: Estimate,
    /// Seconds per step by the difference of modes.
    pub by_difference_s: Estimate,
    /// The second minus the first, round by round.
    pub disagreement_s: Estimate,
    /// Of the step, by its phases.
    pub share: f64,
    /// The disagreement's interval (of few rounds: its range) includes zero, or it is below one per cent of the step.
    pub agrees: bool,
}

/// The mode, the one before it, what the difference is called and which phases it holds.
type Recipe = (&'static str, &'static str, Option<&'static str>, &'static str, fn(StepPhase) -> bool);

const RECIPES: [Recipe; 4] = [
    // Whatever is in no other part is in the loop around them, which the data mode runs too.
    ("data pipeline and loop", "data", None, "data", |phase| {
        !MODEL.contains(&phase) && !UPDATE.contains(&phase)
    }),
    ("forward and loss", "forward", Some("data"), "forward - data", |phase| {
        matches!(phase, StepPhase::Forward | StepPhase::Loss | StepPhase::Barrier)
    }),
    ("backward", "backward", Some("forward"), "backward - forward", |phase| {
        matches!(phase, StepPhase::Backward | StepPhase::Exchange)
    }),
    ("clip and optimiser", "full", Some("backward"), "full - backward", |phase| UPDATE.contains(&phase)),
];
const MODEL: [StepPhase; 5] =
    [StepPhase::Forward, StepPhase::Loss, StepPhase::Backward, StepPhase::Barrier, StepPhase::Exchange];
const UPDATE: [StepPhase; 2] = [StepPhase::Clip, StepPhase::Optimiser];

impl Decomposition {
    /// `None` unless all four modes were measured.
    pub(super) fn of(cells: &[&CellFindings], name: &str, rounds: u64) -> Option<Self> {
        let cell = |mode: &str| cells.iter().find(|cell| cell.mode == mode).copied();
        let by_round = |mode: &str| cell(mode).map(|cell| Rounds::of(&cell.profile, rounds));
        let full = by_round("full")?;
        let step = full.step();
        // Ranks that make batches wait for each other, as they do later in a full step: no time of making batches.
        let time = |mode: &str| {
            let by_round = by_round(mode)?;
            let waited = by_round.phases(|name| mode == "data" && name == StepPhase::Barrier.name());
            Some(by_round.step().iter().zip(waited).map(|(step, waited)| step - waited).collect::<Vec<f64>>())
        };
        let step_s = Estimate::of(&step);
        let mut components = Vec::new();
        for (name, mode, before, modes, belongs) in RECIPES {
            let is_in = |name: &str| match StepPhase::from_name(name) {
                Some(phase) => belongs(phase),
                None => mode == "data",
            };
            let phases = full.phases(is_in);
            let longer = time(mode)?;
            let shorter = match before {
                Some(before) => time(before)?,
                None => vec![0.0; longer.len()],
            };
            let difference: Vec<f64> = longer.iter().zip(&shorter).map(|(b, a)| b - a).collect();
            let disagreement_s =
                Estimate::paired(&phases, &difference, |phases, difference| difference - phases);
            let by_phases_s = Estimate::of(&phases);
            let is_small = disagreement_s.median.abs() <= NEGLIGIBLE * step_s.median;
            components.push(Component {
                name,
                modes,
                phases: cell("full")?
                    .profile
                    .per_step
                    .phases
                    .keys()
                    .filter(|name| is_in(name))
                    .cloned()
                    .collect(),
                by_difference_s: Estimate::of(&difference),
                agrees: is_small || disagreement_s.spans(0.0),
                share: share(by_phases_s.median, step_s.median),
                by_phases_s,
                disagreement_s,
            });
        }
        let of = cell("full")?;
        let (model, processor) = (of.model.clone(), of.processor.clone());
        Some(Self { model, name: name.to_owned(), world: of.world, processor, step_s, components })
    }

    /// A part by its name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }
}

/// The name of the part that makes batches.
pub(super) const DATA: &str = RECIPES[0].0;
/// The name of the part that changes parameters.
pub(super) const UPDATING: &str = RECIPES[3].0;
