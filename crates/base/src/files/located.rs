//! A name inside a folder that is open.

use super::at;
use super::handle::{EntryKind, Handle};
use crate::error::{Error, Result};
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A name and the handle of the folder that it is in.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) parent: Handle,
    pub(super) name: OsString,
    /// For messages.
    pub(super) path: PathBuf,
    pub(super) root: PathBuf,
}

impl Located {
    /// Returns the error of an operation that failed: damage if the name is a link or a special file.
    pub(super) fn refusal(&self, act: &'static str, error: io::Error) -> Error {
        let (path, root) = (self.path.display(), self.root.display());
        match self.parent.kind(&self.name) {
            Ok(EntryKind::Link) => Error::damage(format!(
                "{path} is a symbolic link; knockout does not follow links inside {root}: remove it"
            )),
            Ok(EntryKind::Special) => Error::damage(format!(
                "{path} is a device, a pipe or a socket; knockout opens regular files only inside {root}: remove it"
            )),
            _ => at(act, &self.path)(error),
        }
    }

    /// Opens the folder of this name.
    pub(super) fn enter(&self) -> Result<Handle> {
        self.parent.enter(&self.name).map_err(|error| self.refusal("open", error))
    }

    /// Opens the regular file of this name.
    pub(super) fn open(&self, act: &'static str, how: OFlags) -> Result<File> {
        let file = self.parent.open_file(&self.name, how).map_err(|error| self.refusal(act, error))?;
        let kind = file.metadata().map_err(at(act, &self.path))?;
        if kind.is_file() {
            return Ok(file);
        }
        Err(self.refusal(act, io::Error::new(io::ErrorKind::IsADirectory, "it is not a file")))
    }
}
