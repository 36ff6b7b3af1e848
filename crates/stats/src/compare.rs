//! A ratio with its spread: how far it would move if other steps had been measured.

use crate::{median, quantile};
use serde::Serialize;

/// Resamplings of the steps; the same numbers every time, so the answer is too.
const RESAMPLES: usize = 1000;

/// What stands for many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Middle {
    /// The median: steps.
    Median,
    /// The mean: parts of steps, which must sum to the whole.
    Mean,
}

/// A condition that differs between two sides.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct Difference {
    /// Name of the condition.
    pub what: String,
    /// Value in `a`; empty if unknown.
    pub a: String,
    /// Value in `b`; empty if unknown.
    pub b: String,
}

/// One quantity on both sides of a comparison; `About` says what kind of quantity.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Row<About> {
    /// Name of the quantity.
    pub name: String,
    /// Kind of quantity.
    pub about: About,
    /// Microseconds per step in `a`.
    pub a: f64,
    /// Microseconds per step in `b`.
    pub b: f64,
    /// `b / a`; `None` when `a` is 0.
    pub ratio: Option<f64>,
    /// The ratio is above this with 97.5 % confidence, judged by the spread over steps.
    pub low: Option<f64>,
    /// And below this.
    pub high: Option<f64>,
    /// Steps in `a` and `b` the spread was judged by.
    pub steps: (usize, usize),
}

/// Sorts rows by their difference, the largest first.
pub fn sort_by_difference<About>(rows: &mut [Row<About>]) {
    rows.sort_by(|x, y| {
        let by = |row: &Row<About>| (row.b - row.a).abs();
        by(y).total_cmp(&by(x)).then_with(|| x.name.cmp(&y.name))
    });
}

impl Middle {
    fn of(self, values: &[f64]) -> f64 {
        match self {
            Self::Median => median(values).unwrap_or(0.0),
            Self::Mean => values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }
}

/// Compares what was measured step by step on both sides.
pub fn row<About>(name: &str, about: About, a: &[f64], b: &[f64], middle: Middle) -> Row<About> {
    let (own, other) = (middle.of(a), middle.of(b));
    let ratio = (own > 0.0).then(|| other / own);
    let (low, high) = match ratio {
        Some(ratio) => bounds(a, b, middle, ratio),
        None => (None, None),
    };
    Row { name: name.to_owned(), about, a: own, b: other, ratio, low, high, steps: (a.len(), b.len()) }
}

/// The 2.5 and 97.5 per cent points of the ratio over resampled steps; the ratio itself for single steps.
fn bounds(a: &[f64], b: &[f64], middle: Middle, ratio: f64) -> (Option<f64>, Option<f64>) {
    if a.len() < 2 && b.len() < 2 {
        return (Some(ratio), Some(ratio));
    }
    let mut random = Random::new();
    let mut ratios = Vec::with_capacity(RESAMPLES);
    let (mut x, mut y) = (Vec::with_capacity(a.len()), Vec::with_capacity(b.len()));
    for _ in 0..RESAMPLES {
        random.resample(a, &mut x);
        random.resample(b, &mut y);
        let own = middle.of(&x);
        if own > 0.0 {
            ratios.push(middle.of(&y) / own);
        }
    }
    if ratios.len() < RESAMPLES / 2 {
        // Absent from most steps of `a`: no ratio worth bounding.
        return (None, None);
    }
    (quantile(&ratios, 0.025), quantile(&ratios, 0.975))
}

/// `SplitMix64`: small, good enough to choose steps, and the same everywhere.
struct Random(u64);

impl Random {
    /// The same numbers every time.
    fn new() -> Self {
        Self(0x5EED)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn resample(&mut self, from: &[f64], to: &mut Vec<f64>) {
        to.clear();
        for _ in 0..from.len() {
            let at = ((u128::from(self.next()) * from.len() as u128) >> 64) as usize;
            to.extend(from.get(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_give_one_inside_the_bounds_and_slow_runs_do_not() {
        let a = [10.0, 11.0, 10.5, 9.8, 10.2, 10.9];
        let slow: Vec<f64> = a.iter().map(|us| us * 1.5).collect();
        let same = row("step", (), &a, &a, Middle::Median);
        assert_eq!(same.ratio, Some(1.0));
        assert!(same.low.unwrap() <= 1.0 && same.high.unwrap() >= 1.0);
        let slower = row("step", (), &a, &slow, Middle::Median);
        assert!((slower.ratio.unwrap() - 1.5).abs() < 1e-9);
        assert!(slower.low.unwrap() > 1.3 && slower.high.unwrap() < 1.7, "{slower:?}");
        assert_eq!(slower, row("step", (), &a, &slow, Middle::Median), "same numbers every time");
    }

    #[test]
    fn one_step_has_no_spread_and_nothing_has_no_ratio() {
        let one = row("step", (), &[10.0], &[20.0], Middle::Median);
        assert_eq!((one.low, one.ratio, one.high), (Some(2.0), Some(2.0), Some(2.0)));
        assert_eq!(row("x", (), &[0.0, 0.0], &[1.0, 2.0], Middle::Mean).ratio, None);
    }
}
