//! The two meta pages at the head of an LMDB file: enough to know that it is one and that it is whole.
//!
//! LMDB trusts its file and a page that is not there ends the process, so this is looked at before the file is mapped.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

const MAGIC: u32 = 0xBEEF_C0DE;
/// Places in a meta page, on 64-bit machines: behind a page header of 16 bytes.
const AT_MAGIC: usize = 16;
const AT_VERSION: usize = 20;
const AT_PAGE_SIZE: usize = 40;
const AT_LAST_PAGE: usize = 136;
const AT_TRANSACTION: usize = 144;
const META: usize = 152;

/// What the head of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LmdbHead {
    /// Bytes of the file.
    pub length: u64,
    /// Pages of the newest transaction, with the two of the head.
    pub pages: u64,
}

/// Why a file must not be opened as LMDB.
#[derive(Debug, thiserror::Error)]
pub enum LmdbHeadError {
    /// It is no LMDB file of version 1.
    #[error("no LMDB file")]
    SomethingElse,
    /// It has fewer pages than it says.
    #[error("it is cut off: it has {length} bytes and says that it needs {needed}")]
    CutOff {
        /// Bytes of the file.
        length: u64,
        /// Bytes of the pages it says it has.
        needed: u64,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LmdbHead {
    /// Refuses what is no LMDB file of version 1, or has fewer pages than it says.
    pub fn check(file: &mut File) -> Result<Self, LmdbHeadError> {
        let length = file.metadata()?.len();
        let first = meta_at(file, 0)?;
        let page_size = word(&first, AT_PAGE_SIZE);
        if !(512..=65_536).contains(&page_size) || !page_size.is_power_of_two() {
            return Err(LmdbHeadError::SomethingElse);
        }
        let second = meta_at(file, u64::from(page_size))?;
        let newest = [&first, &second].into_iter().max_by_key(|meta| long(meta, AT_TRANSACTION));
        let pages = newest.map_or(0, |meta| long(meta, AT_LAST_PAGE)).saturating_add(1);
        let needed = pages.saturating_mul(u64::from(page_size));
        if needed > length {
            return Err(LmdbHeadError::CutOff { length, needed });
        }
        Ok(Self { length, pages })
    }
}

fn meta_at(file: &mut File, offset: u64) -> Result<[u8; META], LmdbHeadError> {
    let mut meta = [0; META];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut meta).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => LmdbHeadError::SomethingElse,
        _ => LmdbHeadError::Io(error),
    })?;
    if word(&meta, AT_MAGIC) != MAGIC || word(&meta, AT_VERSION) != 1 {
        return Err(LmdbHeadError::SomethingElse);
    }
    Ok(meta)
}

fn word(bytes: &[u8; META], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8; META], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}
