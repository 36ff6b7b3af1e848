//! A comparison of two traces as a page: unlike conditions first, then the step, categories and operations.

use crate::analysis::file_name;
use crate::page::{Bar, Column, Mark, Medium, Page, Section, Table, TableCell};
use crate::sentence::trace_comparison_warning;
use crate::units::{counted, ratio, shortened, time};
use knockout_analyze::{TimeUnit, TraceComparison, TraceComparisonWarning, TraceQuantity};
use knockout_base::stats::{ComparisonRow, DifferingCondition};

const TOP: usize = 20;
/// From this ratio on a sentence has a factor, not per cent.
const MANY_TIMES: f64 = 2.0;
const NAME_WIDTH: usize = 64;

/// Returns the unit of times: a step or a sample, or the whole trace where a side has no steps.
pub(crate) fn unit(comparison: &TraceComparison) -> TimedUnit {
    match comparison.per {
        TimeUnit::Trace => TimedUnit::WholeTrace,
        TimeUnit::Step if comparison.samples_per_step.is_some() => TimedUnit::Each("sample"),
        TimeUnit::Step => TimedUnit::Each("step"),
    }
}

/// Unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimedUnit {
    /// One of many.
    Each(&'static str),
    /// The one there is.
    WholeTrace,
}

impl TimedUnit {
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

/// Describes the change of a step, and the largest changes.
pub(crate) fn trace_headline(comparison: &TraceComparison) -> String {
    let whole = step_headline(comparison);
    match changed_most(comparison).filter(|_| comparison.unlike_ranks().is_none()) {
        Some(changed) => format!("{whole} {changed}"),
        None => whole,
    }
}

/// Describes the change of a step.
pub(crate) fn step_headline(comparison: &TraceComparison) -> String {
    if let Some(ranks) = comparison.unlike_ranks() {
        return format!(
            "Not comparable: a has {} and b {}, so that a step does other work.",
            ranks_of(&ranks.a),
            ranks_of(&ranks.b)
        );
    }
    let text = headline(&comparison.rows, unit(comparison), comparison.comparable);
    if comparison.warnings.contains(&TraceComparisonWarning::StepsInOneOnly) {
        return format!("Only one of the two has steps, so whole traces are compared. {text}");
    }
    text
}

fn ranks_of(number: &str) -> String {
    if number == "1" { "1 rank".to_owned() } else { format!("{number} ranks") }
}

/// Describes the largest changes; `None` without changes.
pub(crate) fn changed_most(comparison: &TraceComparison) -> Option<String> {
    let signed = |us: f64| format!("{}{}", if us < 0.0 { "−" } else { "+" }, time(us.abs()));
    let text = comparison.contributors.iter().map(|changed| {
        let what = match changed.about {
            TraceQuantity::Host => format!("{} on the host", changed.name),
            TraceQuantity::Device => format!("{} on the device", changed.name),
            TraceQuantity::Step | TraceQuantity::Operation => {
                format!("the operation {}", shortened(&changed.name, NAME_WIDTH))
            }
        };
        format!("{what} {}", signed(changed.difference_us))
    });
    let text: Vec<String> = text.collect();
    let per = match unit(comparison) {
        TimedUnit::Each(unit) => format!(" per {unit}"),
        TimedUnit::WholeTrace => String::new(),
    };
    (!text.is_empty()).then(|| format!("What changed most{per}: {}.", text.join(", ")))
}

/// Headings of the tables of rows, with what they are about.
pub(crate) fn headings(comparison: &TraceComparison) -> [(String, TraceQuantity); 3] {
    let (unit, mean) = (unit(comparison), mean(comparison));
    let whole = match unit {
        TimedUnit::Each(unit) => format!("Per {unit} (median)"),
        TimedUnit::WholeTrace => "Whole trace, from the first to the last event".to_owned(),
    };
    let unit = unit.phrase();
    [
        (whole, TraceQuantity::Step),
        (format!("Host time {unit} by category{mean}"), TraceQuantity::Host),
        (format!("Device time {unit} by category{mean}"), TraceQuantity::Device),
    ]
}

/// Notes that times are means, where they are of several.
fn mean(comparison: &TraceComparison) -> &'static str {
    match unit(comparison) {
        TimedUnit::Each(_) => " (mean)",
        TimedUnit::WholeTrace => "",
    }
}

/// Heading of the operations in both.
pub(crate) fn operations_heading(comparison: &TraceComparison) -> String {
    format!("Self time {} by operation{}", unit(comparison).phrase(), mean(comparison))
}

/// Renders the comparison as text.
pub fn compare_text(comparison: &TraceComparison) -> String {
    let bounds = match unit(comparison) {
        TimedUnit::Each(_) => ", with the bounds the spread over steps allows",
        TimedUnit::WholeTrace => "",
    };
    let head = format!(
        "{}\n\na  {}\nb  {}\nratios are b / a{bounds}{}{}\n",
        trace_headline(comparison),
        comparison.a,
        comparison.b,
        steps_of_sides(comparison),
        comparison.samples_per_step.map_or_else(String::new, |(a, b)| format!(
            "; times are per sample: a step has {a} in a and {b} in b"
        ))
    );
    head + &page(comparison).sections_to_text()
}

/// Renders the comparison as one HTML file.
pub fn compare_html(comparison: &TraceComparison) -> String {
    page(comparison).to_html()
}

fn page(comparison: &TraceComparison) -> Page {
    let differing = if comparison.comparable {
        ""
    } else {
        "these conditions affect times: the ratios below are not due to the code alone"
    };
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(differences(&comparison.differences, &|_| "").map(|section| section.with(differing)));
    let operations = [&comparison.operations, &comparison.added, &comparison.removed];
    let changed =
        comparison.rows.iter().skip(1).chain(operations.into_iter().flat_map(|rows| rows.iter().take(10)));
    // Threads that sleep are not a change.
    let changed = changed.filter(|row| !comparison.asleep_categories.contains(&row.name));
    sections.extend(changes("changes", comparison.rows.first(), changed));
    for (heading, about) in headings(comparison) {
        let id = format!("{about:?}").to_lowercase();
        sections.extend(rows_section(&id, &heading, comparison.rows.iter().filter(|row| row.about == about)));
    }
    let by_operation = format!("{}, largest difference first", operations_heading(comparison));
    sections.extend(rows_section("operations", &by_operation, comparison.operations.iter()));
    sections.extend(rows_section("added", "Operations only in b", comparison.added.iter()));
    sections.extend(rows_section("removed", "Operations only in a", comparison.removed.iter()));
    sections.extend(first_steps(comparison));
    Page {
        title: title(&comparison.a, &comparison.b),
        subtitle: format!("a: {} · b: {} · ratios are b / a", comparison.a, comparison.b),
        made_by: "knockout trace".to_owned(),
        footnote: "Self time counts every instant of a thread or stream once.".to_owned(),
        findings: [step_headline(comparison)].into_iter().chain(changed_most(comparison)).collect(),
        warnings: comparison.warnings.iter().map(trace_comparison_warning).collect(),
        sections,
        ..Page::default()
    }
}

/// Returns the title of a page of two sides.
pub(crate) fn title(a: &str, b: &str) -> String {
    let side = |files: &str| match files.split(", ").count() {
        0 | 1 => file_name(files).to_owned(),
        ranks => format!("{ranks} ranks"),
    };
    format!("{} against {}", side(b), side(a))
}

/// Returns the section of unlike conditions, each with a remark.
pub(crate) fn differences<'a>(
    rows: &[DifferingCondition],
    remark: &dyn Fn(&str) -> &'a str,
) -> Option<Section> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { shortened(text, 40) };
    let table = Table::new(["", "a", "b", ""].map(Column::text)).with_rows(
        rows.iter()
            .map(|row| [row.what.clone(), or_dash(&row.a), or_dash(&row.b), remark(&row.what).to_owned()]),
    );
    (!rows.is_empty()).then(|| Section::new("differences", "Conditions that differ").with(table))
}

/// Returns the section of differences as bars from the middle: the whole first, then the largest.
pub(crate) fn changes<'a, A: 'a>(
    id: &str,
    whole: Option<&'a ComparisonRow<A>>,
    others: impl Iterator<Item = &'a ComparisonRow<A>>,
) -> Option<Section> {
    let by = |row: &ComparisonRow<A>| row.b - row.a;
    let mut rows: Vec<&ComparisonRow<A>> = others.filter(|row| by(row) != 0.0).collect();
    rows.sort_by(|a, b| by(b).abs().total_cmp(&by(a).abs()));
    rows.truncate(10);
    rows.splice(..0, whole);
    let most = rows.iter().map(|row| by(row).abs()).fold(1e-9, f64::max);
    let table = Table::new([Column::name(""), Column::bar(), Column::number("b − a")]).with_rows(
        rows.iter().map(|row| {
            let (by, length) = (by(row), 0.5 * by(row).abs() / most);
            let (start, colour, mark) = if by > 0.0 {
                (0.5, "var(--mark)", Mark::Bad)
            } else {
                (0.5 - length, "var(--good)", Mark::Good)
            };
            let bar = Bar { start, reference: Some(0.5), ..Bar::of(length, colour) };
            let sign = if by > 0.0 { "+" } else { "−" };
            let text = TableCell::number(format!("{sign}{}", time(by.abs())), by).marked(Some(mark));
            [TableCell::from(&row.name[..]), bar.into(), text]
        }),
    );
    let note = "The whole first, then the largest differences: green is less time, red is more.";
    (!table.is_empty()).then(|| Section::new(id, "What changed").note(note).with(table).only(Medium::Html))
}

/// Returns the section of how often names occur in the first steps of both.
fn first_steps(comparison: &TraceComparison) -> Option<Section> {
    let first = comparison.first_step.as_ref()?;
    let (a, b) = first.iterations_control.first().zip(first.iterations_test.first())?;
    let ops = first.by_device.get("ALL")?.ops;
    let counts = format!(
        "{} added, {} deleted, {} more often, {} less often, {} as often",
        ops.added, ops.deleted, ops.increased, ops.decreased, ops.unchanged
    );
    let title = format!("First steps ({a} and {b}), names of host and device rows");
    Some(Section::new("first-steps", title).with(counts))
}

/// Formats a ratio with its interval, or the observed range of few steps. Zero on both sides has no ratio.
fn bounded<A>(row: &ComparisonRow<A>) -> String {
    if row.a == 0.0 && row.b == 0.0 {
        return "-".to_owned();
    }
    let (low, high) = if row.has_range() { (row.low, row.high) } else { (None, None) };
    let text = ratio(row.ratio, low, high);
    if row.is_interval() { text } else { text.replacen('(', "(range ", 1) }
}

/// How many steps either side has, where the numbers differ.
fn steps_of_sides(comparison: &TraceComparison) -> String {
    match comparison.step().map(|row| row.steps) {
        Some((a, b)) if a != b => format!("; a has {} and b {b}", counted(a, "step")),
        _ => String::new(),
    }
}

/// The comparison in a sentence: what happened to the first row's time, and whether the bounds exclude no change.
pub(crate) fn headline<A>(rows: &[ComparisonRow<A>], unit: TimedUnit, comparable: bool) -> String {
    let Some((row, ratio)) = rows.first().and_then(|row| Some((row, row.ratio?))) else {
        return if comparable {
            match unit {
                TimedUnit::Each(unit) => format!("There is no {unit} in both to compare."),
                TimedUnit::WholeTrace => "There is no time in both to compare.".to_owned(),
            }
        } else {
            "The two are not comparable, so there is no ratio: the differences are below.".to_owned()
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
        _ if unit == TimedUnit::WholeTrace => " (without steps there is no spread to judge by)",
        _ if !row.is_interval() => " (too few steps for an interval)",
        (Some(low), Some(high)) if low > 1.0 || high < 1.0 => ", beyond the spread of the steps",
        (Some(_), Some(_)) => ", which is within the spread of the steps",
        _ => "",
    };
    let unlike = if comparable { "" } else { "; the conditions differ, see below" };
    format!("{change}{sure}{unlike}.")
}

/// Returns the section of a table of rows; `None` without rows.
pub(crate) fn rows_section<'a, A: 'a>(
    id: &str,
    heading: &str,
    rows: impl Iterator<Item = &'a ComparisonRow<A>>,
) -> Option<Section> {
    let columns = [
        Column::name(""),
        Column::number("a"),
        Column::number("b"),
        Column::number("b − a").wide_only(),
        Column::text("b / a"),
    ];
    let table = Table::new(columns).id(format!("{id}-table")).limited(TOP, 30).with_rows(rows.map(|row| {
        let by = row.b - row.a;
        [
            TableCell::from(&row.name[..]),
            TableCell::number(time(row.a), row.a),
            TableCell::number(time(row.b), row.b),
            TableCell::number(time(by), by),
            ratio_cell(row),
        ]
    }));
    (!table.is_empty()).then(|| Section::new(id, heading).with(table))
}

/// A ratio, marked where its whole interval is above or below 1 by more than two per cent.
fn ratio_cell<A>(row: &ComparisonRow<A>) -> TableCell {
    let mark = match (row.low, row.high) {
        (Some(low), _) if row.has_range() && low > 1.02 => Some(Mark::Bad),
        (_, Some(high)) if row.has_range() && high < 0.98 => Some(Mark::Good),
        _ => None,
    };
    TableCell::number(bounded(row), row.ratio.unwrap_or(f64::MAX)).marked(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::stats::Middle;

    #[test]
    fn a_large_ratio_is_a_factor_not_per_cent() {
        let text = |b: f64| {
            headline(
                &[ComparisonRow::of("step", (), &[10.0], &[b], Middle::Median)],
                TimedUnit::Each("step"),
                true,
            )
        };
        assert!(
            text(1240.0).starts_with("A step of b takes 124 times as long as one of a"),
            "{}",
            text(1240.0)
        );
        assert!(text(15.0).starts_with("A step of b takes 50.0 % longer than one of a"), "{}", text(15.0));
    }

    #[test]
    fn long_names_are_cut_and_still_differ() {
        let name = |middle: char| format!("{}{middle}{}", "a".repeat(60), "b".repeat(60));
        let rows =
            ['x', 'y'].map(|middle| ComparisonRow::of(&name(middle), (), &[1.0], &[2.0], Middle::Mean));
        let section = rows_section("operations", "Operations", rows.iter()).unwrap();
        let out = Page { sections: vec![section], ..Page::default() }.sections_to_text();
        let (x, y) = (out.lines().nth(3).unwrap(), out.lines().nth(4).unwrap());
        assert!(x.contains("ax") && y.contains("ay"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() < 110), "{out}");
    }
}
