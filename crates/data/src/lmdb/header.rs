//! The two meta pages at the start of an LMDB file: enough to recognise it and to check its length.

use crate::lmdb::LmdbError;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

const MAGIC: u32 = 0xBEEF_C0DE;
/// Offsets in a meta page, on 64-bit machines: behind a page header of 16 bytes.
const AT_MAGIC: usize = 16;
const AT_VERSION: usize = 20;
const AT_PAGE_SIZE: usize = 40;
const AT_FREE_ROOT: usize = 80;
const AT_FLAGS: usize = 92;
const AT_ROOT: usize = 128;
const AT_LAST_PAGE: usize = 136;
const AT_TRANSACTION: usize = 144;
const META: usize = 152;

/// Pages of a file without data: the meta pages.
pub(crate) const META_PAGES: u64 = 2;

/// Fields of the meta pages of a whole file.
pub(crate) struct LmdbHeader {
    /// Bytes of a page.
    pub(crate) page_size: u32,
    /// Pages of the newest transaction, meta pages included.
    pub(crate) pages: u64,
    /// Root of the tree of free pages.
    pub(crate) free_root: u64,
    /// Root of the database.
    pub(crate) root: u64,
    /// How its keys are ordered and repeated; 0 for bytes without repeats.
    pub(crate) flags: u16,
}

/// Rejects files that are not LMDB of version 1, or that are shorter than their header states.
pub(crate) fn check(file: &mut File) -> Result<LmdbHeader, LmdbError> {
    let length = file.metadata()?.len();
    let first = meta_at(file, 0)?;
    let page_size = word(&first, AT_PAGE_SIZE);
    if !(512..=65_536).contains(&page_size) || !page_size.is_power_of_two() {
        return Err(LmdbError::NotLmdb);
    }
    let second = meta_at(file, u64::from(page_size))?;
    // The first of two that are equally new, as LMDB takes it.
    let newest = if long(&second, AT_TRANSACTION) > long(&first, AT_TRANSACTION) { &second } else { &first };
    let pages = long(newest, AT_LAST_PAGE).saturating_add(1);
    let needed = pages.saturating_mul(u64::from(page_size));
    if needed > length {
        return Err(LmdbError::CutOff { length, needed });
    }
    Ok(LmdbHeader {
        page_size,
        pages,
        free_root: long(newest, AT_FREE_ROOT),
        root: long(newest, AT_ROOT),
        flags: word(newest, AT_FLAGS) as u16,
    })
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
