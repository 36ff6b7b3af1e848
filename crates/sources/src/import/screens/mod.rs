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
pub use collector::{Duplicates, MeasurementCollector};
pub use sink::{RowChoice, ScreenCounts, ScreenSink};

use crate::import::strain::PerturbationKind;
use serde::{Deserialize, Serialize};

/// Perturbations that are imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alleles {
    /// Samples whose every gene was deleted.
    Deletion,
    /// All of them, distinguished by the `kind` column.
    #[default]
    All,
}

impl Alleles {
    /// Whether a sample of this kind is imported.
    pub fn takes(self, kind: &str) -> bool {
        self == Self::All || kind == PerturbationKind::Deletion.name()
    }
}
