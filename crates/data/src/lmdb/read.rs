//! Reading an environment by ordinary reads: damage and a file that is shortened meanwhile are errors.

use crate::lmdb::tree::{LmdbTree, NO_PAGE};
use crate::lmdb::{DATA_FILE, LmdbError, header};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A read-only environment, opened without locks; any number of threads may read it.
#[derive(Debug, Clone)]
pub struct Reader {
    tree: Arc<LmdbTree>,
}

impl Reader {
    /// Opens the environment in a folder. No process may write it meanwhile: reads could then mix two versions.
    pub fn open(folder: &Path) -> Result<Self, LmdbError> {
        Self::of(File::open(folder.join(DATA_FILE))?)
    }

    /// Reads the environment in a file. No process may write it meanwhile.
    pub(crate) fn of(mut file: File) -> Result<Self, LmdbError> {
        let header = header::check(&mut file)?;
        if header.flags != 0 {
            return Err(LmdbError::OtherOrder);
        }
        if header.root == NO_PAGE {
            return Err(LmdbError::Empty);
        }
        Ok(Self { tree: Arc::new(LmdbTree::new(file, &header, header.root)) })
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LmdbError> {
        self.tree.get(key)
    }

    /// Iterates over the keys in byte order.
    pub fn keys(&self) -> impl Iterator<Item = Result<Vec<u8>, LmdbError>> {
        self.tree.keys()
    }
}
