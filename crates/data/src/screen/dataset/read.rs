//! Opening a dataset: every checksum verified, every promise of the format checked.

use super::manifest::does_not_parse;
use super::{Dataset, Manifest, tables};
use crate::cell::Cell;
use crate::table::Table;
use knockout_base::error::{Context as _, Error, IoContext as _, Result};
use rayon::prelude::*;
use std::io;
use std::path::Path;
use std::sync::Arc;

impl Manifest {
    /// Reads only the description.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("dataset.toml");
        if !dir.exists() {
            let message =
                "there is no such folder; make one with `knockout data synth` or `knockout data import`";
            return Err(Error::request(message).in_file(dir));
        }
        match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(does_not_parse)
                .and_then(|text| Self::from_text(&text))
                .in_file(&path),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(Error::request("this folder has no dataset.toml, so it is not a dataset").in_file(dir))
            }
            Err(error) => Err(Error::io("could not be read", &path, error)),
        }
    }
}

impl Dataset {
    /// Opens a dataset.
    pub fn open(dir: &Path) -> Result<Self> {
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
        let features = if manifest.checksums.contains_key(tables::FEATURES) {
            Some(load(dir, &manifest, tables::FEATURES, |table| tables::features_from_table(table, &genes))?)
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
            .in_file(dir)?;
        let dataset = Self { manifest, cell: Arc::new(cell), samples };
        dataset.check_counts().in_file(dir)?;
        Ok(dataset)
    }

    fn check_counts(&self) -> Result<()> {
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
            Some((what, expected, found)) => {
                Err(Error::damage(format!("dataset.toml counts {expected} {what}, the file has {found}")))
            }
            None => Ok(()),
        }
    }
}

fn load_metabolism(
    dir: &Path,
    manifest: &Manifest,
    gene_count: usize,
) -> Result<Option<crate::cell::Metabolism>> {
    let file = |name: &str| format!("metabolism/{name}.parquet");
    if !tables::METABOLISM.iter().any(|name| manifest.checksums.contains_key(&file(name))) {
        return Ok(None);
    }
    let decode = |name: &str| load_table(dir, manifest, &file(name));
    let [reactions, metabolites, requirements, coefficients] = tables::METABOLISM;
    let tables = [decode(reactions)?, decode(metabolites)?, decode(requirements)?, decode(coefficients)?];
    tables::metabolism_from_tables(&tables, gene_count).map(Some).in_file(dir.join("metabolism"))
}

fn load<T>(
    dir: &Path,
    manifest: &Manifest,
    file: &str,
    build: impl FnOnce(&Table) -> Result<T>,
) -> Result<T> {
    build(&load_table(dir, manifest, file)?).in_file(dir.join(file))
}

fn load_table(dir: &Path, manifest: &Manifest, file: &str) -> Result<Table> {
    let path = dir.join(file);
    let bytes = read_checked(&path, manifest.checksums.get(file))?;
    Table::decode(bytes).in_file(&path)
}

/// Reads a file and compares it with its checksum; a file the description does not list is not part of the dataset.
pub(super) fn read_checked(path: &Path, expected: Option<&String>) -> Result<Vec<u8>> {
    let Some(expected) = expected.filter(|_| path.exists()) else {
        let message = "the file is listed in dataset.toml but missing; restore it or rebuild the dataset";
        return Err(Error::damage(message).in_file(path));
    };
    let bytes = std::fs::read(path).at_path("could not be read", path)?;
    let found = blake3::hash(&bytes).to_hex().to_string();
    if found != *expected {
        return Err(Error::damage(format!(
            "the content does not match its checksum (expected {expected}, found {found}): the file is damaged; restore \
             it or rebuild the dataset"
        ))
        .in_file(path));
    }
    Ok(bytes)
}
