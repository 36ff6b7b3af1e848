//! Storage of segments: in memory up to a budget, then in an unnamed temporary file.

use knockout_base::error::{Error, Result};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A store of encoded segments, shared by all threads.
#[derive(Debug)]
pub(crate) struct SegmentStore {
    budget_bytes: usize,
    folder: PathBuf,
    held_bytes: AtomicUsize,
    spilled_bytes: AtomicU64,
    file: Mutex<Option<File>>,
}

/// The bytes of one segment.
#[derive(Debug)]
pub(crate) enum Place {
    /// In memory.
    Held(Vec<u8>),
    /// In the temporary file.
    Spilled { offset: u64, bytes: u64 },
}

impl SegmentStore {
    /// An empty store that keeps `budget_bytes` in memory and the rest in a file in `folder`.
    pub(crate) fn new(budget_bytes: usize, folder: PathBuf) -> Self {
        Self {
            budget_bytes,
            folder,
            held_bytes: AtomicUsize::new(0),
            spilled_bytes: AtomicU64::new(0),
            file: Mutex::new(None),
        }
    }

    /// How much went to the temporary file so far.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Ordering::Relaxed)
    }

    /// Keeps one encoded segment.
    pub(crate) fn keep(&self, encoded: &[u8]) -> Result<Place> {
        let held = self.held_bytes.fetch_add(encoded.len(), Ordering::Relaxed);
        if held + encoded.len() <= self.budget_bytes {
            return Ok(Place::Held(encoded.to_vec()));
        }
        self.held_bytes.fetch_sub(encoded.len(), Ordering::Relaxed);
        self.spill(encoded).map_err(|source| self.error(source))
    }

    fn spill(&self, encoded: &[u8]) -> std::io::Result<Place> {
        let mut slot = self.lock();
        if slot.is_none() {
            *slot = Some(tempfile::tempfile_in(&self.folder)?);
        }
        let Some(file) = slot.as_mut() else { return Err(std::io::ErrorKind::NotFound.into()) };
        let offset = file.seek(SeekFrom::End(0))?;
        file.write_all(encoded)?;
        let bytes = encoded.len() as u64;
        self.spilled_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Place::Spilled { offset, bytes })
    }

    /// Appends up to `limit` bytes from `offset` of the temporary file to `out`.
    pub(crate) fn read(&self, offset: u64, limit: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut slot = self.lock();
        let read = || -> std::io::Result<()> {
            let Some(file) = slot.as_mut() else { return Err(std::io::ErrorKind::NotFound.into()) };
            file.seek(SeekFrom::Start(offset))?;
            let got = file.take(limit).read_to_end(out)?;
            if got as u64 == limit { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
        };
        let mut read = read;
        read().map_err(|source| self.error(source))
    }

    fn error(&self, source: std::io::Error) -> Error {
        let message = format!(
            "could not use a temporary file in {}; free some space there or set TMPDIR to another folder",
            self.folder.display()
        );
        Error::failure(message).caused_by(source)
    }

    /// Accounts for a segment in memory of this size that was dropped.
    pub(crate) fn release(&self, bytes: usize) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A panic elsewhere leaves the file usable: every write is at the end and every read has its own offset.
    fn lock(&self) -> MutexGuard<'_, Option<File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
