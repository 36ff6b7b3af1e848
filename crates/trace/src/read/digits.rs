//! Decimal digits, eight bytes at a time: byte by byte each costs four cycles and the last one a branch miss. Independent
//! of times or of JSON.

/// Most digits that [`short_digits`] reads.
pub(crate) const SHORT_DIGITS: usize = 7;

/// Returns the number of digits at the start of `chunk`, and the byte after them; (8, 0) if it is all digits.
#[inline]
pub(crate) fn short_digits(chunk: [u8; 8]) -> (usize, u8) {
    let word = u64::from_le_bytes(chunk);
    let others = other_bytes(word);
    if others == 0 {
        return (8, 0);
    }
    let digits = others.trailing_zeros() / 8;
    (digits as usize, (word >> (8 * digits)) as u8)
}

/// Returns the number of the first `digits` bytes of `chunk`; at most eight of them.
#[inline]
pub(crate) fn short_number(chunk: [u8; 8], digits: usize) -> u64 {
    if digits == 0 {
        return 0;
    }
    // Zeros in front, so that the last digit is the last byte.
    let shift = 64 - 8 * digits as u32;
    let word = u64::from_le_bytes(chunk) << shift;
    let zeros = if shift == 0 { 0 } else { ZEROS >> (64 - shift) };
    eight_digits(word | zeros)
}

/// Returns the number at the beginning of `text`, and its digits. Wrong above 19 digits.
#[inline]
pub(crate) fn leading_digits(text: &[u8]) -> (u64, usize) {
    let mut value: u64 = 0;
    let mut digits = 0;
    while digits <= 8
        && let Some(chunk) = text.get(digits..).and_then(|rest| rest.first_chunk::<8>())
    {
        let (more, _) = short_digits(*chunk);
        if more < 8 {
            // Ten to the power of `more`.
            const TENS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
            return (value * TENS[more] + short_number(*chunk, more), digits + more);
        }
        value = value * 100_000_000 + eight_digits(u64::from_le_bytes(*chunk));
        digits += 8;
    }
    while let Some(byte @ b'0'..=b'9') = text.get(digits) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        digits += 1;
    }
    (value, digits)
}

/// Eight times the digit 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The high bit of the first byte that is not a digit; bits above it are undefined.
#[inline]
fn other_bytes(word: u64) -> u64 {
    let digits = word ^ ZEROS;
    // A digit is at most 9: adding 0x76 sets the high bit of any larger byte. An overflow changes only bytes above.
    (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080
}

/// Returns the number of eight ASCII digits, the first in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> u64 {
    let digits = word ^ ZEROS;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_end_at_any_other_byte() {
        for at in 0..8 {
            for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                for after in [b'0', b'9', b'/', b':', 0, 255] {
                    let mut text = [after; 8];
                    text[..at].fill(b'4');
                    text[at] = byte;
                    assert_eq!(short_digits(text), (at, byte), "{text:?}");
                }
            }
        }
        assert_eq!(short_digits(*b"94949494"), (8, 0));
    }

    #[test]
    fn numbers_of_any_length_are_read() {
        let text = b"9876543210123456789";
        for len in 0..=text.len() {
            for tail in [&b""[..], b",", b".123456789"] {
                let whole = [&text[..len], tail].concat();
                let expected: u64 = std::str::from_utf8(&text[..len]).unwrap().parse().unwrap_or(0);
                assert_eq!(leading_digits(&whole), (expected, len), "{len} {tail:?}");
            }
        }
        assert_eq!(short_number(*b"12345678", 8), 12_345_678);
        assert_eq!(short_number(*b"12345678", 3), 123);
        assert_eq!(short_number(*b"12345678", 0), 0);
    }
}
