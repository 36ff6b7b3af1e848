//! Standard deviations that hold in every regime and for strong predictions.
//!
//! A model calibrates its deviations over the whole validation part. Strong predictions err more than that, and predictions for new
//! genes do too. Here the variance becomes `own * sd^2 + prediction * p^2`, with the model's own deviation `sd` and its prediction `p`
//! around the mean training score. Folds take the settings of the solution.
//! Both factors are fitted for each regime: to errors on the validation part, and to errors on folds of genes that are held out of the
//! training part. The deviation is then scaled until it covers 68.3 % of the errors of the regime, and the 95 % interval is fitted
//! likewise; both then once more among predictions of similar size (split conformal prediction by bins), because errors of strong
//! predictions have other tails, and other ones on either side. The folds also estimate the accuracy for new genes.

use crate::error::bad_tensor;
use crate::least_squares::non_negative_least_squares;
use crate::model::{
    Choice, HeldOutRecord, Problem, Records, SimilarProfile, Solution, SolveObserver, SumTerm,
};
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_base::random::Rng;
use knockout_base::stats::bootstrap::{Bootstrap, Resampling, SharedUnits, Statistic};
use knockout_base::stats::{mean, pearson};
use knockout_data::cell::GeneSetsRef;
use knockout_data::screen::Regime;

/// Folds of genes.
const FOLDS: usize = 4;
/// A fold holds out one gene of so many.
const GENES_PER_HELD_OUT: usize = 10;
/// Genes below which there are no folds.
const FEWEST_GENES: usize = 40;
/// Training records above which there are no folds: each fold solves the model again.
const MOST_RECORDS: usize = 1_000_000;
/// Of so many records of known genes, a fold holds out one, where the validation part has none.
const RECORDS_PER_HELD_OUT: usize = 20;
/// Squares of predictions below this share of the variance are rounding.
const NEGLIGIBLE: f64 = 1e-9;
/// Errors below which a regime has no fit of its own.
const FEWEST_OF_REGIME: usize = 60;
/// Errors below which a regime has no accuracy, and folds hold out records of it.
const FEWEST_ERRORS: usize = 200;
/// Bins of predictions of similar size, with known genes and with new ones, whose records err together.
const KNOWN_SIZES: SizeBins = SizeBins { fewest: 60, is_limited: true };
const NEW_SIZES: SizeBins = SizeBins { fewest: 200, is_limited: false };
/// Share of the predictions up to which an outermost bin tells how much the strongest ones err.
const FINE_SHARE: f64 = 0.011;
/// Shares of the predictions between which predictions are of similar size: finer in the tails.
const SIZE_SHARES: [f64; 10] = [0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 0.9, 0.97, 0.99, 0.997];
/// Resamples of the intervals of the accuracy.
const RESAMPLES: usize = 200;
/// Probability within one standard deviation of a normal distribution, and of the wide interval.
const WITHIN: [f64; 2] = [0.682_689, 0.95];

/// Standard deviations that cover 95 % of a normal distribution.
const WIDE_OF_NORMAL: f64 = 1.96;

/// Beginning of the names of weights that only sets of known genes have.
const KNOWN_WEIGHT: &str = "stack.weight.";
const FITS: &str = "regimes.deviations";
const LIMITS: &str = "regimes.limits";
const SIZES: &str = "regimes.sizes";
const TRAINED: &str = "regimes.trained";

/// Solves a problem, reporting to an observer.
pub type Solve<'s> = &'s dyn Fn(Problem<'_>, &mut dyn SolveObserver) -> Result<Box<dyn Solution>, Error>;

/// A solution whose deviations are calibrated by regime.
pub struct Recalibrated {
    inner: Box<dyn Solution>,
    is_trained: Vec<bool>,
    fits: [RegimeFit; 3],
    /// The mean training score; 0 in solutions of earlier versions.
    centre: f32,
    accuracy: Vec<Choice>,
}

/// The variance of a regime, and its wide interval in standard deviations.
#[derive(Debug, Clone, PartialEq)]
struct RegimeFit {
    own: f32,
    prediction: f32,
    wide: f32,
    /// Predictions below and above which the variance does not grow.
    limits: [f32; 2],
    /// In order of the prediction; empty in solutions of earlier versions.
    sizes: Vec<SizeFit>,
}

/// Factors of the deviation and of the wide interval for predictions of about this size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SizeFit {
    prediction: f32,
    deviation: f32,
    wide: f32,
}

/// Limits of a variance that grows with every prediction, as in solutions of earlier versions.
const NO_LIMITS: [f32; 2] = [f32::MIN, f32::MAX];

/// How predictions are divided by size.
#[derive(Debug, Clone, Copy)]
struct SizeBins {
    /// Errors below which a bin has no fit of its own.
    fewest: usize,
    /// Whether the variance stops growing in the outermost bins.
    is_limited: bool,
}

/// An error of a prediction, with what its variance depends on.
#[derive(Debug, Clone, Copy)]
struct CheckedError {
    size: f64,
    sd: f64,
    /// The prediction around the mean training score.
    prediction: f64,
}

/// Held-out records of one regime.
#[derive(Default)]
struct HeldOut {
    errors: Vec<CheckedError>,
    /// Of the records that folds held out: the genes, those new in their fold numbered after the others.
    units: Vec<Vec<u32>>,
    predictions: Vec<f64>,
    scores: Vec<f64>,
}

impl RegimeFit {
    /// Fits the variance; `None` with too few errors or without any variance.
    fn new(errors: &[CheckedError], bins: SizeBins) -> Option<Self> {
        if errors.len() < FEWEST_OF_REGIME {
            return None;
        }
        let (mut gram, mut moments) = (vec![0.0; 4], vec![0.0; 2]);
        for error in errors {
            // Relative to a rough variance; otherwise the strongest predictions would dominate.
            let (own, square) = (error.sd * error.sd, error.prediction * error.prediction);
            // What rounding leaves of a constant prediction decides nothing.
            let features = [own, if square > NEGLIGIBLE * own { square } else { 0.0 }];
            let scale = 1.0 / (features[0] + 0.2 * features[1]).max(f64::MIN_POSITIVE);
            let target = error.size * error.size * scale;
            for i in 0..2 {
                moments[i] += features[i] * scale * target;
                (0..2).for_each(|j| gram[2 * i + j] += features[i] * features[j] * scale * scale);
            }
        }
        let found = non_negative_least_squares(&gram, &moments);
        let [own, prediction] = [found[0] as f32, found[1] as f32];
        let mut fit = Self { own, prediction, wide: 1.0, limits: NO_LIMITS, sizes: Vec::new() };
        let [one, wide] = fit.quantiles(errors)?;
        let scale = |factor: f32| (f64::from(factor) * one * one) as f32;
        (fit.own, fit.prediction, fit.wide) = (scale(own), scale(prediction), (wide / one) as f32);
        (fit.limits, fit.sizes) = fit.fit_sizes(errors, bins);
        Some(fit)
    }

    /// Returns the deviations that cover 68.3 % and 95 % of the errors; `None` if they have no positive number.
    fn quantiles(&self, errors: &[CheckedError]) -> Option<[f64; 2]> {
        let ratios = errors.iter().map(|error| error.size / self.deviation(error.sd, error.prediction));
        let mut ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |probability: f64| {
            let rank = (probability * ratios.len() as f64).ceil() as usize;
            ratios.get(rank.saturating_sub(1)).copied().filter(|&q| q > 0.0)
        };
        Some([quantile(WITHIN[0])?, quantile(WITHIN[1])?])
    }

    /// Fits the factors of each bin of predictions, given the fit of all of them, and the limits of the variance.
    fn fit_sizes(&self, errors: &[CheckedError], bins: SizeBins) -> ([f32; 2], Vec<SizeFit>) {
        let mut errors = errors.to_vec();
        errors.sort_by(|a, b| a.prediction.total_cmp(&b.prediction));
        let edge = |share: f64| (share * errors.len() as f64) as usize;
        let SizeBins { fewest, is_limited } = bins;
        let (mut limits, mut sizes, mut start) = (NO_LIMITS, Vec::new(), 0);
        for end in SIZE_SHARES.map(edge).into_iter().chain([errors.len()]) {
            // Bins with too few errors are joined with the next one, the last ones with each other.
            let rest = errors.len() - end;
            if end - start < fewest || (rest > 0 && rest < fewest) {
                continue;
            }
            let bin = &errors[start..end];
            if let Some([one, wide]) = self.quantiles(bin) {
                let (prediction, deviation) = (bin[bin.len() / 2].prediction as f32, one as f32);
                sizes.push(SizeFit { prediction, deviation, wide: (wide / one) as f32 / self.wide });
                // A coarse bin tells little of the strongest predictions: their variance grows without a limit.
                if is_limited && bin.len() as f64 <= FINE_SHARE * errors.len() as f64 {
                    let [low, high] = &mut limits;
                    if start == 0 {
                        *low = prediction.min(0.0);
                    }
                    if rest == 0 {
                        *high = prediction.max(0.0);
                    }
                }
            }
            start = end;
        }
        sizes.dedup_by_key(|size| size.prediction);
        (limits, sizes)
    }

    /// Returns the factors for a prediction, interpolated between bins.
    fn factors(&self, prediction: f64) -> [f64; 2] {
        let of = |size: &SizeFit| [size.deviation, size.wide].map(f64::from);
        let after = self.sizes.partition_point(|size| f64::from(size.prediction) < prediction);
        match (after.checked_sub(1).map(|before| &self.sizes[before]), self.sizes.get(after)) {
            (None, None) => [1.0; 2],
            (Some(only), None) | (None, Some(only)) => of(only),
            (Some(low), Some(high)) => {
                let [start, end] = [low, high].map(|size| f64::from(size.prediction));
                let share = (prediction - start) / (end - start);
                let (low, high) = (of(low), of(high));
                std::array::from_fn(|i| low[i] + share * (high[i] - low[i]))
            }
        }
    }

    fn deviation(&self, sd: f64, prediction: f64) -> f64 {
        let [low, high] = self.limits.map(f64::from);
        let prediction = prediction.clamp(low, high);
        let variance = f64::from(self.own) * sd * sd + f64::from(self.prediction) * prediction * prediction;
        variance.sqrt() * self.factors(prediction)[0]
    }

    /// Returns how many deviations cover 95 % of the errors of such a prediction.
    fn wide(&self, prediction: f64) -> f64 {
        f64::from(self.wide) * self.factors(prediction)[1]
    }

    fn sizes_tensor(&self, regime: usize) -> Tensor {
        let numbers = self.sizes.iter().flat_map(|size| [size.prediction, size.deviation, size.wide]);
        Tensor::new(format!("{SIZES}.{regime}"), &[self.sizes.len(), 3], numbers.collect())
    }

    fn load_sizes(tensors: &[Tensor], regime: usize) -> Result<Vec<SizeFit>, Error> {
        let name = format!("{SIZES}.{regime}");
        if !has(tensors, &name) {
            return Ok(Vec::new());
        }
        let (numbers, rest) = find(tensors, &name)?.values.as_chunks::<3>();
        let is_factor = |factor: f32| factor.is_finite() && factor > 0.0;
        let sizes: Vec<SizeFit> = numbers
            .iter()
            .map(|&[prediction, deviation, wide]| SizeFit { prediction, deviation, wide })
            .collect();
        let is_valid =
            |size: &SizeFit| size.prediction.is_finite() && is_factor(size.deviation) && is_factor(size.wide);
        if rest.is_empty()
            && sizes.iter().all(is_valid)
            && sizes.is_sorted_by(|a, b| a.prediction < b.prediction)
        {
            Ok(sizes)
        } else {
            Err(bad_tensor(&name))
        }
    }
}

/// Returns which genes have records.
fn trained_genes(records: &Records, gene_count: usize) -> Vec<bool> {
    let mut is_trained = vec![false; gene_count];
    records.sets.view().genes().iter().for_each(|&gene| is_trained[gene as usize] = true);
    is_trained
}

fn select(records: &Records, is_wanted: impl Fn(usize, &[u32]) -> bool) -> Records {
    let mut found = Records::default();
    for (index, set) in records.sets.view().iter().enumerate() {
        if is_wanted(index, set) {
            found.sets.push(set);
            found.scores.push(records.scores[index]);
        }
    }
    found
}

/// Returns whether a choice is the weight of a part of a stack in sets of known genes.
fn is_of_known_genes(choice: &Choice) -> bool {
    choice.name.starts_with(KNOWN_WEIGHT)
}

/// Calibrates the deviations of a solution by regime; returns the solution as it is if it has none or too little is known.
pub fn recalibrate(
    solve: Solve<'_>,
    problem: Problem<'_>,
    solution: Box<dyn Solution>,
    observer: &mut dyn SolveObserver,
) -> Result<Box<dyn Solution>, Error> {
    let is_trained = trained_genes(problem.train, problem.cell.genes().len());
    let centre = mean(&problem.train.scores);
    let mut held_out: [HeldOut; 3] = Default::default();
    let of_val = solution.predict(problem.val.sets.view());
    if !check(&*solution, (problem.val, &of_val), (&is_trained, centre), &mut held_out) {
        return Ok(solution);
    }
    let needs_known = held_out[0].errors.len() < FEWEST_ERRORS;
    let mut settings = solution.choices();
    if !needs_known {
        // Only records of new genes are held out, which parts of known genes alone do not predict.
        settings.iter_mut().filter(|choice| is_of_known_genes(choice)).for_each(|choice| choice.value = 0.0);
    }
    add_held_out(solution.held_out(), needs_known, centre, is_trained.len(), &mut held_out);
    let has_held_out = !solution.held_out().is_empty();
    for fold in folds(problem, &is_trained, needs_known).filter(|_| !has_held_out) {
        let val = select(problem.val, |_, set| set.iter().all(|&gene| fold.is_kept[gene as usize]));
        let of_fold = Problem { train: &fold.train, val: &val, settings: &settings, ..problem };
        if of_fold.check().is_err() {
            continue;
        }
        let solved = solve(of_fold, observer)?;
        let is_trained = trained_genes(&fold.train, is_trained.len());
        check_fold(&*solved, &fold.held_out, (&is_trained, centre), &mut held_out);
    }
    let [known, one_new, several_new] = &held_out;
    let fits = [(known, KNOWN_SIZES), (one_new, NEW_SIZES), (several_new, NEW_SIZES)]
        .map(|(held_out, bins)| RegimeFit::new(&held_out.errors, bins));
    if fits.iter().all(Option::is_none) {
        return Ok(solution);
    }
    // A regime with too few errors has the fit of the easier one; known genes keep the deviations of the solution.
    let wide = solution.wide_interval().unwrap_or(WIDE_OF_NORMAL) as f32;
    let mut last = RegimeFit { own: 1.0, prediction: 0.0, wide, limits: NO_LIMITS, sizes: Vec::new() };
    let fits = fits.map(|fit| {
        last = fit.unwrap_or_else(|| last.clone());
        last.clone()
    });
    let by_regime = Regime::ALL.iter().zip(&held_out);
    let accuracy =
        by_regime.flat_map(|(&regime, held_out)| accuracy(regime, held_out, is_trained.len())).collect();
    Ok(Box::new(Recalibrated { accuracy, inner: solution, is_trained, fits, centre: centre as f32 }))
}

/// One fold: genes that are held out, and records of known genes where the validation part has none.
struct GeneFold {
    is_kept: Vec<bool>,
    train: Records,
    held_out: Records,
}

/// Iterates over the folds, which are made one at a time.
fn folds<'p>(
    problem: Problem<'p>,
    is_trained: &[bool],
    needs_known: bool,
) -> impl Iterator<Item = GeneFold> + use<'p> {
    let mut genes: Vec<u32> =
        (0..is_trained.len() as u32).filter(|&gene| is_trained[gene as usize]).collect();
    let mut rng = Rng::new(0, "gene folds");
    for index in (1..genes.len()).rev() {
        genes.swap(index, rng.below(index + 1));
    }
    let is_wanted = genes.len() >= FEWEST_GENES && problem.train.scores.len() <= MOST_RECORDS;
    let gene_count = is_trained.len();
    (0..if is_wanted { FOLDS } else { 0 }).map(move |fold| {
        let size = genes.len() / GENES_PER_HELD_OUT;
        let mut is_kept = vec![true; gene_count];
        genes[fold * size..(fold + 1) * size].iter().for_each(|&gene| is_kept[gene as usize] = false);
        let is_train = |index: usize, set: &[u32]| {
            let is_checked = needs_known && index % RECORDS_PER_HELD_OUT == fold;
            !is_checked && set.iter().all(|&gene| is_kept[gene as usize])
        };
        let train = select(problem.train, is_train);
        let held_out = select(problem.train, |index, set| !is_train(index, set));
        GeneFold { is_kept, train, held_out }
    })
}

/// Adds the errors of the predictions of a solution for some records; returns whether the solution has deviations.
fn check(
    solution: &dyn Solution,
    (records, predictions): (&Records, &[f64]),
    (is_trained, centre): (&[bool], f64),
    held_out: &mut [HeldOut; 3],
) -> bool {
    let sets = records.sets.view();
    let Some(deviations) = solution.deviations(sets, predictions) else { return false };
    for (index, set) in sets.iter().enumerate() {
        let size = (records.scores[index] - predictions[index]).abs();
        let error = CheckedError { size, sd: deviations[index], prediction: predictions[index] - centre };
        held_out[Regime::of(set, is_trained) as usize].errors.push(error);
    }
    true
}

/// Adds the errors of a fold, and its records for the accuracy.
fn check_fold(
    solution: &dyn Solution,
    records: &Records,
    (is_trained, centre): (&[bool], f64),
    held_out: &mut [HeldOut; 3],
) {
    let sets = records.sets.view();
    let predictions = solution.predict(sets);
    check(solution, (records, &predictions), (is_trained, centre), held_out);
    let genes = is_trained.len() as u32;
    for (index, set) in sets.iter().enumerate() {
        let unit = |&gene: &u32| if is_trained[gene as usize] { gene } else { genes + gene };
        let of_regime = &mut held_out[Regime::of(set, is_trained) as usize];
        of_regime.units.push(set.iter().map(unit).collect());
        of_regime.predictions.push(predictions[index]);
        of_regime.scores.push(records.scores[index]);
    }
}

/// Adds records that the solver held out, those of known genes only where they are needed.
fn add_held_out(
    records: &[HeldOutRecord],
    needs_known: bool,
    centre: f64,
    gene_count: usize,
    held_out: &mut [HeldOut; 3],
) {
    for &HeldOutRecord { genes, is_new, score, prediction, sd } in records {
        let new = is_new.iter().filter(|&&is_new| is_new).count();
        if new == 0 && !needs_known {
            continue;
        }
        let of_regime = &mut held_out[new];
        let size = (score - prediction).abs();
        of_regime.errors.push(CheckedError { size, sd, prediction: prediction - centre });
        let unit = |(gene, is_new): (u32, bool)| if is_new { gene_count as u32 + gene } else { gene };
        of_regime.units.push(genes.into_iter().zip(is_new).map(unit).collect());
        of_regime.predictions.push(prediction);
        of_regime.scores.push(score);
    }
}

/// The accuracy on the records that folds held out, with its interval over genes.
fn accuracy(regime: Regime, held_out: &HeldOut, gene_count: usize) -> Vec<Choice> {
    let HeldOut { units, predictions, scores, .. } = held_out;
    let Some(pearson) = pearson(predictions, scores).filter(|_| scores.len() >= FEWEST_ERRORS) else {
        return Vec::new();
    };
    let stratum = |unit: u32| usize::from(unit as usize >= gene_count);
    let units = SharedUnits::new(units.iter().map(|units| units.iter().copied()), stratum);
    let resampling = if regime == Regime::Known { Resampling::Records } else { Resampling::Units(units) };
    let bootstrap = Bootstrap { resamples: RESAMPLES, ..Bootstrap::default() };
    let interval = bootstrap.resample(&resampling, scores, &[predictions]).interval(Statistic::Pearson, 0);
    let named = |name: &str, value: f64| Choice::new(format!("regimes.{}.{name}", regime.name()), value);
    let mut choices = vec![named("pearson", pearson), named("records", scores.len() as f64)];
    choices.extend(interval.map(|interval| named("low", interval.low)));
    choices.extend(interval.map(|interval| named("high", interval.high)));
    choices
}

impl Recalibrated {
    /// Restores the calibration of a solution from its tensors; returns the solution as it is if they have none.
    pub fn load(
        inner: Box<dyn Solution>,
        tensors: &[Tensor],
        gene_count: usize,
    ) -> Result<Box<dyn Solution>, Error> {
        if !has(tensors, FITS) {
            return Ok(inner);
        }
        let stored = &find(tensors, FITS)?.values;
        let (numbers, centre) = match stored.split_last_chunk::<1>() {
            Some((numbers, &[centre])) if numbers.len() == 9 => (numbers, centre),
            _ if stored.len() == 9 => (&stored[..], 0.0),
            _ => return Err(bad_tensor(FITS)),
        };
        let limits =
            if has(tensors, LIMITS) { find_vector(tensors, LIMITS, 6)? } else { NO_LIMITS.repeat(3) };
        if limits.chunks(2).any(|limits| !(limits[0] <= 0.0 && limits[1] >= 0.0)) {
            return Err(bad_tensor(LIMITS));
        }
        let fit = |regime: usize| {
            let [own, prediction, wide] = std::array::from_fn(|i| numbers[3 * regime + i]);
            let limits = std::array::from_fn(|i| limits[2 * regime + i]);
            Ok(RegimeFit { own, prediction, wide, limits, sizes: RegimeFit::load_sizes(tensors, regime)? })
        };
        let fits = [fit(0)?, fit(1)?, fit(2)?];
        let trained = find_vector(tensors, TRAINED, gene_count)?;
        let is_trained = trained.iter().map(|&flag| flag > 0.0).collect();
        Ok(Box::new(Self { inner, is_trained, fits, centre, accuracy: Vec::new() }))
    }

    fn fit(&self, set: &[u32]) -> &RegimeFit {
        &self.fits[Regime::of(set, &self.is_trained) as usize]
    }
}

impl Solution for Recalibrated {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        self.inner.predict(sets)
    }

    fn deviations(&self, sets: GeneSetsRef<'_>, predictions: &[f64]) -> Option<Vec<f64>> {
        let deviations = self.inner.deviations(sets, predictions)?;
        let own = sets.iter().zip(deviations.iter().zip(predictions));
        let centre = f64::from(self.centre);
        Some(own.map(|(set, (&sd, prediction))| self.fit(set).deviation(sd, prediction - centre)).collect())
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(f64::from(self.fits[0].wide))
    }

    fn wide_intervals(&self, sets: GeneSetsRef<'_>, predictions: &[f64]) -> Option<Vec<f64>> {
        let centre = f64::from(self.centre);
        Some(sets.iter().zip(predictions).map(|(set, p)| self.fit(set).wide(p - centre)).collect())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.inner.tensors();
        let fits = self.fits.iter().flat_map(|fit| [fit.own, fit.prediction, fit.wide]);
        let numbers = fits.chain([self.centre]).collect();
        tensors.push(Tensor::vector(FITS, numbers));
        tensors.push(Tensor::vector(LIMITS, self.fits.iter().flat_map(|fit| fit.limits).collect()));
        let fits = self.fits.iter().enumerate().filter(|(_, fit)| !fit.sizes.is_empty());
        tensors.extend(fits.map(|(regime, fit)| fit.sizes_tensor(regime)));
        let flags = self.is_trained.iter().map(|&is_trained| f32::from(u8::from(is_trained)));
        tensors.push(Tensor::vector(TRAINED, flags.collect()));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = self.inner.choices();
        for (regime, fit) in Regime::ALL.iter().zip(&self.fits) {
            let named = |name: &str, value: f32| {
                Choice::new(format!("regimes.{}.deviation.{name}", regime.name()), f64::from(value))
            };
            choices.extend([
                named("own", fit.own),
                named("prediction", fit.prediction),
                named("wide", fit.wide),
            ]);
        }
        choices.extend(self.accuracy.iter().cloned());
        choices
    }

    fn terms(&self, set: &[u32]) -> Option<Vec<SumTerm>> {
        self.inner.terms(set)
    }

    fn similar_profiles(&self, set: &[u32], train: &Records) -> Vec<SimilarProfile> {
        self.inner.similar_profiles(set, train)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors whose deviation grows with the prediction, as the model's own does not know.
    fn planted(count: usize, seed: u64) -> Vec<CheckedError> {
        let mut rng = Rng::new(seed, "planted errors");
        let error = |_| {
            let prediction = 2.0 * rng.normal();
            let sd = 1.0 + rng.below(3) as f64;
            let true_sd = (0.25 * sd * sd + 0.5 * prediction * prediction).sqrt();
            CheckedError { size: (true_sd * rng.normal()).abs(), sd, prediction }
        };
        (0..count).map(error).collect()
    }

    #[test]
    fn intervals_hold_for_strong_predictions_too() {
        let fit = RegimeFit::new(&planted(20_000, 1), KNOWN_SIZES).unwrap();
        assert!((fit.own - 0.25).abs() < 0.04 && (fit.prediction - 0.5).abs() < 0.05, "{fit:?}");
        assert!((fit.wide - 1.96).abs() < 0.06, "{fit:?}");
        let fresh = planted(20_000, 2);
        for is_strong in [false, true] {
            let errors: Vec<_> = fresh.iter().filter(|e| (e.prediction.abs() > 3.0) == is_strong).collect();
            let [one, wide] = within(&fit, &errors);
            assert!(
                (one - WITHIN[0]).abs() < 0.03 && (wide - WITHIN[1]).abs() < 0.02,
                "{is_strong} {one} {wide}"
            );
        }
        assert_eq!(RegimeFit::new(&planted(FEWEST_OF_REGIME - 1, 1), KNOWN_SIZES), None);
    }

    /// Returns the shares of the errors within the deviation and within the wide interval.
    fn within(fit: &RegimeFit, errors: &[&CheckedError]) -> [f64; 2] {
        let share = |times: &dyn Fn(f64) -> f64| {
            let is_inside =
                |e: &&&CheckedError| e.size <= times(e.prediction) * fit.deviation(e.sd, e.prediction);
            errors.iter().filter(is_inside).count() as f64 / errors.len() as f64
        };
        [share(&|_| 1.0), share(&|prediction| fit.wide(prediction))]
    }

    /// Errors of negative predictions are larger and have a heavy tail.
    fn planted_tails(count: usize, seed: u64) -> Vec<CheckedError> {
        let mut rng = Rng::new(seed, "planted tails");
        let error = |_| {
            let prediction = 2.0 * rng.normal();
            let tail = if prediction < -3.0 && rng.below(10) == 0 { 8.0 } else { 1.0 };
            let sd = if prediction < 0.0 { 1.0 - 0.5 * prediction } else { 1.0 };
            CheckedError { size: (tail * sd * rng.normal()).abs(), sd: 1.0, prediction }
        };
        (0..count).map(error).collect()
    }

    #[test]
    fn intervals_hold_in_both_tails() {
        let fit = RegimeFit::new(&planted_tails(20_000, 1), KNOWN_SIZES).unwrap();
        let fresh = planted_tails(40_000, 2);
        for range in [f64::NEG_INFINITY..-3.0, -3.0..0.0, 0.0..3.0, 3.0..f64::INFINITY] {
            let errors: Vec<_> = fresh.iter().filter(|e| range.contains(&e.prediction)).collect();
            let [one, wide] = within(&fit, &errors);
            assert!(
                (one - WITHIN[0]).abs() < 0.04 && (wide - WITHIN[1]).abs() < 0.03,
                "{range:?} {one} {wide}"
            );
        }
        // The same with one factor for all sizes fails, so the check can.
        let without = RegimeFit { sizes: Vec::new(), ..fit };
        let errors: Vec<_> = fresh.iter().filter(|e| e.prediction > 3.0).collect();
        assert!(within(&without, &errors)[0] > 0.8);
    }

    #[test]
    fn the_variance_stops_growing_for_known_genes_alone() {
        let errors = planted(20_000, 1);
        let known = RegimeFit::new(&errors, KNOWN_SIZES).unwrap();
        assert!(known.limits[0] < -4.0 && known.limits[1] > 4.0 && known.limits[1] < 9.0, "{known:?}");
        assert_eq!(known.deviation(1.0, -20.0), known.deviation(1.0, -10.0));
        let new = RegimeFit::new(&errors, NEW_SIZES).unwrap();
        assert_eq!(new.limits, NO_LIMITS);
        assert!(new.deviation(1.0, -20.0) > 1.5 * new.deviation(1.0, -10.0));
    }

    #[test]
    fn sizes_are_stored_and_damaged_ones_refused() {
        let fit = RegimeFit::new(&planted_tails(5_000, 1), KNOWN_SIZES).unwrap();
        assert!(fit.sizes.len() > 4);
        let tensor = fit.sizes_tensor(1);
        assert_eq!(RegimeFit::load_sizes(std::slice::from_ref(&tensor), 1).unwrap(), fit.sizes);
        assert!(RegimeFit::load_sizes(std::slice::from_ref(&tensor), 0).unwrap().is_empty());
        for (index, value) in [(0, f32::INFINITY), (1, 0.0), (2, f32::NAN), (3, f32::MIN)] {
            let mut damaged = tensor.clone();
            damaged.values[index] = value;
            assert!(RegimeFit::load_sizes(&[damaged], 1).is_err(), "{index}");
        }
    }
}
