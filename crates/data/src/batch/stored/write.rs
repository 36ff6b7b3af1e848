//! Writing a store, transaction by transaction.

use super::error::{StoreError, StoreErrorKind};
use super::estimate::Estimate;
use super::header::{Origin, StoreHeader, StoredForm};
use super::value::Encoder;
use super::{HEADER_KEY, Store, key_of, place};
use crate::batch::removal::unknown_gene;
use crate::lmdb::{DATA_FILE, LOCK_FILE, Writer};
use knockout_base::files::inside;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A transaction ends after this many samples or bytes: what a kill can cost.
const SAMPLES_PER_COMMIT: usize = 256;
const BYTES_PER_COMMIT: usize = 32 << 20;

/// Room in the map beyond the estimate: it costs addresses, not disk.
const SPARE_MAP: u64 = 64 << 20;

/// Fills a store.
///
/// After [`StoreWriter::step`] returns `Ok`, its samples survive a kill and a power cut. A kill at any moment leaves the
/// samples of all finished steps, and [`StoreWriter::open`] goes on behind them; the finished store holds the same values
/// however often it was interrupted.
pub struct StoreWriter<'a> {
    path: PathBuf,
    origin: Origin<'a>,
    rows: &'a [u32],
    values: Writer,
    header: StoreHeader,
    encoder: Encoder,
    /// Held open for its lock.
    _lock: File,
}

impl fmt::Debug for StoreWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter")
            .field("path", &self.path)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl<'a> StoreWriter<'a> {
    /// What the folder already has of these rows, ascending; `None` when there is nothing yet. Anything else that is
    /// there (another graph, another choice, other files, somebody writing) is an error. Changes nothing.
    pub fn look(
        folder: &Path,
        origin: Origin<'_>,
        form: StoredForm,
        rows: &[u32],
    ) -> Result<Option<StoreHeader>, StoreError> {
        place::check(folder)?;
        if !folder.exists() {
            return Ok(None);
        }
        let lock = lock(folder)?;
        let header = found_in(folder)?;
        drop(lock);
        match header {
            Some(header) => {
                check(&header, origin, form, rows).map(|()| Some(header)).map_err(|kind| kind.at(folder))
            }
            None => Ok(None),
        }
    }

    /// Begins a store of these rows (ascending) or goes on with one. Its folder and those above it are made where there are none.
    pub fn open(
        folder: &Path,
        origin: Origin<'a>,
        form: StoredForm,
        rows: &'a [u32],
    ) -> Result<Self, StoreError> {
        let at = |kind: StoreErrorKind| kind.at(folder);
        place::check(folder)?;
        fs::create_dir_all(folder).map_err(|error| at(StoreErrorKind::io("created")(error)))?;
        let lock = lock(folder)?;
        let header = match found_in(folder)? {
            Some(header) => {
                check(&header, origin, form, rows).map_err(at)?;
                header
            }
            None => StoreHeader::new(origin, form, rows),
        };
        for name in [DATA_FILE, LOCK_FILE] {
            inside(folder, name).map_err(|error| at(StoreErrorKind::Link { message: error.to_string() }))?;
        }
        let failed = |error| at(StoreErrorKind::lmdb("written")(error));
        let map_size = 2 * Estimate::of(origin, form, rows).bytes + SPARE_MAP;
        // The lock on the folder keeps every other writer out, and readers open finished stores only.
        let values = Writer::open(folder, map_size).map_err(failed)?;
        let encoder = Encoder::new(origin.cell, form);
        Ok(Self { path: folder.to_owned(), origin, rows, values, header, encoder, _lock: lock })
    }

    /// What the store says of itself at present.
    pub fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// Stores some more samples for good and gives their number; 0 when all are stored.
    pub fn step(&mut self) -> Result<usize, StoreError> {
        let at = |kind: StoreErrorKind| kind.at(&self.path);
        let failed = |error| at(StoreErrorKind::lmdb("written")(error));
        let mut header = self.header.clone();
        let mut transaction = self.values.begin().map_err(failed)?;
        let cell = self.origin.cell;
        let (mut samples, mut bytes) = (0, 0);
        for &row in self.rows.iter().skip(header.done).take(SAMPLES_PER_COMMIT) {
            let deletion = self.origin.samples.deletion(row as usize);
            if let Some(gene) = unknown_gene(cell, &deletion) {
                let count = cell.genes().len();
                return Err(at(StoreErrorKind::UnknownGene { row, gene: gene.0, count }));
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
        let text = header.to_text().map_err(at)?;
        transaction.put(HEADER_KEY, text.as_bytes()).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.header = header;
        Ok(samples)
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        fs::metadata(self.path.join(DATA_FILE)).map_or(0, |metadata| metadata.len())
    }
}

/// Keeps other writers out for as long as the file is open.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let file = File::open(folder).map_err(|error| StoreErrorKind::io("read")(error).at(folder))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreErrorKind::Busy.at(folder)),
        Err(fs::TryLockError::Error(error)) => Err(StoreErrorKind::io("locked")(error).at(folder)),
    }
}

/// What a store in the folder says of itself; `None` when nothing was stored yet.
fn found_in(folder: &Path) -> Result<Option<StoreHeader>, StoreError> {
    let at = |kind: StoreErrorKind| kind.at(folder);
    let entries = fs::read_dir(folder).map_err(|error| at(StoreErrorKind::io("read")(error)))?;
    for entry in entries {
        let name = entry.map_err(|error| at(StoreErrorKind::io("read")(error)))?.file_name();
        if name != DATA_FILE && name != LOCK_FILE {
            return Err(at(StoreErrorKind::NotEmpty));
        }
    }
    if !crate::lmdb::has_data(folder).map_err(|error| at(StoreErrorKind::opening(error)))? {
        return Ok(None);
    }
    Store::open_any(folder).map(|store| Some(store.header().clone()))
}

fn check(
    header: &StoreHeader,
    origin: Origin<'_>,
    form: StoredForm,
    rows: &[u32],
) -> Result<(), StoreErrorKind> {
    header.check_origin(origin)?;
    if header.form != form {
        return Err(StoreErrorKind::OtherForm { found: header.form, wanted: form });
    }
    let wanted = StoreHeader::new(origin, form, rows);
    if header.chosen != wanted.chosen || header.count != wanted.count || header.done > header.count {
        return Err(StoreErrorKind::OtherChoice { found: header.count, wanted: wanted.count });
    }
    Ok(())
}
