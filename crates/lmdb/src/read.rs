//! Reading an environment that nobody writes.

#![expect(unsafe_code, reason = "heed's open is unsafe: it maps a file that others could change")]

use crate::{DATA_FILE, LmdbError, header, map_size};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use std::fs::File;
use std::path::Path;

/// A read-only environment, opened without locks; any number of threads may read it.
#[derive(Debug, Clone)]
pub struct Reader {
    env: Env<WithoutTls>,
    database: Database<'static, Bytes, Bytes>,
}

impl Reader {
    /// Opens the environment in a folder. Its file must be on a local file system, and nobody may write it meanwhile.
    pub fn open(folder: &Path) -> Result<Self, LmdbError> {
        let length = header::check(&mut File::open(folder.join(DATA_FILE))?)?.length;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(map_size(length));
        // SAFETY: callers promise that the file is finished; nothing is written through this mapping, and the file was seen
        // to be as long as its pages say.
        let env = unsafe {
            options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK | EnvFlags::NO_READ_AHEAD);
            options.open(folder)
        }?;
        let opened = env.open_databases_and_commit(env.read_txn()?, |opener, transaction| {
            opener.open_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        match opened? {
            CommitOrAbort::Commit(Some(database)) => Ok(Self { env, database }),
            _ => Err(LmdbError::Empty),
        }
    }

    /// Starts a read transaction.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, LmdbError> {
        Ok(Snapshot { transaction: self.env.read_txn()?, database: &self.database })
    }
}

/// A read transaction.
pub struct Snapshot<'a> {
    transaction: RoTxn<'a, WithoutTls>,
    database: &'a Database<'static, Bytes, Bytes>,
}

impl Snapshot<'_> {
    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, LmdbError> {
        Ok(self.database.get(&self.transaction, key)?)
    }

    /// Iterates over the keys in byte order.
    pub fn keys(&self) -> Result<impl Iterator<Item = Result<&[u8], LmdbError>>, LmdbError> {
        let entries = self.database.iter(&self.transaction)?;
        Ok(entries.map(|entry| Ok(entry?.0)))
    }
}
