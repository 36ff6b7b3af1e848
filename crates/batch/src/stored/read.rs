//! Reading a finished store.

#![expect(unsafe_code, reason = "heed's open is unsafe: it maps a file that others could change")]

use super::about::{About, Origin, StoredForm};
use super::error::{StoreError, StoreErrorKind};
use super::{ABOUT_KEY, DATA_FILE, head, key_of, place, value};
use crate::ProcessorKind;
use crate::mask::{MaskLayout, MaskSet};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, WithoutTls};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A finished store of one dataset; any number of threads may read it.
pub struct Store {
    path: PathBuf,
    env: Env<WithoutTls>,
    database: Database<'static, Bytes, Bytes>,
    about: About,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).field("about", &self.about).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in a folder. One that is unfinished, or made for another graph or for other samples, is refused.
    pub fn open(folder: &Path, origin: Origin<'_>) -> Result<Self, StoreError> {
        let store = Self::open_any(folder)?;
        store.about.check_origin(origin).map_err(|kind| kind.at(folder))?;
        if !store.about.is_complete() {
            let (done, count) = (store.about.done, store.about.count);
            return Err(StoreErrorKind::Unfinished { done, count }.at(folder));
        }
        Ok(store)
    }

    /// Opens it whatever it was made for, finished or not; nobody must be writing.
    pub(super) fn open_any(folder: &Path) -> Result<Self, StoreError> {
        let at = |kind: StoreErrorKind| kind.at(folder);
        let mut file = File::open(folder.join(DATA_FILE)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => at(StoreErrorKind::NotFound),
            _ => at(StoreErrorKind::io("read")(error)),
        })?;
        place::check(folder)?;
        let length = head::check(&mut file).map_err(at)?.length;
        let failed = |error| at(StoreErrorKind::lmdb("read")(error));
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(usize::try_from(length.next_multiple_of(1 << 16)).unwrap_or(usize::MAX));
        // SAFETY: a finished store is not written again and an unfinished one is only looked at under its writer's lock;
        // nothing is written through this mapping, the file was seen to be as long as its pages say, and it is on a local
        // file system.
        let env = unsafe {
            options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK | EnvFlags::NO_READ_AHEAD);
            options.open(folder)
        }
        .map_err(failed)?;
        let opening = env.read_txn().map_err(failed)?;
        let opened = env.open_databases_and_commit(opening, |opener, transaction| {
            opener.open_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let CommitOrAbort::Commit(Some(database)) = opened.map_err(failed)? else {
            return Err(at(StoreErrorKind::NotAStore { detail: "its data.mdb is empty".to_owned() }));
        };
        let about = {
            let transaction = env.read_txn().map_err(failed)?;
            let found = database.get(&transaction, ABOUT_KEY).map_err(failed)?;
            let missing = || StoreErrorKind::NotAStore { detail: "it does not say what it holds".to_owned() };
            found.ok_or_else(missing).and_then(About::from_bytes).map_err(at)?
        };
        Ok(Self { path: folder.to_owned(), env, database, about })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// How masks are kept in it.
    pub fn form(&self) -> StoredForm {
        self.about.form
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
        let transaction = self.env.read_txn().map_err(failed)?;
        for &row in rows {
            if self.database.get(&transaction, &key_of(row)).map_err(failed)?.is_none() {
                return Err(self.missing(row));
            }
        }
        Ok(())
    }

    /// Makes `mask` that of a row of the dataset; the value's checksum is verified.
    pub fn read(&self, row: u32, layout: &MaskLayout, mask: &mut MaskSet) -> Result<(), StoreError> {
        let failed = |error| StoreErrorKind::lmdb("read")(error).at(&self.path);
        let transaction = self.env.read_txn().map_err(failed)?;
        let found = self.database.get(&transaction, &key_of(row)).map_err(failed)?;
        let bytes = found.ok_or_else(|| self.missing(row))?;
        value::decode(self.about.form, bytes, layout, mask)
            .map_err(|detail| StoreErrorKind::Damaged { row, detail }.at(&self.path))
    }

    fn missing(&self, row: u32) -> StoreError {
        StoreErrorKind::MissingSample { row, count: self.about.count }.at(&self.path)
    }
}
