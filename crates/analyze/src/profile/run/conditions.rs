//! The conditions of a measurement, which must be equal for two runs to be compared.

use knockout_base::stats::DifferingCondition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Conditions that may differ in any comparison: most comparisons are between commits.
const HARMLESS: [&str; 1] = ["commit"];

/// Conditions other than the code that make two runs' times differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The dataset's hash.
    pub data: String,
    /// Records the run draws from.
    pub records: u64,
    /// Samples in a batch.
    pub batch: u64,
    /// Threads that compute.
    pub threads: u64,
    /// Number of ranks.
    pub world: u64,
    /// Type of floats that the model computes in: `f32`.
    pub precision: String,
    /// Name of the model; empty when none ran.
    pub model: String,
    /// Phases that ran: `data`, `forward`, `backward` or `full`.
    pub mode: String,
    /// How deletions were represented.
    pub processor: String,
    /// Whether a trace was recorded meanwhile.
    pub profiler: bool,
    /// The program's commit.
    pub commit: String,
    /// CPU, number of cores and instruction set.
    pub machine: String,
    /// Further settings that differ from their defaults, by key.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

impl Conditions {
    /// Names and values, in a fixed order; settings last.
    pub fn entries(&self) -> Vec<(&str, String)> {
        let own = [
            ("data", self.data.clone()),
            ("records", self.records.to_string()),
            ("batch", self.batch.to_string()),
            ("threads", self.threads.to_string()),
            ("world", self.world.to_string()),
            ("precision", self.precision.clone()),
            ("model", self.model.clone()),
            ("mode", self.mode.clone()),
            ("processor", self.processor.clone()),
            ("profiler", if self.profiler { "on" } else { "off" }.to_owned()),
            ("commit", self.commit.clone()),
            ("machine", self.machine.clone()),
        ];
        let settings = self.settings.iter().map(|(key, value)| (key.as_str(), value.clone()));
        own.into_iter().chain(settings).collect()
    }

    /// Returns the conditions as a trace keeps them.
    pub fn to_map(&self) -> Map<String, Value> {
        self.entries().into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    }

    /// Returns the differences from another run's conditions.
    pub fn differences(&self, other: &Self) -> Vec<DifferingCondition> {
        let (own, theirs) = (self.entries(), other.entries());
        let value = |list: &[(&str, String)], key: &str| {
            list.iter().find(|(have, _)| *have == key).map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let mut seen = BTreeSet::new();
        let keys = own.iter().chain(&theirs).map(|(key, _)| *key).filter(|key| seen.insert(*key));
        keys.map(|key| DifferingCondition {
            what: key.to_owned(),
            a: value(&own, key),
            b: value(&theirs, key),
        })
        .filter(|row| row.a != row.b)
        .collect()
    }

    /// Whether a difference in this condition leaves times comparable.
    pub(super) fn is_harmless(what: &str) -> bool {
        HARMLESS.contains(&what)
    }
}
