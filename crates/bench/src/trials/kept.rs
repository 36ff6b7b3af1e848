//! JSON files beside runs: whole or absent, and read back as they were written.

use knockout_base::error::{Error, Result, class_of_path};
use knockout_base::files::{inside, replace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::Path;

/// Reads a file; `None` where there is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path)(error)),
    };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|error: serde_json::Error| {
        let path = path.display();
        Error::damage(format!("{path} cannot be read ({error}); move it away to make it again"))
            .caused_by(error)
    })
}

/// Writes a file of a folder whole or not at all; a link is refused.
pub(crate) fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> Result<()> {
    let fill = |out: &mut dyn io::Write| {
        serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
        out.write_all(b"\n")
    };
    replace(&inside(folder, name)?, fill)
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed(path))
}

/// The error of a folder that another command began.
pub(crate) fn other_plan(folder: &Path, key: &str, found: &str, asked: &str) -> Error {
    let folder = folder.display();
    Error::request(format!("{folder} began with {key} {found}, not {asked}; choose another --out"))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let message = path.display().to_string();
    move |error| Error::new(class_of_path(error.kind()), message).caused_by(error)
}
