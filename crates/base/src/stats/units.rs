//! Whole nanoseconds inside, microseconds in documents, and shares of a whole.

/// Converts whole nanoseconds to microseconds.
pub fn us(nanos: i64) -> f64 {
    us_wide(i128::from(nanos))
}

/// Converts a long sum of nanoseconds to microseconds.
pub fn us_wide(nanos: i128) -> f64 {
    // The whole part and the remainder apart: exact to the nanosecond up to 2^53 microseconds.
    (nanos / 1000) as f64 + (nanos % 1000) as f64 / 1000.0
}

/// Returns `part / whole`, and 0 when there is no whole.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact_to_the_nanosecond() {
        assert_eq!(us(1_712_195_495_519_689_047), 1_712_195_495_519_689.0);
        assert_eq!(us(4224), 4.224);
        assert_eq!(us(-1500), -1.5);
    }
}
