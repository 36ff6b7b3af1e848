//! Writing a store, transaction by transaction.

use super::error::{lmdb, refused};
use super::estimate::StoreEstimate;
use super::header::{Origin, StoreHeader, StoredForm};
use super::value::Encoder;
use super::{HEADER_KEY, Store, filesystem, key_of};
use crate::batch::removal::unknown_gene;
use crate::lmdb::{DATA_FILE, LOCK_FILE, LmdbWriter};
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::files::{Folder, FolderLock};
use std::fmt;

/// A transaction ends after this many samples or bytes: what a kill can cost.
const SAMPLES_PER_COMMIT: usize = 256;
const BYTES_PER_COMMIT: usize = 32 << 20;

/// Room in the map beyond the estimate: it costs addresses, not disk.
const SPARE_MAP: u64 = 64 << 20;

/// Fills a store.
///
/// After [`StoreWriter::step`] returns `Ok`, its samples survive a kill and a power cut. A kill at any moment leaves the
/// samples of all finished steps, and [`StoreWriter::open`] resumes after them; the finished store holds the same values
/// however often it was interrupted.
pub struct StoreWriter<'a> {
    folder: Folder,
    origin: Origin<'a>,
    rows: &'a [u32],
    values: LmdbWriter,
    header: StoreHeader,
    encoder: Encoder,
    _lock: FolderLock,
}

impl fmt::Debug for StoreWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter")
            .field("path", &self.folder.path())
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl<'a> StoreWriter<'a> {
    /// Returns the header of a store of these rows, ascending; `None` when there is nothing yet. Anything else that is
    /// there (another graph, another choice, other files, somebody writing) is an error. Changes nothing.
    pub fn look(
        folder: impl Into<Folder>,
        origin: Origin<'_>,
        form: StoredForm,
        rows: &[u32],
    ) -> Result<Option<StoreHeader>> {
        let folder = folder.into();
        filesystem::check(folder.path())?;
        if !folder.path().exists() {
            return Ok(None);
        }
        let lock = lock(&folder)?;
        let header = found_in(&folder)?;
        drop(lock);
        match header {
            Some(header) => {
                check(&header, origin, form, rows).in_file(folder.path())?;
                Ok(Some(header))
            }
            None => Ok(None),
        }
    }

    /// Starts a store of these rows (ascending) or resumes one. Its folder and those above it are made where there are none.
    pub fn open(
        folder: impl Into<Folder>,
        origin: Origin<'a>,
        form: StoredForm,
        rows: &'a [u32],
    ) -> Result<Self> {
        let folder = folder.into();
        filesystem::check(folder.path())?;
        folder.make()?;
        let lock = lock(&folder)?;
        let header = match found_in(&folder)? {
            Some(header) => {
                check(&header, origin, form, rows).in_file(folder.path())?;
                header
            }
            None => StoreHeader::new(origin, form, rows),
        };
        // LMDB opens its files by path.
        for name in [DATA_FILE, LOCK_FILE] {
            folder.find_file(name)?;
        }
        let map_size = 2 * StoreEstimate::of(origin, form, rows).bytes + SPARE_MAP;
        // The lock on the folder keeps every other writer out, and readers open finished stores only.
        let values =
            LmdbWriter::open(folder.path(), map_size).map_err(lmdb("written")).in_file(folder.path())?;
        let encoder = Encoder::new(origin.cell, form);
        Ok(Self { folder, origin, rows, values, header, encoder, _lock: lock })
    }

    /// Returns the current header.
    pub fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// Stores some more samples for good and gives their number; 0 when all are stored.
    pub fn step(&mut self) -> Result<usize> {
        let failed = |error| lmdb("written")(error).in_file(self.folder.path());
        let mut header = self.header.clone();
        let mut transaction = self.values.begin().map_err(failed)?;
        let cell = self.origin.cell;
        let (mut samples, mut bytes) = (0, 0);
        for &row in self.rows.iter().skip(header.done).take(SAMPLES_PER_COMMIT) {
            let deletion = self.origin.samples.deletion(row as usize);
            if let Some(gene) = unknown_gene(cell, &deletion) {
                let count = cell.genes().len();
                let gene = gene.0;
                return Err(Error::damage(format!(
                    "row {row} deletes gene {gene}, but the cell has {count}; check the dataset with `knockout data verify`"
                ))
                .in_file(self.folder.path()));
            }
            let (value, checksum) = self.encoder.encode(cell, &deletion);
            // Rows ascend, so each goes behind the last: pages are filled whole.
            transaction.append(&key_of(row), value).map_err(failed)?;
            header.extend(row, checksum);
            samples += 1;
            bytes += value.len();
            if bytes >= BYTES_PER_COMMIT {
                break;
            }
        }
        let text = header.to_text().in_file(self.folder.path())?;
        transaction.put(HEADER_KEY, text.as_bytes()).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.header = header;
        Ok(samples)
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        let file = self.folder.open_file(DATA_FILE);
        file.and_then(|file| file.metadata().map_err(refused("read"))).map_or(0, |metadata| metadata.len())
    }
}

/// Keeps other writers out for as long as the lock is held.
fn lock(folder: &Folder) -> Result<FolderLock> {
    let busy = || Error::request("another process is writing it; wait for it to end").in_file(folder.path());
    folder.lock()?.ok_or_else(busy)
}

/// Returns the header of the store in a folder; `None` when nothing was stored yet.
fn found_in(folder: &Folder) -> Result<Option<StoreHeader>> {
    if folder.entries()?.iter().any(|entry| entry.name != DATA_FILE && entry.name != LOCK_FILE) {
        let message = "the folder has other files in it; choose an empty or a new one with --out";
        return Err(Error::request(message).in_file(folder.path()));
    }
    let has_data = folder.find_file(DATA_FILE)?.map(crate::lmdb::file_has_data);
    if !has_data.transpose().map_err(lmdb("read")).in_file(folder.path())?.unwrap_or(false) {
        return Ok(None);
    }
    Store::open_any(folder).map(|store| Some(store.header().clone()))
}

fn check(header: &StoreHeader, origin: Origin<'_>, form: StoredForm, rows: &[u32]) -> Result<()> {
    header.check_origin(origin)?;
    if header.form != form {
        let (found, wanted) = (header.form.name(), form.name());
        return Err(Error::request(format!(
            "it holds {found}, not {wanted}; choose another folder with --out, or remove this one"
        )));
    }
    let wanted = StoreHeader::new(origin, form, rows);
    if header.chosen != wanted.chosen || header.count != wanted.count || header.done > header.count {
        let (found, wanted) = (header.count, wanted.count);
        return Err(Error::request(format!(
            "it was begun with another choice of samples ({found} of them, not these {wanted}); give the same --samples and \
             --seed, choose another folder with --out, or remove this one"
        )));
    }
    Ok(())
}
