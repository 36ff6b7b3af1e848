//! Quantiles of a series, interpolated between neighbours.

/// Returns the median: the middle value, or the mean of the two middle ones; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the quantile at `fraction` (0 to 1), interpolated linearly; `None` without values.
pub fn quantile(values: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, fraction)
}

/// Returns a quantile of values that are sorted in ascending order.
pub(crate) fn quantile_of_sorted(sorted: &[f64], fraction: f64) -> Option<f64> {
    let position = fraction * (sorted.len().checked_sub(1)?) as f64;
    let below = sorted.get(position.floor() as usize)?;
    let above = sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

/// Whether a time stands out from its series: more than a fifth above the median.
pub fn is_slow(value: f64, median: f64) -> bool {
    value > 1.2 * median
}

/// Returns the interquartile range as a share of the median; 0 without values.
pub fn relative_iqr(values: &[f64]) -> f64 {
    let at = |fraction| quantile(values, fraction).unwrap_or(0.0);
    crate::stats::share(at(0.75) - at(0.25), at(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.75), Some(1.75));
        assert_eq!(median(&[]), None);
        assert_eq!(relative_iqr(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 3.0);
    }
}
