//! A comparison for a terminal: unlike conditions first, then the step, categories and operations.

use crate::analysis::warnings;
use crate::sentence::trace_comparison_warning;
use crate::table::Table;
use crate::units::{ratio, shortened, shortened_apart, time};
use knockout_analyze::{About, Comparison, ComparisonWarning, TimeUnit};
use knockout_base::stats::Row;
use std::fmt::Write as _;

const TOP: usize = 20;
/// From this ratio on it is said how many times as long, not how many per cent longer.
const MANY_TIMES: f64 = 2.0;
const NAME_WIDTH: usize = 64;

/// What times are of: a step or a sample, or the whole trace where a side has no steps.
pub(crate) fn unit(comparison: &Comparison) -> Unit {
    match comparison.per {
        TimeUnit::Trace => Unit::WholeTrace,
        TimeUnit::Step if comparison.samples_per_step.is_some() => Unit::Each("sample"),
        TimeUnit::Step => Unit::Each("step"),
    }
}

/// What a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One of many.
    Each(&'static str),
    /// The one there is.
    WholeTrace,
}

impl Unit {
    /// With a word before it: `per step`, `of the whole trace`.
    fn phrase(self) -> String {
        match self {
            Self::Each(unit) => format!("per {unit}"),
            Self::WholeTrace => "of the whole trace".to_owned(),
        }
    }

    /// The one of `b` and that of `a`, as a sentence names them.
    fn subject_and_object(self) -> (String, &'static str) {
        match self {
            Self::Each(unit) => (format!("A {unit} of b"), "one of a"),
            Self::WholeTrace => ("The whole trace of b".to_owned(), "that of a"),
        }
    }
}

/// What became of a step, and what changed most.
pub(crate) fn trace_headline(comparison: &Comparison) -> String {
    let whole = step_headline(comparison);
    match changed_most(comparison).filter(|_| comparison.unlike_ranks().is_none()) {
        Some(changed) => format!("{whole} {changed}"),
        None => whole,
    }
}

/// What became of a step.
pub(crate) fn step_headline(comparison: &Comparison) -> String {
    if let Some(ranks) = comparison.unlike_ranks() {
        return format!(
            "Not comparable: a has {} and b {}, and times are sums over ranks.",
            ranks_of(&ranks.a),
            ranks_of(&ranks.b)
        );
    }
    let said = headline(&comparison.rows, unit(comparison), comparison.comparable);
    if comparison.warnings.contains(&ComparisonWarning::StepsInOneOnly) {
        return format!("Only one of the two has steps, so whole traces are compared. {said}");
    }
    said
}

fn ranks_of(number: &str) -> String {
    if number == "1" { "1 rank".to_owned() } else { format!("{number} ranks") }
}

/// What changed most, as a sentence; nothing where nothing did.
pub(crate) fn changed_most(comparison: &Comparison) -> Option<String> {
    let signed = |us: f64| format!("{}{}", if us < 0.0 { "−" } else { "+" }, time(us.abs()));
    let said = comparison.contributors.iter().map(|changed| {
        let what = match changed.about {
            About::Host => format!("{} on the host", changed.name),
            About::Device => format!("{} on the device", changed.name),
            About::Step | About::Operation => {
                format!("the operation {}", shortened(&changed.name, NAME_WIDTH))
            }
        };
        format!("{what} {}", signed(changed.difference_us))
    });
    let said: Vec<String> = said.collect();
    let per = match unit(comparison) {
        Unit::Each(unit) => format!(" per {unit}"),
        Unit::WholeTrace => String::new(),
    };
    (!said.is_empty()).then(|| format!("What changed most{per}: {}.", said.join(", ")))
}

/// Headings of the tables of rows, with what they are about.
pub(crate) fn headings(comparison: &Comparison) -> [(String, About); 3] {
    let (unit, mean) = (unit(comparison), mean(comparison));
    let whole = match unit {
        Unit::Each(unit) => format!("Per {unit} (median)"),
        Unit::WholeTrace => "Whole trace, from the first to the last event".to_owned(),
    };
    let unit = unit.phrase();
    [
        (whole, About::Step),
        (format!("Host time {unit} by category{mean}"), About::Host),
        (format!("Device time {unit} by category{mean}"), About::Device),
    ]
}

/// Says that times are means, where they are of several.
fn mean(comparison: &Comparison) -> &'static str {
    match unit(comparison) {
        Unit::Each(_) => " (mean)",
        Unit::WholeTrace => "",
    }
}

/// Heading of the operations in both.
pub(crate) fn operations_heading(comparison: &Comparison) -> String {
    format!("Self time {} by operation{}", unit(comparison).phrase(), mean(comparison))
}

/// The comparison as text.
pub fn compare_text(comparison: &Comparison) -> String {
    let bounds = match unit(comparison) {
        Unit::Each(_) => ", with the bounds the spread over steps allows",
        Unit::WholeTrace => "",
    };
    let mut out = format!(
        "{}\n\na  {}\nb  {}\nratios are b / a{bounds}{}{}\n",
        trace_headline(comparison),
        comparison.a,
        comparison.b,
        steps_of_sides(comparison),
        comparison.samples_per_step.map_or_else(String::new, |(a, b)| format!(
            "; times are per sample: a step has {a} in a and {b} in b"
        ))
    );
    if !comparison.differences.is_empty() {
        out.push_str("\nConditions that differ\n");
        let mut table = Table::new(&["<", "<a", "<b"]);
        for row in &comparison.differences {
            let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { shortened(text, 40) };
            table.row(vec![row.what.clone(), or_dash(&row.a), or_dash(&row.b)]);
        }
        table.print(&mut out);
        if !comparison.comparable {
            out.push_str(
                "  these make times differ by themselves: a ratio below says nothing about the code alone\n",
            );
        }
    }
    for (heading, about) in headings(comparison) {
        comparison_rows(&mut out, &heading, comparison.rows.iter().filter(|row| row.about == about));
    }
    comparison_rows(
        &mut out,
        &format!("{}, largest difference first", operations_heading(comparison)),
        comparison.operations.iter(),
    );
    comparison_rows(&mut out, "Operations only in b", comparison.added.iter());
    comparison_rows(&mut out, "Operations only in a", comparison.removed.iter());
    if let Some(first) = &comparison.first_step {
        let steps = first.iterations_control.first().zip(first.iterations_test.first());
        if let (Some((a, b)), Some(all)) = (steps, first.by_device.get("ALL")) {
            let ops = all.ops;
            writeln!(
                out,
                "\nFirst steps ({a} and {b}), names of host and device rows: {} added, {} deleted, {} more often, {} less often, {} as often",
                ops.added, ops.deleted, ops.increased, ops.decreased, ops.unchanged
            )
            .unwrap_or_default();
        }
    }
    warnings(&mut out, comparison.warnings.iter().map(trace_comparison_warning));
    out
}

/// A ratio with the bounds it has: an interval, the range seen, or none of a single step. Nothing on both sides has no ratio.
fn bounded<A>(row: &Row<A>) -> String {
    if row.a == 0.0 && row.b == 0.0 {
        return "-".to_owned();
    }
    let (low, high) = if row.has_range() { (row.low, row.high) } else { (None, None) };
    let text = ratio(row.ratio, low, high);
    if row.is_interval() { text } else { text.replacen('(', "(range ", 1) }
}

/// How many steps either side has, where the numbers differ.
fn steps_of_sides(comparison: &Comparison) -> String {
    match comparison.step().map(|row| row.steps) {
        Some((a, b)) if a != b => format!("; a has {a} steps and b {b}"),
        _ => String::new(),
    }
}

/// The comparison in a sentence: what happened to the first row's time, and whether the bounds tell.
pub(crate) fn headline<A>(rows: &[Row<A>], unit: Unit, comparable: bool) -> String {
    let Some((row, ratio)) = rows.first().and_then(|row| Some((row, row.ratio?))) else {
        return if comparable {
            match unit {
                Unit::Each(unit) => format!("There is no {unit} in both to compare."),
                Unit::WholeTrace => "There is no time in both to compare.".to_owned(),
            }
        } else {
            "The two are not of the same thing, so there is no ratio: what differs is below.".to_owned()
        };
    };
    let percent = 100.0 * (ratio - 1.0).abs();
    let (subject, object) = unit.subject_and_object();
    let change = match ratio {
        _ if percent < 0.05 => format!("{subject} takes as long as {object}"),
        ratio if ratio >= MANY_TIMES => {
            let times = if ratio < 100.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
            format!("{subject} takes {times} times as long as {object}")
        }
        ratio if ratio > 1.0 => format!("{subject} takes {percent:.1} % longer than {object}"),
        _ => format!("{subject} takes {percent:.1} % less time than {object}"),
    };
    let sure = match (row.low, row.high) {
        _ if unit == Unit::WholeTrace => " (without steps there is no spread to judge by)",
        _ if !row.is_interval() => " (too few steps for an interval)",
        (Some(low), Some(high)) if low > 1.0 || high < 1.0 => ", beyond the spread of the steps",
        (Some(_), Some(_)) => ", which is within the spread of the steps",
        _ => "",
    };
    let unlike = if comparable { "" } else { "; the conditions differ, see below" };
    format!("{change}{sure}{unlike}.")
}

/// A table of rows; nothing when there are none.
pub(crate) fn comparison_rows<'a, A: 'a>(
    out: &mut String,
    heading: &str,
    rows: impl Iterator<Item = &'a Row<A>>,
) {
    let mut table = Table::new(&["<", "a", "b", "<b / a"]);
    let rows: Vec<&Row<A>> = rows.take(TOP).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    for (row, name) in rows.iter().zip(shortened_apart(&names, NAME_WIDTH)) {
        table.row(vec![name, time(row.a), time(row.b), bounded(row)]);
    }
    if !table.is_empty() {
        out.push('\n');
        out.push_str(heading);
        out.push('\n');
        table.print(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::stats::Middle;

    #[test]
    fn many_times_as_long_is_not_said_in_per_cent() {
        let said = |b: f64| {
            headline(&[Row::of("step", (), &[10.0], &[b], Middle::Median)], Unit::Each("step"), true)
        };
        assert!(
            said(1240.0).starts_with("A step of b takes 124 times as long as one of a"),
            "{}",
            said(1240.0)
        );
        assert!(said(15.0).starts_with("A step of b takes 50.0 % longer than one of a"), "{}", said(15.0));
    }

    #[test]
    fn long_names_are_cut_and_still_told_apart() {
        let name = |middle: char| format!("{}{middle}{}", "a".repeat(60), "b".repeat(60));
        let rows = ['x', 'y'].map(|middle| Row::of(&name(middle), (), &[1.0], &[2.0], Middle::Mean));
        let mut out = String::new();
        comparison_rows(&mut out, "Operations", rows.iter());
        let (x, y) = (out.lines().nth(3).unwrap(), out.lines().nth(4).unwrap());
        assert!(x.contains("ax") && y.contains("ay"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() < 110), "{out}");
    }
}
