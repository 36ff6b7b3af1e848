//! The two byte searches everything else stands on: the end of a string and the end of white space. Knows nothing
//! of JSON beyond those bytes.

/// The first byte at or after `at` that ends or interrupts a string: a quote, a backslash or a control character.
/// `bytes.len()` if there is none.
#[inline]
pub(crate) fn string_stop(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let stops = stops_of(*chunk);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += 16;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// One bit per byte of `chunk` that stops a string.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "measured: byte by byte costs a third of the whole reading time")]
fn stops_of(chunk: [u8; 16]) -> u32 {
    // SAFETY: SSE2 is part of every x86-64 processor, which is all the callee needs.
    unsafe { sse2_stops_of(chunk) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn sse2_stops_of(chunk: [u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_max_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let word = u128::from_le_bytes(chunk);
    let chunk = _mm_set_epi64x((word >> 64) as i64, word as i64);
    let quote = _mm_cmpeq_epi8(chunk, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(chunk, _mm_set1_epi8(b'\\' as i8));
    let last_control = _mm_set1_epi8(0x1f);
    let control = _mm_cmpeq_epi8(_mm_max_epu8(chunk, last_control), last_control);
    _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
}

/// One bit per byte of `chunk` that stops a string.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn stops_of(chunk: [u8; 16]) -> u32 {
    let mut stops = 0;
    for (at, byte) in chunk.iter().enumerate() {
        stops |= u32::from(matches!(byte, b'"' | b'\\' | 0..0x20)) << at;
    }
    stops
}

/// The first byte at or after `at` that is not white space of JSON; `bytes.len()` if there is none.
#[inline]
pub(crate) fn space_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let others = !spaces_of(*chunk) & 0xffff;
        if others != 0 {
            return at + others.trailing_zeros() as usize;
        }
        at += 16;
    }
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// One bit per byte of `chunk` that is white space.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "measured: traces are written with indentation")]
fn spaces_of(chunk: [u8; 16]) -> u32 {
    // SAFETY: SSE2 is part of every x86-64 processor, which is all the callee needs.
    unsafe { sse2_spaces_of(chunk) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn sse2_spaces_of(chunk: [u8; 16]) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    let word = u128::from_le_bytes(chunk);
    let chunk = _mm_set_epi64x((word >> 64) as i64, word as i64);
    let is = |byte: u8| _mm_cmpeq_epi8(chunk, _mm_set1_epi8(byte as i8));
    let within_line = _mm_or_si128(is(b' '), is(b'\t'));
    let line_ends = _mm_or_si128(is(b'\n'), is(b'\r'));
    _mm_movemask_epi8(_mm_or_si128(within_line, line_ends)) as u32
}

/// One bit per byte of `chunk` that is white space.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn spaces_of(chunk: [u8; 16]) -> u32 {
    let mut spaces = 0;
    for (at, byte) in chunk.iter().enumerate() {
        spaces |= u32::from(matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) << at;
    }
    spaces
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
