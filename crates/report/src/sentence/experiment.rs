//! Sentences about experiments.

use super::{estimate, range_not_interval};
use crate::units::{count, counted, percent, three, time, two};
use knockout_analyze::profile::experiment::{
    Answer, Crowd, Experiment, ExperimentFinding, ExperimentWarning, ModelRow, NextStep, Question,
};
use knockout_base::stats::{Estimate, FEWEST_FOR_INTERVAL};

/// Answers the question of an experiment in one sentence: what takes how long, each model at the batch that it trains with.
pub(crate) fn headline(experiment: &Experiment) -> String {
    if let Some(answer) = fastest_ranks(experiment) {
        return answer;
    }
    let world = experiment.worlds.first();
    let rows: Vec<&ModelRow> = experiment.own_rows().filter(|row| Some(&row.world) == world).collect();
    let by_sample = |a: &&&ModelRow, b: &&&ModelRow| a.s_per_sample.median.total_cmp(&b.s_per_sample.median);
    let (Some(fast), Some(slow)) = (rows.iter().min_by(by_sample), rows.iter().max_by(by_sample)) else {
        return "Nothing was measured.".to_owned();
    };
    let step =
        if slow.mode == "full" { "a training step".to_owned() } else { format!("the mode {}", slow.mode) };
    let largest =
        slow.parts.iter().max_by(|a, b| a.share.total_cmp(&b.share)).filter(|_| slow.mode == "full");
    let part = |what: &str| {
        largest
            .map_or_else(String::new, |part| format!("; {} of {what} is {}", percent(part.share), part.name))
    };
    if rows.len() == 1 {
        let (name, batch) = (&slow.name, counted(slow.batch, "sample"));
        return format!(
            "{name} takes {} for {step} of {batch}{}.",
            estimate(&slow.s_per_batch, |s| time(s * 1e6)),
            part("it")
        );
    }
    // Ratios are relative to the first row; only they have an interval.
    let ratio = if fast.name == rows[0].name {
        estimate(&slow.ratio, two)
    } else {
        two(slow.ratio.median / fast.ratio.median)
    };
    let batches = if fast.batch == slow.batch {
        format!("both in batches of {}", count(fast.batch))
    } else {
        format!("each in its own batch ({} and {})", count(slow.batch), count(fast.batch))
    };
    format!(
        "Per sample, {step} of {} takes {ratio} times as long as one of {}, {batches}{}.",
        slow.name,
        fast.name,
        part(&format!("a step of {}", slow.name))
    )
}

/// The largest gain by more ranks, where several numbers of them were measured.
fn fastest_ranks(experiment: &Experiment) -> Option<String> {
    let found = experiment.findings.iter().filter_map(|found| match found {
        ExperimentFinding::Ranks { model, mode, from, to, speedup, .. } => {
            Some((model, mode, from, to, speedup))
        }
        _ => None,
    });
    let (model, mode, from, to, speedup) = found.max_by(|a, b| a.4.median.total_cmp(&b.4.median))?;
    let gain = estimate(speedup, two);
    Some(if speedup.clears(1.0) {
        format!("{} {gain} times as fast as {from} for {model} in the mode {mode}.", ranks_are(*to))
    } else {
        format!(
            "No other number of ranks than {from} is measurably faster: {} {gain} times as fast for {model} in the mode {mode}.",
            ranks_are(*to)
        )
    })
}

fn ranks_are(ranks: u64) -> String {
    format!("{} {}", counted(ranks, "rank"), if ranks == 1 { "is" } else { "are" })
}

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
        ExperimentFinding::OwnBatch { model, batch, common, own_s, common_s, gain } => format!(
            "{model} trains with batches of {}: {} per sample there, and {} at the common batch of {} ({} times as long)",
            count(*batch),
            time(own_s * 1e6),
            time(common_s * 1e6),
            count(*common),
            estimate(gain, two)
        ),
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
            "{model} {mode}: {} {} times as fast as {from}, for {} times the CPU time per sample",
            ranks_are(*to),
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
        ExperimentFinding::BestSwitch { model, tried: 1, switch, gain } => format!(
            "{switch:?}, the one switch tried on {model}, makes it {} times as fast per sample",
            estimate(gain, two)
        ),
        ExperimentFinding::BestSwitch { model, tried, switch, gain } => format!(
            "of {tried} switches tried on {model}, {switch:?} gains most: {} times as fast per sample; of {tried} without any effect, about {:.1} would be marked faster by chance",
            estimate(gain, two),
            *tried as f64 * BEYOND_BOUND
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
            "{model}: train with `--ranks {to}` (on several machines `mpirun -n {to}`), {} times as fast as {from} here",
            estimate(speedup, two)
        ),
        NextStep::Ranks { model, from, .. } => {
            format!("{model}: stay with {}: no measurable gain from others here", counted(*from, "rank"))
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

/// Share of estimates whose bound lies beyond the true median on one side (see [`knockout_base::stats::Estimate`]).
const BEYOND_BOUND: f64 = 0.03;

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
