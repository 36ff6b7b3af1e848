//! A folder on disk whose content is not trusted.

pub use super::handle::EntryKind;
use super::handle::Handle;
use super::located::Located;
use super::pending::PendingFile;
use super::scratch::remove_abandoned;
use super::{at, make_parents, parent_of};
use crate::error::{Context as _, Error, Result};
use crate::memory;
use rustix::fs::OFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A folder: the root that the user names, and a path inside it.
///
/// The root may be a link. Below it every component is opened relative to the handle of the one before, without following links: a
/// link, a device, a pipe or a socket is an error of class [`Damage`](crate::error::Class::Damage), and so is a name that is not
/// plain (absolute, or with an empty component, `.` or `..`). This holds for reading and for writing, and another process that exchanges
/// components meanwhile does not change it. Nothing is opened before it is used, so a folder need not exist.
///
/// ```
/// use knockout_base::files::Folder;
/// # fn main() -> knockout_base::error::Result<()> {
/// let home = tempfile::tempdir().unwrap();
/// let run = Folder::at(home.path());
/// run.replace("checkpoints/last/state.json", |out| out.write_all(b"{}"))?;
/// assert_eq!(run.below("checkpoints/last").read("state.json")?, b"{}");
/// assert!(run.read("../elsewhere").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
    below: PathBuf,
    path: PathBuf,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
}

/// The lock of a folder: while it is held, no other process gets it.
#[derive(Debug)]
pub struct FolderLock {
    /// Held open for its lock.
    _file: File,
}

impl Folder {
    /// A folder that the user names.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self { path: root.clone(), below: PathBuf::new(), root }
    }

    /// A folder inside this one. Its name is checked when it is used.
    #[must_use]
    pub fn below(&self, name: impl AsRef<Path>) -> Self {
        let below = self.below.join(&name);
        Self { path: self.root.join(&below), below, root: self.root.clone() }
    }

    /// The folder of another name beside this one.
    pub(super) fn sibling(&self, name: &OsStr) -> Self {
        match self.below.parent() {
            Some(above) => Self::at(&self.root).below(above.join(name)),
            None => Self::at(parent_of(&self.root).join(name)),
        }
    }

    /// Returns its path, for messages and for programs that open files by themselves.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the components of `name` in this folder, from the root.
    fn components<'a>(&'a self, name: &'a Path) -> Result<Vec<&'a OsStr>> {
        let parts = [&*self.below, name].into_iter().filter(|path| !path.as_os_str().is_empty());
        let parts: Vec<&OsStr> = parts
            .flat_map(|path| path.as_os_str().as_bytes().split(|&byte| byte == b'/').map(OsStr::from_bytes))
            .collect();
        let is_plain = |part: &&OsStr| {
            !part.is_empty() && *part != "." && *part != ".." && !part.as_bytes().contains(&0)
        };
        if parts.iter().all(is_plain) {
            return Ok(parts);
        }
        let (name, root) = (self.below.join(name), self.root.display());
        let name = name.to_string_lossy();
        Err(Error::damage(format!(
            "{name:?} is not the name of a file inside {root}: names may not lead elsewhere; restore the file that names it"
        )))
    }

    /// Opens the folder that a name is in; `make` makes the folders on the way.
    fn locate_with(&self, name: &Path, make: impl Fn(&Handle, &OsStr) -> io::Result<()>) -> Result<Located> {
        let components = self.components(name)?;
        let here = if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root };
        let root = Handle::open(here).map_err(at("open", here))?;
        let mut located = Located {
            parent: root,
            name: OsString::from("."),
            path: self.root.clone(),
            root: self.root.clone(),
        };
        for (index, component) in components.iter().enumerate() {
            if index > 0 {
                make(&located.parent, &located.name).map_err(|error| located.refusal("create", error))?;
                located.parent = located.enter()?;
            }
            (*component).clone_into(&mut located.name);
            located.path.push(component);
        }
        Ok(located)
    }

    fn locate(&self, name: &Path) -> Result<Located> {
        self.locate_with(name, |_, _| Ok(()))
    }

    /// Locates a name to be written; the folders that it is in are made.
    fn locate_new(&self, name: &Path) -> Result<Located> {
        if !self.root.is_dir() {
            make_parents(&self.root.join("new"))?;
        }
        self.locate_with(name, make_folder)
    }

    /// Locates this folder, which must not exist; those above it are made.
    pub(super) fn to_create(&self) -> Result<Located> {
        let located = match (self.below.as_os_str().is_empty(), self.root.file_name()) {
            (true, Some(name)) => {
                make_parents(&self.root)?;
                let parent = parent_of(&self.root);
                let located = Self::at(parent).locate(Path::new(name))?;
                Located { path: self.path.clone(), ..located }
            }
            _ => self.locate_new(Path::new(""))?,
        };
        match located.parent.kind(&located.name) {
            Ok(_) => Err(at("create", &self.path)(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it exists already; choose another name or remove it first",
            ))),
            Err(_) => Ok(located),
        }
    }

    fn handle(&self) -> Result<Handle> {
        let located = self.locate(Path::new(""))?;
        if self.below.as_os_str().is_empty() { Ok(located.parent) } else { located.enter() }
    }

    /// Returns whether there is something of this name, a link included.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.locate(name.as_ref()).is_ok_and(|located| located.parent.kind(&located.name).is_ok())
    }

    /// Opens a file to read it.
    pub fn open_file(&self, name: impl AsRef<Path>) -> Result<File> {
        self.locate(name.as_ref())?.open("read", OFlags::RDONLY)
    }

    /// Opens a file to read it; `None` if there is none.
    pub fn find_file(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        match self.open_file(name) {
            Err(error) if error.io_kind().is_some_and(is_absent) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Reads a file.
    pub fn read(&self, name: impl AsRef<Path>) -> Result<Vec<u8>> {
        self.read_all(&name, self.open_file(&name)?)
    }

    /// Reads a file; `None` if there is none.
    pub fn find(&self, name: impl AsRef<Path>) -> Result<Option<Vec<u8>>> {
        self.find_file(&name)?.map(|file| self.read_all(&name, file)).transpose()
    }

    pub(super) fn read_all(&self, name: impl AsRef<Path>, mut file: File) -> Result<Vec<u8>> {
        let path = self.path.join(name);
        let length = file.metadata().map_or(0, |found| found.len());
        let mut bytes = memory::vec("reading it", length as usize).in_file(&path)?;
        file.read_to_end(&mut bytes).map_err(at("read", &path))?;
        Ok(bytes)
    }

    /// Opens a file to read and change it; it is created where there is none.
    pub fn update(&self, name: impl AsRef<Path>) -> Result<File> {
        self.locate(name.as_ref())?.open("open", OFlags::RDWR | OFlags::CREATE)
    }

    /// Opens a file to append to it; it is created where there is none.
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File> {
        self.locate(name.as_ref())?.open("open", OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
    }

    /// Creates a file, which must not exist.
    pub fn create_new(&self, name: impl AsRef<Path>) -> Result<File> {
        let located = self.locate_new(name.as_ref())?;
        // Nothing is followed or opened where something is there already, so its kind does not matter.
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        located.parent.open_file(&located.name, how).map_err(at("create", &located.path))
    }

    /// Writes a new file, as it is: for a folder that is durable when it is complete, such as a
    /// [`StagedFolder`](super::StagedFolder). The folders that it is in are made.
    pub fn write_new(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
        let written = self.create_new(&name)?.write_all(bytes.as_ref());
        written.map_err(at("write", &self.path.join(name)))
    }

    /// Starts a file that takes its name when it is complete. The folders that it is in are made.
    pub fn pending(&self, name: impl AsRef<Path>) -> Result<PendingFile> {
        PendingFile::inside(self.locate_new(name.as_ref())?)
    }

    /// Writes a file whole or not at all, as [`replace`](super::replace) does.
    pub fn replace(
        &self,
        name: impl AsRef<Path>,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.pending(name)?.fill(fill)
    }

    /// Makes the folder and those above it, where they are missing.
    pub fn make(&self) -> Result<()> {
        let located = self.locate_new(Path::new(""))?;
        if !self.below.as_os_str().is_empty() {
            make_folder(&located.parent, &located.name).map_err(|error| located.refusal("create", error))?;
            located.enter()?;
        }
        Ok(())
    }

    /// Lists the folder, sorted by name.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let found = self.handle()?.entries().map_err(at("read", &self.path))?;
        Ok(found.into_iter().map(|(name, kind)| Entry { name, kind }).collect())
    }

    /// Copies everything in the folder into another one. Links and special files are refused.
    pub fn copy_to(&self, to: &Self) -> Result<()> {
        for Entry { name, kind } in self.entries()? {
            if kind == EntryKind::Folder {
                self.below(&name).copy_to(&to.below(&name))?;
            } else {
                let (mut from, mut copy) = (self.open_file(&name)?, to.create_new(&name)?);
                io::copy(&mut from, &mut copy).map_err(at("copy", &self.path.join(&name)))?;
            }
        }
        Ok(())
    }

    /// Renames an entry of the folder.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.components(Path::new(to))?;
        let located = self.locate(Path::new(from))?;
        located.parent.rename(&located.name, OsStr::new(to)).map_err(at("rename", &located.path))
    }

    /// Removes an entry of the folder; a folder with everything in it.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        let located = self.locate(name.as_ref())?;
        located.parent.remove(&located.name).map_err(at("remove", &located.path))
    }

    /// Removes what killed processes left half-written in the folder.
    pub fn remove_abandoned(&self) -> Result<()> {
        remove_abandoned(&self.handle()?, None);
        Ok(())
    }

    /// Locks the folder; `None` if another process holds the lock.
    ///
    /// On a file system without locks nothing is locked: preventing two writers is then up to the user.
    pub fn lock(&self) -> Result<Option<FolderLock>> {
        let file = self.handle()?.as_file().map_err(at("open", &self.path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                Err(at("lock", &self.path)(error))
            }
            _ => Ok(Some(FolderLock { _file: file })),
        }
    }

    /// Returns whether a process holds the lock.
    pub fn is_locked(&self) -> bool {
        let file = self.handle().ok().and_then(|handle| handle.as_file().ok());
        file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// Makes a folder where there is none.
fn make_folder(parent: &Handle, name: &OsStr) -> io::Result<()> {
    match parent.make(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Returns whether an error means that the file does not exist.
fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl From<&Path> for Folder {
    fn from(root: &Path) -> Self {
        Self::at(root)
    }
}

impl From<&PathBuf> for Folder {
    fn from(root: &PathBuf) -> Self {
        Self::at(root)
    }
}

impl From<&Self> for Folder {
    fn from(folder: &Self) -> Self {
        folder.clone()
    }
}
