//! Writes a dataset to a hidden folder and renames it when it is complete.

use super::manifest::{FORMAT_VERSION, FORMAT_WITHOUT_ALLELES, check_name};
use super::{Counts, DESCRIPTION, Dataset, Manifest, NetworkEntry, tables};
use crate::table::Columns;
use knockout_base::error::{Context as _, Result};
use knockout_base::files::{Checksum, Folder, StagedFolder};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn unwritten(path: &Path) -> String {
    format!("{} could not be written; nothing was changed", path.display())
}

fn stage(out: &Path) -> Result<StagedFolder> {
    StagedFolder::create(out).while_doing(|| unwritten(out))
}

impl Dataset {
    /// Refuses a folder that [`Dataset::write`] could not make, before any work is done for it: one that exists, or
    /// whose parent is read-only. The folders above it are made, and nothing else is left behind.
    pub fn check_target(out: &Path) -> Result<()> {
        stage(out).map(drop)
    }

    /// Writes the dataset to a folder that does not exist yet, filling in the manifest's counts and checksums.
    ///
    /// A crash at any moment leaves no dataset or a complete one; on an error nothing is left behind. Equal datasets
    /// give equal bytes. `on_rows` receives the number of rows written.
    pub fn write(&mut self, out: &Path, on_rows: &(dyn Fn(usize) + Sync)) -> Result<()> {
        self.write_with(out, on_rows, |_, _| Ok(()))
    }

    /// Writes the dataset with files beside the data (a report, splits), which `attach` puts into the unfinished folder once the
    /// manifest is complete. They appear with the dataset or not at all, and are not part of its content.
    pub fn write_with(
        &mut self,
        out: &Path,
        on_rows: &(dyn Fn(usize) + Sync),
        attach: impl FnOnce(&Folder, &Manifest) -> Result<()>,
    ) -> Result<()> {
        for network in self.cell.networks() {
            check_name("a network", network.name()).in_file(out)?;
        }
        for set in self.cell.annotations() {
            check_name("annotations", set.name()).in_file(out)?;
        }
        let staged = stage(out)?;
        let files = files_of(self).in_file(out)?;
        let written = files
            .par_iter()
            .map(|(name, table)| {
                let shown = out.join(name);
                let bytes = table.encode().in_file(&shown)?;
                staged.write_new(name, &bytes).while_doing(|| unwritten(&shown))?;
                on_rows(table.row_count());
                Ok((name.clone(), Checksum::of(&bytes)))
            })
            .collect::<Result<Vec<_>>>()?;
        drop(files);

        self.describe(written.into_iter().collect());
        let text = self.manifest.to_text().in_file(out)?;
        staged.write_new(DESCRIPTION, text).while_doing(|| unwritten(out))?;
        attach(&staged, &self.manifest).while_doing(|| unwritten(out))?;
        staged.commit().while_doing(|| unwritten(out))
    }

    fn describe(&mut self, checksums: BTreeMap<String, String>) {
        let metabolism = self.cell.metabolism();
        // Readers of the first version would take alleles for repeated samples.
        self.manifest.format =
            if self.samples.has_alleles() { FORMAT_VERSION } else { FORMAT_WITHOUT_ALLELES };
        self.manifest.counts = Counts {
            genes: self.cell.genes().len(),
            samples: self.samples.len(),
            reactions: metabolism.map_or(0, |m| m.reactions().len()),
            metabolites: metabolism.map_or(0, |m| m.metabolites().len()),
            gpr: metabolism.map_or(0, |m| m.requirements().len()),
            stoichiometry: metabolism.map_or(0, |m| m.coefficients().len()),
        };
        self.manifest.networks = self
            .cell
            .networks()
            .iter()
            .map(|network| NetworkEntry {
                name: network.name().to_owned(),
                nodes: network.node_count(),
                edges: network.edge_count(),
            })
            .collect();
        self.manifest.checksums = checksums;
    }
}

fn files_of(dataset: &Dataset) -> Result<Vec<(String, Columns<'_>)>> {
    let mut files = vec![("samples.parquet".to_owned(), tables::samples_to_table(&dataset.samples))];
    if dataset.samples.has_alleles() {
        files.push((tables::ALLELES.to_owned(), tables::alleles_to_table(dataset.samples.allele_table())));
    }
    for network in dataset.cell.networks() {
        files.push((Manifest::network_file(network.name()), tables::network_to_table(network)));
    }
    files.push((
        "genes.parquet".to_owned(),
        tables::genes_to_table(dataset.cell.genes(), dataset.cell.positions()),
    ));
    if let Some(features) = dataset.cell.features() {
        files.push((tables::FEATURES.to_owned(), tables::features_to_table(features, dataset.cell.genes())?));
    }
    for set in dataset.cell.annotations() {
        files.push((Manifest::annotations_file(set.name()), tables::annotations_to_table(set)));
    }
    if let Some(metabolism) = dataset.cell.metabolism() {
        let tables = tables::METABOLISM.into_iter().zip(tables::metabolism_to_tables(metabolism));
        files.extend(tables.map(|(name, table)| (format!("metabolism/{name}.parquet"), table)));
    }
    Ok(files)
}
