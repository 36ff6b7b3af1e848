//! An experiment as text in the shape of a comparison report, and as a Markdown summary. Every figure and every sentence was
//! computed in [`knockout_profile::experiment`].

mod markdown;
mod text;

pub use markdown::experiment_markdown;
pub use text::experiment_text;

use crate::units::time;
use knockout_profile::experiment::Experiment;
use knockout_stats::Figure;

/// Seconds of a figure with its interval.
fn seconds(figure: &Figure) -> String {
    figure.spelt(|s| time(s * 1e6))
}

fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn two(value: f64) -> String {
    format!("{value:.2}")
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
