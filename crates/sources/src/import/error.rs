//! What can be wrong with a source file, and where.
//!
//! Every error names the file and, where there is one, the line, the column and the value. The module knows nothing
//! of the formats.

use knockout_base::error::{Class, Classified, Error, class_of_path};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of a library that decodes a format.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A source that could not be imported.
#[derive(Debug, thiserror::Error)]
#[error("could not import{}{place}", named(path))]
#[non_exhaustive]
pub struct ImportError {
    /// The file or folder at fault; empty where it is the request as a whole.
    pub path: PathBuf,
    /// Location in the file.
    pub place: Place,
    /// The kind of fault.
    #[source]
    pub kind: Box<ImportErrorKind>,
}

/// A place in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The line (of a text) or row (of a sheet, Parquet file or store), from 1.
    pub line: Option<u64>,
    /// The column's name, or its number from 1 where it has none.
    pub column: Option<String>,
}

impl Place {
    /// A line.
    pub fn line(line: u64) -> Self {
        Self { line: Some(line), column: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        Ok(())
    }
}

/// The kind of fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// A packed file holds more than it may.
    #[error("unpacked it has more than {limit_mib} MiB; if that is right, set KNOCKOUT_UNPACK_MIB to more")]
    Unpacked {
        /// Largest size allowed, in MiB.
        limit_mib: u64,
    },
    /// The file cannot be opened.
    #[error("could not be opened")]
    Open(#[source] io::Error),
    /// Reading failed.
    #[error("could not be read")]
    Read(#[source] io::Error),
    /// Compressed data that end early or do not decompress.
    #[error(
        "the compressed data are cut off or damaged ({source}); expected a complete gzip file: download it again"
    )]
    Compressed {
        /// The decoder's error.
        source: BoxedError,
    },
    /// A line beyond any real one.
    #[error("the line is longer than {limit} bytes; expected a text file with one record per line")]
    LongLine {
        /// The most bytes accepted.
        limit: usize,
    },
    /// Not the kind of file that was expected.
    #[error("this is {found}; expected {expected}")]
    SomethingElse {
        /// Format that it looks like.
        found: String,
        /// Format expected.
        expected: String,
    },
    /// Columns that are not there.
    #[error("missing column {} (have: {})", quoted(missing), quoted(have))]
    MissingColumns {
        /// The columns looked for.
        missing: Vec<String>,
        /// The header found.
        have: Vec<String>,
    },
    /// Columns of a table of scores that are not there.
    #[error(
        "missing column {} (have: {}); name the columns, such as --screen FILE,genes=A+B,score=S",
        quoted(missing),
        quoted(have)
    )]
    NoScoreColumns {
        /// The columns looked for.
        missing: Vec<String>,
        /// The header found.
        have: Vec<String>,
    },
    /// A row with too few or too many cells.
    #[error("the row has {found} cells, expected {expected}{hint}")]
    CellCount {
        /// Cells found.
        found: usize,
        /// Cells expected.
        expected: usize,
        /// A guess at the reason, or nothing.
        hint: &'static str,
    },
    /// A value that is not what its column holds.
    #[error("{value:?} is not {expected}")]
    BadValue {
        /// The value found.
        value: String,
        /// The thing expected.
        expected: String,
    },
    /// A quoted cell without its end.
    #[error("a quoted cell is not closed before the end of the line; expected a second '\"'")]
    OpenQuote,
    /// Nothing in it.
    #[error("there is no {what} in it")]
    Empty {
        /// The thing expected.
        what: &'static str,
    },
    /// Too much names genes outside the table.
    #[error(
        "{left_out} of {rows} rows ({share:.0} %) name genes not in the table, e.g. {}; give a larger gene table or \
         aliases (--genes, --aliases), or accept the loss with --allow-missing{hint}",
        quoted(examples)
    )]
    TooManyUnknown {
        /// Rows left out.
        left_out: u64,
        /// Rows in all.
        rows: u64,
        /// The share in per cent.
        share: f64,
        /// Some of the names.
        examples: Vec<String>,
        /// A guess at the reason, or nothing.
        hint: String,
    },
    /// The same genes and kind twice where that is refused.
    #[error(
        "{genes} ({kind}) was measured before, in line {first} of {source_name:?}; merge repeats with --duplicates mean or first"
    )]
    Duplicate {
        /// Names of the genes, joined by `+`.
        genes: String,
        /// The kind of perturbation.
        kind: String,
        /// The earlier line.
        first: u64,
        /// The source of the earlier line.
        source_name: String,
    },
    /// More than the format holds.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// The things counted.
        what: &'static str,
        /// Largest number that fits.
        limit: usize,
    },
    /// A gene-protein-reaction rule that does not parse.
    #[error("the rule {rule:?} does not parse")]
    Rule {
        /// Text of the rule.
        rule: String,
        /// Position and cause of the syntax error.
        #[source]
        source: Error,
    },
    /// The cell, a sample or a split cannot be built from it.
    #[error(transparent)]
    Data(Error),
    /// A library could not decode the file.
    #[error("{what} cannot be decoded")]
    Decode {
        /// The thing being decoded.
        what: &'static str,
        /// The decoder's error.
        source: BoxedError,
    },
    /// The request itself cannot be carried out.
    #[error("{0}")]
    Request(String),
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

impl ImportErrorKind {
    /// The error at a place.
    pub fn at(self, path: &Path, place: Place) -> ImportError {
        ImportError { path: path.to_owned(), place, kind: Box::new(self) }
    }

    /// The error of a whole file.
    pub fn of(self, path: &Path) -> ImportError {
        self.at(path, Place::default())
    }
}

impl Classified for ImportError {
    fn class(&self) -> Class {
        self.kind.class()
    }
}

impl Classified for ImportErrorKind {
    fn class(&self) -> Class {
        match self {
            Self::Request(_) => Class::Request,
            // A name that the operating system does not take.
            Self::Open(error) if error.kind() == io::ErrorKind::InvalidInput => Class::Request,
            Self::Open(error) => class_of_path(error.kind()),
            Self::Read(_) => Class::Failure,
            _ => Class::Damage,
        }
    }
}

/// A path behind a space, if there is one.
fn named(path: &Path) -> String {
    if path.as_os_str().is_empty() { String::new() } else { format!(" {}", path.display()) }
}
