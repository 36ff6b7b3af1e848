//! Sweeps: settings of one model, searched on the validation part.

use super::accuracy::{dash, unsealed_sentence};
use crate::page::{Chart, Column, Page, Plot, Section, Series, Table};
use crate::units::{counted, duration_of_seconds as time, figure};
use knockout_bench::trials::sweep::{Candidate, Sweep, SweepOutcome};
use knockout_train::run::{MetricsLine, dataset_word};
use serde::Serialize;
use std::path::Path;

/// Curves of the settings that came furthest.
const MOST_CURVES: usize = 12;

/// Document of `sweep`.
#[derive(Debug, Clone, Serialize)]
pub struct SweepDocument<'a> {
    /// Content of `sweep.json`.
    #[serde(flatten)]
    pub sweep: &'a Sweep,
    /// Folder of the sweep.
    pub out: &'a Path,
    /// Whether the sweep has ended.
    pub complete: bool,
    /// Indices of the settings, the best first.
    pub ranking: &'a [usize],
}

/// Returns the page of a sweep over settings on a dataset, whose runs are in `out`.
pub fn sweep_page(outcome: &SweepOutcome, dataset: &Path, out: &Path) -> Page {
    let sweep = &outcome.sweep;
    let rungs = sweep.rungs.iter().zip(1..).map(|(rung, number)| {
        format!(
            "rung {number}: {}, each up to {} of CPU time",
            counted(rung.settings, "setting"),
            time(rung.cpu_seconds)
        )
    });
    let unsealed = sweep.unsealed.then(|| "sweep.json".to_owned());
    Page {
        title: format!("Sweep of {}", sweep.model),
        subtitle: format!(
            "{} on {}, {} of CPU time; chosen on the validation part alone",
            counted(sweep.candidates.len(), "setting"),
            dataset_word(dataset),
            time(sweep.budget_seconds)
        ),
        made_by: "knockout sweep".to_owned(),
        findings: chosen(sweep).into_iter().chain(unsealed_sentence(unsealed)).chain(rungs).collect(),
        picture: Some(Plot::Chart(chart(outcome))),
        sections: vec![Section::new("settings", "").with(table(outcome))],
        next: next(sweep, dataset, out),
        ..Page::default()
    }
}

/// Names the chosen setting; `None` before the last rung is done.
fn chosen(sweep: &Sweep) -> Option<String> {
    let candidate = &sweep.candidates[sweep.chosen?];
    let pearson = candidate.trials.last().and_then(|trial| trial.validation_pearson);
    Some(format!(
        "chosen by the validation part: {} (validation Pearson {})",
        name(candidate),
        figure(pearson)
    ))
}

fn next(sweep: &Sweep, dataset: &Path, out: &Path) -> Vec<String> {
    let Some(candidate) = sweep.chosen.map(|chosen| &sweep.candidates[chosen]) else { return Vec::new() };
    let is_finished = candidate.trials.last().is_some_and(|trial| trial.is_finished);
    let to_its_end = (!is_finished).then(|| {
        format!(
            "`knockout train {} --model {} {}` trains the chosen setting to its end",
            dataset.display(),
            sweep.model,
            candidate.keys.join(" ")
        )
    });
    let evaluate = format!(
        "`knockout evaluate {}` (report.html is in {})",
        out.join(&candidate.run).display(),
        out.display()
    );
    [evaluate].into_iter().chain(to_its_end).collect()
}

fn chart(outcome: &SweepOutcome) -> Chart {
    let series = |&index: &usize| {
        let mut cpu_seconds = 0.0;
        let point = |line: &MetricsLine| {
            cpu_seconds += line.times.map_or(0.0, |times| times.cpu_seconds);
            (cpu_seconds, line.val.pearson.unwrap_or(f64::NAN))
        };
        Series::new(name(&outcome.sweep.candidates[index]), outcome.lines[index].iter().map(point))
    };
    Chart {
        title: format!("Validation Pearson of the best {MOST_CURVES} settings at most"),
        across: "CPU time (s)".to_owned(),
        up: "validation Pearson".to_owned(),
        series: outcome.ranking.iter().take(MOST_CURVES).map(series).collect(),
        ..Chart::default()
    }
}

/// Returns the settings, the best first.
fn table(outcome: &SweepOutcome) -> Table {
    let columns = [
        Column::text("settings"),
        Column::number("rung"),
        Column::number("val Pearson"),
        Column::number("epochs"),
        Column::number("CPU time"),
        Column::text("state"),
    ];
    Table::new(columns).with_rows(outcome.ranking.iter().map(|&index| cells(&outcome.sweep, index)))
}

fn name(candidate: &Candidate) -> String {
    if candidate.keys.is_empty() { "defaults".to_owned() } else { candidate.keys.join(" ") }
}

fn cells(sweep: &Sweep, index: usize) -> [String; 6] {
    let candidate = &sweep.candidates[index];
    let last = candidate.trials.last();
    let state = match last {
        _ if sweep.chosen == Some(index) => "chosen",
        None => "not started",
        Some(trial) if trial.failure.is_some() => "diverged",
        Some(trial) if trial.is_finished => "trained to its end",
        Some(_) if candidate.trials.len() == sweep.rungs.len() => "on the last rung",
        Some(_) => "left behind",
    };
    [
        name(candidate),
        format!("{}/{}", candidate.trials.len(), sweep.rungs.len()),
        last.map_or_else(dash, |trial| figure(trial.validation_pearson)),
        last.map_or_else(dash, |trial| trial.epochs.to_string()),
        last.map_or_else(dash, |trial| time(trial.cpu_seconds)),
        state.to_owned(),
    ]
}
