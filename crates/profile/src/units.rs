//! Nanoseconds inside, microseconds in documents: the two conversions everybody uses.

/// Whole nanoseconds as microseconds.
pub(crate) fn us(nanos: i64) -> f64 {
    // The whole part and the rest apart: exact to the nanosecond up to 2^53 microseconds.
    (nanos / 1000) as f64 + (nanos % 1000) as f64 / 1000.0
}

/// A long sum of nanoseconds as microseconds.
pub(crate) fn us_wide(nanos: i128) -> f64 {
    (nanos / 1000) as f64 + (nanos % 1000) as f64 / 1000.0
}

/// `part / whole`, and 0 when there is no whole.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The middle of the values, or the mean of the two middle ones; `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which a part of the values lies, between neighbours by proportion.
pub(crate) fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * (sorted.len().checked_sub(1)?) as f64;
    let below = sorted.get(place.floor() as usize)?;
    let above = sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_and_quantiles() {
        assert_eq!(us(1_712_195_495_519_689_047), 1_712_195_495_519_689.0);
        assert_eq!(us(4224), 4.224);
        assert_eq!(us(-1500), -1.5);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
