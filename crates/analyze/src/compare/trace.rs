//! Comparison of two traces, per step: different conditions, then changed and new operations.

use super::first_step::{self, FirstStepComparison};
use crate::findings::finding::Sourced;
use crate::findings::warning::TraceWarning;
use crate::findings::{Analysis, SCHEMA};
use crate::findings::{FileFindings, StepFindings};
use knockout_base::stats::{DifferingCondition, FEWEST_FOR_INTERVAL, Middle, sort_by_difference};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Operations compared one by one, the largest difference first.
const MAX_OPERATIONS: usize = 300;

/// Categories that are named where they changed most.
const MAX_CATEGORIES: usize = 2;
/// A change below this share of a step is not named.
const WORTH_NAMING: f64 = 0.01;

/// A reason to distrust a comparison of traces.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceComparisonWarning {
    /// A warning of the first trace.
    OfA(Sourced<TraceWarning>),
    /// A warning of the second trace.
    OfB(Sourced<TraceWarning>),
    /// Only one of the traces has profiler steps.
    StepsInOneOnly,
    /// Neither has.
    NoSteps,
    /// One side has so many steps, too few for an interval: bounds are the range seen.
    NoInterval(usize),
}

/// Two traces beside each other. `knockout-report` adds the warnings' sentences to make the document of `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct TraceComparison {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// Name of the first trace.
    pub a: String,
    /// Name of the second trace.
    pub b: String,
    /// Unit of the times: whole traces unless both have steps.
    pub per: TimeUnit,
    /// Whether all conditions that change times by themselves are equal.
    pub comparable: bool,
    /// Conditions that differ.
    pub differences: Vec<DifferingCondition>,
    /// The step, then categories: microseconds per step in `a` and `b`.
    pub rows: Vec<TraceRow>,
    /// Self time by operation in `a` and `b`, largest difference first.
    pub operations: Vec<TraceRow>,
    /// Operations only in `b`, largest first.
    pub added: Vec<TraceRow>,
    /// Operations only in `a`, largest first.
    pub removed: Vec<TraceRow>,
    /// The first profiler step of each by HTA's rule; `None` unless both have steps.
    pub first_step: Option<FirstStepComparison>,
    /// The largest changes, the largest first: categories of either side, then an operation.
    pub contributors: Vec<Contributor>,
    /// Samples of a step in `a` and `b`, where times are per sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_step: Option<(f64, f64)>,
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<TraceComparisonWarning>,
    /// Idle categories, which are never among the largest changes.
    #[serde(skip)]
    pub asleep_categories: BTreeSet<String>,
    /// Idle operations.
    #[serde(skip)]
    asleep: BTreeSet<String>,
}

/// Unit of the times that are compared.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// A profiler step, which both sides have.
    Step,
    /// The whole trace.
    Trace,
}

impl TimeUnit {
    fn of(a: &Analysis, b: &Analysis) -> Self {
        if a.steps.is_empty() || b.steps.is_empty() { Self::Trace } else { Self::Step }
    }
}

/// A changed category or operation.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Contributor {
    /// A category or an operation.
    pub name: String,
    /// Kind of quantity, with its side.
    pub about: TraceQuantity,
    /// Microseconds per step (or sample) in `b` minus those in `a`.
    pub difference_us: f64,
}

/// Kind of quantity in a row.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TraceQuantity {
    /// The step's wall time (median over steps), or the whole span of a trace without steps. `--fail-above` tests it.
    Step,
    /// Host time of a category, mean per step.
    Host,
    /// Device time of a category, mean per step.
    Device,
    /// Self time of an operation, mean per step.
    Operation,
}

/// A quantity in both traces.
pub type TraceRow = knockout_base::stats::ComparisonRow<TraceQuantity>;

/// The condition with the number of files of a side.
const RANKS: &str = "ranks";

/// Conditions that change times by themselves.
const DECISIVE: [&str; 21] = [
    "convert",
    "world_size",
    RANKS,
    "device",
    "backend",
    "record_shapes",
    "profile_memory",
    "with_stack",
    "with_flops",
    "rules",
    // Those that knockout's own recorder writes.
    "data",
    "records",
    "batch",
    "threads",
    "world",
    "precision",
    "model",
    "mode",
    "processor",
    "profiler",
    "machine",
];

fn is_decisive(difference: &DifferingCondition) -> bool {
    DECISIVE.contains(&difference.what.as_str())
}

impl TraceComparison {
    /// Compares two analyses; ratios are `b / a`.
    pub fn of(a: &Analysis, b: &Analysis) -> Self {
        let differences = differences(a, b);
        let of_a = a.warnings.iter().cloned().map(TraceComparisonWarning::OfA);
        let of_b = b.warnings.iter().cloned().map(TraceComparisonWarning::OfB);
        let mut warnings: Vec<TraceComparisonWarning> = of_a.chain(of_b).collect();
        warnings.extend(match (a.steps.len(), b.steps.len()) {
            (0, 0) => Some(TraceComparisonWarning::NoSteps),
            (0, _) | (_, 0) => Some(TraceComparisonWarning::StepsInOneOnly),
            (a, b) if a.min(b) < FEWEST_FOR_INTERVAL => Some(TraceComparisonWarning::NoInterval(a.min(b))),
            _ => None,
        });
        let mut rows = vec![step_row(a, b)];
        rows.extend(category_rows(a, b, TraceQuantity::Host, |step| &step.host));
        rows.extend(category_rows(a, b, TraceQuantity::Device, |step| &step.device));
        let (operations, added, removed) = operations(a, b);
        let mut comparison = Self {
            schema: SCHEMA,
            a: a.files.join(", "),
            b: b.files.join(", "),
            per: TimeUnit::of(a, b),
            comparable: !differences.iter().any(is_decisive),
            differences,
            rows,
            operations,
            added,
            removed,
            first_step: first_step::compare(a, b),
            contributors: Vec::new(),
            samples_per_step: None,
            warnings,
            asleep_categories: asleep_categories(&[a, b]),
            asleep: asleep(&[a, b]),
        };
        comparison.order();
        comparison
    }

    /// Sorts operations by their difference, sleeping threads last, and finds the largest changes.
    fn order(&mut self) {
        let Self { rows, operations, added, removed, asleep, asleep_categories, .. } = self;
        let is_asleep = |row: &TraceRow| asleep.contains(&row.name);
        for list in [&mut *operations, added, removed] {
            sort_by_difference(list);
            // Stable: the rest keeps its order.
            list.sort_by_key(is_asleep);
        }
        let by = |row: &TraceRow| (row.b - row.a).abs();
        let step = rows.first().map_or(0.0, |row| row.a.max(row.b));
        let names = |row: &&TraceRow| by(row) > WORTH_NAMING * step && !is_asleep(row);
        let mut categories: Vec<&TraceRow> = rows
            .iter()
            .filter(|row| row.about != TraceQuantity::Step && !asleep_categories.contains(&row.name))
            .collect();
        categories.sort_by(|x, y| by(y).total_cmp(&by(x)));
        let lists = [&*operations, added, removed];
        let operation = lists.into_iter().flatten().filter(names).max_by(|x, y| by(x).total_cmp(&by(y)));
        let most = categories.into_iter().filter(names).take(MAX_CATEGORIES).chain(operation);
        self.contributors = most
            .map(|row| Contributor { name: row.name.clone(), about: row.about, difference_us: row.b - row.a })
            .collect();
    }

    /// Divides every time by the samples of a step in `a` and in `b`, so that batches of unlike size compare.
    #[must_use]
    pub fn per_sample(mut self, a: f64, b: f64) -> Self {
        let lists = [&mut self.rows, &mut self.operations, &mut self.added, &mut self.removed];
        lists.into_iter().flatten().for_each(|row| row.divide(a, b));
        self.order();
        self.samples_per_step = Some((a, b));
        // That the batches differ is then no difference of conditions.
        self.differences.retain(|difference| difference.what != "batch");
        self.comparable = !self.differences.iter().any(is_decisive);
        self
    }

    /// The conditions that make times differ by themselves; none where the two are comparable.
    pub fn decisive(&self) -> impl Iterator<Item = &DifferingCondition> {
        self.differences.iter().filter(|difference| is_decisive(difference))
    }

    /// Returns the numbers of ranks, where they differ: a step then does other work, so a ratio would mislead.
    pub fn unlike_ranks(&self) -> Option<&DifferingCondition> {
        self.differences.iter().find(|difference| difference.what == RANKS)
    }

    /// Returns the step's wall time, which `--fail-above` tests.
    pub fn step(&self) -> Option<&TraceRow> {
        self.rows.iter().find(|row| row.about == TraceQuantity::Step)
    }

    /// Returns the rows that are slower than `ratio` even at the low end of their interval. Only the step decides: a category
    /// that grows while the step does not is not a regression. With too few steps for an interval the list is empty.
    pub fn slower_than(&self, ratio: f64) -> Vec<&TraceRow> {
        let step = self.step().filter(|row| row.is_interval() && row.low.is_some_and(|low| low > ratio));
        step.into_iter().collect()
    }
}

fn differences(a: &Analysis, b: &Analysis) -> Vec<DifferingCondition> {
    let conditions = |analysis: &Analysis| {
        let mut all = analysis.ranks.first().map(|rank| rank.conditions.clone()).unwrap_or_default();
        all.insert(RANKS.to_owned(), analysis.ranks.len().to_string());
        // How many there are does not change the time of one; whether there are enough is judged by itself.
        all.remove("steps");
        all
    };
    let (own, other) = (conditions(a), conditions(b));
    let keys: BTreeSet<&String> = own.keys().chain(other.keys()).collect();
    let text = |map: &BTreeMap<String, String>, key: &String| map.get(key).cloned().unwrap_or_default();
    keys.into_iter()
        .filter(|key| own.get(*key) != other.get(*key))
        .map(|key| DifferingCondition { what: key.clone(), a: text(&own, key), b: text(&other, key) })
        .collect()
}

fn step_row(a: &Analysis, b: &Analysis) -> TraceRow {
    let (name, lengths): (_, fn(&Analysis) -> Vec<f64>) = if TimeUnit::of(a, b) == TimeUnit::Step {
        ("step", |analysis| analysis.steps.iter().map(|step| step.us).collect())
    } else {
        ("whole trace", |analysis| {
            vec![analysis.ranks.iter().map(|f| f.span_without_trace_cat_us).fold(0.0, f64::max)]
        })
    };
    TraceRow::of(name, TraceQuantity::Step, &lengths(a), &lengths(b), Middle::Median)
}

fn category_rows(
    a: &Analysis,
    b: &Analysis,
    about: TraceQuantity,
    part: fn(&StepFindings) -> &Vec<crate::TimeShare>,
) -> Vec<TraceRow> {
    if TimeUnit::of(a, b) == TimeUnit::Trace {
        return whole_category_rows(a, b, about);
    }
    let names: BTreeSet<&str> = [a, b]
        .iter()
        .flat_map(|x| &x.steps)
        .flat_map(|step| part(step).iter().map(|row| row.name.as_str()))
        .collect();
    let values = |analysis: &Analysis, name: &str| -> Vec<f64> {
        let of_step =
            |step: &StepFindings| part(step).iter().find(|row| row.name == name).map_or(0.0, |row| row.us);
        analysis.steps.iter().map(of_step).collect()
    };
    let mut rows: Vec<TraceRow> = names
        .into_iter()
        .map(|name| TraceRow::of(name, about, &values(a, name), &values(b, name), Middle::Mean))
        .collect();
    sort_by_difference(&mut rows);
    rows
}

fn whole_category_rows(a: &Analysis, b: &Analysis, about: TraceQuantity) -> Vec<TraceRow> {
    let wanted = about == TraceQuantity::Device;
    let names: BTreeSet<&str> = [a, b]
        .iter()
        .flat_map(|x| &x.categories)
        .filter(|row| row.device == wanted)
        .map(|row| row.name.as_str())
        .collect();
    let value = |analysis: &Analysis, name: &str| {
        let row = analysis.categories.iter().find(|row| row.name == name && row.device == wanted);
        vec![row.map_or(0.0, |row| row.us)]
    };
    let mut rows: Vec<TraceRow> = names
        .into_iter()
        .map(|name| TraceRow::of(name, about, &value(a, name), &value(b, name), Middle::Mean))
        .collect();
    sort_by_difference(&mut rows);
    rows
}

/// Operations in both, only in `b`, only in `a`.
fn operations(a: &Analysis, b: &Analysis) -> (Vec<TraceRow>, Vec<TraceRow>, Vec<TraceRow>) {
    let unit = TimeUnit::of(a, b);
    let (own, other) = (times(a, unit), times(b, unit));
    let names: BTreeSet<&str> = own.by_name.keys().chain(other.by_name.keys()).map(AsRef::as_ref).collect();
    let mut named: Vec<(f64, &str)> =
        names.into_iter().map(|name| ((other.mean(name) - own.mean(name)).abs(), name)).collect();
    named.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(y.1)));
    let (mut both, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for (_, name) in named {
        let is_step = name.starts_with("ProfilerStep");
        let target = match (own.by_name.contains_key(name), other.by_name.contains_key(name)) {
            _ if is_step => continue,
            (true, true) => &mut both,
            (false, _) => &mut added,
            (true, false) => &mut removed,
        };
        if target.len() < MAX_OPERATIONS {
            let (x, y) = (own.values(name), other.values(name));
            target.push(TraceRow::of(name, TraceQuantity::Operation, &x, &y, Middle::Mean));
        }
    }
    (both, added, removed)
}

/// Self times of operations: of each those steps that have any, so that names and steps do not multiply.
struct OperationTimes<'a> {
    by_name: BTreeMap<Cow<'a, str>, BTreeMap<u32, f64>>,
    steps: usize,
}

impl OperationTimes<'_> {
    fn mean(&self, name: &str) -> f64 {
        let sum: f64 = self.by_name.get(name).map_or(0.0, |row| row.values().sum());
        sum / self.steps.max(1) as f64
    }

    /// One value for each step.
    fn values(&self, name: &str) -> Vec<f64> {
        let mut values = vec![0.0; self.steps];
        for (&step, &value) in self.by_name.get(name).into_iter().flatten() {
            if let Some(cell) = values.get_mut(step as usize) {
                *cell = value;
            }
        }
        values
    }
}

/// Self time of each operation by step, the mean over ranks; or as one number for whole traces.
fn times(analysis: &Analysis, unit: TimeUnit) -> OperationTimes<'_> {
    let ranks = analysis.ranks.len().max(1) as f64;
    let by_step = |rank: &FileFindings| !rank.first_step.by_step.is_empty();
    if unit == TimeUnit::Trace || !analysis.ranks.iter().all(by_step) {
        let steps = match unit {
            TimeUnit::Step => analysis.steps.len().max(1) as f64,
            TimeUnit::Trace => 1.0,
        };
        let mut by_name: BTreeMap<Cow<'_, str>, BTreeMap<u32, f64>> = BTreeMap::new();
        for op in &analysis.operations {
            let sums = by_name.entry(without_addresses(&op.name)).or_default();
            *sums.entry(0).or_default() += op.self_us / steps / ranks;
        }
        return OperationTimes { by_name, steps: 1 };
    }
    let mut by_name: BTreeMap<Cow<'_, str>, BTreeMap<u32, f64>> = BTreeMap::new();
    let mut steps = 0;
    for rank in &analysis.ranks {
        steps = steps.max(rank.first_step.step_count);
        for (name, values) in &rank.first_step.by_step {
            let sums = by_name.entry(without_addresses(name)).or_default();
            for &(step, value) in values {
                *sums.entry(step).or_default() += value / ranks;
            }
        }
    }
    OperationTimes { by_name, steps }
}

/// Returns the names of idle categories.
fn asleep_categories(sides: &[&Analysis]) -> BTreeSet<String> {
    let categories = sides.iter().flat_map(|side| &side.ranks).flat_map(|rank| &rank.picture.categories);
    categories.filter(|row| row.role.is_asleep()).map(|row| row.name.clone()).collect()
}

/// Returns the names of operations that sleep in one of the traces.
fn asleep(sides: &[&Analysis]) -> BTreeSet<String> {
    let categories = asleep_categories(sides);
    let operations = sides.iter().flat_map(|side| &side.operations);
    let sleeping = operations.filter(|op| categories.contains(&op.category));
    sleeping.map(|op| without_addresses(&op.name).into_owned()).collect()
}

/// A name without the addresses of objects (` at 0x7f01…`), which are others in every process.
fn without_addresses(name: &str) -> Cow<'_, str> {
    const AT: &str = " at 0x";
    let mut parts = name.split(AT);
    let mut out = String::new();
    let first = parts.next().unwrap_or_default();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        // Short numbers may mean something.
        out.push_str(if end >= 6 { part.get(end..).unwrap_or_default() } else { AT });
        if end < 6 {
            out.push_str(part);
        }
    }
    if out.is_empty() && first.len() == name.len() {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{first}{out}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_objects_do_not_make_names_differ() {
        let name = "<built-in method acquire of _thread.lock object at 0x7f3a12bc4d>";
        assert_eq!(without_addresses(name), "<built-in method acquire of _thread.lock object>");
        assert_eq!(without_addresses("a at 0x7f3a12bc b at 0x7f3a12ff"), "a b");
        for kept in ["aten::mul", "jump at 0x10", "ends at 0x"] {
            assert_eq!(without_addresses(kept), kept);
        }
    }
}
