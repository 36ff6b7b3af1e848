//! Every kind of source with its options. A field's comment is the documentation of the option.
//!
//! A variant is a format and a field an option, with the type that serde reads: `tagged` and `spec` derive both spellings from it.

use crate::import::annotations::TermSizes;
use crate::import::annotations::gaf::Aspect;
use crate::import::networks::Evidence;
use crate::import::networks::tflink::EvidenceScale;
use crate::import::read::{DecimalMark, Separator};
use crate::import::screens::Alleles;
use crate::import::screens::matrix::MatrixShape;
use knockout_data::cell::Entries;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn orf() -> Vec<String> {
    vec!["ORF".to_owned()]
}

fn yeast_taxon() -> u32 {
    4932
}

fn s288c() -> u32 {
    559_292
}

fn score() -> String {
    "score".to_owned()
}

fn feature() -> String {
    "f".to_owned()
}

fn two() -> u32 {
    2
}

fn yes() -> bool {
    true
}

/// A source of genes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum GeneSource {
    /// `SGD_features.tab`, sorted by systematic name, with its standard names and aliases.
    Sgd {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Feature types; ORF alone by default.
        #[serde(default = "orf")]
        types: Vec<String>,
        /// Qualifiers such as Verified; all by default.
        #[serde(default)]
        qualifiers: Vec<String>,
    },
    /// One name per line, in this order.
    List {
        /// Path relative to the base folder of the import.
        file: PathBuf,
    },
    /// The gene set of the Python system's dataset.
    Torchcell {
        /// The dataset's root folder.
        file: PathBuf,
    },
}

impl GeneSource {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Sgd { file, .. } | Self::List { file } | Self::Torchcell { file } => file,
        }
    }
}

/// A source of aliases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum AliasSource {
    /// `SGD_features.tab`.
    Sgd {
        /// Path relative to the base folder of the import.
        file: PathBuf,
    },
    /// STRING's `protein.aliases`.
    String {
        /// Path relative to the base folder of the import.
        file: PathBuf,
    },
    /// Any table with a column of gene names and columns of other names.
    Table {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Column of names that lead to a gene already.
        gene: String,
        /// Columns of other names.
        alias: Vec<String>,
    },
}

impl AliasSource {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Sgd { file } | Self::String { file } | Self::Table { file, .. } => file,
        }
    }
}

/// A source of networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum NetworkSource {
    /// STRING links: `links.detailed`, `links.full`, `physical.links`, `physical.links.full`.
    String {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Channels, one network each; by default the six of `links.detailed`, or the combined score.
        #[serde(default)]
        channels: Vec<String>,
        /// Lowest score (1 to 1000) of an edge.
        #[serde(default)]
        threshold: u32,
        /// Thresholds of single channels.
        #[serde(default)]
        thresholds: BTreeMap<String, u32>,
        /// The name of a single channel's network, or what stands before `_channel` in several; from the file's
        /// version by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// NCBI taxon that begins the file's protein names.
        #[serde(default = "yeast_taxon")]
        taxon: u32,
        /// Entries per edge.
        #[serde(default)]
        entries: Entries,
    },
    /// The DANGO repository's adjacency text.
    Dango {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The gene list its numbers mean.
        gene_list: PathBuf,
        /// The network's name; `string9_1_<channel>` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Entries per edge.
        #[serde(default)]
        entries: Entries,
    },
    /// SGD's `interaction_data.tab`.
    Sgd {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Physical or genetic interactions.
        #[serde(default)]
        evidence: Evidence,
        /// The network's name; `physical` or `genetic` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Entries per edge.
        #[serde(default)]
        entries: Entries,
    },
    /// BioGRID tab3.
    Biogrid {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Physical or genetic interactions.
        #[serde(default)]
        evidence: Evidence,
        /// The organism of both ends.
        #[serde(default = "s288c")]
        organism: u32,
        /// The network's name; `biogrid_physical` or `biogrid_genetic` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Entries per edge.
        #[serde(default)]
        entries: Entries,
    },
    /// TFLink's simple format; directed.
    Tflink {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// All rows, or those with small-scale evidence.
        #[serde(default)]
        scale: EvidenceScale,
        /// The network's name; `tflink` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A regulation matrix: a line per target, a column per regulator; directed.
    Yeastract {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The network's name; `yeastract` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Any edge list: text, xlsx or Parquet.
    Edges {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Column of the first gene; a usual name by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Column of the second gene; a usual name by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Column of the weight; `weight` where there is one, 1 otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<String>,
        /// Whether the first line names the columns; otherwise they are numbers from 1.
        #[serde(default = "yes")]
        header: bool,
        /// Separator of cells; guessed by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator>,
        /// Whether edges have a direction.
        #[serde(default)]
        directed: bool,
        /// Only rows with these values in these columns.
        #[serde(default, rename = "where")]
        filter: BTreeMap<String, String>,
        /// A prefix that every gene name carries.
        #[serde(default)]
        strip: String,
        /// An ending that gene names may carry, such as the `p` of `Ste12p`.
        #[serde(default)]
        strip_end: String,
        /// The sheet of a workbook; the first by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sheet: Option<String>,
        /// The network's name; from the file's by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Entries per undirected edge.
        #[serde(default)]
        entries: Entries,
    },
}

impl NetworkSource {
    /// Whether the networks are genetic interactions by their source.
    pub(crate) fn is_genetic(&self) -> bool {
        let (Self::Sgd { evidence, .. } | Self::Biogrid { evidence, .. }) = self else { return false };
        *evidence == Evidence::Genetic
    }

    pub(crate) fn files(&self) -> Vec<&Path> {
        match self {
            Self::Dango { file, gene_list, .. } => vec![file, gene_list],
            Self::String { file, .. }
            | Self::Sgd { file, .. }
            | Self::Biogrid { file, .. }
            | Self::Tflink { file, .. }
            | Self::Yeastract { file, .. }
            | Self::Edges { file, .. } => vec![file],
        }
    }
}

/// A source of content features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum FeatureSource {
    /// A text table with a column of genes and columns of numbers.
    Table {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Column of the genes; `gene`, `systematic`, `orf`, `locus` or `name` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gene: Option<String>,
        /// Columns to take; all others by default.
        #[serde(default)]
        columns: Vec<String>,
        /// Separator of cells; guessed by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator>,
    },
    /// A `NumPy` array (.npy), a row for each gene of a list.
    Npy {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The genes of its rows, one per line.
        gene_list: PathBuf,
        /// Beginning of the columns' names; `f` by default.
        #[serde(default = "feature")]
        name: String,
    },
}

impl FeatureSource {
    /// The features, then what goes with them.
    pub(crate) fn files(&self) -> Vec<&Path> {
        match self {
            Self::Table { file, .. } => vec![file],
            Self::Npy { file, gene_list, .. } => vec![file, gene_list],
        }
    }
}

/// A source of annotations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum AnnotationSource {
    /// Any table with a column of genes and a column of terms: text, xlsx or Parquet.
    Table {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Column of the genes; `gene`, `systematic`, `orf`, `locus` or `name` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gene: Option<String>,
        /// Column of the terms; `term`, `annotation`, `go_id`, `complex` or `pathway` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        term: Option<String>,
        /// Separator of cells; guessed by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator>,
        /// The sheet of a workbook; the first by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sheet: Option<String>,
        /// The name of the set; from the file's by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Minimum number of genes of the table per term; 2 by default, because a term with one gene carries no similarity.
        #[serde(default = "two")]
        min_genes: u32,
        /// Maximum number of genes of the table per term; no limit by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_genes: Option<u32>,
    },
    /// GMT: a line per term, with its description and its genes.
    Gmt {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The name of the set; from the file's by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Minimum number of genes of the table per term; 2 by default, because a term with one gene carries no similarity.
        #[serde(default = "two")]
        min_genes: u32,
        /// Maximum number of genes of the table per term; no limit by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_genes: Option<u32>,
    },
    /// A JSON object that has a list of terms for every gene.
    Json {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The name of the set; from the file's by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Minimum number of genes of the table per term; 2 by default, because a term with one gene carries no similarity.
        #[serde(default = "two")]
        min_genes: u32,
        /// Maximum number of genes of the table per term; no limit by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_genes: Option<u32>,
    },
    /// A gene association file of GO, GAF 2.1 or 2.2.
    Gaf {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Parts of GO: P, F, C; all by default.
        #[serde(default)]
        aspect: Vec<Aspect>,
        /// Evidence codes to keep; all but those left out by default.
        #[serde(default)]
        evidence: Vec<String>,
        /// Evidence codes to leave out; IGI and HGI by default, unless `evidence` is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        without: Option<Vec<String>>,
        /// The name of the set; from the file's by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Minimum number of genes of the table per term; 2 by default, because a term with one gene carries no similarity.
        #[serde(default = "two")]
        min_genes: u32,
        /// Maximum number of genes of the table per term; no limit by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_genes: Option<u32>,
    },
}

impl AnnotationSource {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Table { file, .. }
            | Self::Gmt { file, .. }
            | Self::Json { file, .. }
            | Self::Gaf { file, .. } => file,
        }
    }

    /// Returns the requested name, and how many genes a term must have.
    pub(crate) fn wanted(&self) -> (Option<&str>, TermSizes) {
        let (Self::Table { name, min_genes, max_genes, .. }
        | Self::Gmt { name, min_genes, max_genes, .. }
        | Self::Json { name, min_genes, max_genes, .. }
        | Self::Gaf { name, min_genes, max_genes, .. }) = self;
        (name.as_deref(), TermSizes { least: *min_genes, most: *max_genes })
    }
}

/// A source of metabolism.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum MetabolismSource {
    /// `yeast-GEM.yml`.
    YeastGem {
        /// Path relative to the base folder of the import.
        file: PathBuf,
    },
    /// SBML with the fbc package.
    Sbml {
        /// Path relative to the base folder of the import.
        file: PathBuf,
    },
}

impl MetabolismSource {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::YeastGem { file } | Self::Sbml { file } => file,
        }
    }
}

/// A source of samples.
#[expect(clippy::large_enum_variant, reason = "a recipe has a handful of them")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum ScreenSource {
    /// Kuzmin 2018, Data S1 or S2.
    Kuzmin2018 {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Numbers of genes wanted: 2, 3 or both; all by default.
        #[serde(default)]
        orders: Vec<usize>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// Kuzmin 2020, table S1 or S3, as xlsx or text.
    Kuzmin2020 {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Numbers of genes wanted: 2, 3 or both; all by default.
        #[serde(default)]
        orders: Vec<usize>,
        /// The sheet of a workbook; the first by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sheet: Option<String>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// Costanzo 2016, an SGA table.
    Costanzo2016 {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// E-MAP pairs: `gene_a allele_a gene_b allele_b s_score`.
    Emap {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Content of the `source` column; the file's name by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// Any table of scores: text, xlsx or Parquet.
    Table {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// Columns of genes, those of the query first; a cell may hold several. By default `gene_a`, `gene_b` and, where there is
        /// one, `gene_c`, with one gene in each cell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        genes: Vec<String>,
        /// How many of these columns are the query's.
        #[serde(default)]
        query: usize,
        /// Column of the score; `score` by default.
        #[serde(default = "score")]
        score: String,
        /// Column of the score's standard error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standard_error: Option<String>,
        /// Column of the p-value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p_value: Option<String>,
        /// Column of the fitness.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fitness: Option<String>,
        /// Column of its standard deviation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fitness_sd: Option<String>,
        /// Column of the kind of perturbation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind_column: Option<String>,
        /// Columns of alleles, one for each column of genes in their order; none by default.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allele_columns: Vec<String>,
        /// The kind of every row without such a column; deletions of unstated alleles by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Numbers of genes wanted; all by default.
        #[serde(default)]
        orders: Vec<usize>,
        /// Decimal mark; the numbers decide by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimal: Option<DecimalMark>,
        /// Separator of cells; guessed by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator>,
        /// Only rows with these values in these columns.
        #[serde(default, rename = "where")]
        filter: BTreeMap<String, String>,
        /// The sheet of a workbook; the first by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sheet: Option<String>,
        /// Content of the `source` column; the file's name by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// A matrix of scores: a gene in each row, a gene in each column.
    Matrix {
        /// Path relative to the base folder of the import.
        file: PathBuf,
        /// The strains of rows and columns; labels and scores decide by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shape: Option<MatrixShape>,
        /// The kind of perturbation of every cell; deletions of unstated alleles by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Decimal mark; the numbers decide by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimal: Option<DecimalMark>,
        /// Separator of cells; guessed by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator>,
        /// The sheet of a workbook; the first by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sheet: Option<String>,
        /// Content of the `source` column; the file's name by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
    /// The Python system's processed dataset.
    Torchcell {
        /// Its root folder.
        file: PathBuf,
        /// Split files; those in `data_module_cache` by default.
        #[serde(default)]
        splits: Vec<PathBuf>,
        /// Numbers of genes wanted; all by default.
        #[serde(default)]
        orders: Vec<usize>,
        /// Perturbations; the recipe's choice by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alleles: Option<Alleles>,
    },
}

impl ScreenSource {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Kuzmin2018 { file, .. }
            | Self::Kuzmin2020 { file, .. }
            | Self::Costanzo2016 { file, .. }
            | Self::Emap { file, .. }
            | Self::Table { file, .. }
            | Self::Matrix { file, .. }
            | Self::Torchcell { file, .. } => file,
        }
    }
}
