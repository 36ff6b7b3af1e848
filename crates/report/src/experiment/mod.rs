//! An experiment as text in the shape of a comparison report, and as a Markdown summary. Every figure was
//! computed in [`knockout_analyze::profile::experiment`].

mod markdown;
mod text;

pub use markdown::experiment_markdown;
pub use text::experiment_text;

use crate::sentence::estimate;
use crate::units::{percent, rate, time, two};
use knockout_analyze::profile::experiment::{Component, Effect, Experiment};
use knockout_base::stats::Estimate;

/// Seconds of an estimate with its interval.
fn seconds(of: &Estimate) -> String {
    estimate(of, |s| time(s * 1e6))
}

/// A time that is the difference of two: it cannot be below zero, so where the rounds do not put it above, nobody knows it.
fn difference(of: &Estimate) -> String {
    match *of {
        Estimate { low, .. } if low >= 0.0 => seconds(of),
        Estimate { high, .. } if high > 0.0 => format!("not told apart from 0, at most {}", time(high * 1e6)),
        _ => "not told apart from 0".to_owned(),
    }
}

/// Whether both ways of finding out a part's time agree.
fn agreement(part: &Component) -> &'static str {
    if part.agrees {
        "agrees"
    } else if part.disagreement_s.is_interval() {
        "BEYOND ITS SPREAD"
    } else {
        "differs in every round"
    }
}

/// The modes in the order they were measured, with what a heading calls them.
fn modes(experiment: &Experiment) -> Vec<(&str, &'static str)> {
    let titles = [
        ("data", "data only"),
        ("forward", "data + model forward and loss"),
        ("backward", "data + model forward, loss and backward"),
        ("full", "a full training step"),
    ];
    let is_measured = |mode: &str| experiment.cells.iter().any(|cell| cell.mode == mode);
    titles.into_iter().filter(|(mode, _)| is_measured(mode)).collect()
}

/// The experiment in one line.
pub(crate) fn subtitle(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    format!(
        "{}, {} rounds of {} steps after {} to warm up",
        plan.dataset, plan.rounds, plan.steps, plan.warmup
    )
}

/// Numbers of ranks, and how they took turns; `None` where only one number was measured.
pub(crate) fn ranks_line(experiment: &Experiment) -> Option<String> {
    let worlds: Vec<String> = experiment.worlds.iter().map(ToString::to_string).collect();
    (worlds.len() > 1).then(|| {
        format!(
            "{}; in turns, each started anew in every round; batches are cut into the same shards on all, so that all compute the same",
            worlds.join(", ")
        )
    })
}

/// Columns of the table of ranks, behind the one that names model and mode.
const RANK_COLUMNS: [&str; 7] = [
    "ranks",
    "samples/s",
    "times as fast",
    "CPU time per sample",
    "times the CPU time",
    "waiting",
    "exchange",
];

/// A row of the table of ranks for every model, mode and number of ranks.
fn rank_rows(experiment: &Experiment) -> impl Iterator<Item = Vec<String>> {
    experiment.ranks.iter().flat_map(|scaling| {
        scaling.rows.iter().map(move |row| {
            vec![
                format!("{} {}, {}", scaling.model, scaling.mode, scaling.processor),
                row.world.to_string(),
                estimate(&row.samples_per_s, rate),
                estimate(&row.speedup, two),
                seconds(&row.cpu_s_per_sample),
                estimate(&row.cpu_ratio, two),
                percent(row.barrier_share),
                percent(row.exchange_share),
            ]
        })
    })
}

/// What a table says about a switch.
pub(crate) fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Faster => "faster",
        Effect::Slower => "slower",
        Effect::NoDifference => "no difference",
        Effect::TooFewRounds => "too few rounds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_times_is_never_below_zero() {
        let shown = |rounds: &[f64]| difference(&Estimate::of(rounds));
        assert_eq!(shown(&[2e-3; 5]), "2.000 ms (2.000 ms to 2.000 ms)");
        assert_eq!(shown(&[0.0; 5]), "0.000 µs (0.000 µs to 0.000 µs)");
        assert_eq!(shown(&[-1e-3, 2e-3, -3e-3, 1e-3, 4e-3]), "not told apart from 0, at most 4.000 ms");
        assert_eq!(shown(&[-3e-3, 1e-3, -2e-3]), "not told apart from 0, at most 1.000 ms");
        assert_eq!(shown(&[-3e-3, -1e-3, -2e-3]), "not told apart from 0");
        assert_eq!(shown(&[-1e-3]), "not told apart from 0");
        assert_eq!(seconds(&Estimate::of(&[-1e-18])), "0.000 µs", "what rounds to nothing has no sign");
    }
}
