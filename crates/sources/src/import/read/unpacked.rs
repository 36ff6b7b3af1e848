//! How large the parts of a zip file are once unpacked, counted before a reader that keeps them in memory opens it: a few megabytes can
//! unpack to many gigabytes, whatever size the file states.

use flate2::read::DeflateDecoder;
use std::io::{self, Read as _};

const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The record at the end may be followed by a comment.
const LONGEST_TAIL: usize = 22 + 65_535;

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

/// Returns the bytes of all parts, or `limit + 1` as soon as they are more. A file that is not a zip file has none; its reader reports that.
pub(super) fn unpacked_bytes(zip: &[u8], limit: u64) -> u64 {
    let tail = zip.len().saturating_sub(LONGEST_TAIL);
    let Some(end) = zip[tail..].windows(4).rposition(|window| window == END).map(|at| tail + at) else {
        return 0;
    };
    let (Some(count), Some(mut at)) = (u16_at(zip, end + 10), u32_at(zip, end + 16)) else { return 0 };
    if at == u32::MAX as usize || count == usize::from(u16::MAX) {
        // Sizes in 64 bits are for files beyond every limit.
        return limit.saturating_add(1);
    }
    let mut sum = 0;
    for _ in 0..count {
        let Some(bytes) = entry_bytes(zip, &mut at, limit.saturating_sub(sum)) else { break };
        sum += bytes;
        if sum > limit {
            return limit.saturating_add(1);
        }
    }
    sum
}

/// The unpacked size of the entry at `at`, which moves to the next one.
fn entry_bytes(zip: &[u8], at: &mut usize, limit: u64) -> Option<u64> {
    let entry = zip.get(*at..)?;
    if !entry.starts_with(&ENTRY) {
        return None;
    }
    let (method, packed, local) = (u16_at(entry, 10)?, u32_at(entry, 20)?, u32_at(entry, 42)?);
    *at += 46 + u16_at(entry, 28)? + u16_at(entry, 30)? + u16_at(entry, 32)?;
    let local = zip.get(local..)?;
    let data = local.get(30 + u16_at(local, 26)? + u16_at(local, 28)?..)?;
    let data = data.get(..packed).unwrap_or(data);
    match method as u16 {
        STORED => Some(data.len() as u64),
        // One byte more than allowed is enough to know.
        DEFLATED => {
            let mut unpacked = DeflateDecoder::new(data).take(limit.saturating_add(1));
            Some(count(&mut unpacked))
        }
        _ => Some(0),
    }
}

/// Bytes up to the end or to where they cannot be unpacked.
fn count(unpacked: &mut impl io::Read) -> u64 {
    let mut buffer = vec![0; 1 << 15];
    let mut sum = 0;
    while let Ok(read) = unpacked.read(&mut buffer) {
        if read == 0 {
            break;
        }
        sum += read as u64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::Write as _;

    /// A zip file with one part, whose stated size is small.
    fn zip(content: &[u8]) -> Vec<u8> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(content).unwrap();
        let packed = packed.finish().unwrap();
        let size = (packed.len() as u32).to_le_bytes();
        let mut out = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0".to_vec();
        out.extend(size);
        out.extend([1, 0, 0, 0, 1, 0, 0, 0, b'a']);
        out.extend(&packed);
        let directory = out.len() as u32;
        out.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0");
        out.extend(size);
        out.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'a']);
        let length = out.len() as u32 - directory;
        out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        out.extend(length.to_le_bytes());
        out.extend(directory.to_le_bytes());
        out.extend([0, 0]);
        out
    }

    #[test]
    fn what_is_inside_counts_and_not_what_is_said() {
        let bomb = zip(&vec![b' '; 5_000_000]);
        assert!(bomb.len() < 20_000);
        assert_eq!(unpacked_bytes(&bomb, 1 << 30), 5_000_000);
        assert_eq!(unpacked_bytes(&bomb, 4_999_999), 5_000_000);
        assert_eq!(unpacked_bytes(&bomb, 100), 101);
    }

    #[test]
    fn any_bytes_have_a_size() {
        let whole = zip(b"some words and some more words");
        assert_eq!(unpacked_bytes(&whole, 1000), 30);
        for end in 0..whole.len() {
            unpacked_bytes(&whole[..end], 1000);
            let mut damaged = whole.clone();
            damaged[end] ^= 0xFF;
            unpacked_bytes(&damaged, 1000);
        }
        assert_eq!(unpacked_bytes(b"no zip", 1000), 0);
    }
}
