//! One LMDB environment with one unnamed database of bytes: opened to be read, or opened to be written.
//!
//! LMDB maps its file and trusts it: a page that is missing or wrong ends the process. So files are read without it, page by
//! page and checked ([`Reader`]), and before one is opened to be written, every page that LMDB would follow is. This crate is
//! the only one that opens an environment. It does not interpret keys and values.

mod header;
mod read;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use read::Reader;
pub use write::{LmdbWriter, Transaction};

use std::fs::File;
use std::io;
use std::path::Path;

/// The file inside an environment's folder that holds everything but locks.
pub const DATA_FILE: &str = "data.mdb";

/// The file inside an environment's folder that writers lock; absent where none locked it.
pub const LOCK_FILE: &str = "lock.mdb";

/// Why an LMDB file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LmdbError {
    /// The file is not an LMDB file of version 1.
    #[error("not an LMDB file")]
    NotLmdb,
    /// The file has fewer pages than its header states.
    #[error("it is truncated: it has {length} bytes, and its header states {needed}")]
    CutOff {
        /// Size of the file in bytes.
        length: u64,
        /// Size in bytes of the pages that its header promises.
        needed: u64,
    },
    /// A page is not what it should be.
    #[error("page {page} is damaged: {why}")]
    Damaged {
        /// Zero-based page number.
        page: u64,
        /// How we know.
        why: &'static str,
    },
    /// The database's keys are not in the order of their bytes, or repeat.
    #[error("its keys are ordered in another way than by their bytes")]
    OtherOrder,
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
    let Ok(file) = File::open(folder.join(DATA_FILE)) else { return Ok(false) };
    file_has_data(file)
}

/// Whether an LMDB file has at least one committed transaction.
pub(crate) fn file_has_data(mut file: File) -> Result<bool, LmdbError> {
    Ok(file.metadata()?.len() > 0 && header::check(&mut file)?.pages > header::META_PAGES)
}

/// Checks every page that LMDB would follow while it writes: those of the database and those of the list of free pages.
fn check_pages(folder: &Path) -> Result<(), LmdbError> {
    let path = folder.join(DATA_FILE);
    let header = header::check(&mut File::open(&path)?)?;
    for root in [header.free_root, header.root] {
        tree::LmdbTree::new(File::open(&path)?, &header, root).check()?;
    }
    Ok(())
}

/// LMDB wants whole pages, whatever their size on this machine.
fn map_size(bytes: u64) -> usize {
    usize::try_from(bytes.next_multiple_of(1 << 16)).unwrap_or(usize::MAX)
}
