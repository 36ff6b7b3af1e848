//! The folder of predictions: a manifest and blocks, each whole or absent.
//!
//! ```text
//! DIR/manifest.json                        runs, weights, dataset, candidates, command
//!     predictions/block-000000000.parquet  …
//! ```
//!
//! One process writes a folder at a time. The module knows nothing of how predictions are made.

use crate::{Plan, PredictError};
use knockout_base::files::{StagedDir, inside, replace};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// Name of the folder of blocks.
pub const PREDICTIONS: &str = "predictions";

/// A folder of predictions that this process writes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    plan: Plan,
    identity: String,
    /// Held open for its lock.
    _lock: File,
}

impl Folder {
    /// Starts a folder, or goes on with one of the same plan.
    pub fn start(path: &Path, plan: Plan) -> Result<Self, PredictError> {
        if path.symlink_metadata().is_ok() {
            let found = Self::read_plan(path).map_err(|error| match error {
                PredictError::NotPredictions { path } => PredictError::Exists { path },
                other => other,
            })?;
            let mut keys = found.differences(&plan);
            if found.part != plan.part {
                keys.push("the part");
            }
            if !keys.is_empty() {
                return Err(PredictError::OtherRequest { path: path.to_owned(), keys });
            }
            return Self::lock(path, found);
        }
        Self::create(path, plan, |_| Ok(()))
    }

    /// Makes a folder; `fill` puts blocks into it before it appears.
    pub(crate) fn create(
        path: &Path,
        plan: Plan,
        fill: impl FnOnce(&Path) -> Result<(), PredictError>,
    ) -> Result<Self, PredictError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| PredictError::Read { path, source }
        };
        let staged = StagedDir::create(path)?;
        let blocks = staged.path().join(PREDICTIONS);
        fs::create_dir(&blocks).map_err(at(&blocks))?;
        // Maps with text keys and plain numbers: nothing here can fail to be written.
        let text = serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n";
        let manifest = staged.path().join(MANIFEST);
        fs::write(&manifest, text).map_err(at(&manifest))?;
        fill(&blocks)?;
        staged.commit()?;
        Self::lock(path, plan)
    }

    /// Opens a folder to read it, whoever writes it.
    pub fn read_plan(path: &Path) -> Result<Plan, PredictError> {
        let manifest = path.join(MANIFEST);
        let text = fs::read(&manifest).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                PredictError::NotPredictions { path: path.to_owned() }
            }
            _ => PredictError::Read { path: manifest.clone(), source },
        })?;
        // Manifests of runs have the same name and are no predictions.
        let value: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| PredictError::Damaged { path: manifest.clone(), detail: error.to_string() })?;
        if value.get("candidates").is_none() {
            return Err(PredictError::NotPredictions { path: path.to_owned() });
        }
        serde_json::from_value(value)
            .map_err(|error| PredictError::Damaged { path: manifest, detail: error.to_string() })
    }

    fn lock(path: &Path, plan: Plan) -> Result<Self, PredictError> {
        let at = |source| PredictError::Read { path: path.to_owned(), source };
        let lock = File::open(path).map_err(at)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(PredictError::Busy { path: path.to_owned() }),
            // A file system without locks: two writers are then the user's care.
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(at(error));
            }
            _ => {}
        }
        // Blocks are written and left-overs removed there.
        inside(path, PREDICTIONS)?;
        let folder = Self { path: path.to_owned(), identity: plan.identity(), plan, _lock: lock };
        folder.remove_abandoned();
        Ok(folder)
    }

    /// Removes what killed processes left half-written; nobody else writes while the lock is held.
    fn remove_abandoned(&self) {
        for folder in [self.path.clone(), self.path.join(PREDICTIONS)] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if name.starts_with('.') && name.contains(".partial-") {
                    // What cannot be removed only takes space.
                    fs::remove_file(entry.path()).ok();
                }
            }
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Where a block is or will be.
    pub(crate) fn block_path(&self, block: u64) -> PathBuf {
        block_path(&self.path, block)
    }

    /// Blocks of the folder's part that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        missing(&self.path, &self.plan)
    }

    pub(crate) fn write_block(&self, block: u64, bytes: &[u8]) -> Result<(), PredictError> {
        Ok(replace(&inside(&self.path, block_name(block))?, |out| out.write_all(bytes))?)
    }
}

pub(crate) fn block_path(folder: &Path, block: u64) -> PathBuf {
    folder.join(block_name(block))
}

fn block_name(block: u64) -> PathBuf {
    Path::new(PREDICTIONS).join(format!("block-{block:09}.parquet"))
}

pub(crate) fn missing(folder: &Path, plan: &Plan) -> Vec<u64> {
    plan.part.of_blocks(plan.blocks()).filter(|&block| !block_path(folder, block).exists()).collect()
}
