//! The manifest of a run: where and with what it was started.

use knockout_base::error::{Error, Result};
use knockout_data::screen::Dataset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;

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

/// The manifest as it is written: with the hashes of the files that a run begins with, and of itself.
#[derive(Serialize)]
struct Sealed<'a> {
    #[serde(flatten)]
    manifest: &'a Manifest,
    files: &'a BTreeMap<String, String>,
    /// blake3 of this document with nothing here.
    checksum: String,
}

impl Sealed<'_> {
    fn text(&self) -> String {
        // Maps with text keys and plain numbers: nothing here can fail to be written.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn damaged(reason: impl Display) -> Error {
    Error::damage(format!("manifest.json is damaged: {reason}"))
}

impl Manifest {
    /// Reads a manifest; its checksum is verified by [`Self::files`].
    pub(super) fn read(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).map_err(damaged)
    }

    pub(super) fn sealed(&self, files: &BTreeMap<String, String>) -> String {
        let mut sealed = Sealed { manifest: self, files, checksum: String::new() };
        sealed.checksum = blake3::hash(sealed.text().as_bytes()).to_hex().to_string();
        sealed.text()
    }

    /// The hashes of a run's files, out of the text that this manifest was read from; none in one of an earlier version.
    pub(super) fn files(&self, text: &[u8]) -> Result<BTreeMap<String, String>> {
        #[derive(Deserialize)]
        struct Seal {
            #[serde(default)]
            files: BTreeMap<String, String>,
            checksum: Option<String>,
        }
        let Seal { files, checksum } = serde_json::from_slice(text).map_err(damaged)?;
        // Sealed again, it must have the same bytes.
        let is_ours = match checksum {
            Some(_) => self.sealed(&files).as_bytes() == text,
            // A seal that lost its checksum is damaged; earlier versions had neither.
            None => files.is_empty(),
        };
        if is_ours { Ok(files) } else { Err(damaged("it does not match its own checksum")) }
    }
}
