//! The two byte searches that scanning is built on: the end of a string and the end of white space. Independent
//! of JSON beyond those bytes.

/// The lowest and the highest bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The first byte at or after `at` that ends or interrupts a string: a quote, a backslash or a control character.
/// `bytes.len()` if there is none.
#[inline]
pub(crate) fn string_stop(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let stops = stops_of(u64::from_le_bytes(*chunk));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the top bits of bytes that stop a string. Only the lowest is exact.
#[inline]
fn stops_of(word: u64) -> u64 {
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & TOPS
}

/// The first byte at or after `at` that is not white space of JSON; `bytes.len()` if there is none.
#[inline]
pub(crate) fn space_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let others = !spaces_of(u64::from_le_bytes(*chunk)) & TOPS;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The top bit of bytes that are white space, and of no others.
#[inline]
fn spaces_of(word: u64) -> u64 {
    let equal = |byte: u8| {
        let word = word ^ (ONES * u64::from(byte));
        !((word & !TOPS).wrapping_add(!TOPS) | word)
    };
    (equal(b' ') | equal(b'\n') | equal(b'\r') | equal(b'\t')) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_is_found_at_every_position() {
        for stop in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for at in 0..70 {
                for len in at + 1..75 {
                    let mut bytes = vec![b'\x7f'; len];
                    bytes[at] = stop;
                    assert_eq!(string_stop(&bytes, 0), at);
                    assert_eq!(string_stop(&bytes, at + 1), len);
                }
            }
        }
        let fine: Vec<u8> = (0x20..=0xff).filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
        assert_eq!(string_stop(&fine, 0), fine.len());
        assert_eq!(string_stop(b"", 5), 0);
    }

    #[test]
    fn white_space_ends_at_any_other_byte() {
        for other in (0..=255_u8).filter(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            for at in 0..40 {
                let mut bytes: Vec<u8> = b" \n\r\t".iter().copied().cycle().take(50).collect();
                bytes[at] = other;
                assert_eq!(space_end(&bytes, 0), at);
                assert_eq!(space_end(&bytes, at + 1), 50);
            }
        }
    }
}
