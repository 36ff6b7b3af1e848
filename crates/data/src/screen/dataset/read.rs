//! Opening a dataset: every checksum verified, every promise of the format checked.

use super::manifest::does_not_parse;
use super::{DESCRIPTION, Dataset, Manifest, tables};
use crate::cell::Cell;
use crate::screen::AlleleTable;
use crate::table::ParquetTable;
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::files::{Checksum, Folder};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

impl Manifest {
    /// Reads only the description.
    pub fn open(dir: &Path) -> Result<Self> {
        if !dir.exists() {
            let message =
                "there is no such folder; make one with `knockout data synth` or `knockout data import`";
            return Err(Error::request(message).in_file(dir));
        }
        let Some(bytes) = Folder::at(dir).find(DESCRIPTION)? else {
            let message = "this folder has no dataset.toml, so it is not a dataset";
            return Err(Error::request(message).in_file(dir));
        };
        let text = String::from_utf8(bytes).map_err(does_not_parse);
        text.and_then(|text| Self::from_text(&text)).in_file(dir.join(DESCRIPTION))
    }
}

impl Dataset {
    /// Opens a dataset.
    pub fn open(dir: &Path) -> Result<Self> {
        let manifest = Manifest::open(dir)?;
        let folder = &Folder::at(dir);
        let (genes, positions) = load(folder, &manifest, "genes.parquet", |table| {
            Ok((tables::genes_from_table(table)?, tables::positions_from_table(table)?))
        })?;
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
                                load(folder, &manifest, &file, |table| {
                                    tables::network_from_table(table, &entry.name, gene_count)
                                })
                            })
                            .collect::<Result<Vec<_>, _>>()
                    },
                    || load_metabolism(folder, &manifest, gene_count),
                )
            },
            || {
                let alleles = if manifest.checksums.contains_key(tables::ALLELES) {
                    load(folder, &manifest, tables::ALLELES, tables::alleles_from_table)?
                } else {
                    AlleleTable::default()
                };
                load(folder, &manifest, "samples.parquet", |table| {
                    tables::samples_from_table(table, gene_count, alleles)
                })
            },
        );
        let samples = samples?;
        let features = if manifest.checksums.contains_key(tables::FEATURES) {
            Some(load(folder, &manifest, tables::FEATURES, |table| {
                tables::features_from_table(table, &genes)
            })?)
        } else {
            None
        };
        let annotations = manifest
            .annotation_names()
            .map(|name| {
                load(folder, &manifest, &Manifest::annotations_file(name), |table| {
                    tables::annotations_from_table(table, name, gene_count)
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let cell = Cell::new(genes, networks?, metabolism?)
            .and_then(|cell| {
                cell.with_features(features)?.with_annotations(annotations)?.with_positions(positions)
            })
            .in_file(dir)?
            .with_interaction_inputs(manifest.from_interactions.clone());
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
    folder: &Folder,
    manifest: &Manifest,
    gene_count: usize,
) -> Result<Option<crate::cell::Metabolism>> {
    let file = |name: &str| format!("metabolism/{name}.parquet");
    if !tables::METABOLISM.iter().any(|name| manifest.checksums.contains_key(&file(name))) {
        return Ok(None);
    }
    let decode = |name: &str| load_table(folder, manifest, &file(name));
    let [reactions, metabolites, requirements, coefficients] = tables::METABOLISM;
    let tables = [decode(reactions)?, decode(metabolites)?, decode(requirements)?, decode(coefficients)?];
    tables::metabolism_from_tables(&tables, gene_count).map(Some).in_file(folder.path().join("metabolism"))
}

fn load<T>(
    folder: &Folder,
    manifest: &Manifest,
    file: &str,
    build: impl FnOnce(&ParquetTable) -> Result<T>,
) -> Result<T> {
    build(&load_table(folder, manifest, file)?).in_file(folder.path().join(file))
}

fn load_table(folder: &Folder, manifest: &Manifest, file: &str) -> Result<ParquetTable> {
    let unlisted = || Error::damage(format!("dataset.toml does not list {file}")).in_file(folder.path());
    let bytes = read_checked(folder, file, manifest.checksums.get(file).ok_or_else(unlisted)?)?;
    ParquetTable::decode(bytes).in_file(folder.path().join(file))
}

/// Reads a file and compares it with its checksum.
pub(super) fn read_checked(folder: &Folder, file: &str, expected: &str) -> Result<Vec<u8>> {
    folder.read_checked(file, Checksum::new(expected), "restore it or rebuild the dataset")
}
