//! Modules and annotations of a trace as a section: by name, and as a tree.

use crate::page::{Bar, Column, Section, Table, TableCell, colour};
use crate::units::{count, percent, time};
use knockout_analyze::{Analysis, ModuleRow};

const TEXT_ROWS: usize = 15;
const HTML_ROWS: usize = 40;
/// Rows of a table in HTML when it is expanded.
const MOST_ROWS: usize = 1000;
/// Rows of the tree have at least this share of the steps, on the host or on the device.
const LEAST_SHARE: f64 = 0.02;
/// Spaces before a name, for each row around it. HTML keeps these.
const INDENT: &str = "\u{a0}\u{a0}";

/// Returns the section of modules and annotations.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let longest = analysis.modules.first()?.longest_us().max(1e-9);
    let of = if analysis.steps.is_empty() { "the trace" } else { "the steps" };
    let note = format!(
        "Host: inside its spans. Self: outside of inner ones. Device: launched inside. Backward: functions of autograd whose forward operators ran inside. \
         Shares are of {of}; device shares include the backward pass."
    );
    let mut by_name = table(analysis, of).id("module-table").limited(TEXT_ROWS, HTML_ROWS);
    for row in analysis.modules.iter().take(MOST_ROWS) {
        by_name.row(cells(analysis, &row.name, row, longest));
    }
    let mut section = Section::new("modules", "Modules and annotations").note(note).with(by_name);
    let left = analysis.modules.len().saturating_sub(MOST_ROWS);
    if left > 0 {
        section = section.with(format!("{} with less time are left out; --json has all", count(left)));
    }
    let tree = tree(analysis, of, longest);
    Some(if tree.is_empty() { section } else { section.with(tree) })
}

/// The rows of the tree that are long enough, if any is inside another.
fn tree(analysis: &Analysis, of: &str, longest: f64) -> Table {
    let rows = &analysis.module_tree;
    let mut depths: Vec<usize> = Vec::with_capacity(rows.len());
    let mut tree = table(analysis, of)
        .id("module-tree")
        .titled(format!("As a tree, from {} of {of}", percent(LEAST_SHARE)))
        .limited(2 * TEXT_ROWS, HTML_ROWS);
    for row in rows {
        let depth = row.parent.and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1);
        depths.push(depth);
        if row.host_share.max(row.device_share) >= LEAST_SHARE && tree.rows.len() < MOST_ROWS {
            tree.row(cells(analysis, &format!("{}{}", INDENT.repeat(depth), row.name), row, longest));
        }
    }
    if depths.iter().all(|depth| *depth == 0) {
        tree.rows.clear();
    }
    tree
}

/// Whether the table has columns of the device, and of the backward pass.
fn shown(analysis: &Analysis) -> (bool, bool) {
    let has_backward = |row: &ModuleRow| row.backward_host_us > 0.0 || row.backward_device_us > 0.0;
    (analysis.gpu.is_some(), analysis.modules.iter().any(has_backward))
}

fn table(analysis: &Analysis, of: &str) -> Table {
    let (device, backward) = shown(analysis);
    let columns = [
        (Column::name("module or annotation"), true),
        (Column::bar(), true),
        (Column::number("calls"), true),
        (Column::number("host"), true),
        (Column::number("self"), true),
        (Column::number("backward"), backward),
        (Column::number(format!("of {of}")), true),
        (Column::number("device"), device),
        (Column::number("backward, device"), device && backward),
        (Column::number(format!("device, of {of}")), device),
    ];
    Table::new(columns.into_iter().filter(|(_, is_shown)| *is_shown).map(|(column, _)| column))
}

fn cells(analysis: &Analysis, name: &str, row: &ModuleRow, longest: f64) -> Vec<TableCell> {
    let (device, backward) = shown(analysis);
    let time_cell = |us: f64| TableCell::number(time(us), us);
    let percent_cell = |share: f64| TableCell::number(percent(share), share);
    let colour = colour(if row.is_module { "module" } else { "annotation" });
    let cells = [
        (TableCell::from(name), true),
        (Bar::of(row.longest_us() / longest, colour).into(), true),
        (TableCell::number(count(row.calls), row.calls as f64), true),
        (time_cell(row.host_us), true),
        (time_cell(row.host_self_us), true),
        (time_cell(row.backward_host_us), backward),
        (percent_cell(row.host_share), true),
        (time_cell(row.device_us), device),
        (time_cell(row.backward_device_us), device && backward),
        (percent_cell(row.device_share), device),
    ];
    cells.into_iter().filter(|(_, is_shown)| *is_shown).map(|(cell, _)| cell).collect()
}
