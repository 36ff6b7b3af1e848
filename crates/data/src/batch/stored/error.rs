//! Errors that reading and writing a store have in common.

use crate::lmdb::LmdbError;
use knockout_base::error::{Class, Error, class_of_path};
use std::io;

/// An environment that is not a store of knockout.
pub(super) fn not_a_store(detail: impl std::fmt::Display) -> Error {
    Error::damage(format!("this is not a store of knockout ({detail}); choose another folder"))
}

/// An operation that the operating system refused; `act` is a participle, such as `read`.
pub(super) fn refused(act: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return Error::failure(
                "the disk is full; what is stored so far is safe: free some space and run the same command again to resume",
            );
        }
        Error::new(class_of_path(error.kind()), format!("could not be {act}")).caused_by(error)
    }
}

/// A folder without a store.
pub(super) fn no_store() -> Error {
    Error::request("there is no store; make one with `knockout data precompute DIR --indices` or `--masks`")
}

/// An error of LMDB; `act` is a participle, such as `read`.
pub(super) fn lmdb(act: &'static str) -> impl Fn(LmdbError) -> Error {
    move |error| match error {
        LmdbError::NotLmdb => not_a_store("its data.mdb is not an LMDB file"),
        LmdbError::CutOff { length, needed } => Error::damage(format!(
            "the LMDB file is cut off: it has {length} bytes and needs {needed}; remove the folder and run `knockout data \
             precompute` again"
        )),
        LmdbError::Empty => not_a_store("its data.mdb is empty"),
        LmdbError::Damaged { .. } | LmdbError::OtherOrder => {
            not_a_store(format_args!("its data.mdb is damaged: {error}"))
        }
        LmdbError::Io(error) => refused(act)(error),
        other => Error::new(Class::Failure, format!("could not be {act}")).caused_by(other),
    }
}
