//! The manifest of a run: where and with what it was started.

use knockout_base::error::{Error, Result};
use knockout_base::files::{Sealed, seal};
use knockout_data::screen::Dataset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Condition that names the folder of the dataset.
pub(super) const DATASET_FOLDER: &str = "dataset_folder";

/// Where and with what a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunManifest {
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
    /// Hashes of the input.
    pub inputs: Inputs,
    /// Other conditions of a comparison: threads, instruction set, batch, …
    pub conditions: BTreeMap<String, String>,
}

/// Hashes of what a run reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// Hash of the dataset.
    pub dataset: String,
    /// Hash of the gene table.
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

/// The manifest as stored, with the hashes of the files that are written at the start of a run.
#[derive(Serialize, Deserialize)]
struct ManifestDocument<M> {
    #[serde(flatten)]
    manifest: M,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

fn damaged(reason: &str) -> Error {
    Error::damage(format!("manifest.json is damaged: {reason}"))
}

impl RunManifest {
    /// Returns a stored document without the name of the machine and the folders above the dataset.
    pub fn without_place(text: &[u8]) -> Result<String> {
        let (mut manifest, files) = Self::read(text)?;
        manifest.host.clear();
        if let Some(dataset) = manifest.conditions.get_mut(DATASET_FOLDER) {
            let name = Path::new(&*dataset).file_name().unwrap_or_default();
            *dataset = name.to_string_lossy().into_owned();
        }
        manifest.sealed(files)
    }

    /// Returns the text of the document.
    pub(super) fn sealed(&self, files: BTreeMap<String, String>) -> Result<String> {
        seal(&ManifestDocument { manifest: self, files })
    }

    /// Reads the document: the manifest and the hashes of a run's files; none in one of an earlier version.
    pub(super) fn read(text: &[u8]) -> Result<(Self, BTreeMap<String, String>)> {
        let read = Sealed::<ManifestDocument<Self>>::read(text);
        let Sealed { value, is_sealed } = read.map_err(|error| damaged(error.message()).caused_by(error))?;
        if !is_sealed && !value.files.is_empty() {
            return Err(damaged("it lost its checksum"));
        }
        Ok((value.manifest, value.files))
    }
}
