//! Choosing items in proportion to integer weights.

use knockout_base::random::Rng;
use std::ops::Range;

/// Cumulative weights; choosing is a binary search, inside any range of items.
pub(crate) struct Weighted {
    /// Total weight before each item, and behind the last.
    before: Vec<u64>,
}

impl Weighted {
    /// Items weighted `(rank + 12) ^ -tail * 2 ^ (-fade rank / count)`, in fixed point, so that sums are exact: a few
    /// hubs by the power, and a long fringe of rarely chosen items by the exponential.
    pub(crate) fn by_rank(ranks: &[usize], tail: f64, fade: f64) -> Self {
        const SHIFT: f64 = 12.0;
        const SCALE: f64 = (1_u64 << 40) as f64;
        let mut before = Vec::with_capacity(ranks.len() + 1);
        let mut total = 0;
        before.push(total);
        for &rank in ranks {
            let weight =
                libm::pow(rank as f64 + SHIFT, -tail) * libm::exp2(-fade * rank as f64 / ranks.len() as f64);
            total += (SCALE * weight) as u64 + 1;
            before.push(total);
        }
        Self { before }
    }

    /// An item of the range, which must not be empty.
    pub(crate) fn choose(&self, rng: &mut Rng, items: Range<usize>) -> usize {
        let (low, high) = (self.before[items.start], self.before[items.end]);
        let point = low + rng.below((high - low) as usize) as u64;
        items.start + self.before[items.start + 1..=items.end].partition_point(|&end| end <= point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_the_weights_and_stay_in_range() {
        let weighted = Weighted { before: vec![0, 4, 6, 7, 100] };
        let mut rng = Rng::new(3, "weighted");
        let mut counts = [0; 4];
        for _ in 0..40_000 {
            counts[weighted.choose(&mut rng, 0..3)] += 1;
        }
        assert_eq!(counts[3], 0);
        for (count, share) in counts.iter().zip([4.0, 2.0, 1.0]) {
            assert!((f64::from(*count) / 40_000.0 - share / 7.0).abs() < 0.01, "{counts:?}");
        }
    }
}
