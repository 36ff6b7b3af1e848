//! Percentile bootstrap intervals of correlations and errors over resampled records, or over units that records share.
//!
//! Records that share a unit (a gene, a strain) are not independent. A resample then draws units, and the weight of a record is the
//! product of the weights of its units.
//!
//! Every resample has a random stream of its own, keyed by (seed, index), so the interval does not depend on the
//! number of threads. All predictions of one call have the same resamples: their differences are paired. The module
//! is independent of datasets.

use crate::random::Rng;
use crate::stats::quantile::quantile_of_sorted;
use crate::stats::{is_constant, mean, pearson, sum};
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

/// The elements that a resample draws.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Resampling {
    /// Single records: right where records are independent of each other.
    #[default]
    Records,
    /// Units that several records share.
    Units(SharedUnits),
}

/// Units that records share, in strata that are resampled among themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedUnits {
    /// First unit of each record in `units`, and the end.
    offsets: Vec<usize>,
    units: Vec<u32>,
    strata: Vec<Vec<u32>>,
}

impl SharedUnits {
    /// Collects the units of each record; `stratum_of` gives the stratum of a unit.
    pub fn new<R>(records: impl IntoIterator<Item = R>, stratum_of: impl Fn(u32) -> usize) -> Self
    where
        R: IntoIterator<Item = u32>,
    {
        let mut found = Self { offsets: vec![0], ..Self::default() };
        for record in records {
            found.units.extend(record);
            found.offsets.push(found.units.len());
        }
        let mut distinct = found.units.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for unit in distinct {
            let stratum = stratum_of(unit);
            if found.strata.len() <= stratum {
                found.strata.resize(stratum + 1, Vec::new());
            }
            found.strata[stratum].push(unit);
        }
        found
    }

    /// Returns the weight of each record: how often the units of each stratum were drawn, multiplied over a record's units.
    fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let count = self.strata.iter().flatten().max().map_or(0, |&unit| unit as usize + 1);
        let mut drawn = vec![0.0; count];
        for stratum in &self.strata {
            for _ in stratum {
                drawn[stratum[rng.below(stratum.len())] as usize] += 1.0;
            }
        }
        let weight = |range: &[usize]| {
            self.units[range[0]..range[1]].iter().map(|&unit| drawn[unit as usize]).product()
        };
        self.offsets.windows(2).map(weight).collect()
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

/// How much a figure of one model differs from another's, on the same records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// First minus second, over all records.
    pub difference: f64,
    /// Lower end of the interval of the difference.
    pub low: f64,
    /// Upper end of the interval of the difference.
    pub high: f64,
    /// Share of the resamples in which the first is higher.
    pub share_above: f64,
}

/// A figure of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Pearson's correlation with the targets.
    Pearson,
    /// Mean squared error.
    Mse,
}

/// Figures of some predictions over all records and over every resample.
#[derive(Debug, Clone)]
pub struct Resampled {
    bootstrap: Bootstrap,
    /// By model.
    whole: Vec<[Option<f64>; 2]>,
    /// By resample, then by model.
    resamples: Vec<Vec<[Option<f64>; 2]>>,
}

impl Bootstrap {
    /// Resamples the records of some predictions; those whose target is NaN are left out.
    ///
    /// # Panics
    ///
    /// If a prediction has another length than the targets.
    pub fn resample(&self, resampling: &Resampling, targets: &[f64], predictions: &[&[f64]]) -> Resampled {
        let keep: Vec<usize> = (0..targets.len()).filter(|&row| !targets[row].is_nan()).collect();
        let kept = |values: &[f64]| keep.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let scores = kept(targets);
        let models: Vec<Compared> =
            predictions.iter().map(|model| Compared::of(&kept(model), &scores)).collect();
        let whole = models.iter().map(|model| model.whole).collect();
        let standard = if keep.len() < 2 { None } else { Standard::of(scores) };
        let resamples = match &standard {
            None => Vec::new(),
            Some(scores) => self.map(resampling, targets.len(), |weights| {
                let weights = kept(weights);
                models.iter().map(|model| model.figures(&weights, &scores.0)).collect()
            }),
        };
        Resampled { bootstrap: *self, whole, resamples }
    }

    /// Computes a statistic of every resample from the weights of the records.
    pub fn map<T: Send>(
        &self,
        resampling: &Resampling,
        records: usize,
        statistic: impl Fn(&[f64]) -> T + Sync,
    ) -> Vec<T> {
        let of_resample = |index: usize| {
            let mut rng = Rng::new(self.seed, &format!("bootstrap {index}"));
            let weights = match resampling {
                Resampling::Records => draw(&mut rng, records),
                Resampling::Units(units) => units.draw(&mut rng),
            };
            statistic(&weights)
        };
        (0..self.resamples).into_par_iter().map(of_resample).collect()
    }

    /// Returns the percentiles of resampled values, interpolated; `None` if there are none.
    pub fn interval(&self, mut values: Vec<f64>) -> Option<Interval> {
        values.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.level) / 2.0;
        let at = |fraction| quantile_of_sorted(&values, fraction);
        Some(Interval { low: at(tail)?, high: at(1.0 - tail)? })
    }
}

impl Resampled {
    /// Returns the interval of a figure of a model; `None` where it is undefined.
    pub fn interval(&self, statistic: Statistic, model: usize) -> Option<Interval> {
        let values = self.resamples.iter().filter_map(|row| row[model][statistic as usize]);
        self.bootstrap.interval(values.collect())
    }

    /// Returns the paired difference of a figure of two models; `None` where either is undefined.
    pub fn difference(&self, statistic: Statistic, first: usize, second: usize) -> Option<Difference> {
        let of = |models: &[[Option<f64>; 2]]| {
            Some(models[first][statistic as usize]? - models[second][statistic as usize]?)
        };
        let difference = of(&self.whole)?;
        let differences: Vec<f64> = self.resamples.iter().filter_map(|models| of(models)).collect();
        let above = differences.iter().filter(|&&difference| difference > 0.0).count();
        let share_above = above as f64 / differences.len().max(1) as f64;
        let Interval { low, high } = self.bootstrap.interval(differences)?;
        Some(Difference { difference, low, high, share_above })
    }
}

/// The predictions of a model, prepared for weighted figures.
struct Compared {
    /// `None` for predictions that are constant or not finite.
    standard: Option<Standard>,
    squared_errors: Vec<f64>,
    whole: [Option<f64>; 2],
}

impl Compared {
    fn of(predictions: &[f64], targets: &[f64]) -> Self {
        let squared_errors: Vec<f64> =
            predictions.iter().zip(targets).map(|(p, y)| (p - y).powi(2)).collect();
        let mse = mean(&squared_errors);
        Self {
            whole: [pearson(predictions, targets), mse.is_finite().then_some(mse)],
            standard: Standard::of(predictions.to_vec()),
            squared_errors,
        }
    }

    /// In the order of [`Statistic`].
    fn figures(&self, weights: &[f64], targets: &[f64]) -> [Option<f64>; 2] {
        let pearson = self.standard.as_ref().and_then(|own| weighted_pearson(weights, targets, &own.0));
        let (mut sum, mut total) = (0.0, 0.0);
        for (weight, square) in weights.iter().zip(&self.squared_errors) {
            sum += weight * square;
            total += weight;
        }
        [pearson, Some(sum / total).filter(|mse| mse.is_finite())]
    }
}

/// How often each record is drawn in a resample.
fn draw(rng: &mut Rng, records: usize) -> Vec<f64> {
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

/// Pearson correlation where record i has the weight `weights[i]`; `None` where a side is constant.
pub fn weighted_pearson(weights: &[f64], a: &[f64], b: &[f64]) -> Option<f64> {
    let [mut n, mut sa, mut sb, mut saa, mut sbb, mut sab] = [0.0; 6];
    for ((&weight, &a), &b) in weights.iter().zip(a).zip(b) {
        let (wa, wb) = (weight * a, weight * b);
        n += weight;
        sa += wa;
        sb += wb;
        saa += wa * a;
        sbb += wb * b;
        sab += wa * b;
    }
    let (va, vb) = (saa - sa * sa / n, sbb - sb * sb / n);
    // Equal values leave rounding noise where the variance should be 0; without weight it is not a number.
    let varies = va > 1e-12 * saa && vb > 1e-12 * sbb;
    varies.then(|| ((sab - sa * sb / n) / va.sqrt() / vb.sqrt()).clamp(-1.0, 1.0))
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
        let resampled = Bootstrap::default().resample(&Resampling::Records, &targets, &[&good, &bad]);
        for (index, model) in [&good, &bad].into_iter().enumerate() {
            let interval = resampled.interval(Statistic::Pearson, index).unwrap();
            let r = pearson(model, &targets).unwrap();
            assert!(interval.low < r && r < interval.high, "{r} {interval:?}");
            // Of normal variables the standard error is (1 − r²) / √n.
            let expected = 2.0 * 1.96 * (1.0 - r * r) / 2_000_f64.sqrt();
            assert!(((interval.high - interval.low) / expected - 1.0).abs() < 0.1, "{r} {interval:?}");
        }
    }

    #[test]
    fn a_resample_is_what_it_says() {
        let [targets, good, _] = example(50);
        let counts = draw(&mut Rng::new(1, "bootstrap 3"), 50);
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
        let resampled = bootstrap.resample(&Resampling::Records, &targets, &[&good, &bad, &good]);
        let difference = |a, b| resampled.difference(Statistic::Pearson, a, b).unwrap();
        let (better, worse) = (difference(0, 1), difference(1, 0));
        assert!(better.low > 0.0 && better.share_above == 1.0, "{better:?}");
        assert!((better.low + worse.high).abs() < 1e-12 && (better.high + worse.low).abs() < 1e-12);
        let none = difference(0, 2);
        assert_eq!((none.difference, none.low, none.high), (0.0, 0.0, 0.0));
        // Noise of variance 1 against 9.
        let errors = resampled.difference(Statistic::Mse, 0, 1).unwrap();
        assert!(errors.high < 0.0 && (errors.difference + 8.0).abs() < 1.5, "{errors:?}");
    }

    #[test]
    fn what_is_undefined_has_no_interval() {
        let [targets, good, _] = example(20);
        let bootstrap = Bootstrap { resamples: 50, ..Bootstrap::default() };
        let constant = vec![0.1; 20];
        let resampled = bootstrap.resample(&Resampling::Records, &targets, &[&good, &constant]);
        assert!(resampled.interval(Statistic::Pearson, 0).is_some());
        assert!(resampled.interval(Statistic::Pearson, 1).is_none());
        assert_eq!(resampled.difference(Statistic::Pearson, 0, 1), None);
        assert!(resampled.difference(Statistic::Mse, 0, 1).is_some());
        let nothing = bootstrap.resample(&Resampling::Records, &[], &[&[]]);
        assert_eq!(nothing.interval(Statistic::Pearson, 0), None);
    }

    #[test]
    fn a_record_has_the_product_of_its_units() {
        let records = [[0, 1], [0, 2], [1, 2], [3, 4]];
        let units = SharedUnits::new(records, |unit| usize::from(unit > 2));
        let mut rng = Rng::new(7, "units");
        for _ in 0..50 {
            let weights = units.draw(&mut rng);
            // Three genes are drawn among themselves, and two.
            let [ab, ac, bc, de] = weights[..] else { unreachable!() };
            assert!(de == 1.0 || de == 0.0, "{de}");
            let possible = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [1.0; 3]];
            assert!(possible.contains(&[ab, ac, bc]), "{weights:?}");
        }
    }

    /// Pairs of genes whose error has a part that all pairs of a gene share: intervals over genes cover the true correlation,
    /// intervals over records do not.
    #[test]
    fn intervals_over_genes_cover_what_genes_share() {
        const GENES: u32 = 30;
        let truth = planted_correlation();
        let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
        let mut covered = [0; 2];
        let screens = 200;
        for screen in 0..screens {
            let (pairs, targets, predictions) = planted(GENES, screen);
            let units = SharedUnits::new(pairs, |_| 0);
            for (count, resampling) in covered.iter_mut().zip([Resampling::Units(units), Resampling::Records])
            {
                let resampled = bootstrap.resample(&resampling, &targets, &[&predictions]);
                let interval = resampled.interval(Statistic::Pearson, 0).unwrap();
                *count += u32::from(interval.low <= truth && truth <= interval.high);
            }
        }
        let [genes, records] = covered.map(|count| f64::from(count) / f64::from(screens as u32));
        assert!((0.90..=0.98).contains(&genes), "{genes}");
        assert!(records < 0.7, "{records}");
    }

    /// A screen of all pairs of some genes. The prediction of a pair is a sum of gene effects and of its own signal; the score adds
    /// gene effects that the prediction lacks, and noise.
    fn planted(genes: u32, screen: u64) -> (Vec<[u32; 2]>, Vec<f64>, Vec<f64>) {
        let mut rng = Rng::new(screen, "planted screen");
        let effects: Vec<[f64; 2]> = (0..genes).map(|_| [rng.normal(), rng.normal()]).collect();
        let mut found = (Vec::new(), Vec::new(), Vec::new());
        for a in 0..genes {
            for b in 0..a {
                let [known, hidden] =
                    [0, 1].map(|kind| effects[a as usize][kind] + effects[b as usize][kind]);
                let prediction = known + rng.normal();
                found.0.push([b, a]);
                found.1.push(prediction + hidden + rng.normal());
                found.2.push(prediction);
            }
        }
        found
    }

    /// Variance 3 of the prediction, 3 of everything else: sqrt(3 / 6).
    fn planted_correlation() -> f64 {
        0.5_f64.sqrt()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let [targets, good, bad] = example(300);
        let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let resampled = bootstrap.resample(&Resampling::Records, &targets, &[&good, &bad]);
                [0, 1].map(|model| resampled.interval(Statistic::Pearson, model))
            })
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(7));
    }
}
