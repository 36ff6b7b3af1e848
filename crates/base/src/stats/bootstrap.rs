//! Percentile bootstrap intervals of Pearson correlations over resampled records.
//!
//! Every resample has a random stream of its own, keyed by (seed, index), so the interval does not depend on the
//! number of threads. All predictions given together see the same resamples: their differences are paired. The module
//! knows nothing of datasets.

use crate::random::Rng;
use crate::stats::quantile::quantile_of_sorted;
use crate::stats::{is_constant, mean, pearson, rows_with_target, sum};
use rayon::prelude::*;
use serde::Serialize;

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Share of the resamples inside the interval.
    pub level: f64,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 2_000, level: 0.95, seed: 42 }
    }
}

/// An interval of a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// How much better the Pearson correlation of one model is than another's, on the same records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// First minus second, over all records.
    pub difference: f64,
    /// Lower end of the interval of the difference.
    pub low: f64,
    /// Upper end of the interval of the difference.
    pub high: f64,
    /// Share of the resamples in which the first is better.
    pub share_above: f64,
}

impl Bootstrap {
    /// An interval of the Pearson correlation of each prediction with the targets; `None` where it is undefined.
    ///
    /// # Panics
    ///
    /// If a prediction has another length than the targets.
    pub fn pearson(&self, targets: &[f64], predictions: &[&[f64]]) -> Vec<Option<Interval>> {
        let resampled = self.resampled(targets, predictions);
        (0..predictions.len())
            .map(|model| self.interval(resampled.iter().filter_map(|row| row[model]).collect()))
            .collect()
    }

    /// The paired difference between the correlations of two models; `None` where either is undefined.
    ///
    /// # Panics
    ///
    /// If a prediction has another length than the targets.
    pub fn difference(&self, targets: &[f64], first: &[f64], second: &[f64]) -> Option<Difference> {
        let of = |predictions: &[f64]| {
            let (predictions, targets) = rows_with_target(predictions, targets);
            pearson(&predictions, &targets)
        };
        let difference = of(first)? - of(second)?;
        let resampled = self.resampled(targets, &[first, second]);
        let differences: Vec<f64> = resampled.iter().filter_map(|row| Some(row[0]? - row[1]?)).collect();
        let above = differences.iter().filter(|&&difference| difference > 0.0).count();
        let share_above = above as f64 / differences.len().max(1) as f64;
        let Interval { low, high } = self.interval(differences)?;
        Some(Difference { difference, low, high, share_above })
    }

    /// The percentiles of what was resampled, interpolated; `None` when nothing was defined.
    fn interval(&self, mut values: Vec<f64>) -> Option<Interval> {
        values.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.level) / 2.0;
        let at = |fraction| quantile_of_sorted(&values, fraction);
        Some(Interval { low: at(tail)?, high: at(1.0 - tail)? })
    }

    /// Correlations by resample, then by model.
    fn resampled(&self, targets: &[f64], predictions: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        let keep: Vec<usize> = (0..targets.len()).filter(|&row| !targets[row].is_nan()).collect();
        if keep.len() < 2 {
            return Vec::new();
        }
        let targets = Standard::of(keep.iter().map(|&row| targets[row]).collect());
        let models: Vec<Option<Standard>> = predictions
            .iter()
            .map(|model| Standard::of(keep.iter().map(|&row| model[row]).collect()))
            .collect();
        let Some(targets) = targets else { return Vec::new() };
        (0..self.resamples)
            .into_par_iter()
            .map(|index| {
                let counts = draw(self.seed, index, keep.len());
                models.iter().map(|model| weighted_pearson(&counts, &targets.0, &model.as_ref()?.0)).collect()
            })
            .collect()
    }
}

/// How often each record is drawn in a resample.
fn draw(seed: u64, index: usize, records: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed, &format!("bootstrap {index}"));
    let mut counts = vec![0.0; records];
    for _ in 0..records {
        counts[rng.below(records)] += 1.0;
    }
    counts
}

/// A vector with mean 0 and standard deviation 1, so that one pass over it loses no digits.
struct Standard(Vec<f64>);

impl Standard {
    /// `None` for a vector that is constant or not finite.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        if is_constant(&values) {
            return None;
        }
        let mean = mean(&values);
        for value in &mut values {
            *value -= mean;
        }
        let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
        let sd = (sum(&squares) / values.len() as f64).sqrt();
        for value in &mut values {
            *value /= sd;
        }
        (sd.is_finite() && sd > 0.0).then_some(Self(values))
    }
}

/// Pearson correlation where record i counts `counts[i]` times; `None` where a side is constant.
fn weighted_pearson(counts: &[f64], a: &[f64], b: &[f64]) -> Option<f64> {
    let [mut sa, mut sb, mut saa, mut sbb, mut sab] = [0.0; 5];
    for ((&count, &a), &b) in counts.iter().zip(a).zip(b) {
        let (wa, wb) = (count * a, count * b);
        sa += wa;
        sb += wb;
        saa += wa * a;
        sbb += wb * b;
        sab += wa * b;
    }
    let n = counts.len() as f64;
    let (va, vb) = (saa - sa * sa / n, sbb - sb * sb / n);
    // A resample of equal values leaves rounding noise where the variance should be 0.
    let is_constant = va <= 1e-12 * saa || vb <= 1e-12 * sbb;
    (!is_constant).then(|| ((sab - sa * sb / n) / va.sqrt() / vb.sqrt()).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two predictions of different quality.
    fn example(records: usize) -> [Vec<f64>; 3] {
        let mut rng = Rng::new(5, "example");
        let targets: Vec<f64> = (0..records).map(|_| rng.normal()).collect();
        let mut noisy = |noise: f64| targets.iter().map(|y| y + noise * rng.normal()).collect::<Vec<_>>();
        let (good, bad) = (noisy(1.0), noisy(3.0));
        [targets, good, bad]
    }

    #[test]
    fn the_interval_holds_the_estimate_and_has_the_known_width() {
        let [targets, good, bad] = example(2_000);
        let intervals = Bootstrap::default().pearson(&targets, &[&good, &bad]);
        for (model, interval) in [&good, &bad].into_iter().zip(intervals) {
            let (r, interval) = (pearson(model, &targets).unwrap(), interval.unwrap());
            assert!(interval.low < r && r < interval.high, "{r} {interval:?}");
            // Of normal variables the standard error is (1 − r²) / √n.
            let expected = 2.0 * 1.96 * (1.0 - r * r) / 2_000_f64.sqrt();
            assert!(((interval.high - interval.low) / expected - 1.0).abs() < 0.1, "{r} {interval:?}");
        }
    }

    #[test]
    fn a_resample_is_what_it_says() {
        let [targets, good, _] = example(50);
        let counts = draw(1, 3, 50);
        assert_eq!(counts.iter().sum::<f64>(), 50.0);
        let repeated = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&counts).flat_map(|(&value, &n)| vec![value; n as usize]).collect()
        };
        let direct = pearson(&repeated(&good), &repeated(&targets)).unwrap();
        assert!((weighted_pearson(&counts, &targets, &good).unwrap() - direct).abs() < 1e-12);
    }

    #[test]
    fn differences_are_paired() {
        let [targets, good, bad] = example(1_000);
        let bootstrap = Bootstrap { resamples: 500, ..Bootstrap::default() };
        let better = bootstrap.difference(&targets, &good, &bad).unwrap();
        assert!(better.low > 0.0 && better.share_above == 1.0, "{better:?}");
        let worse = bootstrap.difference(&targets, &bad, &good).unwrap();
        assert!((better.low + worse.high).abs() < 1e-12 && (better.high + worse.low).abs() < 1e-12);
        let none = bootstrap.difference(&targets, &good, &good).unwrap();
        assert_eq!((none.difference, none.low, none.high), (0.0, 0.0, 0.0));
    }

    #[test]
    fn what_is_undefined_has_no_interval() {
        let [targets, good, _] = example(20);
        let bootstrap = Bootstrap { resamples: 50, ..Bootstrap::default() };
        let constant = vec![0.1; 20];
        let intervals = bootstrap.pearson(&targets, &[&good, &constant]);
        assert!(intervals[0].is_some() && intervals[1].is_none());
        assert_eq!(bootstrap.difference(&targets, &good, &constant), None);
        assert_eq!(bootstrap.pearson(&[], &[&[]]), [None]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let [targets, good, bad] = example(300);
        let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bootstrap.pearson(&targets, &[&good, &bad]))
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(7));
    }
}
