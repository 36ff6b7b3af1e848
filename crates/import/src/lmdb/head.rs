//! The head of an LMDB file, in the words of importers.

use crate::error::ImportErrorKind;
use knockout_durable::{LmdbHead, LmdbHeadError};
use std::fs::File;

/// Refuses what is no whole LMDB file.
pub(super) fn check(file: &mut File) -> Result<(), ImportErrorKind> {
    LmdbHead::check(file).map(drop).map_err(|error| match error {
        LmdbHeadError::CutOff { .. } => {
            ImportErrorKind::Decode { what: "the LMDB file", detail: error.to_string() }
        }
        LmdbHeadError::SomethingElse => ImportErrorKind::SomethingElse {
            found: error.to_string(),
            expected: "the data.mdb of the Python system's processed dataset".to_owned(),
        },
        LmdbHeadError::Io(error) => ImportErrorKind::Read(error),
    })
}
