//! What can go wrong with a dataset directory, and whose fault it is.

use crate::cell::CellError;
use crate::screen::SampleError;
use crate::table::TableError;
use knockout_base::error::{Class, Classified, class_of_path};
use knockout_base::files::DurableError;
use std::io;
use std::path::{Path, PathBuf};

/// A dataset that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("dataset {}", path.display())]
#[non_exhaustive]
pub struct DatasetError {
    /// The file or folder at fault.
    pub path: PathBuf,
    /// The kind of fault.
    #[source]
    pub kind: DatasetErrorKind,
}

/// The kind of fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetErrorKind {
    /// The folder is not there.
    #[error("there is no such folder; make one with `knockout data synth` or `knockout data import`")]
    NotFound,
    /// The folder is something else.
    #[error("this folder has no dataset.toml, so it is no dataset")]
    NotADataset,
    /// Input or output failed.
    #[error("could not be read")]
    Io(#[source] io::Error),
    /// Writing failed; nothing was changed.
    #[error("could not be written; nothing was changed")]
    Write(#[source] DurableError),
    /// A file to be kept beside the data could not be written; nothing was changed.
    #[error("a file to be kept with it could not be written; nothing was changed")]
    Attach(#[source] io::Error),
    /// The description does not parse.
    #[error("the description does not parse")]
    Manifest(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The description was changed after it was written.
    #[error(
        "the description does not match its own checksum: it was edited or damaged; restore it or rebuild the dataset"
    )]
    ManifestChecksum,
    /// A format from the future.
    #[error(
        "format version {found} is newer than this program reads ({supported}); install a newer knockout"
    )]
    NewerFormat {
        /// The version found.
        found: u32,
        /// The newest version this program reads.
        supported: u32,
    },
    /// A file the description lists is not there.
    #[error("the file is listed in dataset.toml but missing; restore it or rebuild the dataset")]
    MissingFile,
    /// A file is not what was written.
    #[error(
        "the content does not match its checksum (expected {expected}, found {found}): the file is damaged; restore it or rebuild the dataset"
    )]
    Checksum {
        /// The checksum in the description.
        expected: String,
        /// The checksum of the file.
        found: String,
    },
    /// The name of a network or of annotations that cannot be a file name.
    #[error("{name:?} cannot name {what}: use letters, digits, '_', '-' and '.', not first")]
    BadName {
        /// The thing named.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A feature with the name of the column of genes.
    #[error("a feature cannot be called {name:?}, which is the column of the genes: rename it")]
    FeatureName {
        /// Name of the feature.
        name: String,
    },
    /// Features in another order than the genes.
    #[error("row {row} has the features of {found:?}, and gene {row} is {expected:?}; rebuild the dataset")]
    OtherGene {
        /// The row, from 0.
        row: usize,
        /// The gene there.
        found: String,
        /// The gene of the table.
        expected: String,
    },
    /// Rows that a table of distinct ones has again.
    #[error("{repeated} rows repeat others; rebuild the dataset")]
    RepeatedRows {
        /// How many there are too many.
        repeated: usize,
    },
    /// A name in the description that leads out of the dataset's folder.
    #[error("the description names {name:?}, which is no file of a dataset")]
    Outside {
        /// Path as the description has it.
        name: String,
    },
    /// A column is wrong.
    #[error(transparent)]
    Columns(#[from] TableError),
    /// The cell graph is impossible.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A sample is impossible.
    #[error("row {row}: {source}")]
    Sample {
        /// The row, from 0.
        row: usize,
        /// The kind of fault.
        source: SampleError,
    },
    /// The description counts something else.
    #[error("dataset.toml counts {expected} {what}, the file has {found}")]
    Count {
        /// The things counted.
        what: &'static str,
        /// The count in the description.
        expected: usize,
        /// The count in the file.
        found: usize,
    },
    /// A word that is none of the known ones.
    #[error("row {row} of column {column:?} is {found:?}; expected {expected}")]
    BadWord {
        /// The row, from 0.
        row: usize,
        /// Name of the column.
        column: &'static str,
        /// The word found.
        found: String,
        /// Values accepted.
        expected: &'static str,
    },
}

impl DatasetErrorKind {
    pub(super) fn at(self, path: &Path) -> DatasetError {
        DatasetError { path: path.to_owned(), kind: self }
    }
}

impl Classified for DatasetError {
    fn class(&self) -> Class {
        use DatasetErrorKind as Kind;
        match &self.kind {
            Kind::NotFound | Kind::NotADataset | Kind::BadName { .. } | Kind::FeatureName { .. } => {
                Class::Request
            }
            Kind::Io(error) => class_of_path(error.kind()),
            Kind::Write(error) => error.class(),
            Kind::Columns(TableError::TooLarge(error)) => error.class(),
            Kind::Attach(_) => Class::Failure,
            _ => Class::Damage,
        }
    }
}
