//! Average ranks of a series.

/// Returns the rank of each value, from 1; ties (0 and −0 tie) share the mean of the ranks they take up.
pub(crate) fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    // Adding 0 turns −0 into 0, so that they are equal in the total order.
    let value = |index: u32| values[index as usize] + 0.0;
    order.sort_unstable_by(|&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for tied in order.chunk_by(|&a, &b| value(a) == value(b)) {
        // The mean of start + 1 … start + length.
        let rank = start as f64 + (tied.len() + 1) as f64 / 2.0;
        for &index in tied {
            ranks[index as usize] = rank;
        }
        start += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(average_ranks(&[0.0, -1.0, -0.0]), [2.5, 1.0, 2.5]);
        assert_eq!(average_ranks(&[]), [0.0; 0]);
    }
}
