//! Report of an import: counts per source, rows left out, and why. Written as `import-report.json`.

use crate::import::altered::LooksLike;
pub use crate::import::genes::NameKinds;
use crate::import::names::UnresolvedNames;
use crate::import::networks::EdgeCounts;
use crate::import::screens::Merged;
use crate::import::source::RowTally;
use knockout_data::screen::Repeats;
use serde::Serialize;
use std::collections::BTreeMap;

/// Report of an import.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ImportReport {
    /// Version of this document.
    pub schema: u32,
    /// The dataset's name.
    pub name: String,
    /// Genes in the table.
    pub genes: usize,
    /// Names that lead to a gene.
    pub names: usize,
    /// The sources of genes and aliases.
    pub gene_sources: Vec<GeneReport>,
    /// The networks, in their order.
    pub networks: Vec<NetworkReport>,
    /// The metabolic model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metabolism: Option<MetabolismReport>,
    /// The files of content features, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<FeatureReport>,
    /// The sets of annotations, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<AnnotationReport>,
    /// The screens, in their order.
    pub screens: Vec<ScreenReport>,
    /// The samples that came out of them.
    pub samples: SampleReport,
    /// Splits taken over.
    pub splits: Vec<SplitReport>,
}

/// Counts of a file of genes or aliases.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GeneReport {
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Rows read.
    pub rows: u64,
    /// Genes added to the table.
    pub genes: u64,
    /// Names that came to lead to a gene.
    pub names: u64,
    /// Rows whose gene is not in the table (aliases), or was there already (genes).
    pub left_out: u64,
    /// Genes of the table whose names a spreadsheet seems to have altered.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub altered_names: BTreeMap<String, LooksLike>,
    /// Kinds of the names, where the screens define the genes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_kinds: Option<NameKinds>,
}

/// Counts of one network of a file.
#[derive(Debug, Clone, Serialize)]
pub struct NetworkReport {
    /// Name of the network in the dataset.
    pub name: String,
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Edges kept, dropped and listed again.
    pub counts: EdgeCounts,
    /// The file's rows, the same for all networks of one file.
    pub rows: RowReport,
}

/// Counts of the metabolic model.
#[derive(Debug, Clone, Serialize)]
pub struct MetabolismReport {
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Reactions in the file.
    pub model_reactions: u64,
    /// Reactions in the file that have a rule.
    pub rules: u64,
    /// Reaction nodes: one per alternative and direction.
    pub reactions: usize,
    /// Number of metabolites.
    pub metabolites: usize,
    /// Gene-reaction entries.
    pub gpr: usize,
    /// Reaction-metabolite entries.
    pub stoichiometry: usize,
    /// Reactions left out with all their alternatives.
    pub lost_reactions: Vec<String>,
    /// Alternatives read and left out.
    pub alternatives: RowReport,
}

/// Counts of a file of content features.
#[derive(Debug, Clone, Serialize)]
pub struct FeatureReport {
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Features.
    pub columns: usize,
    /// Genes of the table that have them.
    pub genes: usize,
    /// The file's rows.
    pub rows: RowReport,
}

/// Counts of a file of annotations.
#[derive(Debug, Clone, Serialize)]
pub struct AnnotationReport {
    /// Name of the set in the dataset.
    pub name: String,
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Terms kept.
    pub terms: usize,
    /// Genes of the table that have one of them.
    pub genes: usize,
    /// Pairs of a gene and a term that it has.
    pub pairs: usize,
    /// Terms left out because fewer genes of the table have them.
    pub terms_too_small: u64,
    /// Terms left out because more genes of the table have them.
    pub terms_too_large: u64,
    /// The file's rows.
    pub rows: RowReport,
}

/// Counts of a screen.
#[derive(Debug, Clone, Serialize)]
pub struct ScreenReport {
    /// Path of the file, as the recipe names it.
    pub file: String,
    /// Value of the `source` column.
    pub source: String,
    /// Rows that became samples or joined one.
    pub measurements: u64,
    /// These rows by number of genes.
    pub orders: BTreeMap<usize, u64>,
    /// These rows by kind of perturbation.
    pub kinds: BTreeMap<String, u64>,
    /// These rows with a gene whose name states the allele, such as `cdc48-3`.
    pub allele_names: u64,
    /// The file's rows.
    pub rows: RowReport,
}

/// The samples of the dataset.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SampleReport {
    /// Number of samples in the dataset.
    pub count: usize,
    /// Samples by number of genes.
    pub orders: BTreeMap<usize, u64>,
    /// Samples by kind of perturbation.
    pub kinds: BTreeMap<String, u64>,
    /// Measurements that joined an earlier one.
    pub merged: u64,
    /// These by the alleles of both.
    pub merged_by_alleles: Merged,
    /// Gene sets with several samples: different alleles or kinds of perturbation.
    pub sets_with_several_samples: usize,
    /// Samples whose score is a mean over different alleles of the same genes.
    pub of_several_alleles: usize,
    /// Merged measurements whose query differed from the first one's, which is kept.
    pub conflicting_queries: u64,
    /// How well measurements of the same genes agree.
    pub repeats: Vec<Repeats>,
}

/// A split taken over.
#[derive(Debug, Clone, Serialize)]
pub struct SplitReport {
    /// The split file's name without its ending.
    pub name: String,
    /// Samples of train, val and test.
    pub parts: [usize; 3],
    /// Records that were left out of the dataset.
    pub left_out: u64,
    /// Records that merged into a sample of another part, which trains.
    pub moved_to_train: u64,
}

/// Counts of a file's rows: read, kept and left out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RowReport {
    /// Rows read.
    pub read: u64,
    /// Rows left out because they name a gene that is not in the table, or one that cannot be told from another.
    pub unknown_gene: u64,
    /// The names, with how often each kept a row out.
    pub unknown_names: BTreeMap<String, UnknownName>,
    /// Occurrences of further names, beyond those listed.
    pub unlisted: u64,
    /// Rows left out for other reasons.
    pub skipped: BTreeMap<String, u64>,
    /// The most frequent unknown names.
    #[serde(skip)]
    pub examples: Vec<String>,
}

/// A name that leads to no gene.
#[derive(Debug, Clone, Serialize)]
pub struct UnknownName {
    /// Rows it kept out.
    pub rows: u64,
    /// The first of them.
    pub first_line: u64,
    /// Whether several genes claim the name, rather than none.
    pub ambiguous: bool,
    /// The thing that the name looks like, where a spreadsheet seems to have altered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks_like: Option<LooksLike>,
}

impl From<&RowTally> for RowReport {
    fn from(tally: &RowTally) -> Self {
        let unresolved: &UnresolvedNames = &tally.unresolved;
        Self {
            read: tally.rows,
            unknown_gene: unresolved.rows(),
            unknown_names: unresolved
                .names()
                .iter()
                .map(|(name, found)| {
                    let unknown = UnknownName {
                        rows: found.count,
                        first_line: found.first_line,
                        ambiguous: found.is_ambiguous,
                        looks_like: LooksLike::of(name),
                    };
                    (name.clone(), unknown)
                })
                .collect(),
            unlisted: unresolved.unlisted(),
            skipped: tally.skipped.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
            examples: unresolved.examples(),
        }
    }
}
