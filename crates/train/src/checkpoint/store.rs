//! The checkpoints of a run: the last two, the best by correlation, the best by error.

use super::files::{load, save};
use super::{Checkpoint, Contents};
use crate::context::at;
use knockout_base::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Which of a run's checkpoints.
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
    folder: PathBuf,
}

impl Checkpoints {
    /// The checkpoints in a folder, which must exist.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The checkpoints of the run in a folder.
    pub fn of_run(folder: &Path) -> Self {
        Self::at(&folder.join("checkpoints"))
    }

    /// For the run's writer, before its first [`Self::save`]: removes what killed processes left half-done.
    pub fn clean(&self) -> Result<()> {
        for name in self.names()? {
            let left = [".partial-", ".removed"].iter().any(|part| name.contains(part));
            if name.starts_with('.') && left {
                // It is out of sight already; if it cannot be removed it only takes space.
                fs::remove_dir_all(self.folder.join(name)).ok();
            }
        }
        Ok(())
    }

    /// Writes a checkpoint and then removes those of the slot that are no longer kept.
    pub fn save(&self, slot: Slot, contents: &Contents<'_>) -> Result<Saved> {
        let before = self.list(slot)?;
        let next = before.first().map_or(1, |(count, _)| count.saturating_add(1));
        let path = self.folder.join(format!("{}-{next:06}", slot.name()));
        let weights_hash = save(&path, contents)?;
        for (_, old) in before.iter().skip(slot.keep() - 1) {
            remove(old);
        }
        Ok(Saved { path, weights_hash })
    }

    /// The folders of a slot, newest first.
    pub fn paths(&self, slot: Slot) -> Result<Vec<PathBuf>> {
        Ok(self.list(slot)?.into_iter().map(|(_, path)| path).collect())
    }

    /// Loads the newest of a slot; `None` if there is none yet.
    ///
    /// If it is damaged, the error names it and the newest one before that is whole.
    pub fn newest(&self, slot: Slot) -> Result<Option<(PathBuf, Checkpoint)>> {
        let mut paths = self.paths(slot)?.into_iter();
        let Some(path) = paths.next() else { return Ok(None) };
        match load(&path) {
            Ok(checkpoint) => Ok(Some((path, checkpoint))),
            Err(error) => {
                let Some(whole) = paths.find(|path| load(path).is_ok()) else { return Err(error) };
                let (damaged, whole) = (path.display(), whole.display());
                let message = format!("{error}; {whole} is whole: move {damaged} away to resume from there");
                let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                Err(Error::new(error.class(), message).caused_by(cause))
            }
        }
    }

    /// Loads the newest of the slot wanted; where nothing is wanted, the best Pearson, or the last while no epoch has ended (best
    /// states belong to the ends of epochs). `None` if there is none.
    pub fn choose(&self, wanted: Option<Slot>) -> Result<Option<(Slot, PathBuf, Checkpoint)>> {
        let slots = wanted.map_or(vec![Slot::BestPearson, Slot::Last], |slot| vec![slot]);
        for slot in slots {
            if let Some((path, checkpoint)) = self.newest(slot)? {
                return Ok(Some((slot, path, checkpoint)));
            }
        }
        Ok(None)
    }

    fn list(&self, slot: Slot) -> Result<Vec<(u64, PathBuf)>> {
        let mut list = Vec::new();
        for name in self.names()? {
            let count = name.strip_prefix(slot.name()).and_then(|rest| rest.strip_prefix('-'));
            let digits = count.filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
            if let Some(count) = digits.and_then(|digits| digits.parse().ok()) {
                list.push((count, self.folder.join(name)));
            }
        }
        list.sort_by(|a, b| b.cmp(a));
        Ok(list)
    }

    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(at("look for a checkpoint in", &self.folder))?;
        // Checkpoints have names of plain text.
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}

/// Removes a checkpoint. It is renamed first: a kill meanwhile leaves no half checkpoint under a valid name.
fn remove(folder: &Path) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let hidden = folder.with_file_name(format!(".{name}.removed"));
    // What cannot be removed now is removed by `clean`; the new checkpoint is safe either way.
    if fs::rename(folder, &hidden).is_ok() {
        fs::remove_dir_all(&hidden).ok();
    }
}
