//! The row of one progress bar, as a value.

use super::bar::BarKind;
use serde::Serialize;

/// One progress bar from its beginning to its end.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LogRow {
    /// The log as it was named.
    pub file: String,
    /// `training`, `validation`, `sanity check`, `testing`, `predicting`, or the name of the bar (`unnamed` without one).
    pub bar: String,
    /// Name of the bar in the log.
    pub name: String,
    /// From the bar's name, or that of the training bar before it.
    pub epoch: Option<u64>,
    /// From the label in front of the line; `None` when there is none.
    pub rank: Option<u64>,
    /// Counts the bars of one name and rank that cannot be one: a bar that began again, or ranks without labels.
    pub series: usize,
    /// Iterations the rate rests on.
    pub count: u64,
    /// Iterations per second by the bar's own clock; `None` when there is too little data, with the reason in `note`.
    pub it_per_s: Option<f64>,
    /// Seconds per iteration: the inverse.
    pub s_per_it: Option<f64>,
    /// Slowest stretch, as low as the clock's rounding allows.
    pub low: Option<f64>,
    /// Fastest stretch, as high as the clock's rounding allows; `None` if that is unbounded.
    pub high: Option<f64>,
    /// Stretches the spread comes from.
    pub stretches: usize,
    /// Iterations done.
    pub steps: u64,
    /// Iterations planned; `None` if the bar has no total.
    pub total: Option<u64>,
    /// Iterations at the start that were left out.
    pub warmup: u64,
    /// Seconds at the end of the bar without an iteration: validation, checkpoints.
    pub idle_after_s: u64,
    /// Iterations left out because another bar ran between them, or because a pause lies between them.
    pub interrupted: u64,
    /// Figures that the bar printed.
    pub figures: Figures,
    /// Reason for the absence of a rate, or a note on it.
    pub note: Option<String>,
}

/// The figures a bar printed.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Figures {
    /// How the figures were computed by the bar.
    pub kind: FiguresKind,
    /// How many, the `s/it` ones among them.
    pub count: usize,
    /// Of these, seconds per iteration.
    pub seconds_per_iteration: usize,
    /// Smallest, as iterations per second.
    pub low: Option<f64>,
    /// Largest, as iterations per second.
    pub high: Option<f64>,
}

/// How printed figures were computed, found by comparing them with counts and clock.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FiguresKind {
    /// There are none.
    None,
    /// The mean since the bar began: all of it, the warm-up and every pause.
    Cumulative,
    /// Smoothed over the last few refreshes.
    Smoothed,
    /// Not a bar's: a program printed the time of its steps.
    TimePerStep,
}

/// Returns the name of a kind of bar in the document.
pub(super) fn bar_name(kind: BarKind, name: &str) -> String {
    match kind {
        BarKind::Sanity => "sanity check".to_owned(),
        BarKind::Training => "training".to_owned(),
        BarKind::Validation => "validation".to_owned(),
        BarKind::Testing => "testing".to_owned(),
        BarKind::Predicting => "predicting".to_owned(),
        BarKind::Other if name.is_empty() => "unnamed".to_owned(),
        BarKind::Other => name.to_owned(),
    }
}
