//! What can be wrong with a cell graph.

/// A cell graph that cannot exist; the place in the input is named as closely as the value in memory allows.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// A gene without a systematic name.
    #[error("gene {row} has an empty systematic name")]
    EmptyGeneName {
        /// Row in the gene table, from 0.
        row: usize,
    },
    /// The same systematic name twice.
    #[error("gene {name:?} stands in rows {first} and {second} of the gene table")]
    DuplicateGene {
        /// The repeated name.
        name: String,
        /// Row of its first appearance, from 0.
        first: usize,
        /// Row of its second appearance.
        second: usize,
    },
    /// More genes, edges or entries than the 32-bit indices hold.
    #[error("{what} has {count} entries; at most {limit} fit")]
    TooLarge {
        /// The thing that is too large.
        what: String,
        /// Its number of entries.
        count: usize,
        /// Largest number that fits.
        limit: usize,
    },
    /// Two networks of one name.
    #[error("there are two networks called {name:?}")]
    DuplicateNetwork {
        /// The repeated name.
        name: String,
    },
    /// A network built for another number of genes.
    #[error("network {network:?} was built for {found} genes, the table has {expected}")]
    WrongGeneCount {
        /// Name of the network.
        network: String,
        /// Genes it was built for.
        found: usize,
        /// Genes in the table.
        expected: usize,
    },
    /// An index beyond its table.
    #[error("entry {entry} of {list} names {what} {index}, but there are only {count}")]
    OutOfRange {
        /// The list that holds the entry.
        list: String,
        /// Position of the entry, from 0.
        entry: usize,
        /// What is indexed: a gene, a reaction, a metabolite.
        what: &'static str,
        /// The index found.
        index: u32,
        /// Number of them in the table.
        count: usize,
    },
    /// A self-loop where the policy refuses them.
    #[error("entry {entry} of network {network:?} is a self-loop on gene {gene}")]
    SelfLoop {
        /// Name of the network.
        network: String,
        /// Position of the entry, from 0.
        entry: usize,
        /// Row of the gene table at both ends.
        gene: u32,
    },
    /// A weight or coefficient that is not a usable number.
    #[error("entry {entry} of {list} has the value {value}")]
    BadNumber {
        /// The list that holds the entry.
        list: String,
        /// Position of the entry, from 0.
        entry: usize,
        /// The value found.
        value: f64,
    },
    /// The same pair of indices twice in a list that must be a set.
    #[error("{list} holds the pair ({first}, {second}) twice")]
    DuplicateEntry {
        /// Name of the list.
        list: &'static str,
        /// First index of the pair.
        first: u32,
        /// Second index of the pair.
        second: u32,
    },
    /// Features without a column.
    #[error("there is no feature")]
    NoFeatures,
    /// A feature that cannot be told from another.
    #[error("the name of a feature, {name:?}, is empty or occurs twice")]
    FeatureName {
        /// Name of the column.
        name: String,
    },
    /// Features of another number of genes.
    #[error("there are features of {found} genes, the table has {expected}")]
    FeatureRows {
        /// Genes with features.
        found: usize,
        /// Genes in the table.
        expected: usize,
    },
    /// Annotations without a name.
    #[error("a set of annotations has no name")]
    NoAnnotationName,
    /// Annotations of nothing.
    #[error("annotations {name:?} give no gene a term")]
    NoAnnotations {
        /// Name of the set.
        name: String,
    },
    /// A term that cannot be told from another.
    #[error("a term of annotations {name:?}, {term:?}, is empty or occurs twice")]
    TermName {
        /// Name of the set.
        name: String,
        /// Text of the term.
        term: String,
    },
    /// Annotations of another number of genes.
    #[error("annotations {name:?} were made for {found} genes, the table has {expected}")]
    AnnotatedGenes {
        /// Name of the set.
        name: String,
        /// Genes they were made for.
        found: usize,
        /// Genes in the table.
        expected: usize,
    },
    /// Two sets of annotations of one name.
    #[error("there are two sets of annotations called {name:?}; give one of them another name")]
    DuplicateAnnotations {
        /// The repeated name.
        name: String,
    },
    /// A deletion of nothing.
    #[error("a deletion needs at least one gene")]
    EmptyDeletion,
    /// A deletion that names a gene twice.
    #[error("gene {gene} is deleted twice in one set")]
    RepeatedGene {
        /// Row of the gene table.
        gene: u32,
    },
}
