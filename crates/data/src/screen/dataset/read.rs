//! Opening a dataset: every checksum verified, every promise of the format checked.

use super::error::{DatasetError, DatasetErrorKind};
use super::write::FEATURES;
use super::{Dataset, Manifest, tables};
use crate::cell::Cell;
use crate::table::Table;
use rayon::prelude::*;
use std::io;
use std::path::Path;
use std::sync::Arc;

impl Manifest {
    /// Reads only the description.
    pub fn open(dir: &Path) -> Result<Self, DatasetError> {
        let path = dir.join("dataset.toml");
        if !dir.exists() {
            return Err(DatasetErrorKind::NotFound.at(dir));
        }
        match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|error| DatasetErrorKind::Manifest(error.into()))
                .and_then(|text| Self::from_text(&text))
                .map_err(|kind| kind.at(&path)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(DatasetErrorKind::NotADataset.at(dir))
            }
            Err(error) => Err(DatasetErrorKind::Io(error).at(&path)),
        }
    }
}

impl Dataset {
    /// Opens a dataset.
    pub fn open(dir: &Path) -> Result<Self, DatasetError> {
        let manifest = Manifest::open(dir)?;
        let genes = load(dir, &manifest, "genes.parquet", tables::genes_from_table)?;
        let gene_count = genes.len();
        let ((networks, metabolism), samples) = rayon::join(
            || {
                rayon::join(
                    || {
                        manifest
                            .networks
                            .par_iter()
                            .map(|entry| {
                                let file = Manifest::network_file(&entry.name);
                                load(dir, &manifest, &file, |table| {
                                    tables::network_from_table(table, &entry.name, gene_count)
                                })
                            })
                            .collect::<Result<Vec<_>, _>>()
                    },
                    || load_metabolism(dir, &manifest, gene_count),
                )
            },
            || load(dir, &manifest, "samples.parquet", |table| tables::samples_from_table(table, gene_count)),
        );
        let samples = samples?;
        let features = if manifest.checksums.contains_key(FEATURES) {
            Some(load(dir, &manifest, FEATURES, |table| tables::features_from_table(table, &genes))?)
        } else {
            None
        };
        let annotations = manifest
            .annotation_names()
            .map(|name| {
                load(dir, &manifest, &Manifest::annotations_file(name), |table| {
                    tables::annotations_from_table(table, name, gene_count)
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let cell = Cell::new(genes, networks?, metabolism?)
            .and_then(|cell| cell.with_features(features)?.with_annotations(annotations))
            .map_err(|error| DatasetErrorKind::Cell(error).at(dir))?;
        let dataset = Self { manifest, cell: Arc::new(cell), samples };
        dataset.check_counts().map_err(|kind| kind.at(dir))?;
        Ok(dataset)
    }

    fn check_counts(&self) -> Result<(), DatasetErrorKind> {
        let counts = &self.manifest.counts;
        let metabolism = self.cell.metabolism();
        let mut pairs = vec![
            ("genes", counts.genes, self.cell.genes().len()),
            ("samples", counts.samples, self.samples.len()),
            ("reactions", counts.reactions, metabolism.map_or(0, |m| m.reactions().len())),
            ("metabolites", counts.metabolites, metabolism.map_or(0, |m| m.metabolites().len())),
            ("gene-reaction entries", counts.gpr, metabolism.map_or(0, |m| m.requirements().len())),
            ("stoichiometry entries", counts.stoichiometry, metabolism.map_or(0, |m| m.coefficients().len())),
        ];
        for (entry, network) in self.manifest.networks.iter().zip(self.cell.networks()) {
            pairs.push(("edges", entry.edges, network.edge_count()));
            pairs.push(("nodes", entry.nodes, network.node_count()));
        }
        match pairs.into_iter().find(|(_, expected, found)| expected != found) {
            Some((what, expected, found)) => Err(DatasetErrorKind::Count { what, expected, found }),
            None => Ok(()),
        }
    }
}

fn load_metabolism(
    dir: &Path,
    manifest: &Manifest,
    gene_count: usize,
) -> Result<Option<crate::cell::Metabolism>, DatasetError> {
    let file = |name: &str| format!("metabolism/{name}.parquet");
    if !tables::METABOLISM.iter().any(|name| manifest.checksums.contains_key(&file(name))) {
        return Ok(None);
    }
    let decode = |name: &str| load_table(dir, manifest, &file(name));
    let [reactions, metabolites, requirements, coefficients] = tables::METABOLISM;
    let tables = [decode(reactions)?, decode(metabolites)?, decode(requirements)?, decode(coefficients)?];
    tables::metabolism_from_tables(&tables, gene_count)
        .map(Some)
        .map_err(|kind| kind.at(&dir.join("metabolism")))
}

fn load<T>(
    dir: &Path,
    manifest: &Manifest,
    file: &str,
    build: impl FnOnce(&Table) -> Result<T, DatasetErrorKind>,
) -> Result<T, DatasetError> {
    build(&load_table(dir, manifest, file)?).map_err(|kind| kind.at(&dir.join(file)))
}

fn load_table(dir: &Path, manifest: &Manifest, file: &str) -> Result<Table, DatasetError> {
    let path = dir.join(file);
    let bytes = read_checked(&path, manifest.checksums.get(file)).map_err(|kind| kind.at(&path))?;
    Table::decode(bytes).map_err(|error| DatasetErrorKind::Columns(error).at(&path))
}

/// Reads a file and compares it with its checksum; a file the description does not list is not part of the dataset.
pub(super) fn read_checked(path: &Path, expected: Option<&String>) -> Result<Vec<u8>, DatasetErrorKind> {
    let expected = expected.ok_or(DatasetErrorKind::MissingFile)?;
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => DatasetErrorKind::MissingFile,
        _ => DatasetErrorKind::Io(error),
    })?;
    let found = blake3::hash(&bytes).to_hex().to_string();
    if found != *expected {
        return Err(DatasetErrorKind::Checksum { expected: expected.clone(), found });
    }
    Ok(bytes)
}
