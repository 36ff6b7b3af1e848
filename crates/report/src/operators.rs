//! Tables of operations that PyTorch printed, alone and beside each other, as pages.

use crate::page::{Bar, Column, Fact, Page, Section, Table, TableCell};
use crate::units::{count, percent, three, time};
use knockout_analyze::operators::{OperatorComparison, OperatorTable};
use knockout_base::stats::share;

/// Rows shown in a terminal and on a page.
const SHOWN: (usize, usize) = (20, 200);

/// Returns the page of a table of operations.
pub fn operators_page(table: &OperatorTable) -> Page {
    let of_total = |us: f64| percent(share(us, table.self_cpu_us));
    let mut findings = Vec::new();
    if let Some(largest) = table.rows.first() {
        findings.push(format!(
            "`{}` has the most self CPU time of all operations: {}, {} of {} in {} calls.",
            largest.name,
            of_total(largest.self_cpu_us),
            time(largest.self_cpu_us),
            time(table.self_cpu_us),
            count(largest.calls)
        ));
    }
    if table.outside_us > 0.0 {
        findings.push(format!(
            "{} ({}) of the self CPU time is that of the steps themselves: Python code and calls that no operation covers.",
            of_total(table.outside_us),
            time(table.outside_us)
        ));
    }
    if let (Some(device), Some(us)) = (&table.device, table.self_device_us) {
        findings.push(format!(
            "Self time on the device ({device}) is {}, {} times the self CPU time; how far the two overlap is not in a table.",
            time(us),
            three(share(us, table.self_cpu_us))
        ));
    }
    let mut facts = vec![Fact::new("self CPU time", time(table.self_cpu_us))];
    if let Some(steps) = table.steps {
        facts.push(Fact::new("steps", count(steps)));
        facts.push(Fact::new("self CPU time per step", time(table.self_cpu_us / steps.max(1) as f64)));
    }
    facts.push(Fact::new("operations", count(table.rows.len())));
    let mut warnings = vec![SUMS.to_owned()];
    if table.is_cut() {
        warnings.push(format!(
            "the table leaves operations out: its rows have {} of the self CPU time; print it with `row_limit=-1`",
            percent(table.share_of_rows)
        ));
    }
    let most = table.rows.first().map_or(1.0, |row| row.self_cpu_us).max(1e-9);
    let numbers = ["self CPU", "share", "CPU total", "per call", "calls"].map(Column::number);
    let device = table.device.iter().map(|device| Column::number(format!("self {device}")));
    let columns = [Column::name("operation"), Column::bar()].into_iter().chain(numbers).chain(device);
    let rows = table.rows.iter().map(|row| {
        let us = |us: f64| TableCell::number(time(us), us);
        let share = share(row.self_cpu_us, table.self_cpu_us);
        let mut cells = vec![
            TableCell::from(row.name.as_str()),
            Bar::of(row.self_cpu_us / most, "var(--accent)").into(),
            us(row.self_cpu_us),
            TableCell::number(percent(share), share),
            us(row.cpu_us),
            us(row.self_cpu_us / row.calls.max(1) as f64),
            TableCell::number(count(row.calls), row.calls as f64),
        ];
        if table.device.is_some() {
            cells.push(row.self_device_us.map_or_else(|| TableCell::from("-"), us));
        }
        cells
    });
    let rows = Table::new(columns).with_rows(rows).limited(SHOWN.0, SHOWN.1).id("operation-table");
    Page {
        title: format!("Operations of {}", table.file),
        subtitle: "a table of `key_averages().table()`".to_owned(),
        made_by: "knockout trace analyze".to_owned(),
        footnote: "Self time is that of an operation without the operations inside.".to_owned(),
        warnings,
        facts,
        findings,
        sections: vec![Section::new("operations", "Operations by self CPU time").with(rows)],
        next: vec![NEXT.to_owned()],
        ..Page::default()
    }
}

/// Returns the page of two tables of operations.
pub fn operators_compare_page(compared: &OperatorComparison) -> Page {
    let unit = if compared.per_step { "per step" } else { "in the whole recording" };
    let (a, b) = compared.self_cpu_us;
    let mut findings = vec![format!(
        "Self CPU time {unit} is {} in {} and {} in {}: {} times.",
        time(a),
        compared.a,
        time(b),
        compared.b,
        three(share(b, a))
    )];
    findings.extend(compared.rows.first().filter(|row| row.difference_us() != 0.0).map(|row| {
        let (more, us) = match row.difference_us() {
            us if us < 0.0 => ("less", -us),
            us => ("more", us),
        };
        format!("The largest difference is `{}`: {} {more} {unit}.", row.name, time(us))
    }));
    if let Some((a, b)) = compared.self_device_us {
        findings.push(format!(
            "Self time on the device {unit}: {} and {}, {} times.",
            time(a),
            time(b),
            three(share(b, a))
        ));
    }
    let mut warnings = vec![SUMS.to_owned()];
    if !compared.per_step {
        warnings.push("not both tables have steps, so the times are those of whole recordings, which may differ in length".to_owned());
    }
    if compared.is_cut {
        warnings.push(
            "a table leaves operations out (`row_limit`): an operation without a time may be one of them"
                .to_owned(),
        );
    }
    let columns = ["a", "b", "b - a", "b / a", "calls a", "calls b"].map(Column::number);
    let rows = compared.rows.iter().map(|row| {
        let us =
            |us: Option<f64>| us.map_or_else(|| TableCell::from("-"), |us| TableCell::number(time(us), us));
        let ratio = row.ratio();
        vec![
            TableCell::from(row.name.as_str()),
            us(row.a_us),
            us(row.b_us),
            TableCell::number(signed(row.difference_us()), row.difference_us()),
            ratio.map_or_else(|| TableCell::from("-"), |ratio| TableCell::number(three(ratio), ratio)),
            TableCell::number(three(row.calls.0), row.calls.0),
            TableCell::number(three(row.calls.1), row.calls.1),
        ]
    });
    let table = Table::new([Column::name("operation")].into_iter().chain(columns));
    let table = table.with_rows(rows).limited(SHOWN.0, SHOWN.1).id("operation-table");
    Page {
        title: "Two tables of operations".to_owned(),
        subtitle: format!("a: {}; b: {}", compared.a, compared.b),
        made_by: "knockout trace compare".to_owned(),
        footnote: format!("Self CPU time {unit}."),
        warnings,
        findings,
        sections: vec![Section::new("operations", format!("Self CPU time {unit}")).with(table)],
        next: vec![NEXT.to_owned()],
        ..Page::default()
    }
}

const SUMS: &str =
    "a table has sums alone: no steps that differ, no gaps and no overlap, so nothing here has an interval";
const NEXT: &str = "For phases, the device and a verdict, record a trace: `on_trace_ready=torch.profiler.tensorboard_trace_handler(DIR)`.";

fn signed(us: f64) -> String {
    if us < 0.0 { format!("-{}", time(-us)) } else { format!("+{}", time(us)) }
}
