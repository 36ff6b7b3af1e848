//! A folder that is filled out of sight.

use super::handle::{EntryKind, Handle};
use super::located::Located;
use super::scratch::{hidden_name, lock, remove_abandoned};
use super::{Folder, at, make_parents};
use crate::error::Result;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder that is filled out of sight and appears under its name complete, or not at all.
///
/// Dropped without [`StagedFolder::commit`], it disappears with everything in it. A `kill -9` leaves a hidden
/// `.NAME.partial-…` folder, which the next [`StagedFolder::create`] for the same name removes: its writer holds a lock.
#[derive(Debug)]
pub struct StagedFolder {
    target: Located,
    folder: Folder,
    /// Held open for its lock; released before the folder is removed, which needs a handle.
    lock: Option<File>,
    is_committed: bool,
}

impl StagedFolder {
    /// Starts a folder; `target` must not exist. The folders above it are made.
    pub fn create(target: impl Into<Folder>) -> Result<Self> {
        let target = target.into();
        let located = target.to_create()?;
        remove_abandoned(&located.parent, Some(&located.name));
        loop {
            let hidden = hidden_name(&located.name);
            let failed = || at("create", &located.path);
            located.parent.make(&hidden).map_err(failed())?;
            let held = located.parent.enter(&hidden).and_then(|folder| folder.as_file());
            let held = held.and_then(|file| lock(&file).map(|()| file));
            // Before it was locked, another process may have taken it for an abandoned one.
            if located.parent.kind(&hidden).is_err() {
                continue;
            }
            match held {
                Ok(lock) => {
                    let folder = target.sibling(&hidden);
                    return Ok(Self { target: located, folder, lock: Some(lock), is_committed: false });
                }
                Err(error) => {
                    located.parent.remove(&hidden).ok();
                    return Err(failed()(error));
                }
            }
        }
    }

    /// Makes everything durable and gives the folder its name. After an error the folder is absent.
    pub fn commit(mut self) -> Result<()> {
        let Located { parent, name, path, .. } = &self.target;
        let hidden = self.folder.path().file_name().unwrap_or_default();
        parent.enter(hidden).and_then(|folder| sync_tree(&folder)).map_err(at("sync", path))?;
        // Renaming onto a folder that appeared meanwhile fails unless it is empty: nothing is ever overwritten.
        parent.rename(hidden, name).map_err(at("rename", path))?;
        self.is_committed = true;
        let synced = parent.sync();
        if synced.is_err() && parent.rename(name, hidden).is_ok() {
            // Not known to survive a power cut: hidden again, it is removed.
            self.is_committed = false;
        }
        synced.map_err(at("sync", path))
    }
}

/// The folder to fill until the commit.
impl Deref for StagedFolder {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.is_committed
            && let Some(hidden) = self.folder.path().file_name()
        {
            drop(self.lock.take());
            self.target.parent.remove(hidden).ok();
        }
    }
}

/// A folder that the user names, filled in sight. Dropped without [`NewFolder::keep`], it disappears with everything in it.
#[derive(Debug)]
#[must_use = "the folder disappears when this is dropped"]
pub struct NewFolder {
    path: PathBuf,
    is_kept: bool,
}

impl NewFolder {
    /// Makes the empty folder; it must not exist. The folders above it are made, and stay.
    pub fn create(path: &Path) -> Result<Self> {
        create_folder(path)?;
        Ok(Self { path: path.to_owned(), is_kept: false })
    }

    /// Keeps the folder: its content is complete.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

/// Makes an empty folder that the user names, to be filled in sight; it must not exist.
pub fn create_folder(path: &Path) -> Result<()> {
    Folder::at(path).to_create()?;
    make_parents(path)?;
    fs::create_dir(path).map_err(at("create", path))
}

fn sync_tree(folder: &Handle) -> io::Result<()> {
    for (name, kind) in folder.entries()? {
        match kind {
            EntryKind::Folder => sync_tree(&folder.enter(&name)?)?,
            EntryKind::File => folder.open_file(&name, OFlags::RDONLY)?.sync_all()?,
            EntryKind::Link | EntryKind::Special => {}
        }
    }
    folder.sync()
}
