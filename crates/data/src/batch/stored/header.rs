//! The header of a store: format, origin and progress.

use super::error::not_a_store;
use crate::batch::ProcessorKind;
use crate::cell::Cell;
use crate::screen::{Dataset, Samples};
use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The newest store this program writes and reads.
const FORMAT: u32 = 1;

/// Origin of a store: a graph, and the samples whose rows are its keys.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Graph whose parts the stored masks index.
    pub cell: &'a Cell,
    /// All samples of the dataset; their rows are the keys.
    pub samples: &'a Samples,
}

impl<'a> Origin<'a> {
    /// Returns the origin of a store of a dataset.
    pub fn of(dataset: &'a Dataset) -> Self {
        Self { cell: &dataset.cell, samples: &dataset.samples }
    }
}

/// How a mask is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredForm {
    /// The positions that go.
    Indices,
    /// One bit per flag.
    Bits,
    /// One byte per flag, as the Python system has it.
    Bytes,
}

impl StoredForm {
    /// The processor that reads it.
    pub fn kind(self) -> ProcessorKind {
        match self {
            Self::Indices => ProcessorKind::SavedIndices,
            Self::Bits | Self::Bytes => ProcessorKind::SavedMasks,
        }
    }

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Indices => "indices",
            Self::Bits => "bit masks",
            Self::Bytes => "byte masks",
        }
    }
}

/// Header of a store. Two stores with equal `content` hold the same values for the same rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreHeader {
    /// The format version; a newer one is refused by name.
    pub format: u32,
    /// How masks are kept.
    pub form: StoredForm,
    /// Hash of the graph they were made for.
    pub cell: String,
    /// Hash of the gene sets of all samples of the dataset: rows mean the same.
    pub samples: String,
    /// Hash of the rows that were chosen.
    pub chosen: String,
    /// Number of rows that were chosen.
    pub count: usize,
    /// Number of rows stored so far.
    pub done: usize,
    /// A chain of hashes over the stored rows and their checksums.
    pub content: String,
}

impl StoreHeader {
    pub(super) fn new(origin: Origin<'_>, form: StoredForm, rows: &[u32]) -> Self {
        Self {
            format: FORMAT,
            form,
            cell: origin.cell.hash().to_hex().to_string(),
            samples: samples_hash(origin.samples),
            chosen: hash_of("knockout rows 1", &[rows]),
            count: rows.len(),
            done: 0,
            content: blake3::hash(b"knockout store 1").to_hex().to_string(),
        }
    }

    /// Whether every chosen row is stored.
    pub fn is_complete(&self) -> bool {
        self.done == self.count
    }

    /// Adds a value to the chain.
    pub(super) fn extend(&mut self, row: u32, checksum: u64) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.content.as_bytes());
        hasher.update(&row.to_le_bytes());
        hasher.update(&checksum.to_le_bytes());
        self.content = hasher.finalize().to_hex().to_string();
        self.done += 1;
    }

    pub(super) fn to_text(&self) -> Result<String> {
        toml::to_string(self).map_err(not_a_store)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct StoreVersion {
            format: u32,
        }
        let text = std::str::from_utf8(bytes).map_err(not_a_store)?;
        // The version first: a newer format may have other fields.
        let version: StoreVersion = toml::from_str(text).map_err(not_a_store)?;
        if version.format > FORMAT {
            let found = version.format;
            return Err(Error::damage(format!(
                "format version {found} is newer than this program reads ({FORMAT}); install a newer knockout"
            )));
        }
        toml::from_str(text).map_err(not_a_store)
    }

    /// Refuses a store that was made for another graph or for other samples.
    pub(super) fn check_origin(&self, origin: Origin<'_>) -> Result<()> {
        let cell = origin.cell.hash().to_hex().to_string();
        if self.cell != cell {
            let (found, expected) = (short(&self.cell), short(&cell));
            return Err(Error::damage(format!(
                "it was made for another graph (hash {found}…, the dataset's is {expected}…): its masks would remove the \
                 wrong edges; remove the folder and run `knockout data precompute` again, or name the store of this dataset"
            )));
        }
        let samples = samples_hash(origin.samples);
        if self.samples != samples {
            let (found, expected) = (short(&self.samples), short(&samples));
            return Err(Error::damage(format!(
                "it was made for other samples (hash {found}…, the dataset's is {expected}…): its rows mean other \
                 deletions; remove the folder and run `knockout data precompute` again, or name the store of this dataset"
            )));
        }
        Ok(())
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn samples_hash(samples: &Samples) -> String {
    hash_of("knockout gene sets 1", &[samples.gene_sets().offsets(), samples.gene_sets().genes()])
}

fn hash_of(what: &str, lists: &[&[u32]]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(what.as_bytes());
    for list in lists {
        hasher.update(&(list.len() as u64).to_le_bytes());
        for chunk in list.chunks(1024) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|word| word.to_le_bytes()).collect();
            hasher.update(&bytes);
        }
    }
    hasher.finalize().to_hex().to_string()
}
