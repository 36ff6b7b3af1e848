//! How batches are made for a run: which representation of a deletion, by how many threads, how far ahead.
//!
//! None of it changes a number: models read gene indices, or what says the same, and batches come in the same order for any number of threads.
//! What changes is the time, which is why these are keys that can be measured.

use knockout_batch::{Collation, ProcessorKind};
use serde::{Deserialize, Serialize};

/// The loader's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderConfig {
    /// How a deletion is represented.
    pub processor: ProcessorName,
    /// The folder that a saved representation is read from; empty where it is in the dataset's own.
    #[serde(default)]
    pub store: String,
    /// How the representations of a batch are put together.
    pub collate: CollateName,
    /// Threads that make batches ahead of time; 0 makes them on the training thread.
    pub threads: usize,
    /// Batches that may exist at once; at least one more than there are threads.
    pub depth: usize,
}

impl Default for LoaderConfig {
    /// A batch of gene indices costs microseconds: handing it between threads would cost more.
    fn default() -> Self {
        Self {
            processor: ProcessorName::Perturbation,
            store: String::new(),
            collate: CollateName::Shared,
            threads: 0,
            depth: 1,
        }
    }
}

/// The representations; see [`ProcessorKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorName {
    /// Gene indices.
    Perturbation,
    /// Bit masks made anew.
    Mask,
    /// Bit masks kept allocated.
    ResidentMask,
    /// Positions read from a store.
    SavedIndices,
    /// Masks read from a store.
    SavedMasks,
    /// Every network rebuilt.
    Subgraph,
    /// The genes within two hops.
    Neighborhood,
}

impl ProcessorName {
    /// What the loader calls it.
    pub fn kind(self) -> ProcessorKind {
        match self {
            Self::Perturbation => ProcessorKind::Perturbation,
            Self::Mask => ProcessorKind::Mask,
            Self::ResidentMask => ProcessorKind::ResidentMask,
            Self::SavedIndices => ProcessorKind::SavedIndices,
            Self::SavedMasks => ProcessorKind::SavedMasks,
            Self::Subgraph => ProcessorKind::Subgraph,
            Self::Neighborhood => ProcessorKind::Neighborhood { hops: 2 },
        }
    }
}

/// See [`Collation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollateName {
    /// By reference.
    Shared,
    /// Edge lists copied once per sample.
    Replicated,
}

impl CollateName {
    /// What the loader calls it.
    pub fn collation(self) -> Collation {
        match self {
            Self::Shared => Collation::Shared,
            Self::Replicated => Collation::Replicated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_the_loaders_own() {
        for kind in ProcessorKind::ALL {
            let name: ProcessorName = toml::Value::String(kind.name().to_owned()).try_into().unwrap();
            assert_eq!(name.kind(), kind);
            let written = toml::Value::try_from(name).unwrap();
            assert_eq!(written.as_str(), Some(name.kind().name()));
        }
        for name in [CollateName::Shared, CollateName::Replicated] {
            assert_eq!(toml::Value::try_from(name).unwrap().as_str(), Some(name.collation().name()));
        }
    }
}
