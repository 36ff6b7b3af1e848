//! The contents of an average over printed figures: the bars that they came from.
//!
//! The usual script takes every number in front of `it/s`, keeps the last twenty and averages them. Also reads the
//! lists such scripts leave in their reports, and looks for the figures in the bars of the same text.

use super::bar::{PrintedFigure, RateUnit};
use super::row::LogRow;
use serde::Serialize;

/// How many figures the usual script keeps.
const KEPT: usize = 20;
/// Neighbouring figures of one bar do not differ by more than this factor.
const JUMP: f64 = 1.25;
/// Most lists in a report.
const MAX_LISTS: usize = 1000;

/// A printed figure and the bar it is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printed {
    pub(super) series: usize,
    pub(super) figure: PrintedFigure,
}

/// An average over figures, with its parts.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Average {
    /// Name of the log.
    pub file: String,
    /// The list's heading, or that these are the last printed figures.
    pub of: String,
    /// Number of figures averaged.
    pub count: usize,
    /// Their mean, which is what the usual script reports.
    pub mean: f64,
    /// Figures that the script omits, because they are seconds per iteration.
    pub left_out_seconds_per_iteration: usize,
    /// Whether the parts are bars of this text (otherwise they are runs of figures that move together).
    pub from_bars: bool,
    /// In the order of the figures.
    pub parts: Vec<AveragePart>,
    /// Mean of the largest part alone.
    pub mean_of_largest_part: f64,
}

/// Neighbouring figures that belong together.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct AveragePart {
    /// The bar, as in the rows; `None` for runs.
    pub bar: Option<String>,
    /// Epoch that the bar counts, where it names one.
    pub epoch: Option<u64>,
    /// Rank that printed the bar, where it names one.
    pub rank: Option<u64>,
    /// Steps that bar did in all.
    pub steps: Option<u64>,
    /// Iterations per second, in the order they were printed.
    pub figures: Vec<f64>,
}

/// A list of figures in a report.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    heading: String,
    figures: Vec<f64>,
}

/// Collects lists: a heading with `it/s` in it that ends with a colon, then numbered figures.
#[derive(Debug, Default)]
pub(super) struct Lists {
    done: Vec<Listed>,
    open: Option<Listed>,
}

impl Lists {
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(open) = self.open.as_mut() {
            if let Some(figure) = numbered(line, open.figures.len() + 1) {
                open.figures.push(figure);
                return;
            }
            self.close();
        }
        if line.contains("it/s") && line.ends_with(':') && line.chars().count() <= 100 {
            let heading = line.trim_end_matches(':').to_owned();
            self.open = Some(Listed { heading, figures: Vec::new() });
        }
    }

    fn close(&mut self) {
        let whole = self.open.take().filter(|list| !list.figures.is_empty());
        if self.done.len() < MAX_LISTS {
            self.done.extend(whole);
        }
    }

    pub(super) fn finish(mut self) -> Vec<Listed> {
        self.close();
        self.done
    }
}

/// `7 <tab> 1.36`, if it is the `expected`-th.
fn numbered(line: &str, expected: usize) -> Option<f64> {
    let (number, figure) = line.split_once(['\t', ' '])?;
    if number.parse::<usize>().ok()? != expected {
        return None;
    }
    figure.trim().parse::<f64>().ok().filter(|figure| figure.is_finite() && *figure >= 0.0)
}

/// Returns all averages of one log; `places` has the row of each bar.
pub(super) fn averages(
    file: &str,
    printed: &[Printed],
    lists: &[Listed],
    rows: &[LogRow],
    places: &[Option<usize>],
) -> Vec<Average> {
    let seen: Vec<(f64, Option<&LogRow>)> = printed
        .iter()
        .filter(|printed| printed.figure.unit == RateUnit::PerSecond)
        .map(|printed| {
            let place = places.get(printed.series).copied().flatten();
            (printed.figure.value, place.and_then(|place| rows.get(place)))
        })
        .collect();
    let unseen = printed.len() - seen.len();
    let mut out = Vec::new();
    let mut from = 0;
    for list in lists {
        let (parts, division) = match find(&seen, &list.figures, from) {
            Some(at) => {
                from = at + list.figures.len();
                (by_bar(seen.get(at..from).unwrap_or_default()), PartBoundary::Bars)
            }
            None => (by_jumps(&list.figures), PartBoundary::Jumps),
        };
        out.extend(average(file, &list.heading, parts, division, 0));
    }
    let last = seen.get(seen.len().saturating_sub(KEPT)..).unwrap_or_default();
    let heading = format!("the last {KEPT} it/s figures printed");
    out.extend(average(file, &heading, by_bar(last), PartBoundary::Bars, unseen));
    out
}

/// Where the figures of a list stand in the log, at or after `from`.
fn find(seen: &[(f64, Option<&LogRow>)], figures: &[f64], from: usize) -> Option<usize> {
    let rest = seen.get(from..)?;
    rest.windows(figures.len().max(1))
        .position(|window| window.iter().zip(figures).all(|((value, _), figure)| value == figure))
        .map(|at| from + at)
}

fn by_bar(figures: &[(f64, Option<&LogRow>)]) -> Vec<AveragePart> {
    figures
        .chunk_by(|(_, a), (_, b)| match (a, b) {
            (Some(a), Some(b)) => std::ptr::eq(*a, *b),
            (a, b) => a.is_none() && b.is_none(),
        })
        .map(|part| {
            let row = part.first().and_then(|(_, row)| *row);
            AveragePart {
                bar: row.map(|row| row.bar.clone()),
                epoch: row.and_then(|row| row.epoch),
                rank: row.and_then(|row| row.rank),
                steps: row.map(|row| row.steps),
                figures: part.iter().map(|(figure, _)| *figure).collect(),
            }
        })
        .collect()
}

/// Without bars: a figure that jumps from the one before is another bar's, or of a clock that ran without steps.
fn by_jumps(figures: &[f64]) -> Vec<AveragePart> {
    figures
        .chunk_by(|a, b| a.max(*b) <= JUMP * a.min(*b))
        .map(|part| AveragePart { bar: None, epoch: None, rank: None, steps: None, figures: part.to_vec() })
        .collect()
}

/// How the figures of an average were divided into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartBoundary {
    /// By the progress bar each figure belongs to.
    Bars,
    /// Where a figure jumps from the one before.
    Jumps,
}

fn average(
    file: &str,
    of: &str,
    parts: Vec<AveragePart>,
    division: PartBoundary,
    unseen: usize,
) -> Option<Average> {
    let count: usize = parts.iter().map(|part| part.figures.len()).sum();
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    let all: Vec<f64> = parts.iter().flat_map(|part| part.figures.iter().copied()).collect();
    // Of equally large ones the later, which is further from the start.
    let largest = parts.iter().max_by_key(|part| part.figures.len())?;
    Some(Average {
        file: file.to_owned(),
        of: of.to_owned(),
        count,
        mean: mean(&all),
        left_out_seconds_per_iteration: unseen,
        from_bars: division == PartBoundary::Bars,
        mean_of_largest_part: mean(&largest.figures),
        parts,
    })
}
