//! The dataset directory: a cell and a screen on disk.
//!
//! ```text
//! dataset.toml              name, format version, provenance, counts, checksums
//! genes.parquet             systematic, standard
//! networks/<name>.parquet   source, target, weight
//! metabolism/*.parquet      reactions, metabolites, requirements, coefficients
//! features.parquet          systematic, and a column for each content feature; optional
//! annotations/<name>.parquet  gene, term; optional
//! alleles.parquet           gene, kind, name; optional
//! samples.parquet           genes, score, p_value, query, kind, fitness, fitness_sd, source, duplicates, alleles (optional)
//! ```
//!
//! A dataset is written to a hidden folder and appears complete or not at all. Then it never changes. Every file's checksum is
//! verified whenever it is opened.

mod manifest;
mod read;
mod tables;
mod verify;
mod write;

pub use manifest::{Counts, FORMAT_VERSION, Manifest, NetworkEntry, Provenance, Synthetic};
pub use verify::{DatasetFinding, verify};

use crate::cell::Cell;
use crate::screen::Samples;
use std::sync::Arc;

/// Name of the description.
const DESCRIPTION: &str = "dataset.toml";

/// A dataset in memory.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Content of `dataset.toml`.
    pub manifest: Manifest,
    /// The cell graph.
    pub cell: Arc<Cell>,
    /// Rows of the screen.
    pub samples: Samples,
}
