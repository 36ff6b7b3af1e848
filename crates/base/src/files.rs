//! Files and folders that are whole or absent.
//!
//! Everything knockout keeps goes through here: a crash at any moment leaves the old state or the new one, never a
//! mixture. Folders above an output are made, as `mkdir -p` makes them. The module does not depend on what is in the files.

use crate::error::{Error, Result, class_of_path};
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

fn at<'a>(act: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |cause| {
        let message = format!("could not {act} {}", path.display());
        Error::new(class_of_path(cause.kind()), message).caused_by(cause)
    }
}

/// Returns the path of `name` inside a folder, ready to be written; refuses a symbolic link at any component of `name`.
///
/// Every write inside a run, predictions, benchmark, sweep or store folder goes through here. Such a folder may come from
/// somebody else, and a link in it could lead to any file of the user. The root itself may be a link, because the user names
/// it. The check covers links that are there when it is made, not those that another process makes afterwards.
pub fn inside(root: &Path, name: impl AsRef<Path>) -> Result<PathBuf> {
    let mut path = root.to_owned();
    for component in name.as_ref().components() {
        path.push(component);
        if path.is_symlink() {
            let (link, root) = (path.display(), root.display());
            return Err(Error::damage(format!(
                "{link} is a symbolic link; knockout does not write through links inside {root}: remove it"
            )));
        }
    }
    Ok(path)
}

/// Writes a file whole or not at all.
///
/// A crash at any moment leaves the old file or the new one; after `Ok`, a power cut leaves the new one. Two writers
/// at once leave the file of one of them. A device or a pipe is written to as it is, and a link stays one: the file that it leads
/// to is replaced. That is right for a path that the user names; for a file inside a folder of ours see [`inside`].
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut file = PendingFile::create(path)?;
    fill(&mut file).map_err(at("write", path))?;
    file.commit()
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
    /// In a file without a name.
    Nameless,
    /// In a hidden file beside the target, locked while it is written.
    Hidden(PathBuf),
    /// In the target itself, which is not a regular file: a device, a pipe.
    Target,
}

impl PendingFile {
    /// Starts a file beside its target, so that a bad path fails before the work is done.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = || at("create", path);
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(failed()(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")));
            }
            Ok(found) if !found.is_file() || is_special(path) => {
                let file = File::options().write(true).open(path).map_err(failed())?;
                return Ok(Self::new(path.to_owned(), Backing::Target, file));
            }
            Ok(_) => fs::canonicalize(path).map_err(failed())?,
            Err(_) => {
                make_parents(path)?;
                path.to_owned()
            }
        };
        remove_abandoned(&target);
        if let Some(file) = nameless_beside(&target) {
            return Ok(Self::new(target, Backing::Nameless, file));
        }
        let (partial, file) = hidden_beside(&target).map_err(failed())?;
        Ok(Self::new(target, Backing::Hidden(partial), file))
    }

    fn new(path: PathBuf, backing: Backing, file: File) -> Self {
        Self { path, backing, out: BufWriter::with_capacity(1 << 18, file) }
    }

    /// Makes the content durable and gives the file its name.
    pub fn commit(mut self) -> Result<()> {
        let path = self.path.clone();
        self.out.flush().map_err(at("write", &path))?;
        let file = self.out.get_ref();
        if let Backing::Target = self.backing {
            return Ok(());
        }
        // The bytes, before the name.
        file.sync_all().map_err(at("write", &path))?;
        if let Backing::Nameless = self.backing {
            let partial = scratch_beside(&path);
            // Locked first, so that the removal of abandoned files skips it.
            lock(file).and_then(|()| give_name(file, &partial)).map_err(at("move into place", &path))?;
            self.backing = Backing::Hidden(partial);
        }
        if let Backing::Hidden(partial) = &self.backing {
            fs::rename(partial, &path).map_err(at("move into place", &path))?;
        }
        sync_folder(parent_of(&path))
    }
}

/// Standard output under its name in `/dev` may lead to a file, which must be written to all the same.
fn is_special(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// A file beside the target that has no name; `None` where that cannot be.
#[cfg(target_os = "linux")]
fn nameless_beside(target: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::AsRawFd as _;
    let mode = Mode::from_raw_mode(0o666);
    let file = open(parent_of(target), OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode).ok()?;
    // The way to its name.
    Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())).exists().then(|| file.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless_beside(_: &Path) -> Option<File> {
    None
}

#[cfg(target_os = "linux")]
fn give_name(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, here, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A new hidden file beside the target, locked.
fn hidden_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let partial = scratch_beside(target);
        let file = File::create_new(&partial)?;
        // Before it was locked, another process may have taken it for an abandoned one.
        if lock(&file).is_ok() && partial.exists() {
            return Ok((partial, file));
        }
    }
}

/// Locks a file or folder of our own. On a file system without locks it is merely not cleaned up after a kill.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        locked => Ok(locked?),
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
        if let Backing::Hidden(partial) = &self.backing {
            // After `commit` the scratch name is gone already.
            fs::remove_file(partial).ok();
        }
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
    /// Starts a folder; `target` must not exist.
    pub fn create(target: &Path) -> Result<Self> {
        check_absent(target)?;
        make_parents(target)?;
        remove_abandoned(target);
        loop {
            let partial = scratch_beside(target);
            fs::create_dir(&partial).map_err(at("create", target))?;
            let held = File::open(&partial).and_then(|folder| lock(&folder).map(|()| folder));
            match held {
                Ok(folder) if partial.exists() => {
                    return Ok(Self { target: target.to_owned(), partial, _lock: folder, committed: false });
                }
                // Before it was locked, another process took it for an abandoned one.
                _ if !partial.exists() => {}
                Ok(_) => {}
                Err(error) => {
                    fs::remove_dir_all(&partial).ok();
                    return Err(at("lock", &partial)(error));
                }
            }
        }
    }

    /// Folder to fill until the commit.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Makes everything durable and gives the folder its name.
    pub fn commit(mut self) -> Result<()> {
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

/// Makes an empty folder to be filled in sight; it must not exist.
pub fn create_folder(path: &Path) -> Result<()> {
    check_absent(path)?;
    make_parents(path)?;
    fs::create_dir(path).map_err(at("create", path))
}

fn check_absent(target: &Path) -> Result<()> {
    match target.symlink_metadata() {
        Ok(_) => Err(at("create", target)(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it exists already; choose another name or remove it first",
        ))),
        Err(_) => Ok(()),
    }
}

/// Makes the folders that a path lies in; those that are there stay as they are.
fn make_parents(path: &Path) -> Result<()> {
    let folder = parent_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    make_parents(folder)?;
    match fs::create_dir(folder) {
        Ok(()) => sync_folder(parent_of(folder)),
        // Another process made it meanwhile.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(at("create", folder)(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")))
        }
        Err(error) => Err(at("create", folder)(error)),
    }
}

/// Removes what killed processes left while writing this target.
fn remove_abandoned(target: &Path) {
    let prefix = scratch_prefix(target);
    let Ok(entries) = fs::read_dir(parent_of(target)) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            continue;
        }
        let path = entry.path();
        // Links and pipes are none of ours. The lock is held until it is gone.
        let Ok(kind) = entry.file_type() else { continue };
        if !(kind.is_dir() || kind.is_file()) {
            continue;
        }
        let Ok(held) = File::open(&path) else { continue };
        if held.try_lock().is_ok() {
            if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.ok();
        }
    }
}

fn sync_tree(folder: &Path) -> Result<()> {
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

fn sync_folder(folder: &Path) -> Result<()> {
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

/// A name of its own beside the target. Processes in containers share their id, so it has random digits too.
fn scratch_beside(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count);
    parent_of(target).join(format!("{}{}-{count}-{random:016x}", scratch_prefix(target), std::process::id()))
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
    fn a_pending_file_is_not_there_before_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut pending = PendingFile::create(&path).unwrap();
        pending.write_all(b"one").unwrap();
        pending.flush().unwrap();
        if cfg!(target_os = "linux") {
            assert!(names(folder.path()).is_empty(), "a kill here leaves nothing");
        }
        // The way where files without a name cannot be.
        let (partial, file) = hidden_beside(&path).unwrap();
        let mut hidden = PendingFile::new(path.clone(), Backing::Hidden(partial.clone()), file);
        hidden.write_all(b"two").unwrap();
        let again = PendingFile::create(&path).unwrap();
        assert!(partial.exists(), "a busy one stays");
        drop(again);
        hidden.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"two".to_vec(), vec!["a".to_owned()]));
        pending.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"one".to_vec(), vec!["a".to_owned()]));
    }

    #[test]
    fn abandoned_files_go() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".a.partial-1-0", ".a.partial-1-0-00ff", ".b.partial-1-0", ".a.other"] {
            fs::write(folder.path().join(name), b"half").unwrap();
        }
        replace(&folder.path().join("a"), |out| out.write_all(b"whole")).unwrap();
        assert_eq!(names(folder.path()), [".a.other", ".b.partial-1-0", "a"]);
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        replace(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(replace(Path::new("/dev/full"), |out| out.write_all(b"no room")).is_err());
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"old").unwrap();
        symlink("file", &link).unwrap();
        replace(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        let error = replace(folder.path(), |_| Ok(())).unwrap_err();
        assert_eq!(error.io_kind(), Some(io::ErrorKind::IsADirectory));
    }

    #[cfg(unix)]
    #[test]
    fn links_inside_a_folder_are_refused_and_a_linked_root_is_not() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        symlink("folder", &root).unwrap();
        fs::create_dir_all(root.with_file_name("folder").join("sub")).unwrap();
        fs::write(home.path().join("mine"), b"precious").unwrap();
        symlink("../mine", root.join("file")).unwrap();
        symlink("../absent", root.join("dangling")).unwrap();
        symlink("sub", root.join("other")).unwrap();
        for (name, link) in
            [("file", "file"), ("dangling", "dangling"), ("other", "other"), ("other/new", "other")]
        {
            let error = inside(&root, name).unwrap_err();
            assert_eq!(error.class(), crate::error::Class::Damage, "{name}");
            let (link, root) = (root.join(link), root.display());
            let text = format!(
                "{} is a symbolic link; knockout does not write through links inside {root}: remove it",
                link.display()
            );
            assert_eq!(error.to_string(), text);
        }
        for name in ["new", "sub", "sub/new", "absent/new"] {
            assert_eq!(inside(&root, name).unwrap(), root.join(name));
        }
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
    fn parents_are_made_where_they_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (above, path) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        drop(PendingFile::create(&path).unwrap());
        assert!(names(&above).is_empty(), "the path itself is not made");
        replace(&path, |out| out.write_all(b"one")).unwrap();
        StagedDir::create(&folder.path().join("d/e/f")).unwrap().commit().unwrap();
        create_folder(&folder.path().join("d/g/h")).unwrap();
        assert_eq!(names(&above), ["c"]);
        assert_eq!(names(&folder.path().join("d")), ["e", "g"]);
        assert_eq!(create_folder(&above).unwrap_err().io_kind(), Some(io::ErrorKind::AlreadyExists));
        fs::write(folder.path().join("file"), b"precious").unwrap();
        for below in ["file/b", "file/b/c"].map(|below| folder.path().join(below)) {
            assert!(replace(&below, |_| Ok(())).is_err());
            assert!(StagedDir::create(&below).is_err() && create_folder(&below).is_err());
        }
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"precious");
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
        assert_eq!(error.io_kind(), Some(io::ErrorKind::AlreadyExists));
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
