//! Boards as text, as Markdown and as a page.

use crate::command::evaluate::table::{bounds, correlation};
use crate::text::{Align, Table, grouped, page_columns};
use knockout_bench::trials::benchmark::{Board, BoardRow};
use knockout_report::training::{Chart, Fact, Scale, Series, TrainingPage, training_html};
use knockout_report::{Column, PageTable};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

const COLUMNS: [(&str, Align); 8] = [
    ("model", Align::Left),
    ("Pearson", Align::Right),
    ("interval", Align::Left),
    ("Spearman", Align::Right),
    ("minus stack", Align::Right),
    ("interval", Align::Left),
    ("better/worse", Align::Right),
    ("CPU s", Align::Right),
];

fn cells(row: &BoardRow) -> [String; 8] {
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

fn heading(board: &Board) -> String {
    let seeds: Vec<String> = board.seeds.iter().map(ToString::to_string).collect();
    format!(
        "{}, {} split{}, seed{} {}: {} samples, {} in the test part",
        board.dataset,
        board.split,
        if board.seeds.len() == 1 { "" } else { "s" },
        if board.seeds.len() == 1 { "" } else { "s" },
        seeds.join(", "),
        grouped(board.samples),
        grouped(board.test)
    )
}

/// What the columns mean, for so many splits.
fn legend(boards: &[Board], budget: Option<Duration>) -> Vec<String> {
    let splits = boards.iter().map(|board| board.seeds.len()).max().unwrap_or(0);
    let mut lines = vec![if splits > 1 {
        "Pearson: mean over splits, [lowest, highest]; better/worse: splits whose paired bootstrap interval excludes 0; CPU s: mean \
         of a split"
            .to_owned()
    } else {
        "Pearson: [95 % bootstrap interval over records], the difference paired; CPU s of fitting or training"
            .to_owned()
    }];
    if boards.iter().flat_map(|board| &board.rows).any(|row| !row.is_finished) {
        let budget = budget.map_or_else(String::new, |budget| format!(" of {} s", budget.as_secs()));
        lines.push(format!(
            "* not trained to its end: stopped when its CPU time{budget} was used up; the best state in validation counts"
        ));
    }
    lines
}

fn left_out(board: &Board) -> Vec<String> {
    board.left_out.iter().map(|left_out| format!("left out: {} ({})", left_out.name, left_out.why)).collect()
}

pub(super) fn text(boards: &[Board], budget: Option<Duration>, out: &Path) -> String {
    let mut page = String::new();
    for board in boards {
        writeln!(page, "{}\n", heading(board)).ok();
        let mut table = Table::new(&COLUMNS);
        board.rows.iter().for_each(|row| table.row(cells(row).to_vec()));
        if !board.rows.is_empty() {
            page.push_str(&table.to_text());
        }
        page.push_str(&bounds(board.attainable_pearson, board.ceiling.as_ref()));
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

pub(super) fn markdown(boards: &[Board], budget: Option<Duration>) -> String {
    let mut page = String::new();
    for board in boards {
        writeln!(page, "### {}\n", heading(board)).ok();
        let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        writeln!(page, "| {} |", names.join(" | ")).ok();
        let rules = COLUMNS.map(|(_, align)| if matches!(align, Align::Right) { "---:" } else { "---" });
        writeln!(page, "|{}|", rules.join("|")).ok();
        for row in &board.rows {
            writeln!(page, "| {} |", cells(row).map(|cell| cell.replace('*', "\\*")).join(" | ")).ok();
        }
        page.push_str(&bounds(board.attainable_pearson, board.ceiling.as_ref()));
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

pub(super) fn page(boards: &[Board], budget: Option<Duration>) -> String {
    let series = |row: &BoardRow| Series {
        name: row.name.clone(),
        // A logarithm has no place for nothing.
        points: vec![(row.cpu_seconds.max(1e-3), row.pearson.unwrap_or(f64::NAN))],
    };
    let chart = |board: &Board| Chart {
        title: format!("Test Pearson against CPU time: {}, {}", board.dataset, board.split),
        across: "CPU seconds of a split".to_owned(),
        counts_whole: false,
        across_scale: Scale::Log,
        scale: Scale::Linear,
        series: board.rows.iter().map(series).collect(),
    };
    let mut columns = vec![Column::text("dataset"), Column::text("split")];
    columns.extend(page_columns(&COLUMNS));
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
        Some(Fact { name, value: correlation(best.pearson) })
    });
    let said = boards.iter().flat_map(|board| {
        let said = bounds(board.attainable_pearson, board.ceiling.as_ref());
        let said: Vec<String> = said
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| format!("{}, {}: {line}", board.dataset, board.split))
            .collect();
        said.into_iter().chain(left_out(board).into_iter().map(|line| format!("{}: {line}", board.dataset)))
    });
    training_html(&TrainingPage {
        title: "Benchmark".to_owned(),
        subtitle: boards.iter().map(heading).collect::<Vec<_>>().join("; "),
        facts: facts.collect(),
        notes: legend(boards, budget).into_iter().chain(said).collect(),
        table: Some(PageTable { title: String::new(), columns, rows: rows.collect() }),
        charts: boards.iter().filter(|board| !board.rows.is_empty()).map(chart).collect(),
        scatters: Vec::new(),
        made_by: "knockout benchmark".to_owned(),
    })
}
