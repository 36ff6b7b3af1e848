//! System calls on the handle of a folder. A name is one component, and the last link is never followed.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, open, openat, renameat, statat, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A folder is entered with the permission to search it alone, where the system has such handles.
#[cfg(target_os = "linux")]
const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ENTER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder that is listed or synced.
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Kind of an entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A device, a pipe or a socket.
    Special,
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

/// The handle of a folder.
#[derive(Debug)]
pub(super) struct Handle(OwnedFd);

impl Handle {
    /// Opens a folder that the user names; links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, ENTER, Mode::empty())?))
    }

    /// Opens a folder in this one.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, ENTER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Opens a file in this folder without blocking; the caller checks its kind.
    pub(super) fn open_file(&self, name: &OsStr, how: OFlags) -> io::Result<File> {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Returns the kind of an entry.
    pub(super) fn kind(&self, name: &OsStr) -> io::Result<EntryKind> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(EntryKind::of(FileType::from_raw_mode(found.st_mode)))
    }

    /// Lists the folder, sorted by name.
    pub(super) fn entries(&self) -> io::Result<Vec<(OsString, EntryKind)>> {
        let mut found = Vec::new();
        for (name, kind) in listed(self.as_file()?.into())? {
            let kind = match kind {
                FileType::Unknown => self.kind(&name)?,
                kind => EntryKind::of(kind),
            };
            found.push((name, kind));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Makes a folder in this one.
    pub(super) fn make(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Renames an entry of this folder; a file in the way is replaced.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes an entry; a folder with everything in it. Links are removed, not followed.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        if self.kind(name)? != EntryKind::Folder {
            return Ok(unlinkat(&self.0, name, AtFlags::empty())?);
        }
        // An empty folder needs no handle, of which there may be none left.
        if unlinkat(&self.0, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        // Listed before it is entered, so that each level needs one handle at a time.
        let names = listed(openat(&self.0, name, LIST | OFlags::NOFOLLOW, Mode::empty())?)?;
        let inner = self.enter(name)?;
        for (name, _) in names {
            inner.remove(&name)?;
        }
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Opens the folder itself as a file, to lock it.
    pub(super) fn as_file(&self) -> io::Result<File> {
        Ok(openat(&self.0, ".", LIST, Mode::empty())?.into())
    }

    /// Makes names in the folder survive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.as_file()?.sync_all()
    }

    /// Creates a file in the folder that has no name; `None` where that cannot be.
    #[cfg(target_os = "linux")]
    pub(super) fn nameless(&self) -> Option<File> {
        use std::os::fd::AsRawFd as _;
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&self.0, ".", flags, Mode::from_raw_mode(0o666)).ok()?;
        // The way to its name.
        Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())).exists().then(|| file.into())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn nameless(&self) -> Option<File> {
        None
    }

    /// Gives a name to a file that has none.
    #[cfg(target_os = "linux")]
    pub(super) fn give_name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        use rustix::fs::{CWD, linkat};
        use std::os::fd::AsRawFd as _;
        let here = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(linkat(CWD, here, &self.0, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn give_name(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Returns the names in a folder, with their kinds where the file system reports them.
fn listed(folder: OwnedFd) -> io::Result<Vec<(OsString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            found.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(found)
}
