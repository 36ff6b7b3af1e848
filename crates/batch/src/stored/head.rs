//! The head of a store's LMDB file, in the words of stores.

use super::error::StoreErrorKind;
use knockout_durable::{LmdbHead, LmdbHeadError};
use std::fs::File;

/// Refuses what is no whole LMDB file.
pub(super) fn check(file: &mut File) -> Result<LmdbHead, StoreErrorKind> {
    LmdbHead::check(file).map_err(|error| match error {
        LmdbHeadError::CutOff { length, needed } => StoreErrorKind::CutOff { length, needed },
        LmdbHeadError::SomethingElse => {
            StoreErrorKind::NotAStore { detail: "its data.mdb is no LMDB file".to_owned() }
        }
        LmdbHeadError::Io(error) => StoreErrorKind::io("read")(error),
    })
}
