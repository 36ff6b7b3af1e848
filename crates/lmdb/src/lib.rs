//! One LMDB environment with one unnamed database of bytes: opened to be read, or opened to be written.
//!
//! LMDB trusts its file, and a page that is missing ends the process. So the header is checked before a file is mapped, and
//! this crate is the only one that opens an environment. It knows nothing of what keys and values mean.

mod header;
mod read;
mod write;

pub use read::{Reader, Snapshot};
pub use write::{Transaction, Writer};

use std::fs::File;
use std::io;
use std::path::Path;

/// The file inside an environment's folder that holds everything but locks.
pub const DATA_FILE: &str = "data.mdb";

/// The file inside an environment's folder that writers lock; absent where nobody locked.
pub const LOCK_FILE: &str = "lock.mdb";

/// Why an LMDB file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LmdbError {
    /// The file is no LMDB file of version 1.
    #[error("no LMDB file")]
    NotLmdb,
    /// The file has fewer pages than its header says.
    #[error("it is cut off: it has {length} bytes and says that it needs {needed}")]
    CutOff {
        /// Size of the file in bytes.
        length: u64,
        /// Size in bytes of the pages that its header promises.
        needed: u64,
    },
    /// The file holds no database.
    #[error("it holds no database")]
    Empty,
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// LMDB refused.
    #[error(transparent)]
    Lmdb(heed::Error),
}

impl From<heed::Error> for LmdbError {
    fn from(error: heed::Error) -> Self {
        match error {
            heed::Error::Io(error) => Self::Io(error),
            other => Self::Lmdb(other),
        }
    }
}

/// Whether a folder holds an LMDB file with at least one committed transaction.
///
/// A process killed right after it created the file leaves an empty one, or one with nothing but its header; LMDB takes both
/// as new.
pub fn has_data(folder: &Path) -> Result<bool, LmdbError> {
    let Ok(mut file) = File::open(folder.join(DATA_FILE)) else { return Ok(false) };
    Ok(file.metadata()?.len() > 0 && header::check(&mut file)?.pages > header::META_PAGES)
}

/// LMDB wants whole pages, whatever their size on this machine.
fn map_size(bytes: u64) -> usize {
    usize::try_from(bytes.next_multiple_of(1 << 16)).unwrap_or(usize::MAX)
}
