//! Standard deviations of new measurements around predictions.
//!
//! The variance is the sum of two parts. The noise is larger for genes whose training records have large residuals. The model
//! variance is the model's own variance of the set: that of the Gaussian process, as if the partners of every gene were spread evenly
//! over the genes, or for low rank the share of genes without training records.
//!
//! The weights of both parts are fitted to the squared errors on the validation part. Then the standard deviation is scaled until
//! 68.3 % of these errors lie within it. The width of the 95 % interval is stored too, because errors have heavier tails than a normal
//! distribution. The reported coverage is cross-fitted: each half of the validation part is counted with the fit of the other half.

use crate::least_squares::non_negative_least_squares;
use crate::model::{Choice, Problem, Records};
use crate::tensor::{Tensor, find, find_vector};
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;

/// Probability within one standard deviation of a normal distribution.
const WITHIN_ONE: f64 = 0.682_689;
/// Probability of the wide interval.
const WITHIN_WIDE: f64 = 0.95;
/// Records of mean noise that every gene starts with (the strength of the prior).
const PRIOR_RECORDS: f64 = 20.0;

/// Noise variance of each gene's records relative to the mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GeneNoise {
    ratios: Vec<f32>,
}

impl GeneNoise {
    /// Estimates the noise from the residuals of the training part.
    pub(crate) fn estimate(train: &Records, predictions: &[f64], gene_count: usize) -> Self {
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
        Self { ratios: sums.iter().zip(&counts).map(ratio).collect() }
    }

    /// Returns the noise of a set relative to the mean: the product over its genes.
    fn of_set(&self, set: &[u32]) -> f64 {
        set.iter().map(|&gene| f64::from(self.ratios[gene as usize])).product()
    }
}

/// A calibrated model of the standard deviation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DeviationModel {
    gene_noise: GeneNoise,
    /// Variance per unit of noise.
    noise: f32,
    /// Variance per unit of model variance.
    model_variance: f32,
    /// Standard deviations that cover 95 % of the errors.
    wide: f32,
    /// Coverage of the validation part by one standard deviation and by the wide interval.
    within_one: f32,
    within_wide: f32,
}

/// An error on the validation part with the two parts of its variance.
struct ValidationError {
    size: f64,
    noise: f64,
    model_variance: f64,
}

/// Weights of the two parts of the variance, and the wide interval in standard deviations.
#[derive(Clone, Copy)]
struct VarianceFit {
    noise: f64,
    model_variance: f64,
    wide: f64,
}

impl VarianceFit {
    fn new<'e>(errors: impl Iterator<Item = &'e ValidationError> + Clone) -> Self {
        // Records are weighted by the inverse square of their noise; otherwise the noisiest ones would dominate.
        let (mut gram, mut moments) = (vec![0.0; 4], vec![0.0; 2]);
        for error in errors.clone() {
            let features = [1.0, error.model_variance / error.noise];
            for i in 0..2 {
                moments[i] += features[i] * error.size * error.size / error.noise;
                (0..2).for_each(|j| gram[2 * i + j] += features[i] * features[j]);
            }
        }
        let found = non_negative_least_squares(&gram, &moments);
        let raw = Self { noise: found[0], model_variance: found[1], wide: 1.0 };
        let mut ratios: Vec<f64> =
            errors.map(|error| error.size / raw.deviation(error)).filter(|ratio| ratio.is_finite()).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |probability: f64| {
            let rank = (probability * ratios.len() as f64).ceil() as usize;
            ratios.get(rank.saturating_sub(1)).copied().filter(|&q| q > 0.0).unwrap_or(1.0)
        };
        let (one, wide) = (quantile(WITHIN_ONE), quantile(WITHIN_WIDE));
        Self {
            noise: raw.noise * one * one,
            model_variance: raw.model_variance * one * one,
            wide: wide / one,
        }
    }

    fn deviation(&self, error: &ValidationError) -> f64 {
        (self.noise * error.noise + self.model_variance * error.model_variance).max(0.0).sqrt()
    }

    /// Returns the share of errors within one standard deviation and within the wide interval.
    fn coverage<'e>(&self, errors: impl Iterator<Item = &'e ValidationError>) -> [f64; 2] {
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

impl DeviationModel {
    /// Fits the variance to the errors on the validation part, given the model variance of each of its sets; takes a fit that was
    /// chosen before.
    pub(crate) fn fit(
        gene_noise: GeneNoise,
        problem: Problem<'_>,
        prefix: &str,
        predictions: &[f64],
        model_variances: &[f64],
    ) -> Self {
        let chosen = |name: &str| problem.setting(&format!("{prefix}.deviation.{name}"));
        if let (Some(noise), Some(variance), Some(wide)) = (chosen("noise"), chosen("doubt"), chosen("wide"))
        {
            let (noise, model_variance, wide) = ((noise * noise) as f32, variance as f32, wide as f32);
            return Self { gene_noise, noise, model_variance, wide, ..Self::default() };
        }
        let val = problem.val;
        let records = val.sets.view().iter().zip(model_variances).zip(predictions.iter().zip(&val.scores));
        let errors: Vec<ValidationError> = records
            .map(|((set, &model_variance), (prediction, score))| ValidationError {
                size: (score - prediction).abs(),
                noise: gene_noise.of_set(set).max(f64::MIN_POSITIVE),
                model_variance,
            })
            .collect();
        let half = |first: usize| errors.iter().skip(first).step_by(2);
        let coverage =
            [VarianceFit::new(half(0)).coverage(half(1)), VarianceFit::new(half(1)).coverage(half(0))];
        let fit = VarianceFit::new(errors.iter());
        Self {
            gene_noise,
            noise: fit.noise as f32,
            model_variance: fit.model_variance as f32,
            wide: fit.wide as f32,
            within_one: f64::midpoint(coverage[0][0], coverage[1][0]) as f32,
            within_wide: f64::midpoint(coverage[0][1], coverage[1][1]) as f32,
        }
    }

    /// Returns the standard deviation of each set, given its model variance.
    pub(crate) fn deviations(
        &self,
        sets: GeneSetsRef<'_>,
        model_variances: impl Iterator<Item = f64>,
    ) -> Vec<f64> {
        let deviation = |(set, model_variance): (&[u32], f64)| {
            let noise = f64::from(self.noise) * self.gene_noise.of_set(set);
            (noise + f64::from(self.model_variance) * model_variance).max(0.0).sqrt()
        };
        sets.iter().zip(model_variances).map(deviation).collect()
    }

    /// Returns the standard deviation of a pair whose new genes were held out, given its model variance.
    pub(crate) fn of_held_out(&self, set: &[u32], is_new: [bool; 2], model_variance: f64) -> f64 {
        let known: Vec<u32> =
            set.iter().zip(is_new).filter(|(_, is_new)| !is_new).map(|(&gene, _)| gene).collect();
        let noise = f64::from(self.noise) * self.gene_noise.of_set(&known);
        (noise + f64::from(self.model_variance) * model_variance).max(0.0).sqrt()
    }

    /// Returns how many standard deviations cover 95 % of the errors.
    pub(crate) fn wide(&self) -> f64 {
        f64::from(self.wide)
    }

    pub(crate) fn choices(&self, prefix: &str) -> [Choice; 5] {
        let named = |name: &str, value: f32| Choice::new(format!("{prefix}.{name}"), f64::from(value));
        [
            named("deviation.noise", self.noise.sqrt()),
            named("deviation.doubt", self.model_variance),
            named("deviation.wide", self.wide),
            named("validation_within_68", self.within_one),
            named("validation_within_95", self.within_wide),
        ]
    }

    pub(crate) fn tensors(&self, prefix: &str) -> [Tensor; 2] {
        let numbers = vec![self.noise, self.model_variance, self.wide, self.within_one, self.within_wide];
        [
            Tensor::vector(format!("{prefix}.spread"), numbers),
            Tensor::vector(format!("{prefix}.loudness"), self.gene_noise.ratios.clone()),
        ]
    }

    pub(crate) fn load(tensors: &[Tensor], prefix: &str, gene_count: usize) -> Result<Self, Error> {
        let [noise, model_variance, wide, within_one, within_wide] =
            find(tensors, &format!("{prefix}.spread"))?.array()?;
        let ratios = find_vector(tensors, &format!("{prefix}.loudness"), gene_count)?;
        Ok(Self { gene_noise: GeneNoise { ratios }, noise, model_variance, wide, within_one, within_wide })
    }
}
