//! What a run was started with, for people and for `compare`.

use knockout_screen::Dataset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where and with what a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this document: 1.
    pub schema: u32,
    /// knockout's version.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
    /// The seed of everything random.
    pub seed: u64,
    /// The machine's name.
    pub host: String,
    /// What the run reads.
    pub inputs: Inputs,
    /// What else a comparison of two runs must know: threads, instruction set, batch, …
    pub conditions: BTreeMap<String, String>,
}

/// Hashes of what a run reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// Of the dataset.
    pub dataset: String,
    /// Of the gene table.
    pub gene_table: String,
    /// Of networks and metabolism.
    pub cell: String,
}

impl Inputs {
    /// The hashes of a dataset.
    pub fn of(dataset: &Dataset) -> Self {
        Self {
            dataset: dataset.manifest.data_hash(),
            gene_table: dataset.cell.genes().hash().to_hex().to_string(),
            cell: dataset.cell.hash().to_hex().to_string(),
        }
    }
}

impl Manifest {
    pub(super) fn to_json(&self) -> String {
        // Maps with text keys and plain numbers: nothing here can fail to be written.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
