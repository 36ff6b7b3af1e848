//! The folder of predictions: a manifest and blocks, each complete or absent.
//!
//! ```text
//! DIR/manifest.json                        runs, weights, dataset, candidates, command
//!     predictions/block-000000000.parquet  …
//! ```
//!
//! One process writes a folder at a time. The module does not depend on scorers.

use crate::Plan;
use knockout_base::error::{Error, Result, class_of_path};
use knockout_base::files::{self, FolderLock, StagedFolder};
use std::io;
use std::path::Path;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// Name of the folder of blocks.
pub const PREDICTIONS: &str = "predictions";

/// A folder of predictions that this process writes.
#[derive(Debug)]
pub struct PredictionFolder {
    kept: files::Folder,
    plan: Plan,
    identity: String,
    _lock: FolderLock,
}

impl PredictionFolder {
    /// Starts a folder, or resumes one of the same plan.
    pub fn start(path: &Path, plan: Plan) -> Result<Self> {
        if path.symlink_metadata().is_ok() {
            let found = Self::find_plan(path)?.ok_or_else(|| {
                let path = path.display();
                let advice = "choose another folder or remove it first";
                Error::request(format!("{path} exists and holds no predictions; {advice}"))
            })?;
            let mut keys = found.differences(&plan);
            if found.part != plan.part {
                keys.push("the part");
            }
            if !keys.is_empty() {
                let (path, keys) = (path.display(), keys.join(", "));
                return Err(Error::request(format!(
                    "{path} holds predictions of another request: {keys} differ; choose another folder, or run the command that began it to resume"
                )));
            }
            return Self::lock(path, found);
        }
        Self::create(path, plan, |_| Ok(()))
    }

    /// Makes a folder; `fill` puts blocks into it before it appears.
    pub(crate) fn create(
        path: &Path,
        plan: Plan,
        fill: impl FnOnce(&files::Folder) -> Result<()>,
    ) -> Result<Self> {
        let staged = StagedFolder::create(path).map_err(unwritten)?;
        staged.below(PREDICTIONS).make().map_err(unwritten)?;
        // Maps with text keys and plain numbers: nothing here can fail to be written.
        let text = serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n";
        staged.write_new(MANIFEST, text).map_err(unwritten)?;
        fill(&staged)?;
        staged.commit().map_err(unwritten)?;
        Self::lock(path, plan)
    }

    /// Reads the plan of a folder; needs no lock.
    pub(crate) fn read_plan(path: &Path) -> Result<Plan> {
        Self::find_plan(path)?.ok_or_else(|| {
            let advice = "name a folder that `knockout predict` made";
            Error::request(format!("{} holds no predictions; {advice}", path.display()))
        })
    }

    /// Reads the plan of a folder; `None` if it holds no predictions.
    fn find_plan(path: &Path) -> Result<Option<Plan>> {
        let manifest = path.join(MANIFEST);
        let Some(text) = files::Folder::at(path).find(MANIFEST)? else { return Ok(None) };
        let unparsable = |error: serde_json::Error| damaged(&manifest, &error.to_string());
        // Manifests of runs have the same name and no candidates.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(unparsable)?;
        if value.get("candidates").is_none() {
            return Ok(None);
        }
        serde_json::from_value(value).map(Some).map_err(unparsable)
    }

    fn lock(path: &Path, plan: Plan) -> Result<Self> {
        let folder = files::Folder::at(path);
        let lock = folder.lock()?.ok_or_else(|| {
            let path = path.display();
            Error::request(format!("another process is writing {path}; wait for it to end or stop it first"))
        })?;
        // Removes what killed processes left half-written. Blocks are written there too, so a link is refused here.
        folder
            .remove_abandoned()
            .and_then(|()| folder.below(PREDICTIONS).remove_abandoned())
            .map_err(unwritten)?;
        Ok(Self { kept: folder, identity: plan.identity(), plan, _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.kept.path()
    }

    /// The folder, to be read and written.
    pub(crate) fn files(&self) -> &files::Folder {
        &self.kept
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Blocks of the folder's part that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        missing(&self.kept, &self.plan)
    }

    pub(crate) fn write_block(&self, block: u64, bytes: &[u8]) -> Result<()> {
        self.kept.replace(block_name(block), |out| out.write_all(bytes)).map_err(unwritten)
    }
}

/// The error of a file that could not be written; the earlier files are complete.
pub(crate) fn unwritten(error: Error) -> Error {
    error.while_doing(
        "predictions could not be written; the blocks before are kept; run the same command again to resume",
    )
}

/// The error of a file that could not be read.
pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let message = format!("could not read {}", path.display());
    move |error| Error::new(class_of_path(error.kind()), message).caused_by(error)
}

/// The error of a file that is damaged.
pub(crate) fn damaged(path: &Path, detail: &str) -> Error {
    let advice = "remove it and run the same command again";
    Error::damage(format!("{} is damaged ({detail}); {advice}", path.display()))
}

/// The error of a part that lacks blocks.
pub(crate) fn unfinished(path: &Path, missing: u64, blocks: u64) -> Error {
    let advice = "run its command again, then merge";
    let path = path.display();
    Error::request(format!("{path} is not finished: {missing} of {blocks} blocks are missing; {advice}"))
}

pub(crate) fn block_name(block: u64) -> String {
    format!("{PREDICTIONS}/block-{block:09}.parquet")
}

pub(crate) fn missing(folder: &files::Folder, plan: &Plan) -> Vec<u64> {
    plan.part.of_blocks(plan.blocks()).filter(|&block| !folder.has(block_name(block))).collect()
}
