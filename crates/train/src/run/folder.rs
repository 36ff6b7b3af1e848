//! The run directory: everything a training run leaves behind, in one folder.
//!
//! ```text
//! RUN/config.toml               the resolved configuration
//!     overrides.txt             what was changed on the command line, one `key=value` a line
//!     split.parquet             which sample is in which part
//!     manifest.json             version, commit, seed, host, hashes of the inputs and of the three files above, conditions
//!     metrics.jsonl             one JSON object a line
//!     events.out.tfevents.*     the same for TensorBoard
//!     checkpoints/              see [`crate::checkpoint`]
//!     log.txt                   what was said meanwhile
//! ```
//!
//! A run directory appears whole and is never overwritten; one process writes it at a time. The module knows nothing of
//! models: a configuration is text, a metric is a JSON value.

use super::{EventWriter, LogPosition, Manifest, MetricsLog, Resumed};
use knockout_base::error::{Class, Classified};
use knockout_base::files::{DurableError, StagedDir, inside};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A run directory that could not be made, opened or written.
#[derive(Debug, thiserror::Error)]
#[error("could not {act} {}", path.display())]
#[non_exhaustive]
pub struct RunFolderError {
    act: &'static str,
    path: PathBuf,
    /// What went wrong.
    #[source]
    pub kind: RunFolderErrorKind,
}

impl Classified for RunFolderError {
    fn class(&self) -> Class {
        use RunFolderErrorKind as Kind;
        match self.kind {
            Kind::Exists | Kind::NotARun { .. } | Kind::Busy => Class::Request,
            Kind::Manifest(_)
            | Kind::Seal
            | Kind::Changed { .. }
            | Kind::Line { .. }
            | Kind::Shortened { .. }
            | Kind::Altered { .. } => Class::Damage,
            Kind::Io(_) => Class::Failure,
            Kind::Durable(ref error) => error.class(),
        }
    }
}

/// What went wrong with a run directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderErrorKind {
    /// There is something of that name already.
    #[error(
        "it exists already, and a run is never overwritten; resume it with --resume, or choose another folder with --out"
    )]
    Exists,
    /// It is no run directory.
    #[error("it is not a run directory: there is no {missing}; name a folder that `knockout train` made")]
    NotARun {
        /// The file that is not there.
        missing: &'static str,
    },
    /// Another process writes it.
    #[error("another process is training in it; wait for it to end or stop it first")]
    Busy,
    /// The manifest cannot be read.
    #[error("manifest.json is damaged: {0}")]
    Manifest(#[source] serde_json::Error),
    /// The manifest is not what was written.
    #[error("manifest.json is damaged: it does not match its own checksum")]
    Seal,
    /// A file that is written once, when the run begins, is not what was written.
    #[error("{file} is damaged: it is not what the run began with; put it back, or begin a new run")]
    Changed {
        /// Name of the file in the run directory.
        file: String,
    },
    /// The metrics end before a checkpoint.
    #[error(
        "it is damaged: it has {found} bytes of {expected} that were there at the checkpoint; move the file away to resume without its history"
    )]
    Shortened {
        /// Its length in bytes.
        found: u64,
        /// Bytes at the checkpoint.
        expected: u64,
    },
    /// The metrics before a checkpoint are others.
    #[error(
        "it is damaged: its first {lines} lines are not those of the checkpoint; move the file away to resume without its history"
    )]
    Altered {
        /// Lines at the checkpoint.
        lines: u64,
    },
    /// A line of the metrics cannot be read.
    #[error("line {line} is damaged: {source}; move the file away to resume without its history")]
    Line {
        /// One-based line.
        line: u64,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The operating system refused.
    #[error(transparent)]
    Durable(#[from] DurableError),
}

pub(super) fn at<K: Into<RunFolderErrorKind>>(
    act: &'static str,
    path: &Path,
) -> impl FnOnce(K) -> RunFolderError {
    let path = path.to_owned();
    move |kind| RunFolderError { act, path, kind: kind.into() }
}

/// What a run is started with.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The resolved configuration, as TOML.
    pub config: &'a str,
    /// What was changed on the command line.
    pub overrides: &'a [String],
    /// Where and with what it runs.
    pub manifest: &'a Manifest,
}

/// A run directory that this process writes; nobody else can while it is open.
#[derive(Debug)]
pub struct RunFolder {
    folder: PathBuf,
    manifest: Manifest,
    /// Held open for its lock.
    _lock: File,
}

impl RunFolder {
    /// Makes a run directory; its parents are made as needed.
    ///
    /// It appears whole or not at all. A name that exists is refused, whatever it is.
    pub fn create(folder: &Path, start: Start<'_>) -> Result<Self, RunFolderError> {
        Self::create_with(folder, start, |_| Ok(()))
    }

    /// The same, with what `fill` writes into the folder before it appears.
    pub fn create_with<E: From<RunFolderError>>(
        folder: &Path,
        start: Start<'_>,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Self, E> {
        let failed = |error: DurableError| match error.kind() {
            // The second where two begin a run of one name.
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                at("start a run in", folder)(RunFolderErrorKind::Exists)
            }
            _ => at("start a run in", folder)(error),
        };
        let staged = StagedDir::create(folder).map_err(failed)?;
        let write = |name: &str, text: &str| {
            fs::write(staged.path().join(name), text).map_err(at("write", &folder.join(name)))
        };
        write("config.toml", start.config)?;
        write("overrides.txt", &start.overrides.iter().flat_map(|line| [line, "\n"]).collect::<String>())?;
        fill(staged.path())?;
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(staged.path()).map_err(at("read", folder))? {
            let path = entry.map_err(at("read", folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                // Copies of checkpoints, which say themselves what they are.
                continue;
            }
            files.insert(name, file_hash(&path)?);
        }
        write("manifest.json", &start.manifest.sealed(&files))?;
        write("metrics.jsonl", "")?;
        write("log.txt", "")?;
        let checkpoints = staged.path().join("checkpoints");
        fs::create_dir(&checkpoints).map_err(at("create", &checkpoints))?;
        staged.commit().map_err(failed)?;
        Ok(Self::open(folder)?)
    }

    /// Opens a run directory to go on with it.
    pub fn open(folder: &Path) -> Result<Self, RunFolderError> {
        let manifest = Self::read_manifest(folder)?;
        for missing in ["config.toml", "checkpoints"] {
            if !folder.join(missing).exists() {
                return Err(at("open run", folder)(RunFolderErrorKind::NotARun { missing }));
            }
        }
        // Checkpoints are written and removed there.
        inside(folder, "checkpoints").map_err(at("open run", folder))?;
        let lock = File::open(folder).map_err(at("open run", folder))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(at("open run", folder)(RunFolderErrorKind::Busy)),
            // A file system without locks: two writers are then the user's care.
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(at("lock", folder)(error));
            }
            _ => {}
        }
        Ok(Self { folder: folder.to_owned(), manifest, _lock: lock })
    }

    /// Reads the manifest of a run, also of one that is being written.
    pub fn read_manifest(folder: &Path) -> Result<Manifest, RunFolderError> {
        let (manifest, text) = Self::manifest_of(folder)?;
        manifest.files(&text).map_err(at("open run", folder))?;
        Ok(manifest)
    }

    fn manifest_of(folder: &Path) -> Result<(Manifest, Vec<u8>), RunFolderError> {
        let path = folder.join("manifest.json");
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                at("open run", folder)(RunFolderErrorKind::NotARun { missing: "manifest.json" })
            }
            _ => at("read", &path)(error),
        })?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| at("open run", folder)(RunFolderErrorKind::Manifest(error)))?;
        Ok((manifest, text))
    }

    /// Checks the files that are written once, when a run begins, against the manifest. Earlier versions did not list them.
    pub fn verify(folder: &Path) -> Result<(), RunFolderError> {
        let (manifest, text) = Self::manifest_of(folder)?;
        let files = manifest.files(&text).map_err(at("open run", folder))?;
        for (name, expected) in files {
            // A name that leads elsewhere is none that we wrote.
            let is_plain = Path::new(&name).file_name() == Some(OsStr::new(&name));
            if !is_plain || file_hash(&folder.join(&name)).map_or(true, |found| found != expected) {
                return Err(at("open run", folder)(RunFolderErrorKind::Changed { file: name }));
            }
        }
        Ok(())
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where and with what it was started.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads the resolved configuration of a run, as TOML; also of one that is being written.
    pub fn read_config(folder: &Path) -> Result<String, RunFolderError> {
        let path = folder.join("config.toml");
        fs::read_to_string(&path).map_err(at("read", &path))
    }

    /// Where checkpoints are.
    pub fn checkpoints(&self) -> PathBuf {
        Self::checkpoints_of(&self.folder)
    }

    /// The same of a folder that nobody claims.
    pub(super) fn checkpoints_of(folder: &Path) -> PathBuf {
        folder.join("checkpoints")
    }

    /// Where the log is.
    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join("log.txt")
    }

    /// Returns the path of a file in the directory, ready to be written; a link is refused.
    pub(super) fn to_write(&self, name: &str) -> Result<PathBuf, RunFolderError> {
        inside(&self.folder, name).map_err(at("write", &self.folder.join(name)))
    }

    /// The log, to append to.
    pub(super) fn log(&self) -> Result<File, RunFolderError> {
        let path = self.to_write("log.txt")?;
        File::options().create(true).append(true).open(&path).map_err(at("open", &path))
    }

    /// The metrics of a run from where a checkpoint left them; what was written after it is cut off.
    ///
    /// A run without a checkpoint starts at [`LogPosition::START`].
    pub fn metrics(&self, from: LogPosition) -> Result<(MetricsLog, Resumed), RunFolderError> {
        MetricsLog::resume(&self.to_write("metrics.jsonl")?, from)
    }

    /// A new file of TensorBoard events; `after_step` hides what earlier files say of later steps.
    pub fn events(&self, wall_seconds: f64, after_step: Option<u64>) -> Result<EventWriter, RunFolderError> {
        EventWriter::create(&self.folder, &self.manifest.host, wall_seconds, after_step)
    }
}

fn file_hash(path: &Path) -> Result<String, RunFolderError> {
    let bytes = fs::read(path).map_err(at("read", path))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Inputs;

    pub(super) fn manifest() -> Manifest {
        Manifest {
            schema: 1,
            version: "0.1.0".into(),
            commit: "abc".into(),
            seed: 7,
            host: "here".into(),
            inputs: Inputs { dataset: "d".into(), gene_table: "g".into(), cell: "c".into() },
            conditions: BTreeMap::from([("threads".into(), "2".into())]),
        }
    }

    fn start(manifest: &Manifest) -> Start<'_> {
        Start { config: "[model]\nlayers = 2\n", overrides: &[], manifest }
    }

    #[test]
    fn a_run_is_made_whole_and_opens_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/first");
        let overrides = ["model.layers=2".to_owned(), "train.epochs=3".to_owned()];
        let run = RunFolder::create(&path, Start { overrides: &overrides, ..start(&manifest()) }).unwrap();
        assert_eq!(RunFolder::read_config(run.folder()).unwrap(), "[model]\nlayers = 2\n");
        drop(run);
        let run = RunFolder::open(&path).unwrap();
        assert_eq!(run.manifest(), &manifest());
        assert_eq!(
            fs::read_to_string(path.join("overrides.txt")).unwrap(),
            "model.layers=2\ntrain.epochs=3\n"
        );
        let mut names: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["checkpoints", "config.toml", "log.txt", "manifest.json", "metrics.jsonl", "overrides.txt"]
        );
    }

    #[test]
    fn what_a_run_began_with_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let fill =
            |staged: &Path| fs::write(staged.join("split.parquet"), "split").map_err(at("write", staged));
        drop(RunFolder::create_with(&path, start(&manifest()), fill).unwrap());
        RunFolder::verify(&path).unwrap();
        for name in ["config.toml", "overrides.txt", "split.parquet", "manifest.json"] {
            let before = fs::read(path.join(name)).unwrap();
            let mut damaged = before.clone();
            match damaged.iter_mut().find(|byte| byte.is_ascii_lowercase()) {
                Some(byte) => *byte ^= 1,
                None => damaged.push(b'a'),
            }
            fs::write(path.join(name), damaged).unwrap();
            let error = RunFolder::verify(&path).unwrap_err();
            assert_eq!(error.class(), Class::Damage, "{name}: {error:?}");
            fs::remove_file(path.join(name)).unwrap();
            RunFolder::verify(&path).unwrap_err();
            fs::write(path.join(name), before).unwrap();
        }
        RunFolder::verify(&path).unwrap();
    }

    #[test]
    fn a_run_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        fs::create_dir(&path).unwrap();
        let error = RunFolder::create(&path, start(&manifest())).unwrap_err();
        assert!(matches!(error.kind, RunFolderErrorKind::Exists), "{error:?}");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn one_process_writes_a_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = RunFolder::create(&path, start(&manifest())).unwrap();
        assert!(matches!(RunFolder::open(&path).unwrap_err().kind, RunFolderErrorKind::Busy));
        // Reading is always possible.
        assert_eq!(RunFolder::read_manifest(&path).unwrap(), manifest());
        drop(run);
        RunFolder::open(&path).unwrap();
    }

    #[test]
    fn another_folder_is_no_run() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("nowhere")] {
            let error = RunFolder::open(&path).unwrap_err();
            assert!(
                matches!(error.kind, RunFolderErrorKind::NotARun { missing: "manifest.json" }),
                "{error:?}"
            );
        }
        fs::write(folder.path().join("manifest.json"), "{\"schema\":").unwrap();
        assert!(matches!(RunFolder::open(folder.path()).unwrap_err().kind, RunFolderErrorKind::Manifest(_)));
    }
}
