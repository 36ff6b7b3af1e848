//! Variable-length integers for sorted runs: small differences take one or two bytes.
//!
//! Independent of what the numbers mean.

/// Appends `value`, seven bits a byte, low bits first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed value: small magnitudes of either sign stay small.
#[inline]
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Takes a value from the front of `input`; `None` when the bytes end early or the number is too long.
#[inline]
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = input.split_first()?;
    *input = rest;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7_u32;
    loop {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Takes a value written by [`put_signed`].
#[inline]
pub(crate) fn take_signed(input: &mut &[u8]) -> Option<i64> {
    let value = take(input)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_survive_encoding(plain in any::<u64>(), signed in any::<i64>()) {
            let mut bytes = Vec::new();
            put(&mut bytes, plain);
            put_signed(&mut bytes, signed);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take(&mut rest), Some(plain));
            prop_assert_eq!(take_signed(&mut rest), Some(signed));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_give_a_number_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let mut rest = bytes.as_slice();
            while take(&mut rest).is_some() {}
        }
    }
}
