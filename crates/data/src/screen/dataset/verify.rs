//! Everything the format promises, checked one by one, with all faults listed rather than the first.

use super::read::read_checked;
use super::{Dataset, Manifest};
use knockout_base::error::{Error, IoContext as _, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Something `verify` found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// The dataset breaks a promise of the format.
    Fault(Error),
    /// Two samples have the same genes and kind.
    RepeatedSample {
        /// The earlier row.
        first: usize,
        /// The later row.
        second: usize,
    },
    /// A file that the description does not list.
    Stranger(String),
    /// Worth knowing, but legal.
    Remark(String),
}

impl Finding {
    /// Whether the dataset must not be used.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_) | Self::RepeatedSample { .. })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fault(error) => f.write_str(&knockout_base::error::chain(error)),
            Self::RepeatedSample { first, second } => {
                write!(f, "samples.parquet: rows {first} and {second} have the same genes and kind")
            }
            Self::Stranger(path) => write!(f, "{path} is not listed in dataset.toml"),
            Self::Remark(text) => f.write_str(text),
        }
    }
}

/// Checks a dataset. `Err` only when its description cannot be read at all.
pub fn verify(dir: &Path) -> Result<Vec<Finding>> {
    let manifest = Manifest::open(dir)?;
    let mut findings: Vec<Finding> = manifest
        .checksums
        .iter()
        .filter_map(|(file, checksum)| {
            let path = dir.join(file);
            read_checked(&path, Some(checksum)).err().map(Finding::Fault)
        })
        .collect();
    findings.extend(strangers(dir, &manifest)?);
    if !findings.iter().any(Finding::is_fault) {
        match Dataset::open(dir) {
            Ok(dataset) => findings.extend(content(&dataset)),
            Err(error) => findings.push(Finding::Fault(error)),
        }
    }
    Ok(findings)
}

fn strangers(dir: &Path, manifest: &Manifest) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for folder in ["", "networks", "metabolism", "annotations"] {
        let path = dir.join(folder);
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries {
            let entry = entry.at_path("could not be read", &path)?;
            let name = Path::new(folder).join(entry.file_name()).to_string_lossy().into_owned();
            let is_parquet = Path::new(&name).extension().is_some_and(|extension| extension == "parquet");
            if is_parquet && !manifest.checksums.contains_key(&name) {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(Finding::Stranger).collect())
}

fn content(dataset: &Dataset) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rows: BTreeMap<(&[u32], &str), usize> = BTreeMap::new();
    for (row, sample) in dataset.samples.iter().enumerate() {
        if let Some(&first) = rows.get(&(sample.genes, sample.kind)) {
            findings.push(Finding::RepeatedSample { first, second: row });
        } else {
            rows.insert((sample.genes, sample.kind), row);
        }
    }
    for network in dataset.cell.networks() {
        let repeated = network.repeated_edge_count();
        if repeated > 0 {
            findings.push(Finding::Remark(format!(
                "network {:?} has {repeated} repeated edges, which count as many times as they stand there",
                network.name()
            )));
        }
    }
    findings
}
