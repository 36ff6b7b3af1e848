//! Comparison of two measured series: the ratio of their medians or means, with its bounds.
//!
//! The series are not paired. Each has its rank interval ([`Estimate`]); the bounds of the ratio combine the two in
//! logarithms, square and add (the method of variance estimates recovery), which needs no model of the noise.

use crate::stats::Estimate;
use crate::stats::estimate::has_interval;
use serde::Serialize;

/// Blocks of neighbouring steps whose means are ranked where the statistic is a mean.
const BLOCKS: usize = 16;

/// The statistic that summarises many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Middle {
    /// The median: whole steps.
    Median,
    /// The mean: parts of steps, which sum to the whole and may run only now and then.
    Mean,
}

/// A condition that differs between two sides.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct DifferingCondition {
    /// Name of the condition.
    pub what: String,
    /// Value in `a`; empty if unknown.
    pub a: String,
    /// Value in `b`; empty if unknown.
    pub b: String,
}

/// One quantity on both sides of a comparison; `Quantity` is the kind of quantity.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct ComparisonRow<Quantity> {
    /// Name of the quantity.
    pub name: String,
    /// Kind of quantity.
    pub about: Quantity,
    /// Microseconds per step in `a`.
    pub a: f64,
    /// Microseconds per step in `b`.
    pub b: f64,
    /// `b / a`; `None` when `a` is 0.
    pub ratio: Option<f64>,
    /// Lower bound of the ratio: it is above this with 97 % confidence. The lowest ratio of two steps seen where there
    /// are too few for an interval; `None` where there is no bound.
    pub low: Option<f64>,
    /// Upper bound, in the same way.
    pub high: Option<f64>,
    /// Steps in `a` and `b` that the bounds rest on.
    pub steps: (usize, usize),
}

impl<Quantity> ComparisonRow<Quantity> {
    /// Compares what was measured step by step on both sides.
    pub fn of(name: &str, about: Quantity, a: &[f64], b: &[f64], middle: Middle) -> Self {
        let (own, other) = (Bounded::of(a, middle), Bounded::of(b, middle));
        let ratio = (own.value > 0.0).then(|| other.value / own.value);
        let (low, high) = ratio.map_or((None, None), |ratio| {
            if has_interval(a.len()) && has_interval(b.len()) {
                let low = ratio * (-square_and_add(other.down(), own.up())).exp();
                let high = ratio * square_and_add(other.up(), own.down()).exp();
                (Some(low), Some(high))
            } else {
                (Some(other.low / own.high), Some(other.high / own.low))
            }
        });
        let bound = |value: Option<f64>| value.filter(|value| value.is_finite());
        Self {
            name: name.to_owned(),
            about,
            a: own.value,
            b: other.value,
            ratio,
            low: bound(low),
            high: bound(high),
            steps: (a.len(), b.len()),
        }
    }

    /// Whether there is a range at all: one step on a side has none.
    pub fn has_range(&self) -> bool {
        self.steps.0.min(self.steps.1) >= 2
    }

    /// Returns the comparison per sample, for the given samples per step of `a` and `b`.
    pub fn divide(&mut self, a: f64, b: f64) {
        self.a /= a;
        self.b /= b;
        for value in [&mut self.ratio, &mut self.low, &mut self.high] {
            *value = value.map(|value| value * a / b);
        }
    }

    /// Whether the bounds are an interval; else they are the range seen.
    pub fn is_interval(&self) -> bool {
        has_interval(self.steps.0) && has_interval(self.steps.1)
    }
}

/// Sorts rows by their difference, the largest first.
pub fn sort_by_difference<Quantity>(rows: &mut [ComparisonRow<Quantity>]) {
    rows.sort_by(|x, y| {
        let by = |row: &ComparisonRow<Quantity>| (row.b - row.a).abs();
        by(y).total_cmp(&by(x)).then_with(|| x.name.cmp(&y.name))
    });
}

/// The summary of a series, between its bounds.
struct Bounded {
    value: f64,
    low: f64,
    high: f64,
}

impl Bounded {
    fn of(steps: &[f64], middle: Middle) -> Self {
        match middle {
            Middle::Median => {
                let Estimate { median, low, high, .. } = Estimate::of(steps);
                Self { value: median, low, high }
            }
            Middle::Mean => {
                let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
                // Blocks of equal numbers of steps: their means have the mean of all in their middle.
                let size = steps.len().div_ceil(BLOCKS).max(1);
                let blocks: Vec<f64> = steps.chunks(size).map(mean).collect();
                let Estimate { low, high, .. } = Estimate::of(&blocks);
                let value = mean(steps);
                Self { value, low: low.min(value), high: high.max(value) }
            }
        }
    }

    /// Logarithm of how far the lower bound is below.
    fn down(&self) -> f64 {
        (self.value / self.low).ln()
    }

    /// Logarithm of how far the upper bound is above.
    fn up(&self) -> f64 {
        (self.high / self.value).ln()
    }
}

fn square_and_add(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn equal_runs_give_one_inside_the_bounds_and_slow_runs_do_not() {
        let a = [10.0, 11.0, 10.5, 9.8, 10.2, 10.9];
        let slow: Vec<f64> = a.iter().map(|us| us * 1.5).collect();
        let same = ComparisonRow::of("step", (), &a, &a, Middle::Median);
        assert_eq!(same.ratio, Some(1.0));
        assert!(same.low.unwrap() <= 1.0 && same.high.unwrap() >= 1.0);
        let slower = ComparisonRow::of("step", (), &a, &slow, Middle::Median);
        assert!((slower.ratio.unwrap() - 1.5).abs() < 1e-9);
        assert!(slower.low.unwrap() > 1.3 && slower.high.unwrap() < 1.7, "{slower:?}");
    }

    #[test]
    fn one_step_has_no_spread_and_nothing_has_no_ratio() {
        let one = ComparisonRow::of("step", (), &[10.0], &[20.0], Middle::Median);
        assert_eq!((one.low, one.ratio, one.high), (Some(2.0), Some(2.0), Some(2.0)));
        assert!(!one.is_interval());
        assert_eq!(ComparisonRow::of("x", (), &[0.0, 0.0], &[1.0, 2.0], Middle::Mean).ratio, None);
    }

    #[test]
    fn few_steps_have_the_range_of_their_ratios() {
        let few = ComparisonRow::of("step", (), &[1.0, 2.0, 4.0], &[4.0, 8.0], Middle::Median);
        assert_eq!(
            (few.low, few.ratio, few.high, few.is_interval()),
            (Some(1.0), Some(3.0), Some(8.0), false)
        );
    }

    #[test]
    fn a_part_that_runs_now_and_then_has_the_ratio_of_its_means() {
        let rare = |us: f64| (0..40).map(|step| if step % 8 == 3 { us } else { 0.0 }).collect::<Vec<_>>();
        let row = ComparisonRow::of("checkpoint", (), &rare(8.0), &rare(16.0), Middle::Mean);
        assert_eq!((row.a, row.b, row.ratio), (1.0, 2.0, Some(2.0)));
        assert_eq!((row.low, row.high), (Some(0.0), None), "most blocks have none of it: no bound above");
    }

    /// How often the interval of the ratio of two series misses the true ratio 1.5.
    fn missed(steps: usize, middle: Middle, noise: impl Fn(&mut Rng) -> f64) -> f64 {
        let mut random = Rng::new(7, "coverage");
        let trials = 4_000;
        let misses = (0..trials)
            .filter(|_| {
                let mut draw =
                    |scale: f64| (0..steps).map(|_| scale * noise(&mut random)).collect::<Vec<_>>();
                let (a, b) = (draw(1.0), draw(1.5));
                let row = ComparisonRow::of("step", (), &a, &b, middle);
                row.low.unwrap() > 1.5 || row.high.unwrap() < 1.5
            })
            .count();
        misses as f64 / f64::from(trials)
    }

    #[test]
    fn intervals_of_ratios_hold_for_normal_and_skewed_noise() {
        for steps in [5, 9, 20, 60] {
            for middle in [Middle::Median, Middle::Mean] {
                let normal = missed(steps, middle, |random| 1.0 + 0.05 * random.normal());
                let skewed = missed(steps, middle, |random| (0.3 * random.normal()).exp());
                let disturbed = missed(steps, middle, |random| {
                    if random.below(10) == 0 { 3.0 } else { 1.0 + 0.02 * random.normal() }
                });
                for (name, share) in [("normal", normal), ("skewed", skewed), ("disturbed", disturbed)] {
                    assert!(share <= 0.08, "{name}, {steps} steps, {middle:?}: {share}");
                }
            }
        }
    }
}
