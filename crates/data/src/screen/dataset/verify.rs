//! Checks every rule of the format and lists all faults, not only the first.

use super::read::read_checked;
use super::{DESCRIPTION, Dataset, Manifest};
use crate::lmdb::{DATA_FILE, LOCK_FILE};
use knockout_base::error::{Error, Result};
use knockout_base::files::{Entry, EntryKind, Folder};
use std::collections::BTreeMap;
use std::path::Path;

/// Something `verify` found.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatasetFinding {
    /// The dataset breaks a promise of the format.
    Fault(Error),
    /// Two samples have the same genes, kind and alleles.
    RepeatedSample {
        /// The earlier row.
        first: usize,
        /// The later row.
        second: usize,
    },
    /// A file or folder that the description does not list.
    Unlisted(String),
    /// Worth knowing, but legal.
    Remark(String),
}

impl DatasetFinding {
    /// Whether the dataset must not be used.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_) | Self::RepeatedSample { .. })
    }
}

impl std::fmt::Display for DatasetFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fault(error) => f.write_str(&knockout_base::error::chain(error)),
            Self::RepeatedSample { first, second } => {
                write!(f, "samples.parquet: rows {first} and {second} have the same genes, kind and alleles")
            }
            Self::Unlisted(path) => write!(f, "{path} is not listed in dataset.toml"),
            Self::Remark(text) => f.write_str(text),
        }
    }
}

/// Checks a dataset. `Err` only when its description cannot be read at all.
pub fn verify(dir: &Path) -> Result<Vec<DatasetFinding>> {
    let manifest = Manifest::open(dir)?;
    let folder = Folder::at(dir);
    let faults = manifest.checksums.iter();
    let faults = faults.filter_map(|(file, checksum)| read_checked(&folder, file, checksum).err());
    let mut findings: Vec<DatasetFinding> = faults.map(DatasetFinding::Fault).collect();
    findings.extend(unlisted(&folder, &manifest)?);
    if !findings.iter().any(DatasetFinding::is_fault) {
        match Dataset::open(dir) {
            Ok(dataset) => findings.extend(content(&dataset)),
            Err(error) => findings.push(DatasetFinding::Fault(error)),
        }
    }
    Ok(findings)
}

/// Files that knockout keeps beside the data.
const BESIDE: [&str; 3] = [DESCRIPTION, "import-report.json", "recipe.toml"];

/// Lists everything in the folder that is neither part of the dataset nor kept beside it by knockout.
fn unlisted(folder: &Folder, manifest: &Manifest) -> Result<Vec<DatasetFinding>> {
    let mut found = Vec::new();
    add_unlisted(folder, "", manifest, &mut found)?;
    Ok(found.into_iter().map(DatasetFinding::Unlisted).collect())
}

fn add_unlisted(folder: &Folder, below: &str, manifest: &Manifest, found: &mut Vec<String>) -> Result<()> {
    for Entry { name, kind } in folder.below(below).entries()? {
        let name = name.to_string_lossy();
        let path = if below.is_empty() { name.into_owned() } else { format!("{below}/{name}") };
        let holds_ours = || manifest.checksums.keys().any(|file| file.starts_with(&format!("{path}/")));
        let is_ours = match kind {
            EntryKind::Folder if holds_ours() => {
                add_unlisted(folder, &path, manifest, found)?;
                true
            }
            EntryKind::Folder => path == "splits" || is_store(&folder.below(&path)),
            EntryKind::File => manifest.checksums.contains_key(&path) || BESIDE.contains(&&*path),
            EntryKind::Link | EntryKind::Special => false,
        };
        if !is_ours {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns whether a folder is one of stored masks, and has nothing else in it.
fn is_store(folder: &Folder) -> bool {
    let entries = folder.entries().unwrap_or_default();
    !entries.is_empty() && entries.iter().all(|entry| entry.name == DATA_FILE || entry.name == LOCK_FILE)
}

fn content(dataset: &Dataset) -> Vec<DatasetFinding> {
    let mut findings = Vec::new();
    let mut rows: BTreeMap<(&[u32], &str, &[u32]), usize> = BTreeMap::new();
    for (row, sample) in dataset.samples.iter().enumerate() {
        if let Some(&first) = rows.get(&(sample.genes, sample.kind, sample.alleles)) {
            findings.push(DatasetFinding::RepeatedSample { first, second: row });
        } else {
            rows.insert((sample.genes, sample.kind, sample.alleles), row);
        }
    }
    for network in dataset.cell.networks() {
        let repeated = network.repeated_edge_count();
        if repeated > 0 {
            findings.push(DatasetFinding::Remark(format!(
                "network {:?} has {repeated} repeated edges, which count as many times as they stand there",
                network.name()
            )));
        }
    }
    findings
}
