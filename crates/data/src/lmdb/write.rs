//! Writing an environment, transaction by transaction.

#![expect(unsafe_code, reason = "heed's open is unsafe: it maps a file that others could change")]

use crate::lmdb::{LmdbError, map_size};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, PutFlags, RwTxn, WithoutTls};
use std::path::Path;

/// A writable environment.
#[derive(Debug)]
pub struct LmdbWriter {
    env: Env<WithoutTls>,
    database: Database<'static, Bytes, Bytes>,
}

impl LmdbWriter {
    /// Opens or creates the environment in a folder that exists, with room for `map_bytes`: addresses, not disk. The file
    /// must be on a local file system, with data that [`crate::lmdb::has_data`] accepts or none, and no other process may write it.
    pub fn open(folder: &Path, map_bytes: u64) -> Result<Self, LmdbError> {
        if crate::lmdb::has_data(folder)? {
            crate::lmdb::check_pages(folder)?;
        }
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(map_size(map_bytes));
        // SAFETY: callers keep other writers out, and every page that will be followed was seen to be sound.
        let env = unsafe { options.open(folder) }?;
        let opened = env.create_databases_and_commit(env.write_txn()?, |opener, transaction| {
            opener.create_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        match opened? {
            CommitOrAbort::Commit(database) => Ok(Self { env, database }),
            CommitOrAbort::Abort(()) => Err(LmdbError::Empty),
        }
    }

    /// Starts a write transaction.
    pub fn begin(&mut self) -> Result<Transaction<'_>, LmdbError> {
        Ok(Transaction { transaction: self.env.write_txn()?, database: &self.database })
    }
}

/// A write transaction; dropped without [`Transaction::commit`], it leaves nothing.
pub struct Transaction<'a> {
    transaction: RwTxn<'a>,
    database: &'a Database<'static, Bytes, Bytes>,
}

impl Transaction<'_> {
    /// Stores a value, in place of an earlier one of the same key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), LmdbError> {
        Ok(self.database.put(&mut self.transaction, key, value)?)
    }

    /// Appends a value, which fills pages completely; the key must be the largest.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<(), LmdbError> {
        Ok(self.database.put_with_flags(&mut self.transaction, PutFlags::APPEND, key, value)?)
    }

    /// Makes everything durable: after `Ok`, it survives a kill and a power cut.
    pub fn commit(self) -> Result<(), LmdbError> {
        Ok(self.transaction.commit()?)
    }
}
