//! Sentences about experiments.

use super::{estimate, range_not_interval};
use crate::units::{percent, three, two};
use knockout_analyze::profile::experiment::{
    Answer, Crowd, ExperimentFinding, ExperimentWarning, NextStep, Question,
};
use knockout_base::stats::{Estimate, FEWEST_FOR_INTERVAL};

pub(crate) fn insight(insight: &ExperimentFinding) -> String {
    match insight {
        ExperimentFinding::LargestPart { model, part, share, data } => {
            let besides =
                data.map_or_else(String::new, |(name, share)| format!("; {name} takes {}", percent(share)));
            format!(
                "{model}: {part} takes {} of a full step, more than anything else{besides}",
                percent(*share)
            )
        }
        ExperimentFinding::Disagreement { model, part, share } => format!(
            "{model}: {part} by differences of modes is {} of a step {} than by its phases, beyond their spread",
            percent(share.abs()),
            if *share > 0.0 { "more" } else { "less" }
        ),
        ExperimentFinding::Models { a, b, ratio } => {
            format!("{b} takes {} times as long per sample as {a}", estimate(ratio, two))
        }
        ExperimentFinding::DifferenceOfModels { a, b, part, share } => {
            format!("{} of the difference per sample between {b} and {a} is in {part}", percent(*share))
        }
        ExperimentFinding::Processors { a, b, ratio } => {
            format!("making a batch as {b} takes {} times as long as {a}", estimate(ratio, two))
        }
        ExperimentFinding::Ranks { model, mode, from, to, speedup, cpu } => format!(
            "{model} {mode}: {to} ranks are {} times as fast as {from}, for {} times the CPU time per sample",
            estimate(speedup, two),
            estimate(cpu, two)
        ),
        ExperimentFinding::Recording { model, wall, cpu } => {
            let (wall_text, cpu_text) = (estimate(wall, three), estimate(cpu, three));
            if wall.clears(1.0) {
                format!("Recording slows {model} down: {wall_text}x per step, {cpu_text}x CPU time")
            } else if cpu.clears(1.0) {
                format!(
                    "Recording takes {model} {cpu_text}x the CPU time; that a step takes longer is not measurable ({wall_text}x)"
                )
            } else {
                format!(
                    "Recording: no measurable overhead for {model} ({wall_text}x per step, {cpu_text}x CPU time)"
                )
            }
        }
        ExperimentFinding::BestSwitch { model, tried, switch, gain } => format!(
            "of {tried} switches tried on {model}, {switch:?} gains most: {} times as fast per sample",
            estimate(gain, two)
        ),
    }
}

pub(crate) fn next_step(step: &NextStep) -> String {
    match step {
        NextStep::UseSwitch { model, keys, gain, note } => {
            let besides = if note.is_empty() { String::new() } else { format!("; but {note}") };
            format!("{model}: `{}` makes it {} times as fast{besides}", keys.join(" "), estimate(gain, two))
        }
        NextStep::LargestLayer { model, layer, share, bound } => format!(
            "{model}: optimise {layer} first: {} of a step, at most {}x as fast without it",
            percent(*share),
            two(*bound)
        ),
        NextStep::DataPipeline { model, share, bound, is_worth_it } => {
            let share = percent(*share);
            if *is_worth_it {
                format!(
                    "{model}: data pipeline: {share} of a step. Try loader.threads and another processor; at most {}x as fast.",
                    two(*bound)
                )
            } else {
                format!("{model}: data pipeline: {share} of a step. Nothing to gain.")
            }
        }
        NextStep::Ranks { model, from, to, speedup, is_worth_it: true } => format!(
            "{model}: train with `mpirun -n {to}`, {} times as fast as {from} here",
            estimate(speedup, two)
        ),
        NextStep::Ranks { model, from, .. } => {
            format!("{model}: stay with {from} rank(s): no measurable gain from more here")
        }
        NextStep::FullSteps => {
            "measure full steps too (leave --modes out) to see the share of a step".to_owned()
        }
        NextStep::Ablate => "measure the switches: run the same command with --ablate".to_owned(),
        NextStep::Quieter(noise) => format!(
            "measure again on a quieter machine or with more rounds: rounds differ by {}",
            percent(*noise)
        ),
    }
}

/// Returns the question, the measured figure and the criterion.
pub(crate) fn decision_texts(decision: &Answer) -> [String; 3] {
    let threshold = decision.threshold.unwrap_or(0.0);
    let of_a_step = |share: &f64| format!("{} of a full step", percent(*share));
    let above = || format!("above {}", percent(threshold));
    match &decision.question {
        Question::DataHoldsBack { model, share } => {
            [format!("Does making batches hold {model} back?"), of_a_step(share), above()]
        }
        Question::UpdateHoldsBack { model, share } => {
            [format!("Do clipping and the optimiser hold {model} back?"), of_a_step(share), above()]
        }
        Question::WaysAgree { model, share } => [
            format!("Do phases and differences of modes agree for {model}?"),
            format!("at most {} of a step apart", percent(*share)),
            "every interval includes 0, or below 1 % of a step".to_owned(),
        ],
        Question::RecordingDisturbs { model, ratio } => [
            format!("Does recording spans disturb {model}?"),
            estimate(ratio, three) + " times a step without",
            surely(ratio, &percent(threshold)),
        ],
        Question::IsSlower { a, b, ratio } => [
            format!("Is {b} slower than {a} per sample?"),
            estimate(ratio, two) + " times as long",
            surely(ratio, &two(1.0 + threshold)),
        ],
        Question::RoundsAlike { share } => [
            "Were the rounds alike?".to_owned(),
            format!("the middle half of the rounds differs by {} of the median", percent(*share)),
            format!("at most {}", percent(threshold)),
        ],
    }
}

/// Formats the criterion: the interval, or all rounds where they are too few for one.
fn surely(ratio: &Estimate, threshold: &str) -> String {
    if ratio.is_interval() {
        format!("more than {threshold}, with its interval")
    } else {
        format!("more than {threshold} in every round")
    }
}

/// A warning as `code: sentence`.
pub(crate) fn experiment_warning(warning: ExperimentWarning) -> String {
    match warning {
        ExperimentWarning::FewRounds(rounds) => {
            format!("few_rounds: {}", range_not_interval(rounds, "rounds", FEWEST_FOR_INTERVAL))
        }
        ExperimentWarning::Crowded(Crowd { world, threads, cores }) => format!(
            "crowded: {world} ranks had {threads} threads on a machine of {cores} core(s), so they shared cores; their CPU times are valid, their wall \
             times do not apply to ranks with a core for every thread"
        ),
    }
}
