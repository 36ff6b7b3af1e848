//! A file that takes its name only when it is complete.

use super::handle::{EntryKind, Handle};
use super::located::Located;
use super::scratch::{hidden_name, lock, remove_abandoned};
use super::{at, make_parents, parent_of};
use crate::error::Result;
use rustix::fs::OFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file that the user names whole or not at all.
///
/// A crash at any moment leaves the old file or the new one; after `Ok`, a power cut leaves the new one. Two writers
/// at once leave the file of one of them. A device or a pipe is written to as it is, and a link stays one: the file that it leads
/// to is replaced. For a file inside a folder of ours see [`Folder::replace`](super::Folder::replace).
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    PendingFile::create(path)?.fill(fill)
}

/// A file that takes its name only when it is complete: [`replace`] for those who write piece by piece.
///
/// Dropped without [`PendingFile::commit`], it disappears. On Linux it has no name at all before that, so that a `kill -9` takes it
/// too; elsewhere one leaves a hidden `.NAME.partial-…`, which the next [`PendingFile::create`] for the same name removes.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    backing: Backing,
    out: BufWriter<File>,
}

/// Where the bytes of a pending file are.
#[derive(Debug)]
enum Backing {
    /// In a folder, to be renamed to `target`.
    InFolder {
        folder: Handle,
        target: OsString,
        /// Hidden name, locked while it is written; `None` while the file has no name.
        hidden: Option<OsString>,
    },
    /// In the target itself, which is not a regular file: a device, a pipe.
    Target,
}

impl PendingFile {
    /// Starts a file beside its target, so that a bad path fails before the work is done.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = || at("create", path);
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(failed()(is_a_folder())),
            Ok(found) if !found.is_file() || is_special(path) => {
                let file = File::options().write(true).open(path).map_err(failed())?;
                return Ok(Self::new(path.to_owned(), Backing::Target, file));
            }
            Ok(_) => fs::canonicalize(path).map_err(failed())?,
            Err(_) => {
                let target = end_of_links(path).map_err(failed())?;
                make_parents(&target)?;
                target
            }
        };
        let folder = Handle::open(parent_of(&target)).map_err(failed())?;
        let name = target.file_name().ok_or_else(|| failed()(is_a_folder()))?.to_owned();
        Self::beside(folder, &name, target)
    }

    /// Starts a file inside a folder; only a regular file is replaced.
    pub(super) fn inside(located: Located) -> Result<Self> {
        match located.parent.kind(&located.name) {
            Ok(EntryKind::Folder) => Err(at("create", &located.path)(is_a_folder())),
            Ok(EntryKind::Link | EntryKind::Special) => Err(located.refusal("write", is_a_folder())),
            _ => Self::beside(located.parent, &located.name, located.path),
        }
    }

    fn beside(folder: Handle, target: &OsStr, path: PathBuf) -> Result<Self> {
        // Rejects a name that the file system does not support, before the work.
        if let Err(error) = folder.kind(target)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(at("create", &path)(error));
        }
        remove_abandoned(&folder, Some(target));
        let (file, hidden) = if let Some(file) = folder.nameless() {
            (file, None)
        } else {
            let (hidden, file) = hidden_in(&folder, target).map_err(at("create", &path))?;
            (file, Some(hidden))
        };
        let backing = Backing::InFolder { folder, target: target.to_owned(), hidden };
        Ok(Self::new(path, backing, file))
    }

    fn new(path: PathBuf, backing: Backing, file: File) -> Self {
        Self { path, backing, out: BufWriter::with_capacity(1 << 18, file) }
    }

    pub(super) fn fill(mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        fill(&mut self).map_err(at("write", &self.path))?;
        self.commit()
    }

    /// Makes the content durable and gives the file its name.
    pub fn commit(mut self) -> Result<()> {
        let path = self.path.clone();
        self.out.flush().map_err(at("write", &path))?;
        let file = self.out.get_ref();
        let Backing::InFolder { folder, target, hidden } = &mut self.backing else { return Ok(()) };
        // The bytes, before the name.
        file.sync_all().map_err(at("write", &path))?;
        if hidden.is_none() {
            let name = hidden_name(target);
            // Locked first, so that the removal of abandoned files skips it.
            lock(file).and_then(|()| folder.give_name(file, &name)).map_err(at("rename", &path))?;
            *hidden = Some(name);
        }
        if let Some(name) = hidden {
            folder.rename(name, target).map_err(at("rename", &path))?;
        }
        folder.sync().map_err(at("sync", &path))
    }
}

fn is_a_folder() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")
}

/// Returns the path that a chain of links leads to, whose last part need not exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        match fs::read_link(&path) {
            Ok(next) => path = parent_of(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Standard output under its name in `/dev` may lead to a file, which must be written to all the same.
fn is_special(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// A new hidden file in a folder, locked.
fn hidden_in(folder: &Handle, target: &OsStr) -> io::Result<(OsString, File)> {
    loop {
        let hidden = hidden_name(target);
        let file = folder.open_file(&hidden, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        // Before it was locked, another process may have taken it for an abandoned one.
        if lock(&file).is_ok() && folder.kind(&hidden).is_ok() {
            return Ok((hidden, file));
        }
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Backing::InFolder { folder, hidden: Some(hidden), .. } = &self.backing {
            // After `commit` the hidden name is gone already.
            folder.remove(hidden).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way where files without a name cannot be.
    #[test]
    fn a_hidden_file_stays_while_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let folder = Handle::open(home.path()).unwrap();
        let (hidden, file) = hidden_in(&folder, OsStr::new("a")).unwrap();
        let backing = Backing::InFolder { folder, target: "a".into(), hidden: Some(hidden.clone()) };
        let mut pending = PendingFile::new(path.clone(), backing, file);
        pending.write_all(b"two").unwrap();
        drop(PendingFile::create(&path).unwrap());
        assert!(home.path().join(&hidden).exists(), "a busy one stays");
        pending.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
