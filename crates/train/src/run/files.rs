//! The files of a run under way, which one process writes.

use super::writer::RunWriter;
use super::{LogPosition, RunError, RunFolder};
use crate::checkpoint::{Checkpoint, Checkpoints, EpochSpent, Saved, Slot};
use crate::fit::Fit;
use std::path::Path;

/// A run's folder, claimed by this process, with everything that is written into it.
pub(super) struct RunFiles {
    /// Held for its lock.
    _folder: RunFolder,
    pub(super) writer: RunWriter,
    checkpoints: Checkpoints,
}

impl RunFiles {
    /// Claims the folder of a run to go on with it, and clears away what an interruption left half written.
    pub(super) fn claim(folder: &Path) -> Result<RunFolder, RunError> {
        let run = RunFolder::open(folder)?;
        Checkpoints::at(&run.checkpoints()).clean()?;
        Ok(run)
    }

    /// The newest checkpoint of a run to go on from. Any process may ask.
    pub(super) fn newest(folder: &Path) -> Result<Option<Checkpoint>, RunError> {
        let newest = Checkpoints::at(&RunFolder::checkpoints_of(folder)).newest(Slot::Last)?;
        Ok(newest.map(|(_, checkpoint)| checkpoint))
    }

    /// Writes from where a checkpoint left the metrics; [`LogPosition::START`] for a new run.
    pub(super) fn open(
        folder: RunFolder,
        from: LogPosition,
        after_step: Option<u64>,
    ) -> Result<Self, RunError> {
        Ok(Self {
            writer: RunWriter::open(&folder, from, after_step)?,
            checkpoints: Checkpoints::at(&folder.checkpoints()),
            _folder: folder,
        })
    }

    /// Saves a state.
    pub(super) fn save(&mut self, fit: &Fit, slot: Slot, spent: EpochSpent) -> Result<Saved, RunError> {
        Ok(fit.save(&self.checkpoints, slot, self.writer.position()?, spent)?)
    }
}
