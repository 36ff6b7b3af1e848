//! Two experiments beside each other: cells of the same name, by their rounds. Omits the ratios if conditions differ, unless the caller
//! declares the difference as intended.

use super::EXPERIMENT_SCHEMA;
use super::cell::{CellFindings, Rounds};
use crate::profile::run::{Measured, RunProfile, RunQuantity, RunRow, check_conditions, split_differences};
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::stats::{DifferingCondition, Estimate, Middle, share};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// The cells of an experiment, as read from its `report.json`.
#[derive(Debug, Clone)]
pub struct StoredExperiment {
    /// Name of the dataset.
    pub dataset: String,
    /// Rounds that were taken.
    pub rounds: u64,
    /// When it was measured, if that is known.
    pub measured: Option<Measured>,
    /// Every cell by its name, those at a model's own batch last.
    pub cells: Vec<(String, RunProfile)>,
}

/// Two experiments beside each other; ratios are `b / a`, and times microseconds per sample. Rounds of two experiments are not paired.
#[derive(Debug, Clone, Serialize)]
pub struct ExperimentComparison {
    /// See [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    /// `experiment comparison`
    pub kind: &'static str,
    /// Name of the first experiment.
    pub a: String,
    /// Name of the second experiment.
    pub b: String,
    /// When both were measured.
    pub measured: (Option<Measured>, Option<Measured>),
    /// Rounds of both.
    pub rounds: (u64, u64),
    /// Everything that could make times differ by itself is equal in cells of the same name, or was declared as intended.
    pub comparable: bool,
    /// Conditions that differ in cells of the same name.
    pub differences: Vec<DifferingCondition>,
    /// Of these, the ones that forbid a comparison.
    pub unlike: Vec<String>,
    /// Of these, the ones that were declared.
    pub varied: Vec<String>,
    /// Wall time of a sample in each cell: medians over rounds. Empty unless comparable.
    pub rows: Vec<RunRow>,
    /// CPU time of a sample in each cell, in the same order.
    pub cpu_rows: Vec<RunRow>,
    /// Models beside the first one within each experiment: these hold whatever differs between the two.
    pub model_ratios: Vec<ModelRatio>,
    /// Cells that only the first has.
    pub only_in_a: Vec<String>,
    /// Cells that only the second has.
    pub only_in_b: Vec<String>,
}

/// Two models in one mode: time per sample by that of the first model, in both experiments.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRatio {
    /// Names of the cells: `hetero full / dango full`.
    pub name: String,
    /// The ratio in `a`.
    pub a: Estimate,
    /// The ratio in `b`.
    pub b: Estimate,
}

impl StoredExperiment {
    /// Reads the document of `experiment --json`; `name` only names it in messages.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self> {
        parse(name, bytes).in_file(name)
    }

    fn cell(&self, name: &str) -> Option<&RunProfile> {
        self.cells.iter().find(|(own, _)| own == name).map(|(_, profile)| profile)
    }

    fn by_round<'p>(&self, profile: &'p RunProfile) -> Rounds<'p> {
        Rounds::of(profile, self.rounds)
    }
}

fn parse(name: &str, bytes: &[u8]) -> Result<StoredExperiment> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        Error::damage("it is not a whole JSON document; was the experiment that wrote it interrupted?")
            .caused_by(error)
    })?;
    if value["kind"] != "experiment" {
        return Err(Error::damage(format!(
            "it is not what `knockout experiment` writes (its kind is {})",
            value["kind"]
        )));
    }
    if value["schema"].as_u64() != Some(u64::from(EXPERIMENT_SCHEMA)) {
        return Err(Error::damage(format!(
            "its schema is {}, this program reads {EXPERIMENT_SCHEMA}; measure again with this version",
            value["schema"]
        )));
    }
    let damaged = |what: &str| Error::damage(format!("it does not match its schema: {what}"));
    let number =
        |key: &str| value["plan"][key].as_u64().filter(|number| *number > 0).ok_or_else(|| damaged(key));
    let (rounds, steps) = (number("rounds")?, number("steps")?);
    let list = |key: &str| value[key].as_array().into_iter().flatten();
    let mut cells = Vec::new();
    for cell in list("cells").chain(list("own_batch")) {
        let cell_name = cell["name"].as_str().ok_or_else(|| damaged("a cell has no name"))?;
        let profile = RunProfile::from_json(name, cell["profile"].to_string().as_bytes())?;
        if profile.steps != rounds.saturating_mul(steps) {
            return Err(damaged(&format!("{cell_name} has not {rounds} rounds of {steps} steps")));
        }
        cells.push((cell_name.to_owned(), profile));
    }
    Ok(StoredExperiment {
        dataset: value["plan"]["dataset"].as_str().unwrap_or_default().to_owned(),
        rounds,
        measured: serde_json::from_value(value["plan"]["measured"].clone()).ok(),
        cells,
    })
}

impl ExperimentComparison {
    /// Compares the cells that both have. `vary` names conditions that are meant to differ.
    pub fn of(
        (name_a, a): (&str, &StoredExperiment),
        (name_b, b): (&str, &StoredExperiment),
        vary: &[String],
    ) -> Result<Self> {
        let both: Vec<(&str, &RunProfile, &RunProfile)> =
            a.cells.iter().filter_map(|(name, own)| Some((&name[..], own, b.cell(name)?))).collect();
        let names = |cells: &[(String, RunProfile)]| {
            cells
                .iter()
                .map(|(name, _)| name.clone())
                .filter(|name| both.iter().all(|row| row.0 != name))
                .collect::<Vec<_>>()
        };
        let (only_in_a, only_in_b) = (names(&a.cells), names(&b.cells));
        if both.is_empty() {
            return Err(Error::request(format!(
                "the experiments have no cell in common: {name_a} has {}, and {name_b} {}",
                only_in_a.join("; "),
                only_in_b.join("; ")
            )));
        }
        check_conditions(both.iter().flat_map(|row| [row.1, row.2]), vary)?;
        let mut seen = BTreeSet::new();
        let differences = both.iter().flat_map(|row| row.1.conditions.differences(&row.2.conditions));
        let differences: Vec<DifferingCondition> =
            differences.filter(|row| seen.insert((row.what.clone(), row.a.clone(), row.b.clone()))).collect();
        let (unlike, varied) = split_differences(&differences, vary);
        let comparable = unlike.is_empty();
        let rows = |about: RunQuantity| {
            let of = |experiment: &StoredExperiment, profile: &RunProfile| {
                let rounds = experiment.by_round(profile);
                let seconds = if about == RunQuantity::Cpu { rounds.cpu_sample() } else { rounds.sample() };
                seconds.into_iter().map(|seconds| 1e6 * seconds).collect::<Vec<f64>>()
            };
            let row = |(name, own, other): &(&str, &RunProfile, &RunProfile)| {
                RunRow::of(name, about, &of(a, own), &of(b, other), Middle::Median)
            };
            if comparable { both.iter().map(row).collect() } else { Vec::new() }
        };
        Ok(Self {
            schema: EXPERIMENT_SCHEMA,
            kind: "experiment comparison",
            a: name_a.to_owned(),
            b: name_b.to_owned(),
            measured: (a.measured.clone(), b.measured.clone()),
            rounds: (a.rounds, b.rounds),
            comparable,
            rows: rows(RunQuantity::Step),
            cpu_rows: rows(RunQuantity::Cpu),
            model_ratios: model_ratios(a, b, &both),
            differences,
            unlike,
            varied,
            only_in_a,
            only_in_b,
        })
    }

    /// Returns the cell whose lower bound of the ratio is highest, which `--fail-above` tests. Recorded cells have a cost of their own.
    pub fn slowest(&self) -> Option<&RunRow> {
        let timed = self.rows.iter().filter(|row| !row.name.contains(CellFindings::RECORDED));
        timed
            .filter(|row| row.low.is_some())
            .max_by(|a, b| a.low.unwrap_or(0.0).total_cmp(&b.low.unwrap_or(0.0)))
    }
}

/// The ratios of models within each experiment: every cell by the first one that differs from it in the model alone.
fn model_ratios(
    a: &StoredExperiment,
    b: &StoredExperiment,
    both: &[(&str, &RunProfile, &RunProfile)],
) -> Vec<ModelRatio> {
    let key = |profile: &RunProfile| {
        let of = &profile.conditions;
        (of.mode.clone(), of.processor.clone(), of.world, of.batch, of.profiler)
    };
    let mut out = Vec::new();
    for (index, (name, in_a, in_b)) in both.iter().enumerate() {
        let is_like = |row: &&(&str, &RunProfile, &RunProfile)| key(row.1) == key(in_a);
        let Some((first, first_a, first_b)) = both[..index].iter().find(is_like) else { continue };
        if first_a.conditions.model == in_a.conditions.model || in_a.conditions.profiler {
            continue;
        }
        let ratio = |experiment: &StoredExperiment, first: &RunProfile, own: &RunProfile| {
            let per_sample = |profile| experiment.by_round(profile).sample();
            Estimate::paired(&per_sample(first), &per_sample(own), |first, own| share(own, first))
        };
        out.push(ModelRatio {
            name: format!("{name} / {first}"),
            a: ratio(a, first_a, in_a),
            b: ratio(b, first_b, in_b),
        });
    }
    out
}
