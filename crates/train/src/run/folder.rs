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
//!     log.txt                   messages of the run
//! ```
//!
//! A run directory appears whole and is never overwritten; one process writes it at a time. The module does not depend on
//! models: a configuration is text, a metric is a JSON value.

use super::{EventWriter, Manifest, MetricsLog, Resumed};
use crate::checkpoint::LogPosition;
use crate::context::at;
use knockout_base::error::{Error, Result};
use knockout_base::files::{StagedDir, inside};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Wraps an error of a run directory that cannot be opened.
fn unopened(folder: &Path) -> impl FnOnce(Error) -> Error {
    at("open run", folder)
}

/// The error of a folder that is not a run directory.
fn not_a_run(folder: &Path, missing: &str) -> Error {
    let reason = format!("it is not a run directory: there is no {missing}");
    unopened(folder)(Error::request(format!("{reason}; name a folder that `knockout train` made")))
}

/// The contents of a new run directory.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The resolved configuration, as TOML.
    pub config: &'a str,
    /// Overrides of the command line.
    pub overrides: &'a [String],
    /// Where and with what it runs.
    pub manifest: &'a Manifest,
}

/// A run directory that this process writes; it holds a lock while it is open.
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
    pub fn create(folder: &Path, start: Start<'_>) -> Result<Self> {
        Self::create_with(folder, start, |_| Ok(()))
    }

    /// As [`Self::create`]; `fill` writes more files into the folder before it appears.
    pub fn create_with(
        folder: &Path,
        start: Start<'_>,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let failed = |error: Error| {
            // The second where two begin a run of one name.
            let exists = matches!(
                error.io_kind(),
                Some(io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
            );
            at("start a run in", folder)(if exists { already_exists() } else { error })
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
        Self::open(folder)
    }

    /// Opens a run directory to resume the run.
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Self::read_manifest(folder)?;
        for missing in ["config.toml", "checkpoints"] {
            if !folder.join(missing).exists() {
                return Err(not_a_run(folder, missing));
            }
        }
        // Checkpoints are written and removed there.
        inside(folder, "checkpoints").map_err(at("open run", folder))?;
        let lock = File::open(folder).map_err(at("open run", folder))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let reason = "another process is training in it; wait for it to end or stop it first";
                return Err(unopened(folder)(Error::request(reason)));
            }
            // A file system without locks: two writers are then the user's care.
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(at("lock", folder)(error));
            }
            _ => {}
        }
        Ok(Self { folder: folder.to_owned(), manifest, _lock: lock })
    }

    /// Reads the manifest of a run, also of one that is being written.
    pub fn read_manifest(folder: &Path) -> Result<Manifest> {
        let (manifest, text) = Self::manifest_of(folder)?;
        manifest.files(&text).map_err(unopened(folder))?;
        Ok(manifest)
    }

    fn manifest_of(folder: &Path) -> Result<(Manifest, Vec<u8>)> {
        let path = folder.join("manifest.json");
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_a_run(folder, "manifest.json"),
            _ => at("read", &path)(error),
        })?;
        let manifest = Manifest::read(&text).map_err(unopened(folder))?;
        Ok((manifest, text))
    }

    /// Checks the files that are written once, when a run begins, against the manifest. Earlier versions did not list them.
    pub fn verify(folder: &Path) -> Result<()> {
        let (manifest, text) = Self::manifest_of(folder)?;
        let files = manifest.files(&text).map_err(unopened(folder))?;
        for (name, expected) in files {
            // A name that leads elsewhere was not written by a run.
            let is_plain = Path::new(&name).file_name() == Some(OsStr::new(&name));
            if !is_plain || file_hash(&folder.join(&name)).map_or(true, |found| found != expected) {
                let reason = format!("{name} is damaged: it is not what the run began with");
                let error = Error::damage(format!("{reason}; put it back, or begin a new run"));
                return Err(unopened(folder)(error));
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
    pub fn read_config(folder: &Path) -> Result<String> {
        let path = folder.join("config.toml");
        fs::read_to_string(&path).map_err(at("read", &path))
    }

    /// Where checkpoints are.
    pub fn checkpoints(&self) -> PathBuf {
        Self::checkpoints_of(&self.folder)
    }

    /// Returns the folder of the checkpoints of a run.
    pub(super) fn checkpoints_of(folder: &Path) -> PathBuf {
        folder.join("checkpoints")
    }

    /// Where the log is.
    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join("log.txt")
    }

    /// Returns the path of a file in the directory, ready to be written; a link is refused.
    pub(super) fn to_write(&self, name: &str) -> Result<PathBuf> {
        inside(&self.folder, name).map_err(at("write", &self.folder.join(name)))
    }

    /// The log, to append to.
    pub(super) fn log(&self) -> Result<File> {
        let path = self.to_write("log.txt")?;
        File::options().create(true).append(true).open(&path).map_err(at("open", &path))
    }

    /// The metrics of a run from where a checkpoint left them; what was written after it is cut off.
    ///
    /// A run without a checkpoint starts at [`LogPosition::START`].
    pub fn metrics(&self, from: LogPosition) -> Result<(MetricsLog, Resumed)> {
        MetricsLog::resume(&self.to_write("metrics.jsonl")?, from)
    }

    /// A new file of TensorBoard events; `after_step` hides what earlier files say of later steps.
    pub fn events(&self, wall_seconds: f64, after_step: Option<u64>) -> Result<EventWriter> {
        EventWriter::create(&self.folder, &self.manifest.host, wall_seconds, after_step)
    }
}

/// The error of a name that is in use.
fn already_exists() -> Error {
    Error::request(
        "it exists already, and a run is never overwritten; resume it with --resume, or choose another folder with --out",
    )
}

fn file_hash(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(at("read", path))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Inputs;
    use knockout_base::error::{Class, chain};

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
        assert!(chain(&error).contains("it exists already"), "{error:?}");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn one_process_writes_a_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = RunFolder::create(&path, start(&manifest())).unwrap();
        let error = RunFolder::open(&path).unwrap_err();
        assert!(chain(&error).contains("another process is training in it"), "{error:?}");
        // Reading is always possible.
        assert_eq!(RunFolder::read_manifest(&path).unwrap(), manifest());
        drop(run);
        RunFolder::open(&path).unwrap();
    }

    #[test]
    fn another_folder_is_not_a_run() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("nowhere")] {
            let error = RunFolder::open(&path).unwrap_err();
            assert!(chain(&error).contains("there is no manifest.json"), "{error:?}");
        }
        fs::write(folder.path().join("manifest.json"), "{\"schema\":").unwrap();
        let error = RunFolder::open(folder.path()).unwrap_err();
        assert!(chain(&error).contains("manifest.json is damaged"), "{error:?}");
    }
}
