//! The median of a series with its rank interval: the one interval method for measured times and their ratios.
//!
//! A value lies below the true median as often as a coin shows heads, however the values are distributed: the interval
//! between the values ranked `k + 1` from either end misses the median when at most `k` of all tosses fall one way. It needs
//! no model of the noise and never leaves the range of the values, so a time or a ratio is never negative.

use crate::stats::quantile::quantile_of_sorted;
use serde::Serialize;

/// Fewer values than this have no interval: even their whole range misses the median too often.
pub const FEWEST_FOR_INTERVAL: usize = 5;

/// Probability that an interval misses: what the range of five values comes to, and at most that for more of them.
const MISSED: f64 = 1.0 / 16.0;

/// Median of repeated measurements, and the bounds they set to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Median over the rounds; 0 where there are none.
    pub median: f64,
    /// Lower bound: the true median is above it with 97 % confidence. The lowest value seen where there is no interval.
    pub low: f64,
    /// Upper bound, in the same way.
    pub high: f64,
    /// Rounds the bounds rest on.
    #[serde(skip)]
    pub rounds: usize,
}

impl Estimate {
    /// Estimates from one value per round.
    pub fn of(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let outside = if has_interval(sorted.len()) { left_out(sorted.len()) } else { 0 };
        Self {
            median: quantile_of_sorted(&sorted, 0.5).unwrap_or(0.0),
            low: sorted.get(outside).copied().unwrap_or(0.0),
            high: sorted.iter().rev().nth(outside).copied().unwrap_or(0.0),
            rounds: sorted.len(),
        }
    }

    /// Estimates what is computed from two series round by round; rounds without a partner are left out.
    pub fn paired(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Self {
        let rounds: Vec<f64> =
            a.iter().zip(b).map(|(a, b)| of(*a, *b)).filter(|value| value.is_finite()).collect();
        Self::of(&rounds)
    }

    /// Whether the bounds are an interval; else they are the range seen.
    pub fn is_interval(&self) -> bool {
        has_interval(self.rounds)
    }

    /// Whether the bounds lie above a value: the interval, or every single round where there is none.
    pub fn clears(&self, value: f64) -> bool {
        self.rounds > 0 && self.low > value
    }

    /// Whether the bounds hold a value between them: the interval, or the range seen where there is none.
    pub fn spans(&self, value: f64) -> bool {
        self.rounds > 0 && self.low <= value && value <= self.high
    }
}

/// Whether so many values have an interval.
pub(crate) fn has_interval(values: usize) -> bool {
    values >= FEWEST_FOR_INTERVAL
}

/// Returns how many values at either end the interval of the median leaves out.
fn left_out(values: usize) -> usize {
    let mut ln_chance = (1.0 - values as f64) * std::f64::consts::LN_2;
    let mut missed = ln_chance.exp();
    let mut left_out = 0;
    for k in 1..values.div_ceil(2) {
        ln_chance += ((values - k + 1) as f64 / k as f64).ln();
        missed += ln_chance.exp();
        if missed > MISSED {
            break;
        }
        left_out = k;
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_an_interval_only_where_there_are_rounds_enough() {
        let steady = Estimate::of(&[2.0; 5]);
        assert_eq!(steady, Estimate { median: 2.0, low: 2.0, high: 2.0, rounds: 5 });
        let two = Estimate::of(&[1.0, 3.0]);
        assert_eq!((two.median, two.low, two.high, two.is_interval()), (2.0, 1.0, 3.0, false));
        assert!(two.spans(2.0) && !two.spans(0.5) && !Estimate::default().spans(0.0));
        assert!(two.clears(0.5) && !two.clears(1.0) && !Estimate::default().clears(-1.0));
        let noisy = Estimate::of(&[1.0, 1.1, 0.9, 9.0, 1.05]);
        assert_eq!(noisy.median, 1.05, "one bad round does not move it");
        assert!(noisy.spans(1.05) && !noisy.spans(0.5) && noisy.high == 9.0, "{noisy:?}");
        assert_eq!(Estimate::of(&[]), Estimate::default());
    }

    #[test]
    fn intervals_miss_no_more_often_than_they_say() {
        // By the binomial distribution: 2/2^5, 2/2^8, 2·10/2^9, 2·576/2^15 and 2·21700/2^20 are below 1/16, the next ones above.
        for (rounds, outside) in [(5, 0), (8, 0), (9, 1), (15, 3), (20, 5)] {
            assert_eq!(left_out(rounds), outside, "{rounds} rounds");
        }
        // For many the normal distribution gives n/2 − 1.86·√n/2.
        assert!((4_900..4_912).contains(&left_out(10_000)), "{}", left_out(10_000));
    }

    #[test]
    fn three_rounds_have_their_range_and_it_is_never_negative() {
        let three = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!((three.low, three.high, three.is_interval()), (1.0, 3.0, false));
    }

    #[test]
    fn what_disturbs_both_of_a_pair_cancels() {
        let (a, b) = ([1.0, 5.0, 1.0, 2.0], [2.0, 10.0, 2.0, 4.0]);
        let ratio = Estimate::paired(&a, &b, |a, b| b / a);
        assert_eq!((ratio.median, ratio.low, ratio.high), (2.0, 2.0, 2.0));
        assert_eq!(Estimate::paired(&[0.0, 1.0], &b, |a, b| b / a).median, 10.0, "no ratio to nothing");
    }
}
