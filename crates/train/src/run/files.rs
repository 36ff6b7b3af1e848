//! The files of a run under way, which one process writes.

use super::RunFolder;
use super::writer::RunWriter;
use crate::checkpoint::{Checkpoint, Checkpoints, EpochSpent, LogPosition, Saved, Slot};
use crate::fit::Fit;
use knockout_base::error::Result;
use knockout_base::files::Folder;

/// The locked folder of a run, with the files that are written into it.
pub(super) struct RunFiles {
    /// Held for its lock.
    _folder: RunFolder,
    pub(super) writer: RunWriter,
    checkpoints: Checkpoints,
}

impl RunFiles {
    /// Locks the folder of a run to resume it, and removes what an interruption left half written.
    pub(super) fn claim(folder: &Folder) -> Result<RunFolder> {
        let run = RunFolder::open(folder)?;
        Checkpoints::at(run.checkpoints()).clean()?;
        Ok(run)
    }

    /// Returns the newest checkpoint to resume from. Needs no lock.
    pub(super) fn newest(folder: &Folder) -> Result<Option<Checkpoint>> {
        let newest = Checkpoints::of_run(folder).newest(Slot::Last)?;
        Ok(newest.map(|(_, checkpoint)| checkpoint))
    }

    /// Opens the files at the end of a checkpoint's metrics; [`LogPosition::START`] for a new run.
    pub(super) fn open(folder: RunFolder, from: LogPosition, after_step: Option<u64>) -> Result<Self> {
        Ok(Self {
            writer: RunWriter::open(&folder, from, after_step)?,
            checkpoints: Checkpoints::at(folder.checkpoints()),
            _folder: folder,
        })
    }

    /// Saves a state.
    pub(super) fn save(&mut self, fit: &Fit, slot: Slot, spent: EpochSpent) -> Result<Saved> {
        fit.save(&self.checkpoints, slot, self.writer.position()?, spent)
    }
}
