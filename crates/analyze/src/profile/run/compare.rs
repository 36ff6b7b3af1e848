//! Compares two runs. Omits the ratio if their conditions differ, unless the caller declares the difference as intended.

use super::RUN_SCHEMA;
use super::conditions::Conditions;
use super::finding::RunWarning;
use super::profile::{PerStep, RunProfile};
use knockout_base::error::{Error, Result};
use knockout_base::stats::{DifferingCondition, FEWEST_FOR_INTERVAL, Middle, sort_by_difference};
use serde::Serialize;
use std::collections::BTreeSet;

/// Kind of quantity in a row.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RunQuantity {
    /// Wall time of the step, median over steps; `--fail-above` tests it.
    Step,
    /// Time of a phase, mean over steps.
    Phase,
    /// CPU time of all threads, median over steps.
    Cpu,
}

/// One quantity in both runs.
pub type RunRow = knockout_base::stats::ComparisonRow<RunQuantity>;

/// A reason to distrust a comparison of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunComparisonWarning {
    /// A warning of the first run.
    OfA(RunWarning),
    /// A warning of the second run.
    OfB(RunWarning),
    /// One side has so many steps, too few for an interval: bounds are the range seen.
    NoInterval(usize),
}

/// Two runs beside each other. `knockout-report` adds the warnings' sentences to make the document of `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct RunComparison {
    /// See [`RUN_SCHEMA`].
    pub schema: u32,
    /// `comparison`
    pub kind: &'static str,
    /// Name of the first run.
    pub a: String,
    /// Name of the second run.
    pub b: String,
    /// Everything that could make times differ by itself is equal, or was declared as intended.
    pub comparable: bool,
    /// Conditions that differ.
    pub differences: Vec<DifferingCondition>,
    /// Of these, the ones that forbid a comparison.
    pub unlike: Vec<String>,
    /// Of these, the ones that were declared.
    pub varied: Vec<String>,
    /// The step, CPU time, then phases: microseconds per sample in `a` and `b`. Empty unless comparable.
    pub rows: Vec<RunRow>,
    /// Rows per iteration: batches of unlike size make these unlike.
    pub iterations: Vec<RunRow>,
    /// Conditions of both.
    pub conditions: (Conditions, Conditions),
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<RunComparisonWarning>,
}

impl RunComparison {
    /// Compares two runs; ratios are `b / a`. `vary` names conditions that are meant to differ.
    pub fn of(
        (name_a, a): (&str, &RunProfile),
        (name_b, b): (&str, &RunProfile),
        vary: &[String],
    ) -> Result<Self> {
        check_conditions([a, b].into_iter(), vary)?;
        let differences = a.conditions.differences(&b.conditions);
        let (unlike, varied) = split_differences(&differences, vary);
        let comparable = unlike.is_empty();
        // Where both recorded, the warning does not matter.
        let both_recorded = a.conditions.profiler && b.conditions.profiler;
        let matters = |warning: &&RunWarning| !(both_recorded && **warning == RunWarning::Profiler);
        let of_a = a.warnings.iter().filter(matters).map(|warning| RunComparisonWarning::OfA(*warning));
        let of_b = b.warnings.iter().filter(matters).map(|warning| RunComparisonWarning::OfB(*warning));
        let mut warnings: Vec<RunComparisonWarning> = of_a.chain(of_b).collect();
        let steps = a.per_step.wall_nanos.len().min(b.per_step.wall_nanos.len());
        if steps < FEWEST_FOR_INTERVAL {
            warnings.push(RunComparisonWarning::NoInterval(steps));
        }
        let rows_by = |unit: TimeBasis| if comparable { rows(a, b, unit) } else { Vec::new() };
        Ok(Self {
            schema: RUN_SCHEMA,
            kind: "comparison",
            a: name_a.to_owned(),
            b: name_b.to_owned(),
            comparable,
            differences,
            unlike,
            varied,
            rows: rows_by(TimeBasis::Sample),
            iterations: rows_by(TimeBasis::Iteration),
            conditions: (a.conditions.clone(), b.conditions.clone()),
            warnings,
        })
    }

    /// Returns the whole step per sample, which `--fail-above` tests.
    pub fn step(&self) -> Option<&RunRow> {
        self.rows.iter().find(|row| row.about == RunQuantity::Step)
    }
}

/// Splits differing conditions into those that forbid a comparison and those that were declared as intended; harmless ones are in neither.
pub(in crate::profile) fn split_differences(
    differences: &[DifferingCondition],
    vary: &[String],
) -> (Vec<String>, Vec<String>) {
    let mut seen = BTreeSet::new();
    let names = differences.iter().map(|row| &row.what);
    let names = names.filter(|what| !Conditions::is_harmless(what) && seen.insert(*what)).cloned();
    names.partition(|what| !vary.contains(what))
}

/// Checks that the declared names are those of conditions.
pub(in crate::profile) fn check_conditions<'r>(
    runs: impl Iterator<Item = &'r RunProfile>,
    vary: &[String],
) -> Result<()> {
    let entries = runs.flat_map(|run| run.conditions.entries());
    let known: BTreeSet<String> = entries.map(|(key, _)| key.to_owned()).collect();
    match vary.iter().find(|name| !known.contains(*name)) {
        Some(name) => {
            let known: Vec<String> = known.into_iter().collect();
            Err(Error::request(format!(
                "{name:?} is not a condition of these runs; they have {}",
                known.join(", ")
            )))
        }
        None => Ok(()),
    }
}

/// Denominator of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeBasis {
    Sample,
    Iteration,
}

/// The step (its median), CPU time (median), then phases (means: some run only now and then), the largest
/// difference first.
fn rows(a: &RunProfile, b: &RunProfile, unit: TimeBasis) -> Vec<RunRow> {
    let values = |steps: &PerStep, nanos: &[u64]| micros(steps, nanos, unit);
    let whole = |name: &str, about: RunQuantity, nanos: fn(&PerStep) -> &Vec<u64>| {
        let of = |run: &RunProfile| values(&run.per_step, nanos(&run.per_step));
        RunRow::of(name, about, &of(a), &of(b), Middle::Median)
    };
    let mut out = vec![
        whole("step", RunQuantity::Step, |steps| &steps.wall_nanos),
        whole("cpu", RunQuantity::Cpu, |steps| &steps.cpu_nanos),
    ];
    let names: BTreeSet<&String> = a.per_step.phases.keys().chain(b.per_step.phases.keys()).collect();
    let mut phases: Vec<RunRow> = names
        .into_iter()
        .map(|name| {
            let of = |run: &RunProfile| match run.per_step.phases.get(name) {
                Some(nanos) => values(&run.per_step, nanos),
                None => vec![0.0; run.per_step.wall_nanos.len()],
            };
            RunRow::of(name, RunQuantity::Phase, &of(a), &of(b), Middle::Mean)
        })
        .collect();
    sort_by_difference(&mut phases);
    out.append(&mut phases);
    out
}

fn micros(steps: &PerStep, nanos: &[u64], unit: TimeBasis) -> Vec<f64> {
    let by = |samples: u64| if unit == TimeBasis::Sample { samples.max(1) as f64 } else { 1.0 };
    nanos.iter().zip(&steps.samples).map(|(nanos, samples)| *nanos as f64 / 1e3 / by(*samples)).collect()
}
