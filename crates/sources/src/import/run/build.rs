//! Each kind of source to its reader, and what it gave to the report.

use super::Importer;
use crate::import::annotations::{gaf, gmt, json, table as annotation_table};
use crate::import::features::{self, FeatureFile};
use crate::import::genes::NamedGenes;
use crate::import::lmdb::{self, IndexSplit, RecordRows};
use crate::import::metabolism::{sbml, yaml};
use crate::import::names::Names;
use crate::import::networks::{
    Evidence, NetworkFile, Orientation, biogrid, dango, edges, matrix, name_of, sgd, string, tflink,
};
use crate::import::recipe::{AnnotationSource, FeatureSource, MetabolismSource, NetworkSource, ScreenSource};
use crate::import::report::{
    AnnotationReport, FeatureReport, MetabolismReport, NetworkReport, RowReport, ScreenReport, SplitReport,
};
use crate::import::screens::{
    MeasurementCollector, RowChoice, ScreenCounts, ScreenSink, emap, matrix as score_matrix, sga, table,
};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::{Annotations, GeneTable, Metabolism, Network};
use knockout_data::screen::Part;
use std::path::PathBuf;

/// Input of the splits from a screen: the row of each record, and the split files.
pub(super) type ScreenRecords = (RecordRows, Vec<PathBuf>);

impl Importer<'_> {
    pub(super) fn network(
        &mut self,
        given: &NetworkSource,
        names: &Names,
        gene_count: usize,
    ) -> Result<Vec<Network>, Error> {
        let files = given.files();
        let source = self.source(files[0]);
        let found = self.read_network(given, &source, names)?;
        self.read(files[0], &source.digest());
        self.check_loss(source.path(), &found.tally)?;
        let rows = RowReport::from(&found.tally);
        let mut networks = Vec::with_capacity(found.networks.len());
        for list in found.networks {
            let name = list.name().to_owned();
            let (network, counts) = list.finish(gene_count).map_err(|error| source.fail(error))?;
            if given.is_genetic() {
                self.genetic_networks.push(name.clone());
            }
            let file = files[0].display().to_string();
            self.report.networks.push(NetworkReport { name, file, counts, rows: rows.clone() });
            networks.push(network);
        }
        Ok(networks)
    }

    fn read_network(
        &mut self,
        given: &NetworkSource,
        source: &Source<'_>,
        names: &Names,
    ) -> Result<NetworkFile, Error> {
        let evidence_name = |prefix: &str, evidence: Evidence| match evidence {
            Evidence::Physical => format!("{prefix}physical"),
            Evidence::Genetic => format!("{prefix}genetic"),
        };
        match given {
            NetworkSource::String { channels, threshold, thresholds, name, taxon, entries, .. } => {
                let options = string::StringOptions {
                    channels,
                    threshold: *threshold,
                    thresholds,
                    prefix: name.as_deref(),
                    taxon: *taxon,
                    entries: *entries,
                };
                string::read(source, names, &options)
            }
            NetworkSource::Dango { gene_list, name, entries, .. } => {
                let list = self.source(gene_list);
                let found = dango::read(source, &list, names, name.as_deref(), *entries)?;
                self.read(gene_list, &list.digest());
                Ok(found)
            }
            NetworkSource::Sgd { evidence, name, entries, .. } => {
                let name = name.clone().unwrap_or_else(|| evidence_name("", *evidence));
                sgd::read(source, names, &name, *evidence, *entries)
            }
            NetworkSource::Biogrid { evidence, organism, name, entries, .. } => {
                let name = name.clone().unwrap_or_else(|| evidence_name("biogrid_", *evidence));
                biogrid::read(source, names, &name, *evidence, *organism, *entries)
            }
            NetworkSource::Tflink { scale, name, .. } => {
                tflink::read(source, names, name.as_deref().unwrap_or("tflink"), *scale)
            }
            NetworkSource::Yeastract { name, .. } => {
                matrix::read(source, names, name.as_deref().unwrap_or("yeastract"))
            }
            NetworkSource::Edges {
                file,
                source: from,
                target,
                weight,
                header,
                separator,
                directed,
                filter,
                strip,
                strip_end,
                sheet,
                name,
                entries,
            } => {
                let name = name.clone().unwrap_or_else(|| name_of(file));
                let options = edges::EdgeTableOptions {
                    name: &name,
                    source: from.as_deref(),
                    target: target.as_deref(),
                    weight: weight.as_deref(),
                    heading: if *header { edges::Heading::Named } else { edges::Heading::Numbered },
                    separator: *separator,
                    orientation: if *directed {
                        Orientation::Directed
                    } else {
                        Orientation::Undirected(*entries)
                    },
                    filter,
                    strip,
                    strip_end,
                };
                source.choose_sheet(sheet.as_deref());
                edges::read(source, names, &options)
            }
        }
    }

    pub(super) fn metabolism(
        &mut self,
        given: &MetabolismSource,
        names: &Names,
        gene_count: usize,
    ) -> Result<Metabolism, Error> {
        let file = given.file();
        let source = self.source(file);
        let found = match given {
            MetabolismSource::YeastGem { .. } => yaml::read(&source, names, gene_count)?,
            MetabolismSource::Sbml { .. } => sbml::read(&source, names, gene_count)?,
        };
        self.read(file, &source.digest());
        self.check_loss(source.path(), &found.tally)?;
        let metabolism = found.metabolism;
        self.report.metabolism = Some(MetabolismReport {
            file: file.display().to_string(),
            model_reactions: found.reactions,
            rules: found.rules,
            reactions: metabolism.reactions().len(),
            metabolites: metabolism.metabolites().len(),
            gpr: metabolism.requirements().len(),
            stoichiometry: metabolism.coefficients().len(),
            lost_reactions: found.lost_reactions,
            alternatives: RowReport::from(&found.tally),
        });
        Ok(metabolism)
    }

    /// Rows of genes outside the table are counted and do not matter: features are often those of a whole genome.
    pub(super) fn features(
        &mut self,
        given: &FeatureSource,
        names: &Names,
        gene_count: usize,
    ) -> Result<FeatureFile, Error> {
        let file = given.files()[0];
        let source = self.source(file);
        let found = match given {
            FeatureSource::Table { gene, columns, separator, .. } => {
                features::table::read(&source, names, gene_count, gene.as_deref(), columns, *separator)?
            }
            FeatureSource::Npy { gene_list, name, .. } => {
                let list = self.source(gene_list);
                let found = features::npy::read(&source, &list, names, gene_count, name)?;
                self.read(gene_list, &list.digest());
                found
            }
        };
        self.read(file, &source.digest());
        self.report.features.push(FeatureReport {
            file: file.display().to_string(),
            columns: found.names.len(),
            genes: found.genes(),
            rows: RowReport::from(&found.tally),
        });
        Ok(found)
    }

    /// As for features, genes outside the table do not matter: the files are those of a whole genome.
    pub(super) fn annotations(
        &mut self,
        given: &AnnotationSource,
        names: &Names,
        gene_count: usize,
    ) -> Result<Annotations, Error> {
        let file = given.file();
        let source = self.source(file);
        let (name, sizes) = given.wanted();
        sizes.check().map_err(|kind| source.fail(kind))?;
        let found = match given {
            AnnotationSource::Table { gene, term, separator, sheet, .. } => {
                source.choose_sheet(sheet.as_deref());
                annotation_table::read(&source, names, gene.as_deref(), term.as_deref(), *separator)?
            }
            AnnotationSource::Gmt { .. } => gmt::read(&source, names)?,
            AnnotationSource::Json { .. } => json::read(&source, names)?,
            AnnotationSource::Gaf { aspect, evidence, without, .. } => {
                let options = gaf::GafOptions { aspect, evidence, without: without.as_deref() };
                gaf::read(&source, names, &options)?
            }
        };
        self.read(file, &source.digest());
        let name = name.map_or_else(|| name_of(file), str::to_owned);
        let rows = RowReport::from(&found.tally);
        let kept = found.finish(&name, gene_count, sizes).map_err(|kind| source.fail(kind))?;
        let annotations = kept.annotations;
        self.report.annotations.push(AnnotationReport {
            name,
            file: file.display().to_string(),
            terms: annotations.terms().len(),
            genes: annotations.annotated_genes(),
            pairs: annotations.pair_count(),
            terms_too_small: kept.too_small,
            terms_too_large: kept.too_large,
            rows,
        });
        Ok(annotations)
    }

    pub(super) fn screen(
        &mut self,
        given: &ScreenSource,
        names: &Names,
        genes: &GeneTable,
        collector: &mut MeasurementCollector,
    ) -> Result<Option<ScreenRecords>, Error> {
        let file = given.file();
        let source = self.source(file);
        let label = label_of(given);
        let sink = ScreenSink::new(names, genes, self.choice(given, &label), collector);
        let mut records = None;
        let counts = match given {
            ScreenSource::Torchcell { splits, .. } => {
                let (counts, rows, digest) = lmdb::read(source.path(), self.advance, sink)?;
                self.read(file, &digest);
                let splits = if splits.is_empty() {
                    lmdb::find_splits(source.path())
                } else {
                    splits.iter().map(|split| self.base.join(split)).collect()
                };
                records = Some((rows, splits));
                counts
            }
            _ => read_rows(&source, sink, given)?,
        };
        if records.is_none() {
            self.read(file, &source.digest());
        }
        self.check_loss(source.path(), &counts.tally)?;
        self.report.screens.push(ScreenReport {
            file: file.display().to_string(),
            source: label,
            measurements: counts.measurements,
            orders: counts.orders,
            kinds: counts.kinds,
            allele_names: counts.allele_names,
            rows: RowReport::from(&counts.tally),
        });
        Ok(records)
    }

    /// Adds the genes that a screen's rows name; gives how many rows it has.
    pub(super) fn screen_genes(&self, given: &ScreenSource, named: &mut NamedGenes) -> Result<u64, Error> {
        let label = label_of(given);
        let sink = ScreenSink::of_genes(self.choice(given, &label), named);
        Ok(read_rows(&self.source(given.file()), sink, given)?.tally.rows)
    }

    fn choice<'c>(&self, given: &'c ScreenSource, label: &'c str) -> RowChoice<'c> {
        let (alleles, orders) = choice_of(given);
        RowChoice { source: label, alleles: alleles.unwrap_or(self.recipe.alleles), orders }
    }

    pub(super) fn splits(
        &mut self,
        records: &[ScreenRecords],
        sample_count: usize,
    ) -> Result<Vec<IndexSplit>, Error> {
        let mut splits = Vec::new();
        for (rows, files) in records {
            for file in files {
                let source = Source::file(file, self.advance);
                let found = lmdb::read_split(&source, rows, sample_count)?;
                let shown = file.strip_prefix(self.base).unwrap_or(file).to_owned();
                self.read(&shown, &source.digest());
                self.report.splits.push(SplitReport {
                    name: found.name.clone(),
                    parts: Part::ALL.map(|part| found.split.rows(part).len()),
                    left_out: found.left_out,
                    moved_to_train: found.moved_to_train,
                });
                splits.push(found);
            }
        }
        Ok(splits)
    }
}

/// Reads a screen that is a table of some kind.
fn read_rows(source: &Source<'_>, sink: ScreenSink<'_>, given: &ScreenSource) -> Result<ScreenCounts, Error> {
    match given {
        ScreenSource::Kuzmin2018 { .. } => sga::read_kuzmin(source, sink),
        ScreenSource::Kuzmin2020 { sheet, .. } => {
            source.choose_sheet(sheet.as_deref());
            sga::read_kuzmin(source, sink)
        }
        ScreenSource::Costanzo2016 { .. } => sga::read_costanzo(source, sink),
        ScreenSource::Emap { .. } => emap::read(source, sink),
        ScreenSource::Table { sheet, .. } => {
            source.choose_sheet(sheet.as_deref());
            read_table(source, sink, given)
        }
        ScreenSource::Matrix { shape, kind, decimal, separator, sheet, .. } => {
            source.choose_sheet(sheet.as_deref());
            let options = score_matrix::MatrixOptions {
                shape: *shape,
                kind: kind.as_deref(),
                separator: *separator,
                decimal: *decimal,
            };
            score_matrix::read(source, sink, &options)
        }
        ScreenSource::Torchcell { .. } => sink.finish(),
    }
}

fn read_table(
    source: &Source<'_>,
    sink: ScreenSink<'_>,
    given: &ScreenSource,
) -> Result<ScreenCounts, Error> {
    let ScreenSource::Table {
        genes,
        query,
        score,
        standard_error,
        p_value,
        fitness,
        fitness_sd,
        kind_column,
        allele_columns,
        kind,
        decimal,
        separator,
        filter,
        ..
    } = given
    else {
        return Ok(ScreenCounts::default());
    };
    let options = table::ScoreTableOptions {
        genes,
        query: *query,
        score,
        standard_error: standard_error.as_deref(),
        p_value: p_value.as_deref(),
        fitness: fitness.as_deref(),
        fitness_sd: fitness_sd.as_deref(),
        kind_column: kind_column.as_deref(),
        kind: kind.as_deref(),
        alleles: allele_columns,
        separator: *separator,
        decimal: *decimal,
        filter,
    };
    table::read(source, sink, &options)
}

/// Value of the `source` column.
fn label_of(given: &ScreenSource) -> String {
    match given {
        ScreenSource::Kuzmin2018 { .. } => "kuzmin2018".to_owned(),
        ScreenSource::Kuzmin2020 { .. } => "kuzmin2020".to_owned(),
        ScreenSource::Costanzo2016 { .. } => "costanzo2016".to_owned(),
        ScreenSource::Torchcell { .. } => "torchcell".to_owned(),
        ScreenSource::Emap { file, name, .. }
        | ScreenSource::Table { file, name, .. }
        | ScreenSource::Matrix { file, name, .. } => name.clone().unwrap_or_else(|| name_of(file)),
    }
}

fn choice_of(given: &ScreenSource) -> (Option<crate::import::screens::Alleles>, &[usize]) {
    match given {
        ScreenSource::Kuzmin2018 { alleles, orders, .. }
        | ScreenSource::Kuzmin2020 { alleles, orders, .. }
        | ScreenSource::Table { alleles, orders, .. }
        | ScreenSource::Torchcell { alleles, orders, .. } => (*alleles, orders),
        ScreenSource::Costanzo2016 { alleles, .. }
        | ScreenSource::Emap { alleles, .. }
        | ScreenSource::Matrix { alleles, .. } => (*alleles, &[]),
    }
}
