//! A figure with what the rounds say about it.

use crate::compare::spread::Random;
use crate::units::{median, quantile};
use serde::Serialize;

const RESAMPLES: usize = 1000;
/// With fewer rounds than this there is no interval.
const FEWEST_ROUNDS: usize = 3;

/// The middle of several rounds, and where it would lie had others been measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The median over rounds.
    pub median: f64,
    /// It is above this with 97.5 % confidence, judged by the rounds; `None` for too few of them.
    pub low: Option<f64>,
    /// And below this.
    pub high: Option<f64>,
}

impl Figure {
    /// The figure of rounds; zero where there are none.
    pub(crate) fn of(rounds: &[f64]) -> Self {
        let middle = median(rounds).unwrap_or(0.0);
        if rounds.len() < FEWEST_ROUNDS {
            return Self { median: middle, low: None, high: None };
        }
        let mut random = Random::new();
        let mut drawn = Vec::with_capacity(rounds.len());
        let medians: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                random.resample(rounds, &mut drawn);
                median(&drawn).unwrap_or(0.0)
            })
            .collect();
        Self { median: middle, low: quantile(&medians, 0.025), high: quantile(&medians, 0.975) }
    }

    /// The figure of what is computed from two series round by round; rounds without a partner are left out.
    pub(crate) fn paired(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Self {
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
    fn what_disturbs_both_of_a_pair_cancels() {
        let (a, b) = ([1.0, 5.0, 1.0, 2.0], [2.0, 10.0, 2.0, 4.0]);
        let ratio = Figure::paired(&a, &b, |a, b| b / a);
        assert_eq!((ratio.median, ratio.low, ratio.high), (2.0, Some(2.0), Some(2.0)));
        assert_eq!(Figure::paired(&[0.0, 1.0], &b, |a, b| b / a).median, 10.0, "no ratio to nothing");
    }
}
