//! Where a full step's time goes, measured in two independent ways: by the phases inside the full run, and by the differences
//! between modes. Where they disagree by more than their spread, one of them is wrong.

use super::cell::{CellFindings, Rounds};
use knockout_base::stats::Estimate;
use knockout_base::stats::share;
use knockout_trace::meter::StepPhase;
use serde::Serialize;

/// A disagreement below this share of a step is ignored.
const NEGLIGIBLE: f64 = 0.01;

/// The parts of one model's step.
#[derive(Debug, Clone, Serialize)]
pub struct Decomposition {
    /// Name of the model.
    pub model: String,
    /// Name of the model, with the number of ranks where several were measured.
    pub name: String,
    /// Number of ranks.
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
    /// The difference it is measured by: `backward - forward`, or the data mode alone.
    pub modes: &'static str,
    /// Its phases inside the full run.
    pub phases: Vec<String>,
    /// Seconds per step by its phases in the full run.
    pub by_phases_s: Estimate,
    /// Seconds per step by the difference of modes.
    pub by_difference_s: Estimate,
    /// The second minus the first, round by round.
    pub disagreement_s: Estimate,
    /// Of the step, by the medians of its parts: the shares sum to 1.
    pub share: f64,
    /// The disagreement's interval (of few rounds: its range) includes zero, or it is below one per cent of the step.
    pub agrees: bool,
}

/// Phases and modes that define a part.
struct PartDefinition {
    name: &'static str,
    /// The difference it is measured by, in words.
    modes: &'static str,
    /// The mode, and the one before it.
    by: By,
    /// Phases in it; `None` for time in no phase.
    belongs: fn(Option<StepPhase>) -> bool,
}

/// Measurement of a part by modes.
enum By {
    /// The part's own phases in the data mode: that mode runs nothing else, so modes cannot separate its two parts.
    Data,
    /// Time of a mode minus that of another.
    Difference(&'static str, &'static str),
}

const RECIPES: [PartDefinition; 5] = [
    PartDefinition {
        name: DATA,
        modes: "data",
        by: By::Data,
        belongs: |phase| phase.is_some_and(|phase| BATCHES.contains(&phase)),
    },
    // Whatever is in no other part is in the loop around them, which the data mode runs too.
    PartDefinition {
        name: "loop and untracked",
        modes: "data",
        by: By::Data,
        belongs: |phase| {
            phase.is_none_or(|phase| {
                [&BATCHES[..], &FORWARD, &BACKWARD, &UPDATE].iter().all(|part| !part.contains(&phase))
            })
        },
    },
    PartDefinition {
        name: "forward and loss",
        modes: "forward - data",
        by: By::Difference("forward", "data"),
        belongs: |phase| phase.is_some_and(|phase| FORWARD.contains(&phase)),
    },
    PartDefinition {
        name: "backward",
        modes: "backward - forward",
        by: By::Difference("backward", "forward"),
        belongs: |phase| phase.is_some_and(|phase| BACKWARD.contains(&phase)),
    },
    PartDefinition {
        name: UPDATING,
        modes: "full - backward",
        by: By::Difference("full", "backward"),
        belongs: |phase| phase.is_some_and(|phase| UPDATE.contains(&phase)),
    },
];
const BATCHES: [StepPhase; 4] = [StepPhase::Fetch, StepPhase::Process, StepPhase::Collate, StepPhase::Wait];
const FORWARD: [StepPhase; 3] = [StepPhase::Forward, StepPhase::Loss, StepPhase::Barrier];
const BACKWARD: [StepPhase; 2] = [StepPhase::Backward, StepPhase::Exchange];
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
        for PartDefinition { name, modes, by, belongs } in RECIPES {
            let is_in = |name: &str| belongs(StepPhase::from_name(name));
            let phases = full.phases(is_in);
            let difference: Vec<f64> = match by {
                By::Data => by_round("data")?.phases(is_in),
                By::Difference(longer, shorter) => {
                    let (longer, shorter) = (time(longer)?, time(shorter)?);
                    longer.iter().zip(&shorter).map(|(b, a)| b - a).collect()
                }
            };
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
                share: 0.0,
                by_phases_s,
                disagreement_s,
            });
        }
        // Medians of parts do not sum to the median step: shares are of their sum.
        let sum: f64 = components.iter().map(|part| part.by_phases_s.median).sum();
        for part in &mut components {
            part.share = share(part.by_phases_s.median, sum);
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

/// A part of a step with its share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartShare {
    /// Name of the part.
    pub name: &'static str,
    /// Share of the step.
    pub share: f64,
}

/// Returns the shares of a step's parts by its phases, in their order.
pub(super) fn shares_by_phases(cell: &CellFindings, rounds: u64) -> Vec<PartShare> {
    let by_round = Rounds::of(&cell.profile, rounds);
    let seconds = RECIPES.map(|part| {
        let of_rounds = by_round.phases(|name| (part.belongs)(StepPhase::from_name(name)));
        (part.name, Estimate::of(&of_rounds).median)
    });
    let sum = seconds.iter().map(|(_, seconds)| seconds).sum();
    seconds.map(|(name, seconds)| PartShare { name, share: share(seconds, sum) }).to_vec()
}

/// The name of the part that makes batches.
pub(super) const DATA: &str = "data pipeline";
/// The name of the part that changes parameters.
pub(super) const UPDATING: &str = "clip and optimiser";
