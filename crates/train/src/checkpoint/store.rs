//! The checkpoints of a run: the last two, the best by correlation, the best by error.

use super::files::{load, save};
use super::{Checkpoint, Contents};
use crate::context::at;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_models::MODELS;
use std::path::PathBuf;

/// End of the name of a checkpoint that is being removed.
const REMOVED: &str = ".removed";

/// One of a run's checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The newest; the one before is kept too.
    Last,
    /// The one with the highest correlation in validation.
    BestPearson,
    /// The one with the lowest squared error in validation.
    BestMse,
}

impl Slot {
    /// Its name: the first part of the folder's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::BestPearson => "best-pearson",
            Self::BestMse => "best-mse",
        }
    }

    /// Returns the number in the name of a checkpoint of this slot.
    fn count_in(self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.name())?.strip_prefix('-')?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    fn keep(self) -> usize {
        match self {
            Self::Last => 2,
            Self::BestPearson | Self::BestMse => 1,
        }
    }
}

/// A checkpoint that was just written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its folder.
    pub path: PathBuf,
    /// blake3 over its weights.
    pub weights_hash: String,
}

/// The folder of a run's checkpoints: `last-000012`, `best-pearson-000003`, …
///
/// The number counts the checkpoints of a slot. One process writes at a time (see [`crate::run::Run`]); any may read.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: Folder,
}

impl Checkpoints {
    /// The checkpoints in a folder, which must exist.
    pub fn at(folder: impl Into<Folder>) -> Self {
        Self { folder: folder.into() }
    }

    /// The checkpoints of the run in a folder.
    pub fn of_run(folder: impl Into<Folder>) -> Self {
        Self::at(folder.into().below("checkpoints"))
    }

    /// Removes incomplete folders of killed processes. The writer of the run calls it before its first [`Self::save`].
    pub fn clean(&self) -> Result<()> {
        self.folder.remove_abandoned().map_err(at("look for a checkpoint in", self.folder.path()))?;
        let slots = [Slot::Last, Slot::BestPearson, Slot::BestMse];
        for hidden in self.names()? {
            let name = hidden.strip_prefix('.').and_then(|name| name.strip_suffix(REMOVED));
            if name.is_some_and(|name| slots.into_iter().any(|slot| slot.count_in(name).is_some())) {
                // It is hidden already; a failed removal only costs disk space.
                self.folder.remove(hidden).ok();
            }
        }
        Ok(())
    }

    /// Writes a checkpoint and then removes those of the slot that are no longer kept.
    pub fn save(&self, slot: Slot, contents: &Contents<'_>) -> Result<Saved> {
        let before = self.list(slot)?;
        let next = before.first().map_or(1, |(count, _)| count.saturating_add(1));
        let folder = self.folder.below(format!("{}-{next:06}", slot.name()));
        let weights_hash = save(&folder, contents)?;
        for (_, old) in before.iter().skip(slot.keep() - 1) {
            self.remove(old);
        }
        Ok(Saved { path: folder.path().to_owned(), weights_hash })
    }

    /// Removes a checkpoint. It is renamed first: a kill meanwhile leaves no half checkpoint under a valid name.
    fn remove(&self, name: &str) {
        let hidden = format!(".{name}{REMOVED}");
        // What cannot be removed now is removed by `clean`; the new checkpoint is safe either way.
        if self.folder.rename(name, &hidden).is_ok() {
            self.folder.remove(hidden).ok();
        }
    }

    /// The folders of a slot, newest first.
    pub fn paths(&self, slot: Slot) -> Result<Vec<PathBuf>> {
        Ok(self.list(slot)?.into_iter().map(|(_, name)| self.folder.path().join(name)).collect())
    }

    /// Loads the newest of a slot; `None` if there is none yet.
    ///
    /// If it is damaged, the error names it and the newest undamaged one before it.
    pub fn newest(&self, slot: Slot) -> Result<Option<(PathBuf, Checkpoint)>> {
        let list = self.list(slot)?;
        let mut folders = list.iter().map(|(_, name)| self.folder.below(name));
        let Some(folder) = folders.next() else { return Ok(None) };
        match load(&folder) {
            Ok(checkpoint) => Ok(Some((folder.path().to_owned(), checkpoint))),
            Err(error) => {
                let Some(whole) = folders.find(|folder| load(folder).is_ok()) else { return Err(error) };
                let (damaged, whole) = (folder.path().display(), whole.path().display());
                let message = format!("{error}; {whole} is whole: move {damaged} away to resume from there");
                let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                Err(Error::new(error.class(), message).caused_by(cause))
            }
        }
    }

    /// Loads the newest of a slot; by default that of the best Pearson, or the last if no epoch has ended (best states belong
    /// to the ends of epochs). `None` if there is none. The only state of a solved model is the last and the best.
    pub fn choose(&self, wanted: Option<Slot>) -> Result<Option<(Slot, PathBuf, Checkpoint)>> {
        let best = wanted.unwrap_or(Slot::BestPearson);
        if let Some((path, checkpoint)) = self.newest(best)? {
            return Ok(Some((best, path, checkpoint)));
        }
        let last = self.newest(Slot::Last)?.map(|(path, checkpoint)| {
            let slot = if is_solved(&checkpoint) { best } else { Slot::Last };
            (slot, path, checkpoint)
        });
        Ok(last.filter(|(slot, ..)| wanted.is_none_or(|wanted| wanted == *slot)))
    }

    /// Counts and names of the folders of a slot, newest first.
    fn list(&self, slot: Slot) -> Result<Vec<(u64, String)>> {
        let names = self.names()?.into_iter();
        let mut list: Vec<(u64, String)> =
            names.filter_map(|name| Some((slot.count_in(&name)?, name))).collect();
        list.sort_by(|a, b| b.cmp(a));
        Ok(list)
    }

    fn names(&self) -> Result<Vec<String>> {
        let entries = self.folder.entries().map_err(at("look for a checkpoint in", self.folder.path()))?;
        // Checkpoints have names of plain text.
        Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }
}

/// Whether a checkpoint is that of a solved model.
fn is_solved(checkpoint: &Checkpoint) -> bool {
    let name = &checkpoint.state.identity.model;
    MODELS.iter().any(|entry| entry.is_solved && entry.name == name)
}
