//! Files and folders that are complete or absent, and that are opened without following links inside a folder.
//!
//! | type | content |
//! |---|---|
//! | [`Folder`] | a dataset, run, checkpoint, store, benchmark, sweep or folder of predictions on disk |
//! | [`StagedFolder`] | a folder that appears complete, or not at all |
//! | [`PendingFile`], [`replace`] | a file that appears complete, or not at all |
//! | [`Sealed`] | a JSON document that contains its own checksum |
//!
//! Everything knockout keeps goes through here: a crash at any moment leaves the old state or the new one, never a
//! mixture. Folders above an output are made, as `mkdir -p` makes them. The module does not depend on what is in the files.
//!
//! **Trust.** A path that the user names may be a link. A [`Folder`] may come from somebody else: inside it, links, devices, pipes and
//! sockets are refused, and names that lead elsewhere too, for reading and for writing. `docs/trust.md` describes what this guarantees.

mod folder;
mod handle;
mod located;
mod pending;
mod scratch;
mod sealed;
mod staged;
#[cfg(test)]
mod tests;

pub use folder::{Entry, EntryKind, Folder, FolderLock};
pub use pending::{PendingFile, replace};
pub use sealed::{Checksum, Sealed, seal};
pub use staged::{NewFolder, StagedFolder, create_folder};

use crate::error::{Error, Result, class_of_path};
use handle::Handle;
use std::fs;
use std::io;
use std::path::Path;

/// Wraps an error of the operating system as `could not ACT PATH`.
fn at<'a>(act: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |cause| {
        let message = format!("could not {act} {}", path.display());
        Error::new(class_of_path(cause.kind()), message).caused_by(cause)
    }
}

/// Returns the folder that a path lies in.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the folders that a path of the user lies in; those that are there stay as they are.
fn make_parents(path: &Path) -> Result<()> {
    let folder = parent_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    make_parents(folder)?;
    match fs::create_dir(folder) {
        Ok(()) => {
            let above = parent_of(folder);
            Handle::open(above).and_then(|above| above.sync()).map_err(at("sync", above))
        }
        // Another process made it meanwhile.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(at("create", folder)(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")))
        }
        Err(error) => Err(at("create", folder)(error)),
    }
}
