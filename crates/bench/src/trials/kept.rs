//! JSON files beside runs: whole or absent, and read back as they were written.

use crate::trials::TrialError;
use knockout_base::files::{inside, replace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::Path;

/// Reads a file; `None` where there is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TrialError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TrialError::Io { path: path.to_owned(), source }),
    };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|source| TrialError::Damaged { path: path.to_owned(), source })
}

/// Writes a file of a folder whole or not at all; a link is refused.
pub(crate) fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> Result<(), TrialError> {
    let fill = |out: &mut dyn io::Write| {
        serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
        out.write_all(b"\n")
    };
    Ok(replace(&inside(folder, name)?, fill)?)
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), TrialError> {
    fs::create_dir_all(path).map_err(|source| TrialError::Io { path: path.to_owned(), source })
}
