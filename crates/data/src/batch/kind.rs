//! The representations of a deletion, by name.

use knockout_base::error::Error;
use serde::{Deserialize, Serialize};

/// The ways to represent a deletion; by their names in configurations and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum ProcessorKind {
    /// The gene indices and nothing else: the default for every model.
    Perturbation,
    /// Bit masks over genes, edges, reactions and metabolic entries, recomputed for every sample.
    Mask,
    /// Bit masks that stay allocated: cleared, used, restored.
    ResidentMask,
    /// The positions that go, computed beforehand and read from disk, as masks.
    SavedIndices,
    /// Masks computed beforehand and read from disk.
    SavedMasks,
    /// Every network rebuilt without the genes, relabelled.
    Subgraph,
    /// Only the genes within some hops, relabelled.
    Neighborhood {
        /// How many hops.
        hops: usize,
    },
}

impl ProcessorKind {
    /// Every way, neighbourhoods with two hops as the Python system had them.
    pub const ALL: [Self; 7] = [
        Self::Perturbation,
        Self::Mask,
        Self::ResidentMask,
        Self::SavedIndices,
        Self::SavedMasks,
        Self::Subgraph,
        Self::Neighborhood { hops: 2 },
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perturbation => "perturbation",
            Self::Mask => "mask",
            Self::ResidentMask => "resident-mask",
            Self::SavedIndices => "saved-indices",
            Self::SavedMasks => "saved-masks",
            Self::Subgraph => "subgraph",
            Self::Neighborhood { .. } => "neighborhood",
        }
    }

    /// The option of `knockout data precompute` that makes what it reads; `None` where it reads nothing.
    pub fn store_flag(self) -> Option<&'static str> {
        match self {
            Self::SavedIndices => Some("--indices"),
            Self::SavedMasks => Some("--masks"),
            _ => None,
        }
    }

    /// Whether it reads a [`Store`](crate::batch::Store).
    pub fn is_stored(self) -> bool {
        self.store_flag().is_some()
    }
}

impl From<ProcessorKind> for &'static str {
    fn from(kind: ProcessorKind) -> Self {
        kind.name()
    }
}

impl TryFrom<String> for ProcessorKind {
    type Error = Error;

    /// Neighbourhoods have two hops.
    fn try_from(name: String) -> Result<Self, Error> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let unknown = || Error::request(format!("there is no processor {name:?}; choose from {}", known()));
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(unknown)
    }
}
