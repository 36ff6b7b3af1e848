//! Files and folders that are whole or absent.
//!
//! Everything knockout keeps goes through here: a crash at any moment leaves the old state or the new one, never a
//! mixture. The crate knows nothing of what is in the files.

use knockout_fault::{Class, Classified, class_of_path};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file or folder that could not be written; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("could not {act} {}", path.display())]
pub struct DurableError {
    act: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl DurableError {
    /// Kind of the operating system's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

fn at<'a>(act: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> DurableError + 'a {
    move |source| DurableError { act, path: path.to_owned(), source }
}

/// Writes a file whole or not at all.
///
/// A crash at any moment leaves the old file or the new one; after `Ok`, a power cut leaves the new one. Two writers
/// at once leave the file of one of them.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), DurableError> {
    let mut file = PendingFile::create(path)?;
    fill(&mut file).map_err(at("write", path))?;
    file.commit()
}

/// A file that takes its name only when it is complete: [`replace`] for those who write piece by piece.
///
/// Dropped without [`PendingFile::commit`], it disappears.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
}

impl PendingFile {
    /// Starts a file beside its target, so that a bad path fails before the work is done.
    pub fn create(path: &Path) -> Result<Self, DurableError> {
        let partial = scratch_beside(path);
        let file = File::create_new(&partial).map_err(at("create", path))?;
        Ok(Self { path: path.to_owned(), partial, out: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Makes the content durable and gives the file its name.
    pub fn commit(mut self) -> Result<(), DurableError> {
        let path = self.path.clone();
        // The bytes, before the name.
        self.out.flush().and_then(|()| self.out.get_ref().sync_all()).map_err(at("write", &path))?;
        fs::rename(&self.partial, &path).map_err(at("move into place", &path))?;
        sync_folder(parent_of(&path))
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
        // After `commit` the scratch name is gone already.
        fs::remove_file(&self.partial).ok();
    }
}

/// A folder that is filled out of sight and appears under its name complete, or not at all.
///
/// Dropped without [`StagedDir::commit`], it disappears with everything in it. A `kill -9` leaves a hidden
/// `.NAME.partial-…` folder, which the next [`StagedDir::create`] for the same name removes: a lock held by its writer
/// tells the abandoned from the busy.
#[derive(Debug)]
pub struct StagedDir {
    target: PathBuf,
    partial: PathBuf,
    /// Held open for its lock.
    _lock: File,
    committed: bool,
}

impl StagedDir {
    /// Starts a folder; `target` must not exist, its parent must.
    pub fn create(target: &Path) -> Result<Self, DurableError> {
        if target.symlink_metadata().is_ok() {
            return Err(at("create", target)(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it exists already; choose another name or remove it first",
            )));
        }
        remove_abandoned(target);
        let partial = scratch_beside(target);
        fs::create_dir(&partial).map_err(at("create", &partial))?;
        let lock = File::open(&partial).and_then(|lock| match lock.try_lock() {
            Ok(()) => Ok(lock),
            // A file system without locks: the folder is merely not cleaned up after a kill.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(lock),
            Err(error) => Err(error.into()),
        });
        match lock {
            Ok(lock) => Ok(Self { target: target.to_owned(), partial, _lock: lock, committed: false }),
            Err(error) => {
                fs::remove_dir_all(&partial).ok();
                Err(at("lock", &partial)(error))
            }
        }
    }

    /// Folder to fill until the commit.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Makes everything durable and gives the folder its name.
    pub fn commit(mut self) -> Result<(), DurableError> {
        sync_tree(&self.partial)?;
        // Renaming onto a folder that somebody made meanwhile fails unless it is empty: nothing is ever overwritten.
        fs::rename(&self.partial, &self.target).map_err(at("move into place", &self.target))?;
        self.committed = true;
        sync_folder(parent_of(&self.target))
    }
}

impl Drop for StagedDir {
    fn drop(&mut self) {
        if !self.committed {
            fs::remove_dir_all(&self.partial).ok();
        }
    }
}

/// Removes folders that killed processes left while filling this target.
fn remove_abandoned(target: &Path) {
    let prefix = scratch_prefix(target);
    let Ok(entries) = fs::read_dir(parent_of(target)) else { return };
    for entry in entries.flatten() {
        let is_scratch = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix));
        let is_abandoned = || File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_scratch && entry.path().is_dir() && is_abandoned() {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

fn sync_tree(folder: &Path) -> Result<(), DurableError> {
    for entry in fs::read_dir(folder).map_err(at("read", folder))? {
        let path = entry.map_err(at("read", folder))?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path).and_then(|file| file.sync_all()).map_err(at("sync", &path))?;
        }
    }
    sync_folder(folder)
}

fn sync_folder(folder: &Path) -> Result<(), DurableError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at("sync", folder))
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn scratch_prefix(target: &Path) -> String {
    format!(".{}.partial-", target.file_name().unwrap_or_default().to_string_lossy())
}

/// A name of its own beside the target: process and counter keep two writers apart.
fn scratch_beside(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    parent_of(target).join(format!("{}{}-{count}", scratch_prefix(target), std::process::id()))
}

impl Classified for DurableError {
    fn class(&self) -> Class {
        class_of_path(self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replace_leaves_the_new_file_or_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, |out| out.write_all(b"one")).unwrap();
        let failed = replace(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is on fire"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, |out| out.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_staged_folder_appears_only_on_commit() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set");
        let staged = StagedDir::create(&target).unwrap();
        fs::write(staged.path().join("x"), b"1").unwrap();
        assert!(!target.exists());
        staged.commit().unwrap();
        assert_eq!(names(&target), ["x"]);
        assert_eq!(names(folder.path()), ["set"]);
    }

    #[test]
    fn a_dropped_folder_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(StagedDir::create(&folder.path().join("set")).unwrap());
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn an_existing_target_is_never_touched() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set");
        fs::write(&target, b"precious").unwrap();
        let error = StagedDir::create(&target).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }

    #[test]
    fn a_target_that_appears_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set");
        let staged = StagedDir::create(&target).unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("theirs"), b"1").unwrap();
        assert!(staged.commit().is_err());
        assert_eq!(names(folder.path()), ["set"]);
        assert_eq!(names(&target), ["theirs"]);
    }

    #[test]
    fn abandoned_folders_go_and_busy_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set");
        fs::create_dir(folder.path().join(".set.partial-1-0")).unwrap();
        let busy = StagedDir::create(&target).unwrap();
        let second = StagedDir::create(&target).unwrap();
        assert!(busy.path().exists() && second.path().exists());
        assert!(!folder.path().join(".set.partial-1-0").exists());
    }
}
