//! Decimal microseconds become whole nanoseconds, exactly. Independent of JSON except for its numbers.
//!
//! `1712195495519689.047` does not fit a float: rounded to one, it moves by up to 125 ns and neighbours seem to overlap.

use std::cmp::Ordering;

/// A time in nanoseconds, or the reason for its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// Exact.
    Nanos(i64),
    /// Finer than a nanosecond; rounded to the nearest, halves to even.
    Rounded(i64),
    /// Beyond 64 bits.
    OutOfRange,
    /// Absent, or not a number.
    Missing,
}

impl Time {
    pub(crate) fn nanos(self) -> Option<i64> {
        match self {
            Self::Nanos(nanos) | Self::Rounded(nanos) => Some(nanos),
            Self::OutOfRange | Self::Missing => None,
        }
    }
}

/// Reads `text`, a valid JSON number of microseconds.
pub(crate) fn time_from_number(text: &[u8]) -> Time {
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mantissa_len = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(mantissa_len);
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let whole_len = mantissa[..point].len() as i64;
    let digits = || mantissa.iter().filter(|byte| **byte != b'.').map(|byte| byte - b'0');
    if digits().all(|digit| digit == 0) {
        return Time::Nanos(0);
    }
    // Digits before the point of the number of nanoseconds.
    let kept = whole_len.saturating_add(exponent_of(exponent)).saturating_add(3);
    let leading_zeros = digits().take_while(|digit| *digit == 0).count() as i64;
    if kept.saturating_sub(leading_zeros) > 19 {
        return Time::OutOfRange;
    }
    let mut nanos: u128 = 0;
    let mut seen: i64 = 0;
    // The remainder, compared with one half.
    let (mut first_cut, mut more_cut) = (0, false);
    for digit in digits() {
        match seen.cmp(&kept) {
            Ordering::Less => nanos = nanos * 10 + u128::from(digit),
            Ordering::Equal => first_cut = digit,
            Ordering::Greater => more_cut |= digit != 0,
        }
        seen += 1;
    }
    while seen < kept {
        nanos *= 10;
        seen += 1;
    }
    let cut = first_cut != 0 || more_cut;
    if first_cut > 5 || first_cut == 5 && (more_cut || nanos % 2 == 1) {
        nanos += 1;
    }
    let Ok(nanos) = i64::try_from(nanos) else { return Time::OutOfRange };
    let nanos = if negative { -nanos } else { nanos };
    if cut { Time::Rounded(nanos) } else { Time::Nanos(nanos) }
}

/// The number after `e`; 0 for no exponent, the extremes where it does not fit.
fn exponent_of(text: &[u8]) -> i64 {
    let Some((_, text)) = text.split_first() else { return 0 };
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let size = text
        .iter()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    // Far beyond any time, far from overflow in the sums above.
    let size = size.min(1 << 40);
    if negative { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        time_from_number(text.as_bytes())
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(time("0"), Time::Nanos(0));
        assert_eq!(time("-0.0"), Time::Nanos(0));
        assert_eq!(time("1712195495519689.047"), Time::Nanos(1_712_195_495_519_689_047));
        assert_eq!(time("-5"), Time::Nanos(-5000));
        assert_eq!(time("0.001"), Time::Nanos(1));
        assert_eq!(time("68.0"), Time::Nanos(68_000));
        assert_eq!(time("68.1000000"), Time::Nanos(68_100));
    }

    #[test]
    fn exponents_move_the_point() {
        assert_eq!(time("3e1"), Time::Nanos(30_000));
        assert_eq!(time("4.5E+1"), Time::Nanos(45_000));
        assert_eq!(time("12345e-4"), Time::Rounded(1234));
        assert_eq!(time("12340e-4"), Time::Nanos(1234));
        assert_eq!(time("0e999999999999999999999"), Time::Nanos(0));
        assert_eq!(time("1e-999999999999999999999"), Time::Rounded(0));
        assert_eq!(time("0.00000000000000000000000000001e29"), Time::Nanos(1000));
    }

    #[test]
    fn finer_than_a_nanosecond_rounds_half_to_even() {
        assert_eq!(time("0.0005"), Time::Rounded(0));
        assert_eq!(time("0.0015"), Time::Rounded(2));
        assert_eq!(time("0.00150000000000001"), Time::Rounded(2));
        assert_eq!(time("0.00050000000000001"), Time::Rounded(1));
        assert_eq!(time("-0.0016"), Time::Rounded(-2));
    }

    #[test]
    fn beyond_64_bits_is_an_error_without_wrapping() {
        assert_eq!(time("18446744073709551615"), Time::OutOfRange);
        assert_eq!(time("9223372036854775.807"), Time::Nanos(i64::MAX));
        assert_eq!(time("9223372036854775.808"), Time::OutOfRange);
        assert_eq!(time("-9223372036854775.808"), Time::OutOfRange);
        assert_eq!(time("1e400"), Time::OutOfRange);
        assert_eq!(time("1e99999999999999999999999999"), Time::OutOfRange);
        assert_eq!(time("000000000000000000000000001"), Time::Nanos(1000));
    }
}
