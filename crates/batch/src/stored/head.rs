//! The two meta pages at the head of an LMDB file: enough to know that it is one and that it is whole.
//!
//! LMDB trusts its file and a page that is not there ends the process, so this is looked at before the file is mapped.

use super::error::StoreErrorKind;
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
pub(super) struct Head {
    /// Bytes of the file.
    pub(super) length: u64,
    /// Pages of the newest transaction, with the two of the head.
    pub(super) pages: u64,
}

/// Refuses what is no LMDB file of version 1, or has fewer pages than it says.
pub(super) fn check(file: &mut File) -> Result<Head, StoreErrorKind> {
    let length = file.metadata().map_err(StoreErrorKind::io("read"))?.len();
    let first = meta_at(file, 0)?;
    let page_size = word(&first, AT_PAGE_SIZE);
    if !(512..=65_536).contains(&page_size) || !page_size.is_power_of_two() {
        return Err(something_else());
    }
    let second = meta_at(file, u64::from(page_size))?;
    let newest = [&first, &second].into_iter().max_by_key(|meta| long(meta, AT_TRANSACTION));
    let pages = newest.map_or(0, |meta| long(meta, AT_LAST_PAGE)).saturating_add(1);
    let needed = pages.saturating_mul(u64::from(page_size));
    if needed > length {
        return Err(StoreErrorKind::CutOff { length, needed });
    }
    Ok(Head { length, pages })
}

fn meta_at(file: &mut File, offset: u64) -> Result<[u8; META], StoreErrorKind> {
    let mut meta = [0; META];
    file.seek(SeekFrom::Start(offset)).map_err(StoreErrorKind::io("read"))?;
    file.read_exact(&mut meta).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => something_else(),
        _ => StoreErrorKind::io("read")(error),
    })?;
    if word(&meta, AT_MAGIC) != MAGIC || word(&meta, AT_VERSION) != 1 {
        return Err(something_else());
    }
    Ok(meta)
}

fn word(bytes: &[u8; META], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8; META], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn something_else() -> StoreErrorKind {
    StoreErrorKind::NotAStore { detail: "its data.mdb is no LMDB file".to_owned() }
}
