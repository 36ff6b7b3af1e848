//! Screens, one module per family of formats: each turns rows into measurements, nothing more.

pub(crate) mod collector;
pub mod emap;
pub mod matrix;
mod repeats;
pub mod sga;
pub(crate) mod sink;
pub mod table;
mod ttest;

pub(crate) use collector::Measurement;
pub use collector::{Duplicates, MeasurementCollector, Merged};
pub use sink::{RowChoice, ScreenCounts, ScreenSink};

use crate::import::strain::PerturbationKind;
use serde::{Deserialize, Serialize};

/// Perturbations that are imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alleles {
    /// All of them, a sample for each; only repeated measurements of the same alleles are merged.
    #[default]
    Apart,
    /// All of them; those of the same genes and kind are merged like repeats. Earlier recipes call it `all`.
    #[serde(alias = "all")]
    Merge,
    /// Samples whose every gene was deleted.
    Deletion,
}

impl Alleles {
    /// Whether a sample of this kind is imported.
    pub fn takes(self, kind: &str) -> bool {
        self != Self::Deletion || kind == PerturbationKind::Deletion.name()
    }
}
