//! What can be wrong with a table.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What can be wrong with a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Not Parquet, or damaged.
    #[error("the Parquet data cannot be decoded")]
    Parquet(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is not enough memory for what it says it holds.
    #[error("it does not fit into memory")]
    TooLarge(#[source] knockout_base::memory::TooLarge),
    /// A column is not there.
    #[error("column {name:?} is missing (have: {})", have.join(", "))]
    Missing {
        /// The column looked for.
        name: String,
        /// The columns found.
        have: Vec<String>,
    },
    /// A column of another type.
    #[error("column {name:?} holds {found}, expected {expected}")]
    WrongType {
        /// Name of the column.
        name: String,
        /// Type it has in the file.
        found: String,
        /// The type it should have.
        expected: &'static str,
    },
    /// A null where there must be a value.
    #[error("column {name:?} has no value in row {row}")]
    Null {
        /// Name of the column.
        name: String,
        /// The row, from 0.
        row: usize,
    },
    /// Columns of unlike lengths.
    #[error("column {name:?} has {found} rows, the table has {expected}")]
    Length {
        /// Name of the column.
        name: String,
        /// Rows it has.
        found: usize,
        /// Rows it should have.
        expected: usize,
    },
}

impl From<parquet::errors::ParquetError> for TableError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Parquet(error.into())
    }
}

/// Runs a reader that panics on some damaged files (the `parquet` crate asserts that lengths are not negative), and makes that an error.
pub(crate) fn without_panic<T>(read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    // Whatever the reader leaves half done is dropped with it.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(TableError::Parquet(said.unwrap_or_else(|| "the reader gave up".to_owned()).into()))
    })
}
