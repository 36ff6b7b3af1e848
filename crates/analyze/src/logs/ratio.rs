//! Two logs beside each other: how many times as fast the second trains, and reasons to distrust the ratio.

use super::row::{FiguresKind, LogRow};
use serde::Serialize;
use std::collections::BTreeSet;

/// Rates of training in two logs.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LogRatio {
    /// First log.
    pub a: String,
    /// Second log.
    pub b: String,
    /// Steps per second of the first log.
    pub a_it_per_s: f64,
    /// Steps per second of the second log.
    pub b_it_per_s: f64,
    /// Second by first.
    pub ratio: f64,
    /// Slowest stretch of the second by the fastest of the first.
    pub low: Option<f64>,
    /// Fastest stretch of the second by the slowest of the first.
    pub high: Option<f64>,
    /// Conditions that differ.
    pub differences: Vec<LogDifference>,
}

/// A condition that differs between two logs.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct LogDifference {
    /// Kind of the condition.
    pub what: LogCondition,
    /// In the first log.
    pub a: String,
    /// In the second log.
    pub b: String,
}

/// Kind of a condition.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LogCondition {
    /// Planned steps of a bar: batches of another size make another number of steps.
    StepsPlanned,
    /// Ranks that print bars.
    Ranks,
    /// Program that printed the rates.
    Printer,
}

/// Printed times below so many are a summary.
const FEWEST_PRINTED: u64 = 5;

/// Training in one log.
struct LoggedTraining {
    it_per_s: f64,
    low: Option<f64>,
    high: Option<f64>,
    totals: BTreeSet<Option<u64>>,
    ranks: usize,
    printers: BTreeSet<String>,
}

impl LoggedTraining {
    /// Joins the training bars of a log; of a log without any, the bar with most steps. Ranks train at the same time, so
    /// the mean over all bars is that of one rank.
    fn of(rows: &[&LogRow]) -> Option<Self> {
        let measured = || rows.iter().filter(|row| row.it_per_s.is_some());
        let mut used: Vec<&&LogRow> = measured().filter(|row| row.bar == "training").collect();
        let is_printed = |row: &LogRow| row.figures.kind == FiguresKind::TimePerStep;
        let bar = measured().filter(|row| !is_printed(row)).max_by_key(|row| row.count);
        // A line or two at the end of a run have start-up and evaluation in them; a bar measures steps.
        let is_summary = used.iter().all(|row| is_printed(row) && row.count < FEWEST_PRINTED);
        if let Some(bar) = bar.filter(|bar| is_summary && bar.count >= FEWEST_PRINTED) {
            used = vec![bar];
        } else if used.is_empty() {
            used.extend(measured().max_by_key(|row| row.count));
        }
        let steps: f64 = used.iter().map(|row| row.count as f64).sum();
        let seconds: f64 = used.iter().filter_map(|row| Some(row.count as f64 / row.it_per_s?)).sum();
        let bound =
            |of: fn(&LogRow) -> Option<f64>| used.iter().map(|row| of(row)).collect::<Option<Vec<f64>>>();
        let printer = |row: &&&LogRow| match row.figures.kind {
            FiguresKind::TimePerStep => row.name.clone(),
            _ => "a progress bar".to_owned(),
        };
        (seconds > 0.0).then(|| Self {
            it_per_s: steps / seconds,
            low: bound(|row| row.low).and_then(|all| all.into_iter().min_by(f64::total_cmp)),
            high: bound(|row| row.high).and_then(|all| all.into_iter().max_by(f64::total_cmp)),
            totals: used.iter().map(|row| row.total).collect(),
            ranks: used.iter().map(|row| row.rank).collect::<BTreeSet<_>>().len(),
            printers: used.iter().map(printer).collect(),
        })
    }
}

/// Returns the ratio of two logs; `None` for another number of logs, or where one has no rate.
pub(super) fn ratio(rows: &[LogRow]) -> Option<LogRatio> {
    let mut files: Vec<&str> = Vec::new();
    for row in rows {
        if !files.contains(&row.file.as_str()) {
            files.push(&row.file);
        }
    }
    let [first, second] = files[..] else { return None };
    let of = |file: &str| LoggedTraining::of(&rows.iter().filter(|row| row.file == file).collect::<Vec<_>>());
    let (a, b) = (of(first)?, of(second)?);
    let total = |total: &Option<u64>| total.map_or_else(|| "?".to_owned(), |total| total.to_string());
    let totals = |side: &LoggedTraining| side.totals.iter().map(total).collect::<Vec<_>>().join(", ");
    let printers = |side: &LoggedTraining| side.printers.iter().cloned().collect::<Vec<_>>().join(", ");
    let candidates = [
        (LogCondition::StepsPlanned, totals(&a), totals(&b)),
        (LogCondition::Ranks, a.ranks.to_string(), b.ranks.to_string()),
        (LogCondition::Printer, printers(&a), printers(&b)),
    ];
    let differ = candidates.into_iter().filter(|(_, a, b)| a != b);
    Some(LogRatio {
        a: first.to_owned(),
        b: second.to_owned(),
        a_it_per_s: a.it_per_s,
        b_it_per_s: b.it_per_s,
        ratio: b.it_per_s / a.it_per_s,
        low: b.low.zip(a.high).map(|(low, high)| low / high),
        high: b.high.zip(a.low).filter(|(_, low)| *low > 0.0).map(|(high, low)| high / low),
        differences: differ.map(|(what, a, b)| LogDifference { what, a, b }).collect(),
    })
}
