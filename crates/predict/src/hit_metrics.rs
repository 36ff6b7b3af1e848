//! Figures of how well predictions find strong interactions.

use crate::regime::MeasuredScores;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_base::stats::{median, pearson};
use serde::Serialize;

/// Scores from which an interaction counts as strong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CutOffs {
    /// Negative interactions have scores below it.
    pub negative: f64,
    /// Positive interactions have scores above it.
    pub positive: f64,
}

impl CutOffs {
    /// Returns the usual cut-offs for scores of a standard deviation: those of S-scores where it is at least 0.5, otherwise those of
    /// epsilon and tau.
    pub fn usual(sd: f64) -> Self {
        if sd >= 0.5 {
            Self { negative: -3.0, positive: 2.0 }
        } else {
            Self { negative: -0.08, positive: 0.08 }
        }
    }
}

/// A figure with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureEstimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// How well predictions separate strong interactions of one sign from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Detection {
    /// Strong interactions among the records.
    pub count: usize,
    /// Their share of the records: the AUPRC of random predictions.
    pub prevalence: f64,
    /// Area under the precision-recall curve (average precision).
    pub auprc: Option<FigureEstimate>,
    /// Area under the ROC curve: 0.5 for random predictions.
    pub auroc: Option<FigureEstimate>,
}

/// Figures of strong interactions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HitMetrics {
    /// The cut-offs.
    pub cut_offs: CutOffs,
    /// Negative interactions.
    pub negative: Detection,
    /// Positive interactions.
    pub positive: Detection,
    /// Number of lowest predictions of `precision`.
    pub k: usize,
    /// Share of strong negative interactions among the k lowest predictions; `None` unless there are more records.
    pub precision: Option<FigureEstimate>,
    /// Share of strong interactions whose sign is predicted.
    pub sign: Option<FigureEstimate>,
    /// Share of strong interactions that are negative: the sign accuracy of always predicting negative.
    pub always_negative: Option<f64>,
    /// Median over genes of the correlation of a gene's predictions with its scores.
    pub profile_pearson: Option<f64>,
    /// Genes with enough records for it.
    pub profiles: usize,
    /// Slope of the regression of scores on predictions: 1 for calibrated predictions.
    pub slope: Option<FigureEstimate>,
}

/// Predictions whose precision is given.
const K: usize = 100;
/// Fewest records of a gene whose profile counts.
pub(crate) const FEWEST_OF_PROFILE: usize = 30;
/// Resamples are limited: these figures cost more than a correlation.
const MOST_RESAMPLES: usize = 500;
/// Figures that are resampled: AUPRC and AUROC of negatives and positives, precision, sign, slope.
const FIGURES: usize = 7;

/// Records of one model, sorted by prediction.
struct Ranked<'a> {
    predictions: &'a [f64],
    scores: &'a [f64],
    cut_offs: CutOffs,
    /// Records from the lowest prediction to the highest.
    order: Vec<usize>,
}

impl HitMetrics {
    /// Computes the figures; `profiles` are the records of each gene whose profile is compared.
    ///
    /// # Panics
    ///
    /// If there is not one prediction for every score.
    pub fn of(
        predictions: &[f64],
        measured: &MeasuredScores,
        profiles: &[Vec<usize>],
        cut_offs: CutOffs,
        bootstrap: &Bootstrap,
    ) -> Self {
        let scores = &measured.scores[..];
        assert_eq!(predictions.len(), scores.len(), "every record has a prediction");
        let count = scores.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| predictions[a].total_cmp(&predictions[b]));
        let ranked = Ranked { predictions, scores, cut_offs, order };
        let whole = ranked.figures(&vec![1.0; count]);
        let bootstrap = Bootstrap { resamples: bootstrap.resamples.min(MOST_RESAMPLES), ..*bootstrap };
        let resampled = bootstrap.map(&measured.shared.resampling, count, |weights| ranked.figures(weights));
        let estimate = |figure: usize| {
            let interval =
                bootstrap.interval(resampled.iter().filter_map(|figures| figures[figure]).collect());
            whole[figure].map(|value| FigureEstimate {
                value,
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            })
        };
        let detection = |is_strong: &dyn Fn(f64) -> bool, first: usize| {
            let strong = scores.iter().filter(|&&score| is_strong(score)).count();
            Detection {
                count: strong,
                prevalence: strong as f64 / count.max(1) as f64,
                auprc: estimate(first),
                auroc: estimate(first + 1),
            }
        };
        let negative = detection(&|score| score < cut_offs.negative, 0);
        let positive = detection(&|score| score > cut_offs.positive, 2);
        let strong = negative.count + positive.count;
        let correlations = correlations(predictions, scores, profiles);
        Self {
            cut_offs,
            negative,
            positive,
            k: K,
            precision: estimate(4),
            sign: estimate(5),
            always_negative: (strong > 0).then(|| negative.count as f64 / strong as f64),
            profiles: correlations.len(),
            profile_pearson: median(&correlations),
            slope: estimate(6),
        }
    }
}

impl Ranked<'_> {
    fn figures(&self, weights: &[f64]) -> [Option<f64>; FIGURES] {
        let CutOffs { negative, positive } = self.cut_offs;
        let [auprc, auroc] = self.detection(weights, self.order.iter(), &|score| score < negative);
        let [auprc_above, auroc_above] =
            self.detection(weights, self.order.iter().rev(), &|score| score > positive);
        let [precision, sign] = [self.precision(weights), self.sign(weights)];
        [auprc, auroc, auprc_above, auroc_above, precision, sign, self.slope(weights)]
    }

    /// Average precision and the area under the ROC curve of records in the order of their predictions; equal predictions count
    /// together.
    fn detection<'o>(
        &self,
        weights: &[f64],
        order: impl Iterator<Item = &'o usize>,
        is_strong: &dyn Fn(f64) -> bool,
    ) -> [Option<f64>; 2] {
        let (mut hits, mut others, mut precision_sum, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        let mut order = order.peekable();
        while let Some(&first) = order.peek() {
            let (mut new_hits, mut new_others) = (0.0, 0.0);
            while let Some(&record) =
                order.next_if(|&&record| self.predictions[record] == self.predictions[*first])
            {
                let sum = if is_strong(self.scores[record]) { &mut new_hits } else { &mut new_others };
                *sum += weights[record];
            }
            pairs += new_others * (hits + new_hits / 2.0);
            hits += new_hits;
            others += new_others;
            if new_hits > 0.0 {
                precision_sum += new_hits * hits / (hits + others);
            }
        }
        let is_defined = hits > 0.0 && others > 0.0;
        [precision_sum / hits, pairs / (hits * others)].map(|figure| is_defined.then_some(figure))
    }

    /// Returns the share of strong records among the [`K`] lowest predictions; of equal predictions that only fit in part, the share of all.
    fn precision(&self, weights: &[f64]) -> Option<f64> {
        if self.order.len() <= K {
            return None;
        }
        let (mut left, mut hits) = (K as f64, 0.0);
        let equal = |a: &usize, b: &usize| self.predictions[*a] == self.predictions[*b];
        for group in self.order.chunk_by(equal) {
            let is_strong = |record: &&usize| self.scores[**record] < self.cut_offs.negative;
            let all: f64 = group.iter().map(|&record| weights[record]).sum();
            let strong: f64 = group.iter().filter(is_strong).map(|&record| weights[record]).sum();
            let taken = all.min(left);
            left -= taken;
            if taken > 0.0 {
                hits += strong * taken / all;
            }
            if left <= 0.0 {
                return Some(hits / K as f64);
            }
        }
        None
    }

    fn sign(&self, weights: &[f64]) -> Option<f64> {
        let (mut right, mut all) = (0.0, 0.0);
        for ((&score, &prediction), &weight) in self.scores.iter().zip(self.predictions).zip(weights) {
            if score < self.cut_offs.negative || score > self.cut_offs.positive {
                all += weight;
                right += if (score < 0.0) == (prediction < 0.0) { weight } else { 0.0 };
            }
        }
        (all > 0.0).then(|| right / all)
    }

    fn slope(&self, weights: &[f64]) -> Option<f64> {
        let [mut n, mut sp, mut sy] = [0.0; 3];
        for ((&p, &y), &weight) in self.predictions.iter().zip(self.scores).zip(weights) {
            n += weight;
            sp += weight * p;
            sy += weight * y;
        }
        let (mean_p, mean_y) = (sp / n, sy / n);
        let [mut spp, mut spy] = [0.0; 2];
        for ((&p, &y), &weight) in self.predictions.iter().zip(self.scores).zip(weights) {
            spp += weight * (p - mean_p).powi(2);
            spy += weight * (p - mean_p) * (y - mean_y);
        }
        // Equal predictions leave rounding noise where their variance should be 0.
        let varies = spp > 1e-12 * n * mean_p * mean_p;
        Some(spy / spp).filter(|slope| varies && slope.is_finite())
    }
}

fn correlations(predictions: &[f64], scores: &[f64], profiles: &[Vec<usize>]) -> Vec<f64> {
    let of = |records: &Vec<usize>| {
        let pick = |values: &[f64]| records.iter().map(|&record| values[record]).collect::<Vec<f64>>();
        pearson(&pick(predictions), &pick(scores))
    };
    profiles.iter().filter(|records| records.len() >= FEWEST_OF_PROFILE).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    fn metrics(predictions: &[f64], scores: &[f64], profiles: &[Vec<usize>]) -> HitMetrics {
        let measured = MeasuredScores { scores: scores.to_vec(), ..MeasuredScores::default() };
        let bootstrap = Bootstrap { resamples: 100, ..Bootstrap::default() };
        HitMetrics::of(predictions, &measured, profiles, CutOffs::usual(1.7), &bootstrap)
    }

    /// Computed by hand: of the ranks 1 to 5 the negatives are 1, 3 and 4 (two of equal prediction).
    #[test]
    fn areas_of_a_small_example() {
        let scores = [-4.0, 0.0, -5.0, 0.5, -6.0];
        let predictions = [-3.0, -2.0, -1.0, -1.0, 1.0];
        let found = metrics(&predictions, &scores, &[]);
        // Thresholds: 1 of 1; 1 of 2; 2 of 4 at the tie; 3 of 5.
        let auprc = (1.0 + 2.0 / 4.0 + 3.0 / 5.0) / 3.0;
        // Pairs (negative, other) in the right order: (0,1), (0,3), (2,3) half.
        let auroc = (2.0 + 0.5) / 6.0;
        assert!((found.negative.auprc.unwrap().value - auprc).abs() < 1e-12, "{found:?}");
        assert!((found.negative.auroc.unwrap().value - auroc).abs() < 1e-12, "{found:?}");
        assert_eq!((found.negative.count, found.positive.count, found.positive.auprc), (3, 0, None));
        assert_eq!(
            (found.k, found.precision),
            (100, None),
            "five records have no hundred lowest predictions"
        );
        assert!((found.sign.unwrap().value - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(found.always_negative, Some(1.0));
    }

    #[test]
    fn equal_predictions_have_the_precision_of_their_share_and_no_slope() {
        // Of 200 records every fourth is strong, and the first hundred rows are not typical.
        let scores: Vec<f64> =
            (0..200).map(|row| if row < 100 || row % 2 == 0 { 0.0 } else { -9.0 }).collect();
        let constant = metrics(&[-0.0205; 200], &scores, &[]);
        assert!((constant.precision.unwrap().value - 0.25).abs() < 1e-12);
        assert_eq!(constant.slope, None);
        // Fifty lower predictions, of which five are strong; of the other 150, 45 are strong and 50 are among the hundred.
        let predictions: Vec<f64> =
            (0..200).map(|row| if row < 40 || (180..190).contains(&row) { 0.0 } else { 1.0 }).collect();
        let found = metrics(&predictions, &scores, &[]).precision.unwrap().value;
        assert!((found - (5.0 + 50.0 * 45.0 / 150.0) / 100.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn intervals_hold_the_figures_and_guesses_are_at_chance() {
        let mut rng = Rng::new(4, "hits");
        let scores: Vec<f64> = (0..4_000).map(|_| 2.0 * rng.normal()).collect();
        let guesses: Vec<f64> = (0..4_000).map(|_| rng.normal()).collect();
        let good: Vec<f64> = scores.iter().map(|score| 0.5 * score + rng.normal()).collect();
        let profiles: Vec<Vec<usize>> =
            (0..40).map(|gene| (0..100).map(|i| gene * 100 + i).collect()).collect();
        let [guesses, good] = [guesses, good].map(|predictions| metrics(&predictions, &scores, &profiles));
        let auroc = guesses.negative.auroc.unwrap();
        assert!(auroc.low.unwrap() < 0.5 && auroc.high.unwrap() > 0.5, "{auroc:?}");
        assert!((guesses.negative.auprc.unwrap().value - guesses.negative.prevalence).abs() < 0.02);
        assert!(good.negative.auprc.unwrap().low.unwrap() > 2.0 * good.negative.prevalence);
        // Scores of variance 4 and noise of variance 1: the slope is 0.5 * 4 / (0.25 * 4 + 1), and profiles correlate by 1 / sqrt(2).
        let slope = good.slope.unwrap();
        assert!(slope.low.unwrap() < 1.0 && slope.high.unwrap() > 1.0, "{slope:?}");
        assert_eq!(good.profiles, 40);
        assert!((good.profile_pearson.unwrap() - 0.5_f64.sqrt()).abs() < 0.05);
    }
}
