//! Reading a finished store.

use super::error::{StoreError, StoreErrorKind};
use super::header::{Origin, StoreHeader, StoredForm};
use super::{HEADER_KEY, key_of, place, value};
use crate::batch::ProcessorKind;
use crate::batch::mask::{MaskLayout, MaskSet};
use crate::lmdb::Reader;
use std::fmt;
use std::path::{Path, PathBuf};

/// A finished store of one dataset; any number of threads may read it.
pub struct Store {
    path: PathBuf,
    values: Reader,
    header: StoreHeader,
    /// Whether every sample of the dataset was stored: a row that is not there is damage then, not a request for too much.
    is_whole: bool,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in a folder. One that is unfinished, or made for another graph or for other samples, is refused.
    pub fn open(folder: &Path, origin: Origin<'_>) -> Result<Self, StoreError> {
        let mut store = Self::open_any(folder)?;
        store.header.check_origin(origin).map_err(|kind| kind.at(folder))?;
        if !store.header.is_complete() {
            let (done, count) = (store.header.done, store.header.count);
            return Err(StoreErrorKind::Unfinished { done, count }.at(folder));
        }
        store.is_whole = store.header.count == origin.samples.len();
        Ok(store)
    }

    /// Opens it whatever it was made for, finished or not; nobody must be writing.
    pub(super) fn open_any(folder: &Path) -> Result<Self, StoreError> {
        let at = |kind: StoreErrorKind| kind.at(folder);
        place::check(folder)?;
        let values = Reader::open(folder).map_err(|error| at(StoreErrorKind::opening(error)))?;
        let header = {
            let failed = |error| at(StoreErrorKind::lmdb("read")(error));
            let found = values.get(HEADER_KEY).map_err(failed)?;
            let missing = || StoreErrorKind::NotAStore { detail: "it does not say what it holds".to_owned() };
            found.ok_or_else(missing).and_then(|bytes| StoreHeader::from_bytes(&bytes)).map_err(at)?
        };
        Ok(Self { path: folder.to_owned(), values, header, is_whole: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says of itself.
    pub fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// How masks are kept in it.
    pub fn form(&self) -> StoredForm {
        self.header.form
    }

    /// Refuses a processor that does not read what is stored.
    pub fn check_kind(&self, kind: ProcessorKind) -> Result<(), StoreError> {
        if self.form().kind() == kind {
            return Ok(());
        }
        Err(StoreErrorKind::OtherProcessor { found: self.form(), wanted: kind.name() }.at(&self.path))
    }

    /// Refuses rows of which one is not stored.
    pub fn check_rows(&self, rows: &[u32]) -> Result<(), StoreError> {
        let failed = |error| StoreErrorKind::lmdb("read")(error).at(&self.path);
        for &row in rows {
            if self.values.get(&key_of(row)).map_err(failed)?.is_none() {
                return Err(self.missing(row));
            }
        }
        Ok(())
    }

    /// Makes `mask` that of a row of the dataset; the value's checksum is verified.
    pub fn read(&self, row: u32, layout: &MaskLayout, mask: &mut MaskSet) -> Result<(), StoreError> {
        let failed = |error| StoreErrorKind::lmdb("read")(error).at(&self.path);
        let found = self.values.get(&key_of(row)).map_err(failed)?;
        let bytes = found.ok_or_else(|| self.missing(row))?;
        value::decode(self.header.form, &bytes, layout, mask)
            .map_err(|detail| StoreErrorKind::Damaged { row, detail }.at(&self.path))
    }

    fn missing(&self, row: u32) -> StoreError {
        let kind = if self.is_whole {
            StoreErrorKind::Damaged { row, detail: "it is not there, though all samples were stored" }
        } else {
            StoreErrorKind::MissingSample { row, count: self.header.count }
        };
        kind.at(&self.path)
    }
}
