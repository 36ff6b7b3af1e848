//! Screens, one module per family of formats: each turns rows into measurements, nothing more.

pub mod collector;
pub mod emap;
mod repeats;
pub mod sga;
pub mod sink;
pub mod strain;
pub mod table;
pub mod ttest;

pub use collector::{Collector, Duplicates, Measurement};
pub use sink::{Choice, ScreenCounts, Sink};

use serde::{Deserialize, Serialize};

/// Which perturbations are imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alleles {
    /// Samples whose every gene was deleted.
    Deletion,
    /// All of them; the `kind` column tells them apart.
    #[default]
    All,
}

impl Alleles {
    /// Whether a sample of this kind is imported.
    pub fn takes(self, kind: &str) -> bool {
        self == Self::All || kind == strain::Kind::Deletion.name()
    }
}
