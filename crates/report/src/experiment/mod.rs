//! An experiment as text in the shape of a comparison report, and as a Markdown summary. Every figure was
//! computed in [`knockout_profile::experiment`].

mod markdown;
mod text;

pub use markdown::experiment_markdown;
pub use text::experiment_text;

use crate::sentence::estimate;
use crate::units::{percent, rate, time, two};
use knockout_profile::experiment::{Effect, Experiment};
use knockout_stats::Estimate;

/// Seconds of an estimate with its interval.
fn seconds(of: &Estimate) -> String {
    estimate(of, |s| time(s * 1e6))
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
