//! Statistics of scores, for standardising labels.

/// Mean and population standard deviation of the scores of some samples: of the training part only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelStats {
    /// How many scores there were.
    pub count: usize,
    /// Mean score.
    pub mean: f64,
    /// Their population standard deviation.
    pub sd: f64,
}

impl LabelStats {
    /// Fits the statistics; `None` when there is no score.
    pub fn fit(scores: impl ExactSizeIterator<Item = f64> + Clone) -> Option<Self> {
        let count = scores.len();
        if count == 0 {
            return None;
        }
        let mean = scores.clone().sum::<f64>() / count as f64;
        let variance = scores.map(|score| (score - mean).powi(2)).sum::<f64>() / count as f64;
        Some(Self { count, mean, sd: variance.sqrt() })
    }

    /// The score in standard deviations from the mean; scores that are all equal become 0.
    pub fn standardise(&self, score: f64) -> f64 {
        if self.sd > 0.0 { (score - self.mean) / self.sd } else { 0.0 }
    }

    /// The inverse of [`LabelStats::standardise`].
    pub fn restore(&self, standardised: f64) -> f64 {
        standardised * self.sd + self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_and_inverse_agree() {
        let scores = [0.5, -1.0, 0.25, 0.0];
        let stats = LabelStats::fit(scores.iter().copied()).unwrap();
        assert_eq!(stats.count, 4);
        assert!((stats.mean + 0.0625).abs() < 1e-15);
        for score in scores {
            assert!((stats.restore(stats.standardise(score)) - score).abs() < 1e-15);
        }
        let standardised: Vec<f64> = scores.iter().map(|&score| stats.standardise(score)).collect();
        let again = LabelStats::fit(standardised.into_iter()).unwrap();
        assert!(again.mean.abs() < 1e-15 && (again.sd - 1.0).abs() < 1e-15);
    }

    #[test]
    fn no_scores_have_no_statistics_and_equal_scores_no_spread() {
        assert_eq!(LabelStats::fit([].into_iter()), None);
        let stats = LabelStats::fit([2.0, 2.0].into_iter()).unwrap();
        assert_eq!(stats.standardise(2.0), 0.0);
        assert_eq!(stats.restore(0.0), 2.0);
    }
}
