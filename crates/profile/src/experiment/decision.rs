//! Questions that the figures answer: each with the figure, the threshold it was held against, and the answer.

use super::decompose;
use super::findings::Experiment;
use knockout_stats::{quantile, share};
use serde::Serialize;

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const UPDATE: f64 = 0.15;
const RECORDING: f64 = 0.02;
const UNSTEADY: f64 = 0.10;
const TIE: f64 = 0.10;

/// One question and its answer.
#[derive(Debug, Clone, Serialize)]
pub struct Decision {
    /// What is asked.
    pub question: String,
    /// The figure that decides.
    pub figure: f64,
    /// The figure as it is to be read, with its interval.
    pub measured: String,
    /// What it is held against.
    pub rule: String,
    /// `yes` or `no`.
    pub answer: &'static str,
}

pub(super) fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

fn decision(question: String, figure: f64, measured: String, rule: String, is_yes: bool) -> Decision {
    Decision { question, figure, measured, rule, answer: if is_yes { "yes" } else { "no" } }
}

pub(super) fn all(experiment: &Experiment) -> Vec<Decision> {
    let mut out = Vec::new();
    for parts in &experiment.decomposition {
        let model = &parts.model;
        let share_of = |name: &str| parts.component(name).map_or(0.0, |component| component.share);
        for (name, question, most) in [
            (decompose::DATA, format!("Does making batches hold {model} back?"), DATA),
            (decompose::UPDATING, format!("Do clipping and the optimiser hold {model} back?"), UPDATE),
        ] {
            let figure = share_of(name);
            let measured = format!("{} of a full step", percent(figure));
            out.push(decision(question, figure, measured, format!("above {}", percent(most)), figure > most));
        }
        let agrees = parts.components.iter().all(|component| component.agrees);
        let worst = parts
            .components
            .iter()
            .map(|component| share(component.disagreement_s.median.abs(), parts.step_s.median))
            .fold(0.0, f64::max);
        out.push(decision(
            format!("Do phases and differences of modes agree for {model}?"),
            worst,
            format!("at most {} of a step apart", percent(worst)),
            "every interval includes 0, or below 1 % of a step".to_owned(),
            agrees,
        ));
    }
    for cost in &experiment.recording {
        let figure = cost.ratio.median - 1.0;
        out.push(decision(
            format!("Does recording spans disturb {}?", cost.model),
            figure,
            cost.ratio.spelt(|ratio| format!("{ratio:.3}")) + " times a step without",
            format!("surely more than {}", percent(RECORDING)),
            cost.ratio.low.is_some_and(|low| low > 1.0 + RECORDING),
        ));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model" && ratio.mode == "full") {
        out.push(decision(
            format!("Is {} slower than {} per sample?", ratio.b, ratio.a),
            ratio.per_sample.median,
            ratio.per_sample.spelt(|ratio| format!("{ratio:.2}")) + " times as long",
            format!("surely more than {:.2}", 1.0 + TIE),
            ratio.per_sample.low.is_some_and(|low| low > 1.0 + TIE),
        ));
    }
    let noise = noise(experiment);
    out.push(decision(
        "Was the machine quiet?".to_owned(),
        noise,
        format!("the middle half of the rounds differs by {} of the median", percent(noise)),
        format!("at most {}", percent(UNSTEADY)),
        noise <= UNSTEADY,
    ));
    out
}

/// How much rounds of one cell differ: the middle half of them by their median, for the cell where it is most.
pub(super) fn noise(experiment: &Experiment) -> f64 {
    let of = |rates: &[f64]| {
        let at = |part| quantile(rates, part).unwrap_or(0.0);
        share(at(0.75) - at(0.25), at(0.5))
    };
    // The data mode takes microseconds: its rounds differ by the clock's own grain.
    let cells = experiment.cells.iter().filter(|cell| cell.mode != "data");
    cells.map(|cell| of(&cell.rounds)).fold(0.0, f64::max)
}
