//! Reading a finished store.

use super::error::{lmdb, no_store, not_a_store};
use super::header::{Origin, StoreHeader, StoredForm};
use super::{HEADER_KEY, filesystem, key_of, value};
use crate::batch::ProcessorKind;
use crate::batch::mask::{MaskLayout, MaskSet};
use crate::lmdb::{DATA_FILE, Reader};
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::files::Folder;
use std::fmt;
use std::path::Path;

/// A finished store of one dataset; any number of threads may read it.
pub struct Store {
    folder: Folder,
    values: Reader,
    header: StoreHeader,
    /// Whether every sample of the dataset was stored: a row that is not there is damage then, not a request for too much.
    is_whole: bool,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path())
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in a folder. One that is unfinished, or made for another graph or for other samples, is refused.
    pub fn open(folder: impl Into<Folder>, origin: Origin<'_>) -> Result<Self> {
        let mut store = Self::open_any(&folder.into())?;
        store.header.check_origin(origin).in_file(store.path())?;
        if !store.header.is_complete() {
            let (done, count) = (store.header.done, store.header.count);
            return Err(Error::request(format!(
                "it is unfinished ({done} of {count} samples); run the `knockout data precompute` that began it again to \
                 resume"
            ))
            .in_file(store.path()));
        }
        store.is_whole = store.header.count == origin.samples.len();
        Ok(store)
    }

    /// Returns whether a folder has a store, whatever it was made for.
    pub fn exists(folder: impl Into<Folder>) -> bool {
        folder.into().has(DATA_FILE)
    }

    /// Opens it whatever it was made for, finished or not. No process may be writing it.
    pub(super) fn open_any(folder: &Folder) -> Result<Self> {
        let path = folder.path();
        filesystem::check(path)?;
        let file = folder.find_file(DATA_FILE)?.ok_or_else(|| no_store().in_file(path))?;
        let values = Reader::of(file).map_err(lmdb("read")).in_file(path)?;
        let found = values.get(HEADER_KEY).map_err(lmdb("read")).in_file(path)?;
        let header = found
            .ok_or_else(|| not_a_store("it has no header"))
            .and_then(|bytes| StoreHeader::from_bytes(&bytes))
            .in_file(path)?;
        Ok(Self { folder: folder.clone(), values, header, is_whole: false })
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the header.
    pub fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// Returns the form of the masks in it.
    pub fn form(&self) -> StoredForm {
        self.header.form
    }

    /// Refuses a processor that does not read what is stored.
    pub fn check_kind(&self, kind: ProcessorKind) -> Result<()> {
        if self.form().kind() == kind {
            return Ok(());
        }
        let (found, wanted) = (self.form().name(), kind.name());
        Err(Error::request(format!(
            "it holds {found}, which {wanted} does not read; name the store of {wanted}"
        ))
        .in_file(self.path()))
    }

    /// Refuses rows of which one is not stored.
    pub fn check_rows(&self, rows: &[u32]) -> Result<()> {
        for &row in rows {
            if self.get(row)?.is_none() {
                return Err(self.missing(row));
            }
        }
        Ok(())
    }

    /// Makes `mask` that of a row of the dataset; the value's checksum is verified.
    pub fn read(&self, row: u32, layout: &MaskLayout, mask: &mut MaskSet) -> Result<()> {
        let bytes = self.get(row)?.ok_or_else(|| self.missing(row))?;
        value::decode(self.header.form, &bytes, layout, mask).map_err(|detail| self.damaged(row, detail))
    }

    fn get(&self, row: u32) -> Result<Option<Vec<u8>>> {
        self.values.get(&key_of(row)).map_err(lmdb("read")).in_file(self.path())
    }

    fn missing(&self, row: u32) -> Error {
        if self.is_whole {
            return self.damaged(row, "it is not there, though all samples were stored");
        }
        let count = self.header.count;
        Error::request(format!(
            "it has {count} samples and row {row} is not among them; store more with `knockout data precompute`, into a new \
             folder"
        ))
        .in_file(self.path())
    }

    fn damaged(&self, row: u32, detail: &str) -> Error {
        Error::damage(format!(
            "the value of row {row} is damaged ({detail}); remove the folder and run `knockout data precompute` again"
        ))
        .in_file(self.path())
    }
}
