//! Benchmarks: every model on every split.

use super::accuracy::{BarScale, bounds, correlation, dash, interval, unsealed_sentence};
use crate::page::{Chart, Column, Page, Plot, Scale, Section, Series, Table, TableCell, colour};
use crate::units::{count, counted};
use knockout_bench::trials::benchmark::{Leaderboard, LeaderboardRow};
use knockout_predict::baseline::Baseline;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Document of `benchmark`.
#[derive(Debug, Clone, Serialize)]
pub struct BenchmarkDocument<'a> {
    /// Version of this document: 1.
    pub schema: u32,
    /// Folder of the benchmark.
    pub out: &'a Path,
    /// CPU time of each network on each split; `None` without a limit.
    pub budget_seconds: Option<f64>,
    /// Bootstrap resamples of every interval.
    pub resamples: usize,
    /// Whether every cell is done.
    pub complete: bool,
    /// One table for each dataset and scheme.
    pub boards: &'a [Leaderboard],
}

/// Returns the page of a benchmark.
pub fn benchmark_page(document: &BenchmarkDocument<'_>) -> Page {
    let boards = document.boards;
    let budget = document.budget_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let headings: Vec<String> = boards.iter().map(heading).collect();
    Page {
        title: "Benchmark".to_owned(),
        subtitle: headings.join("; "),
        made_by: "knockout benchmark".to_owned(),
        findings: boards
            .iter()
            .filter_map(leader)
            .chain(unsealed_sentence(unsealed_cells(boards)))
            .chain(legend(boards, budget))
            .collect(),
        sections: boards.iter().zip(&headings).map(|(board, heading)| section(board, heading)).collect(),
        figures: boards.iter().filter(|board| !board.rows.is_empty()).map(chart).collect(),
        next: vec![format!(
            "open report.html in {}, which also has table.md and table.json",
            document.out.display()
        )],
        ..Page::default()
    }
}

/// Names the model of a board with the highest correlation, and those that the comparison with the stack leaves beside it.
fn leader(board: &Leaderboard) -> Option<String> {
    let best = board.rows.first()?;
    let interval = interval(best.low, best.high);
    let stack = Baseline::Stack.name();
    let beside: Vec<&str> = if best.name == stack {
        let is_beside =
            |row: &&LeaderboardRow| row.against_stack.as_ref().is_some_and(|found| found.worse == 0);
        board.rows.iter().filter(is_beside).map(|row| &row.name[..]).collect()
    } else {
        best.against_stack.iter().filter(|found| found.better == 0).map(|_| stack).collect()
    };
    let beside = match &beside[..] {
        [] => String::new(),
        names => format!("; not significantly below it: {}", names.join(", ")),
    };
    Some(format!(
        "{}, {} split: {} has the highest Pearson, {} {interval}{beside}",
        board.dataset,
        board.split,
        best.name,
        correlation(best.pearson)
    ))
}

/// Names the cells that have no checksum.
fn unsealed_cells(boards: &[Leaderboard]) -> impl Iterator<Item = String> {
    boards.iter().flat_map(|board| {
        let cells = board.rows.iter().flat_map(|row| &row.splits).filter(|cell| cell.unsealed);
        cells.map(|cell| format!("{} on {}, {}-{}", cell.name, board.dataset, board.split, cell.seed))
    })
}

fn section(board: &Leaderboard, heading: &str) -> Section {
    let mut section = Section::new(format!("{}-{}", board.dataset, board.split), heading);
    if !board.rows.is_empty() {
        section = section.with(table(board));
    }
    let left_out =
        board.left_out.iter().map(|left_out| format!("left out: {} ({})", left_out.name, left_out.why));
    bounds(&board.bounds).into_iter().chain(left_out).fold(section, Section::with)
}

fn table(board: &Leaderboard) -> Table {
    let scale = BarScale::around(board.rows.iter().flat_map(|row| [row.pearson, row.high]));
    let table = Table::new([
        Column::text("model"),
        scale.column("Pearson"),
        Column::number("Pearson"),
        Column::text("interval"),
        Column::number("Spearman").wide_only(),
        Column::number("minus stack"),
        Column::text("interval").wide_only(),
        Column::number("better/worse").wide_only(),
        Column::number("CPU s"),
    ]);
    table.with_rows(board.rows.iter().map(|row| cells(row, board, &scale)))
}

/// Returns whether the mean of a model is over fewer splits than the board has.
fn is_partial(row: &LeaderboardRow, board: &Leaderboard) -> bool {
    row.defined_splits() < board.seeds.len()
}

fn cells(row: &LeaderboardRow, board: &Leaderboard, scale: &BarScale) -> [TableCell; 9] {
    let against = row.against_stack.as_ref();
    let mark = match (row.is_finished, is_partial(row, board)) {
        (true, false) => "",
        (false, false) => " *",
        (true, true) => " \u{2020}",
        (false, true) => " *\u{2020}",
    };
    [
        TableCell::coloured(format!("{}{mark}", row.name), colour(&row.name)),
        scale.cell(&row.name, row.pearson, row.low.zip(row.high)),
        correlation(row.pearson).into(),
        interval(row.low, row.high).into(),
        correlation(row.spearman).into(),
        against.map_or_else(dash, |found| format!("{:+.4}", found.difference)).into(),
        against.map_or_else(dash, |found| format!("[{:+.4}, {:+.4}]", found.low, found.high)).into(),
        against
            .map_or_else(dash, |found| format!("{}/{} of {}", found.better, found.worse, found.compared))
            .into(),
        seconds(row.cpu_seconds).into(),
    ]
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.0}") }
}

fn heading(board: &Leaderboard) -> String {
    let seeds: Vec<String> = board.seeds.iter().map(ToString::to_string).collect();
    format!(
        "{}, {} split{}, seed{} {}: {}, {} in the test part",
        board.dataset,
        board.split,
        if board.seeds.len() == 1 { "" } else { "s" },
        if board.seeds.len() == 1 { "" } else { "s" },
        seeds.join(", "),
        counted(board.samples, "sample"),
        count(board.test)
    )
}

/// Explains the columns.
fn legend(boards: &[Leaderboard], budget: Option<Duration>) -> Vec<String> {
    let splits = boards.iter().map(|board| board.seeds.len()).max().unwrap_or(0);
    let mut lines = vec![if splits > 1 {
        "Pearson: mean over splits, [lowest, highest]; better/worse: splits whose paired bootstrap interval excludes 0; CPU s: mean \
         of a split"
            .to_owned()
    } else {
        "Pearson: [95 % bootstrap interval], the difference paired; CPU s of fitting or training".to_owned()
    }];
    if boards.iter().flat_map(|board| &board.rows).any(|row| !row.is_finished) {
        let budget = budget.map_or_else(String::new, |budget| format!(" of {} s", budget.as_secs()));
        lines.push(format!(
            "* not trained to its end: stopped when its CPU time{budget} was used up; the best state in validation counts"
        ));
    }
    if boards.iter().any(|board| board.rows.iter().any(|row| is_partial(row, board))) {
        lines.push(
            "\u{2020} mean over fewer splits than there are: a split is not done, or the model predicts the same for all its sets, where \
             Pearson is undefined. These models are last and cannot be compared with the others"
                .to_owned(),
        );
    }
    lines
}

/// Accuracy against cost, with the interval of every model.
fn chart(board: &Leaderboard) -> Plot {
    let series = |row: &LeaderboardRow| Series {
        interval: row.low.zip(row.high),
        // A logarithmic axis has no zero.
        ..Series::new(&row.name[..], [(row.cpu_seconds.max(1e-3), row.pearson.unwrap_or(f64::NAN))])
    };
    Plot::Chart(Chart {
        title: format!("Accuracy against CPU time: {}, {} split", board.dataset, board.split),
        across: "CPU time of a split (s)".to_owned(),
        up: "test Pearson, with its interval".to_owned(),
        across_scale: Scale::Log,
        series: board.rows.iter().map(series).collect(),
        ..Chart::default()
    })
}
