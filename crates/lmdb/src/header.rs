//! The two meta pages at the start of an LMDB file: enough to know that it is one and that it is whole.

use crate::LmdbError;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

const MAGIC: u32 = 0xBEEF_C0DE;
/// Offsets in a meta page, on 64-bit machines: behind a page header of 16 bytes.
const AT_MAGIC: usize = 16;
const AT_VERSION: usize = 20;
const AT_PAGE_SIZE: usize = 40;
const AT_LAST_PAGE: usize = 136;
const AT_TRANSACTION: usize = 144;
const META: usize = 152;

/// Pages of a file without data: the meta pages.
pub(crate) const META_PAGES: u64 = 2;

/// What the meta pages say of a file that is whole.
pub(crate) struct Header {
    /// Size of the file in bytes.
    pub(crate) length: u64,
    /// Pages of the newest transaction, meta pages included.
    pub(crate) pages: u64,
}

/// Rejects what is no LMDB file of version 1, or has fewer pages than it says.
pub(crate) fn check(file: &mut File) -> Result<Header, LmdbError> {
    let length = file.metadata()?.len();
    let first = meta_at(file, 0)?;
    let page_size = word(&first, AT_PAGE_SIZE);
    if !(512..=65_536).contains(&page_size) || !page_size.is_power_of_two() {
        return Err(LmdbError::NotLmdb);
    }
    let second = meta_at(file, u64::from(page_size))?;
    let newest = [&first, &second].into_iter().max_by_key(|meta| long(meta, AT_TRANSACTION));
    let pages = newest.map_or(0, |meta| long(meta, AT_LAST_PAGE)).saturating_add(1);
    let needed = pages.saturating_mul(u64::from(page_size));
    if needed > length {
        return Err(LmdbError::CutOff { length, needed });
    }
    Ok(Header { length, pages })
}

fn meta_at(file: &mut File, offset: u64) -> Result<[u8; META], LmdbError> {
    let mut meta = [0; META];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut meta).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => LmdbError::NotLmdb,
        _ => LmdbError::Io(error),
    })?;
    if word(&meta, AT_MAGIC) != MAGIC || word(&meta, AT_VERSION) != 1 {
        return Err(LmdbError::NotLmdb);
    }
    Ok(meta)
}

fn word(bytes: &[u8; META], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8; META], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}
