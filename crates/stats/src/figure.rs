//! A figure with what the rounds say about it.

use crate::median;
use serde::Serialize;

/// With fewer rounds than this there is no interval.
const FEWEST_ROUNDS: usize = 3;

/// How often an interval may miss: one in twenty where there are rounds enough to say so, and what the range of five rounds comes to.
const MISSED: f64 = 1.0 / 16.0;

/// The middle of several rounds, and where it would lie had others been measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The median over rounds.
    pub median: f64,
    /// It is above this with 97 % confidence, judged by the rounds; `None` for too few of them.
    pub low: Option<f64>,
    /// And below this.
    pub high: Option<f64>,
}

impl Figure {
    /// The figure of rounds; zero where there are none.
    pub fn of(rounds: &[f64]) -> Self {
        let middle = median(rounds).unwrap_or(0.0);
        if rounds.len() < FEWEST_ROUNDS {
            return Self { median: middle, low: None, high: None };
        }
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let left_out = left_out(sorted.len());
        let arm = |end: Option<&f64>| end.map(|end| middle + (end - middle) * widened(sorted.len()));
        let low = arm(sorted.get(left_out));
        let high = arm(sorted.iter().rev().nth(left_out));
        Self { median: middle, low, high }
    }

    /// The figure of what is computed from two series round by round; rounds without a partner are left out.
    pub fn paired(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Self {
        let rounds: Vec<f64> =
            a.iter().zip(b).map(|(a, b)| of(*a, *b)).filter(|value| value.is_finite()).collect();
        Self::of(&rounds)
    }

    /// The figure as it is read, its interval in brackets; `text` spells one value.
    pub fn spelt(&self, text: impl Fn(f64) -> String) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} ({} to {})", text(self.median), text(low), text(high)),
            _ => text(self.median),
        }
    }

    /// Whether a value lies in the interval; without one nothing does.
    pub fn includes(&self, value: f64) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low <= value && value <= high)
    }
}

/// Rounds at either end that the interval of the median leaves out.
///
/// A round lies below the true median as often as a coin shows heads, however the rounds are distributed: the interval between the
/// rounds ranked `k + 1` from either end misses it when at most `k` of all tosses fall one way.
fn left_out(rounds: usize) -> usize {
    let mut ln_chance = (1.0 - rounds as f64) * std::f64::consts::LN_2;
    let mut missed = ln_chance.exp();
    let mut left_out = 0;
    for k in 1..rounds.div_ceil(2) {
        ln_chance += ((rounds - k + 1) as f64 / k as f64).ln();
        missed += ln_chance.exp();
        if missed > MISSED {
            break;
        }
        left_out = k;
    }
    left_out
}

/// How many times as wide as their range the interval of very few rounds is: three hold the median between them only three times in
/// four, four seven times in eight. With these factors it is 19 in 20 for rounds that are normal, skewed or have heavy tails.
fn widened(rounds: usize) -> f64 {
    match rounds {
        3 => 4.5,
        4 => 1.7,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_an_interval_only_where_there_are_rounds() {
        let steady = Figure::of(&[2.0; 5]);
        assert_eq!(steady, Figure { median: 2.0, low: Some(2.0), high: Some(2.0) });
        let two = Figure::of(&[1.0, 3.0]);
        assert_eq!((two.median, two.low, two.high), (2.0, None, None));
        let noisy = Figure::of(&[1.0, 1.1, 0.9, 9.0, 1.05]);
        assert_eq!(noisy.median, 1.05, "one bad round does not move it");
        assert!(noisy.includes(1.05) && !noisy.includes(0.5) && noisy.high == Some(9.0), "{noisy:?}");
        assert_eq!(Figure::of(&[]).median, 0.0);
    }

    #[test]
    fn intervals_miss_no_more_often_than_they_say() {
        // By the binomial distribution: 2/2^5, 2/2^8, 2·10/2^9, 2·576/2^15 and 2·21700/2^20 are below 1/16, the next ones above.
        for (rounds, outside) in [(5, 0), (8, 0), (9, 1), (15, 3), (20, 5)] {
            assert_eq!(left_out(rounds), outside, "{rounds} rounds");
        }
        // For many the normal distribution says n/2 − 1.86·√n/2.
        assert!((4_900..4_912).contains(&left_out(10_000)), "{}", left_out(10_000));
        let three = Figure::of(&[1.0, 2.0, 3.0]);
        assert_eq!((three.low, three.high), (Some(-2.5), Some(6.5)), "three rounds say little");
    }

    #[test]
    fn what_disturbs_both_of_a_pair_cancels() {
        let (a, b) = ([1.0, 5.0, 1.0, 2.0], [2.0, 10.0, 2.0, 4.0]);
        let ratio = Figure::paired(&a, &b, |a, b| b / a);
        assert_eq!((ratio.median, ratio.low, ratio.high), (2.0, Some(2.0), Some(2.0)));
        assert_eq!(Figure::paired(&[0.0, 1.0], &b, |a, b| b / a).median, 10.0, "no ratio to nothing");
    }
}
