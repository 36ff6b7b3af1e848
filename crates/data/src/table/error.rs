//! Errors of the Parquet reader.

use knockout_base::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Data that the `parquet` crate cannot decode.
pub(super) fn undecodable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::damage("the Parquet data cannot be decoded").caused_by(cause)
}

/// A column of another type.
pub(super) fn wrong_type(name: &str, found: &str, expected: &str) -> Error {
    Error::damage(format!("column {name:?} holds {found}, expected {expected}"))
}

/// Runs a reader that panics on some damaged files (the `parquet` crate asserts that lengths are not negative), and makes that an error.
pub(super) fn without_panic<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    // Whatever the reader leaves half done is dropped with it.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(undecodable(text.unwrap_or_else(|| "the reader gave up".to_owned())))
        }
    }
}
