//! Boards as text, as Markdown and as a page.

use crate::command::evaluate::table::{bounds, correlation};
use knockout_bench::trials::benchmark::{Leaderboard, LeaderboardRow};
use knockout_report::page::{Chart, Column, Fact, Figure, Page, Scale, Section, Series, Table};
use knockout_report::units::count;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

fn columns() -> [Column; 8] {
    [
        Column::text("model"),
        Column::number("Pearson"),
        Column::text("interval"),
        Column::number("Spearman"),
        Column::number("minus stack"),
        Column::text("interval"),
        Column::number("better/worse"),
        Column::number("CPU s"),
    ]
}

fn table(board: &Leaderboard) -> Table {
    Table::new(columns()).with_rows(board.rows.iter().map(cells))
}

fn cells(row: &LeaderboardRow) -> [String; 8] {
    let dash = || "–".to_owned();
    let interval = row.low.zip(row.high).map(|(low, high)| format!("[{low:.4}, {high:.4}]"));
    let against = row.against_stack.as_ref();
    let mark = if row.is_finished { "" } else { " *" };
    [
        format!("{}{mark}", row.name),
        correlation(row.pearson),
        interval.unwrap_or_else(dash),
        correlation(row.spearman),
        against.map_or_else(dash, |found| format!("{:+.4}", found.difference)),
        against.map_or_else(dash, |found| format!("[{:+.4}, {:+.4}]", found.low, found.high)),
        against
            .map_or_else(dash, |found| format!("{}/{} of {}", found.better, found.worse, row.splits.len())),
        seconds(row.cpu_seconds),
    ]
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.0}") }
}

fn heading(board: &Leaderboard) -> String {
    let seeds: Vec<String> = board.seeds.iter().map(ToString::to_string).collect();
    format!(
        "{}, {} split{}, seed{} {}: {} samples, {} in the test part",
        board.dataset,
        board.split,
        if board.seeds.len() == 1 { "" } else { "s" },
        if board.seeds.len() == 1 { "" } else { "s" },
        seeds.join(", "),
        count(board.samples),
        count(board.test)
    )
}

/// Explanation of the columns.
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
    lines
}

fn left_out(board: &Leaderboard) -> Vec<String> {
    board.left_out.iter().map(|left_out| format!("left out: {} ({})", left_out.name, left_out.why)).collect()
}

pub(super) fn text(boards: &[Leaderboard], budget: Option<Duration>, out: &Path) -> String {
    let mut page = String::new();
    for board in boards {
        writeln!(page, "{}\n", heading(board)).ok();
        if !board.rows.is_empty() {
            page.push_str(&table(board).to_text());
        }
        page.push_str(&bounds(&board.bounds));
        for line in left_out(board) {
            writeln!(page, "{line}").ok();
        }
        page.push('\n');
    }
    for line in legend(boards, budget) {
        writeln!(page, "{line}").ok();
    }
    writeln!(page, "\ntable.md, table.json and report.html are in {}", out.display()).ok();
    page
}

pub(super) fn markdown(boards: &[Leaderboard], budget: Option<Duration>) -> String {
    let mut page = String::new();
    for board in boards {
        writeln!(page, "### {}\n", heading(board)).ok();
        page.push_str(&table(board).to_markdown().replace('*', "\\*"));
        page.push_str(&bounds(&board.bounds));
        for line in left_out(board) {
            writeln!(page, "\n{line}").ok();
        }
        page.push('\n');
    }
    for line in legend(boards, budget) {
        writeln!(page, "{}\n", line.replace('*', "\\*")).ok();
    }
    page
}

pub(super) fn page(boards: &[Leaderboard], budget: Option<Duration>) -> String {
    let series = |row: &LeaderboardRow| Series {
        name: row.name.clone(),
        // A logarithmic axis has no zero.
        points: vec![(row.cpu_seconds.max(1e-3), row.pearson.unwrap_or(f64::NAN))],
    };
    let chart = |board: &Leaderboard| {
        Figure::Chart(Chart {
            title: format!("Test Pearson against CPU time: {}, {}", board.dataset, board.split),
            across: "CPU seconds of a split".to_owned(),
            across_scale: Scale::Log,
            series: board.rows.iter().map(series).collect(),
            ..Chart::default()
        })
    };
    let rows = boards.iter().flat_map(|board| {
        board.rows.iter().map(|row| {
            let mut line = vec![board.dataset.clone(), board.split.to_owned()];
            line.extend(cells(row));
            line
        })
    });
    let facts = boards.iter().filter_map(|board| {
        let best = board.rows.first()?;
        let name = format!("{}, {}: {}", board.dataset, board.split, best.name);
        Some(Fact::new(name, correlation(best.pearson)))
    });
    let remarks = boards.iter().flat_map(|board| {
        let bounds = bounds(&board.bounds);
        let bounds: Vec<String> = bounds
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| format!("{}, {}: {line}", board.dataset, board.split))
            .collect();
        bounds.into_iter().chain(left_out(board).into_iter().map(|line| format!("{}: {line}", board.dataset)))
    });
    let table =
        Table::new(["dataset", "split"].map(Column::text).into_iter().chain(columns())).with_rows(rows);
    let page = Page {
        title: "Benchmark".to_owned(),
        subtitle: boards.iter().map(heading).collect::<Vec<_>>().join("; "),
        facts: facts.collect(),
        findings: legend(boards, budget).into_iter().chain(remarks).collect(),
        sections: vec![Section::new("models", "Models").with(table)],
        figures: boards.iter().filter(|board| !board.rows.is_empty()).map(chart).collect(),
        made_by: "knockout benchmark".to_owned(),
        ..Page::default()
    };
    page.to_html()
}
