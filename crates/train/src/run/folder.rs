//! The run directory: everything a training run leaves behind, in one folder.
//!
//! ```text
//! RUN/config.toml               the resolved configuration
//!     overrides.txt             what was changed on the command line, one `key=value` a line
//!     split.parquet             which sample is in which part
//!     manifest.json             version, commit, seed, host, hashes of the inputs and of the three files above, conditions
//!     metrics.jsonl             one JSON object a line
//!     metrics.seal              length and checksum of the lines above
//!     events.out.tfevents.*     the same for TensorBoard
//!     checkpoints/              see [`crate::checkpoint`]
//!     log.txt                   messages of the run
//! ```
//!
//! A run directory appears complete and is never overwritten; one process writes it at a time. The module does not depend on
//! models: a configuration is text, a metric is a JSON value.

use super::{EventWriter, MetricsLog, Resumed, RunManifest};
use crate::checkpoint::LogPosition;
use crate::context::at;
use knockout_base::error::{Error, Result};
use knockout_base::files::{Checksum, Entry, EntryKind, Folder, FolderLock, StagedFolder};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const MANIFEST: &str = "manifest.json";
const LOG: &str = "log.txt";
/// Folder of the checkpoints in a run's folder.
pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// Wraps an error of a run directory that cannot be opened.
fn unopened(folder: &Path) -> impl FnOnce(Error) -> Error {
    at("open run", folder)
}

/// Returns the error of a folder that is not a run directory.
fn not_a_run(folder: &Path, missing: &str) -> Error {
    let reason = if folder.is_file() {
        "it is a file, not a run directory; packed models are for predict, explain and explore".to_owned()
    } else if folder.join("dataset.toml").is_file() {
        "it is a dataset, not a run directory; train a model on it and name its run".to_owned()
    } else if !folder.exists() {
        "it is not a run directory, because it does not exist; list the runs below a folder with `knockout runs FOLDER`"
            .to_owned()
    } else {
        format!("it is not a run directory: there is no {missing}; name a folder that `knockout train` made")
    };
    unopened(folder)(Error::request(reason))
}

/// The contents of a new run directory.
#[derive(Debug, Clone, Copy)]
pub struct NewRunFiles<'a> {
    /// The resolved configuration, as TOML.
    pub config: &'a str,
    /// Overrides of the command line.
    pub overrides: &'a [String],
    /// Where and with what it runs.
    pub manifest: &'a RunManifest,
}

/// A run directory that this process writes; it holds a lock while it is open.
#[derive(Debug)]
pub struct RunFolder {
    folder: Folder,
    manifest: RunManifest,
    _lock: FolderLock,
}

impl RunFolder {
    /// Creates a run directory and its missing parents.
    ///
    /// It appears complete or not at all. An existing path is rejected, whatever it is.
    pub fn create(folder: impl Into<Folder>, start: NewRunFiles<'_>) -> Result<Self> {
        Self::create_with(folder, start, |_| Ok(()))
    }

    /// Like [`Self::create`]; `fill` writes more files into the folder before it appears.
    pub(crate) fn create_with(
        folder: impl Into<Folder>,
        start: NewRunFiles<'_>,
        fill: impl FnOnce(&Folder) -> Result<()>,
    ) -> Result<Self> {
        let folder = folder.into();
        let failed = |error: Error| {
            // Two processes may create a run of the same name; the second one fails.
            let exists = matches!(
                error.io_kind(),
                Some(io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
            );
            at("start a run in", folder.path())(if exists { already_exists() } else { error })
        };
        let staged = StagedFolder::create(&folder).map_err(failed)?;
        staged.write_new(CONFIG, start.config)?;
        let overrides: String = start.overrides.iter().flat_map(|line| [line, "\n"]).collect();
        staged.write_new("overrides.txt", overrides)?;
        fill(&staged)?;
        let mut files = BTreeMap::new();
        // Folders are copies of checkpoints, which have manifests of their own.
        for Entry { name, .. } in staged.entries()?.into_iter().filter(|entry| entry.kind == EntryKind::File)
        {
            let name = name.to_string_lossy().into_owned();
            let checksum = Checksum::of(&staged.read(&name)?);
            files.insert(name, checksum);
        }
        staged.write_new(MANIFEST, start.manifest.sealed(files)?)?;
        MetricsLog::create(&staged)?;
        staged.write_new(LOG, "")?;
        staged.below(CHECKPOINTS).make()?;
        staged.commit().map_err(failed)?;
        Self::open(folder)
    }

    /// Opens a run directory to resume the run.
    pub fn open(folder: impl Into<Folder>) -> Result<Self> {
        let folder = folder.into();
        let manifest = Self::read_manifest(&folder)?;
        for missing in [CONFIG, CHECKPOINTS] {
            if !folder.has(missing) {
                return Err(not_a_run(folder.path(), missing));
            }
        }
        let opened = || unopened(folder.path());
        // A link is rejected here, before anything is computed.
        folder.below(CHECKPOINTS).entries().map_err(opened())?;
        let reason = "another process is training in it; wait for it to end or stop it first";
        let lock = folder.lock().map_err(opened())?.ok_or_else(|| opened()(Error::request(reason)))?;
        Ok(Self { folder, manifest, _lock: lock })
    }

    /// Reads the manifest of a run, also of one that is being written.
    pub fn read_manifest(folder: impl Into<Folder>) -> Result<RunManifest> {
        Self::manifest_of(&folder.into()).map(|(manifest, _)| manifest)
    }

    fn manifest_of(folder: &Folder) -> Result<(RunManifest, BTreeMap<String, String>)> {
        let text = folder.find(MANIFEST)?.ok_or_else(|| not_a_run(folder.path(), MANIFEST))?;
        RunManifest::read(&text).map_err(unopened(folder.path()))
    }

    /// Checks the files that are written once, when a run begins, against the manifest. Earlier versions did not list them.
    pub fn verify(folder: impl Into<Folder>) -> Result<()> {
        let folder = folder.into();
        let (_, files) = Self::manifest_of(&folder)?;
        for (name, expected) in files {
            let advice = "it is not what the run began with: put it back, or begin a new run";
            let read = folder.read_checked(&name, Checksum::new(&expected), advice);
            read.map_err(unopened(folder.path()))?;
        }
        Ok(())
    }

    /// Path of the directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The directory.
    pub fn files(&self) -> &Folder {
        &self.folder
    }

    /// Where and with what it was started.
    pub fn manifest(&self) -> &RunManifest {
        &self.manifest
    }

    /// Reads the resolved configuration of a run, as TOML; also of one that is being written.
    pub(crate) fn read_config(folder: impl Into<Folder>) -> Result<String> {
        let folder = folder.into();
        String::from_utf8(folder.read(CONFIG)?).map_err(|error| {
            Error::damage("it is not UTF-8").in_file(folder.path().join(CONFIG)).caused_by(error)
        })
    }

    /// The folder of the checkpoints.
    pub fn checkpoints(&self) -> Folder {
        self.folder.below(CHECKPOINTS)
    }

    /// Path of the log.
    pub(super) fn log_path(&self) -> PathBuf {
        self.folder().join(LOG)
    }

    /// The log, to append to.
    pub(super) fn log(&self) -> Result<File> {
        self.folder.append(LOG)
    }

    /// Opens the metrics of a run at the position of a checkpoint, and removes later lines.
    ///
    /// A run without a checkpoint starts at [`LogPosition::START`].
    pub fn metrics(&self, from: LogPosition) -> Result<(MetricsLog, Resumed)> {
        MetricsLog::resume(&self.folder, from)
    }

    /// A new file of TensorBoard events; `after_step` hides the later steps of earlier files.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Inputs;
    use knockout_base::error::{Class, chain};
    use std::fs;

    pub(super) fn manifest() -> RunManifest {
        RunManifest {
            schema: 1,
            version: "0.1.0".into(),
            commit: "abc".into(),
            seed: 7,
            host: "here".into(),
            inputs: Inputs { dataset: "d".into(), gene_table: "g".into(), cell: "c".into() },
            conditions: BTreeMap::from([("threads".into(), "2".into())]),
        }
    }

    fn start(manifest: &RunManifest) -> NewRunFiles<'_> {
        NewRunFiles { config: "[model]\nlayers = 2\n", overrides: &[], manifest }
    }

    #[test]
    fn a_run_is_made_whole_and_opens_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/first");
        let overrides = ["model.layers=2".to_owned(), "train.epochs=3".to_owned()];
        let run =
            RunFolder::create(&path, NewRunFiles { overrides: &overrides, ..start(&manifest()) }).unwrap();
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
            [
                "checkpoints",
                "config.toml",
                "log.txt",
                "manifest.json",
                "metrics.jsonl",
                "metrics.seal",
                "overrides.txt"
            ]
        );
    }

    #[test]
    fn what_a_run_began_with_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let fill = |staged: &Folder| staged.write_new("split.parquet", "split");
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
    fn a_file_that_cannot_be_read_is_not_called_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        drop(RunFolder::create(&path, start(&manifest())).unwrap());
        // A folder instead of a file fails as permissions do, also for a user who may read everything.
        fs::remove_file(path.join("config.toml")).unwrap();
        fs::create_dir(path.join("config.toml")).unwrap();
        let error = RunFolder::verify(&path).unwrap_err();
        assert_eq!(error.io_kind(), Some(io::ErrorKind::IsADirectory), "{error:?}");
        assert!(!chain(&error).contains("damaged"), "{error:?}");
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
        let nowhere = folder.path().join("nowhere");
        for (path, words) in
            [(folder.path(), "there is no manifest.json"), (&nowhere, "because it does not exist")]
        {
            let error = RunFolder::open(path).unwrap_err();
            assert!(chain(&error).contains(words), "{error:?}");
        }
        fs::write(folder.path().join("manifest.json"), "{\"schema\":").unwrap();
        let error = RunFolder::open(folder.path()).unwrap_err();
        assert!(chain(&error).contains("manifest.json is damaged"), "{error:?}");
    }
}
