//! How far a new measurement may lie from a prediction.
//!
//! The variance is made of two parts: noise, which is larger for genes whose training records lie far from what is predicted for them,
//! and doubt, the model's own variance of the set. How much each counts is fitted to the squared errors of the validation part; then
//! the deviation is scaled until 68.3 % of these errors lie within it, and how many deviations hold 95 % of them is kept beside
//! it, because errors have heavier tails than a normal distribution. What the shares on the validation part say was
//! counted on one half of it with the figures of the other.

use crate::least_squares::from_zero_up;
use crate::model::{Choice, Records, SolveError};
use crate::tensor::{Tensor, tensor};
use knockout_data::cell::GeneSetsRef;

/// The share of a normal distribution within one standard deviation.
const WITHIN_ONE: f64 = 0.682_689;
/// The wider interval.
const WITHIN_WIDE: f64 = 0.95;
/// Records of mean noise that every gene is given beforehand.
const PRIOR_RECORDS: f64 = 20.0;

/// How much noisier than the mean each gene's records are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Loudness {
    genes: Vec<f32>,
}

impl Loudness {
    /// From what is left of the training scores.
    pub(crate) fn of(train: &Records, predictions: &[f64], gene_count: usize) -> Self {
        let squares =
            || predictions.iter().zip(&train.scores).map(|(prediction, score)| (score - prediction).powi(2));
        let mean = squares().sum::<f64>() / train.scores.len().max(1) as f64;
        let (mut sums, mut counts) = (vec![0.0; gene_count], vec![0.0; gene_count]);
        for (set, square) in train.sets.view().iter().zip(squares()) {
            for &gene in set {
                sums[gene as usize] += square;
                counts[gene as usize] += 1.0;
            }
        }
        let ratio = |(sum, count): (&f64, &f64)| {
            let ratio = (sum + PRIOR_RECORDS * mean) / ((count + PRIOR_RECORDS) * mean);
            if ratio.is_finite() { ratio as f32 } else { 1.0 }
        };
        Self { genes: sums.iter().zip(&counts).map(ratio).collect() }
    }

    /// The noise of a set in units of the mean.
    pub(crate) fn at(&self, set: &[u32]) -> f64 {
        set.iter().map(|&gene| f64::from(self.genes[gene as usize])).product()
    }
}

/// A calibrated variance.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spread {
    loudness: Loudness,
    /// Variance for each unit of noise and of doubt.
    noise: f32,
    doubt: f32,
    /// Deviations that hold 95 % of the errors.
    wide: f32,
    /// Shares of the validation part within one deviation, and within the wide interval.
    within_one: f32,
    within_wide: f32,
}

/// What of an error the variance is made of.
struct Error {
    size: f64,
    noise: f64,
    doubt: f64,
}

/// Variances for each unit, and the wide interval in deviations.
#[derive(Clone, Copy)]
struct Fit {
    noise: f64,
    doubt: f64,
    wide: f64,
}

impl Fit {
    fn of<'e>(errors: impl Iterator<Item = &'e Error> + Clone) -> Self {
        // Every record counts by the inverse of the square of its noise, or the loud ones would decide alone.
        let (mut gram, mut moments) = (vec![0.0; 4], vec![0.0; 2]);
        for error in errors.clone() {
            let features = [1.0, error.doubt / error.noise];
            for i in 0..2 {
                moments[i] += features[i] * error.size * error.size / error.noise;
                (0..2).for_each(|j| gram[2 * i + j] += features[i] * features[j]);
            }
        }
        let found = from_zero_up(&gram, &moments);
        let raw = Self { noise: found[0], doubt: found[1], wide: 1.0 };
        let mut shares: Vec<f64> =
            errors.map(|error| error.size / raw.deviation(error)).filter(|share| share.is_finite()).collect();
        shares.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let place = (share * shares.len() as f64).ceil() as usize;
            shares.get(place.saturating_sub(1)).copied().filter(|&q| q > 0.0).unwrap_or(1.0)
        };
        let (one, wide) = (quantile(WITHIN_ONE), quantile(WITHIN_WIDE));
        Self { noise: raw.noise * one * one, doubt: raw.doubt * one * one, wide: wide / one }
    }

    fn deviation(&self, error: &Error) -> f64 {
        (self.noise * error.noise + self.doubt * error.doubt).max(0.0).sqrt()
    }

    /// Shares of errors within one deviation and within the wide interval.
    fn shares<'e>(&self, errors: impl Iterator<Item = &'e Error>) -> [f64; 2] {
        let (mut count, mut inside) = (0.0_f64, [0.0; 2]);
        for error in errors {
            count += 1.0;
            for (inside, times) in inside.iter_mut().zip([1.0, self.wide]) {
                *inside += f64::from(u8::from(error.size <= times * self.deviation(error)));
            }
        }
        inside.map(|inside| inside / count.max(1.0))
    }
}

impl Spread {
    /// Fits the variance to errors on the validation part; `doubt` is the model's own variance of each of its sets.
    pub(crate) fn fit(loudness: Loudness, val: &Records, predictions: &[f64], doubt: &[f64]) -> Self {
        let sets = val.sets.view();
        let of_sets = sets.iter().zip(doubt).zip(predictions.iter().zip(&val.scores));
        let errors: Vec<Error> = of_sets
            .map(|((set, &doubt), (prediction, score))| Error {
                size: (score - prediction).abs(),
                noise: loudness.at(set).max(f64::MIN_POSITIVE),
                doubt,
            })
            .collect();
        let half = |first: usize| errors.iter().skip(first).step_by(2);
        let counted = [Fit::of(half(0)).shares(half(1)), Fit::of(half(1)).shares(half(0))];
        let fit = Fit::of(errors.iter());
        Self {
            loudness,
            noise: fit.noise as f32,
            doubt: fit.doubt as f32,
            wide: fit.wide as f32,
            within_one: f64::midpoint(counted[0][0], counted[1][0]) as f32,
            within_wide: f64::midpoint(counted[0][1], counted[1][1]) as f32,
        }
    }

    pub(crate) fn deviations(&self, sets: GeneSetsRef<'_>, doubt: impl Iterator<Item = f64>) -> Vec<f64> {
        let one = |(set, doubt): (&[u32], f64)| {
            let variance = f64::from(self.noise) * self.loudness.at(set) + f64::from(self.doubt) * doubt;
            variance.max(0.0).sqrt()
        };
        sets.iter().zip(doubt).map(one).collect()
    }

    /// Deviations that hold 95 % of the errors.
    pub(crate) fn wide(&self) -> f64 {
        f64::from(self.wide)
    }

    pub(crate) fn choices(&self, prefix: &str) -> [Choice; 5] {
        let named = |name: &str, value: f32| Choice::new(format!("{prefix}.{name}"), f64::from(value));
        [
            named("deviation.noise", self.noise.sqrt()),
            named("deviation.doubt", self.doubt),
            named("deviation.wide", self.wide),
            named("validation_within_68", self.within_one),
            named("validation_within_95", self.within_wide),
        ]
    }

    pub(crate) fn tensors(&self, name: &str) -> [Tensor; 2] {
        let numbers = vec![self.noise, self.doubt, self.wide, self.within_one, self.within_wide];
        let genes = self.loudness.genes.clone();
        [
            Tensor::new(format!("{name}.spread"), &[5], numbers),
            Tensor::new(format!("{name}.loudness"), &[genes.len()], genes),
        ]
    }

    pub(crate) fn load(tensors: &[Tensor], name: &str, gene_count: usize) -> Result<Self, SolveError> {
        let numbers = tensor(tensors, &format!("{name}.spread"))?;
        let [noise, doubt, wide, within_one, within_wide] = numbers.values[..] else {
            return Err(SolveError::Tensor { name: numbers.name.clone() });
        };
        let genes = tensor(tensors, &format!("{name}.loudness"))?.of_length(gene_count)?.to_vec();
        Ok(Self { loudness: Loudness { genes }, noise, doubt, wide, within_one, within_wide })
    }
}
