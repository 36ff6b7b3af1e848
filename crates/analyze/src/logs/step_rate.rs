//! The rate of a program that prints the time of steps: the median, so that a pause between two lines does not change it.

use super::row::{Figures, FiguresKind, LogRow};
use super::step_line::{Program, StepLine, StepTime};
use knockout_base::stats::median;
use std::collections::BTreeMap;

/// Of the lines, this part is left out at the start.
const WARMUP_PART: usize = 10;
/// Lines of a log that are kept; later ones do not change a median.
const MAX_LINES: usize = 1 << 20;

/// Lines about steps, by program.
#[derive(Debug, Default)]
pub(super) struct StepLines {
    by_program: BTreeMap<Program, Vec<StepLine>>,
}

impl StepLines {
    pub(super) fn push(&mut self, line: StepLine) {
        let lines = self.by_program.entry(line.program).or_default();
        if lines.len() >= MAX_LINES {
            return;
        }
        // A mean since the epoch began supersedes the one before it.
        if let (StepTime::MeanOfEpoch(_), Some(last)) = (line.time, lines.last_mut())
            && last.step <= line.step
            && last.step < last.total
        {
            *last = line;
            return;
        }
        lines.push(line);
    }

    /// Returns a row for each program.
    pub(super) fn rows(&self, file: &str) -> Vec<LogRow> {
        self.by_program.iter().map(|(program, lines)| row(file, *program, lines)).collect()
    }
}

/// Seconds of a step, one value for each line or pair of lines.
fn seconds(lines: &[StepLine]) -> Vec<f64> {
    let mut out = Vec::new();
    let mut before: Option<(u64, f64)> = None;
    for line in lines {
        match (line.time, line.step) {
            (
                StepTime::PerStep(seconds) | StepTime::MeanOfEpoch(seconds) | StepTime::MeanOfRun(seconds),
                _,
            ) => {
                out.push(seconds);
            }
            (StepTime::At(time), Some(step)) => {
                // A count or a clock that goes back is another run's.
                let since = before.filter(|(last, at)| *last < step && *at < time);
                out.extend(since.map(|(last, at)| (time - at) / (step - last) as f64));
                before = Some((step, time));
            }
            (StepTime::At(_), None) => {}
        }
    }
    out
}

fn row(file: &str, program: Program, lines: &[StepLine]) -> LogRow {
    let all = seconds(lines);
    let warmup = if all.len() < 2 { 0 } else { all.len().div_ceil(WARMUP_PART) };
    let used = all.get(warmup..).unwrap_or_default();
    let middle = median(used);
    let per_second = |seconds: f64| 1.0 / seconds;
    let slowest = used.iter().copied().max_by(f64::total_cmp).map(per_second);
    let fastest = used.iter().copied().min_by(f64::total_cmp).map(per_second);
    let is_of_run = lines.iter().any(|line| matches!(line.time, StepTime::MeanOfRun(_)));
    let note = match middle {
        None => "one line with a time of day: two are needed for a rate".to_owned(),
        Some(_) if is_of_run => {
            "the mean of the whole run, with start-up, evaluation and pauses in it".to_owned()
        }
        Some(_) => format!("{}: median of {} printed times per step", program.name(), used.len()),
    };
    LogRow {
        file: file.to_owned(),
        bar: "training".to_owned(),
        name: program.name().to_owned(),
        epoch: None,
        rank: None,
        series: 0,
        count: used.len() as u64,
        it_per_s: middle.map(per_second),
        s_per_it: middle,
        low: slowest,
        high: fastest,
        stretches: used.len(),
        steps: lines.iter().filter_map(|line| line.step).max().unwrap_or(lines.len() as u64),
        total: lines.last().and_then(|line| line.total),
        warmup: warmup as u64,
        idle_after_s: 0,
        interrupted: 0,
        figures: Figures {
            kind: FiguresKind::TimePerStep,
            count: lines.len(),
            seconds_per_iteration: lines.len(),
            low: slowest,
            high: fastest,
        },
        note: Some(note),
    }
}
