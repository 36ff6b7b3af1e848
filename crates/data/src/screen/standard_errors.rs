//! Standard errors of scores, and the reliability that follows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Samples with a standard error below which nothing is estimated.
const FEWEST_ERRORS: usize = 100;

/// A score with its standard error.
#[derive(Debug, Clone, Copy)]
pub struct ScoreError<'a> {
    /// The perturbed genes.
    pub genes: &'a [u32],
    /// The score.
    pub score: f64,
    /// The square of its standard error.
    pub squared: f64,
}

/// The reliability of scores by their standard errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StandardErrors {
    /// Samples whose score has a standard error.
    pub samples: usize,
    /// The reliability of their scores: one minus the mean squared standard error by the variance; 0 where the errors exceed it.
    pub reliability: f64,
    /// Lower end of its 95 % interval, by a jackknife over genes.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Sums over scores with an error.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    scores: f64,
    squares: f64,
    errors: f64,
}

impl Sums {
    fn add(&mut self, error: &ScoreError<'_>) {
        self.count += 1.0;
        self.scores += error.score;
        self.squares += error.score * error.score;
        self.errors += error.squared;
    }

    fn without(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            scores: self.scores - other.scores,
            squares: self.squares - other.squares,
            errors: self.errors - other.errors,
        }
    }

    /// Returns one minus the mean squared error by the variance; `None` without a variance.
    fn reliability(self) -> Option<f64> {
        let mean = self.scores / self.count;
        let variance = self.squares / self.count - mean * mean;
        (variance > 0.0).then(|| 1.0 - self.errors / self.count / variance)
    }
}

impl StandardErrors {
    /// Estimates the reliability of scores; `None` for too few of them, or scores that do not vary.
    ///
    /// Scores that share a gene vary together, so the interval comes from leaving out each gene in turn.
    pub fn of<'a>(errors: impl Iterator<Item = ScoreError<'a>>) -> Option<Self> {
        let (mut all, mut of_genes) = (Sums::default(), BTreeMap::<u32, Sums>::new());
        for error in errors {
            all.add(&error);
            error.genes.iter().for_each(|&gene| of_genes.entry(gene).or_default().add(&error));
        }
        let samples = all.count as usize;
        if samples < FEWEST_ERRORS {
            return None;
        }
        let reliability = all.reliability()?;
        let left: Vec<f64> =
            of_genes.values().filter_map(|&of_gene| all.without(of_gene).reliability()).collect();
        let genes = left.len() as f64;
        let mean = left.iter().sum::<f64>() / genes;
        let spread: f64 = left.iter().map(|value| (value - mean).powi(2)).sum();
        let reach = 1.96 * (spread * (genes - 1.0) / genes).sqrt();
        let share = |value: f64| value.clamp(0.0, 1.0);
        Some(Self {
            samples,
            reliability: share(reliability),
            low: share(reliability - reach),
            high: share(reliability + reach),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    /// Returns pairs of 60 genes whose scores have the effects of their genes, a part of their own and noise of a known deviation.
    fn screen(seed: u64, noise: f64) -> Vec<([u32; 2], f64)> {
        let mut rng = Rng::new(seed, "standard errors");
        let effects: Vec<f64> = (0..60).map(|_| 0.5 * rng.normal()).collect();
        let pairs = (0..60_u32).flat_map(|a| (a + 1..60).map(move |b| [a, b]));
        pairs
            .map(|[a, b]| {
                let score = effects[a as usize] + effects[b as usize] + rng.normal() + noise * rng.normal();
                ([a, b], score)
            })
            .collect()
    }

    fn of(screen: &[([u32; 2], f64)], squared: f64) -> Option<StandardErrors> {
        StandardErrors::of(screen.iter().map(|(genes, score)| ScoreError { genes, score: *score, squared }))
    }

    #[test]
    fn intervals_hold_the_planted_reliability() {
        // The variance without noise is 2 * 0.25 + 1, with noise of variance 0.75 the reliability is 2/3.
        let noise = 0.75_f64.sqrt();
        let holds = |seed: &u64| {
            let found = of(&screen(*seed, noise), 0.75).unwrap();
            found.low <= 2.0 / 3.0 && 2.0 / 3.0 <= found.high
        };
        let held = (0..200).filter(holds).count();
        assert!((180..=199).contains(&held), "{held} of 200 intervals of 95 % hold the planted value");
    }

    #[test]
    fn few_scores_and_large_errors() {
        let screen = screen(1, 0.0);
        assert_eq!(of(&screen[..99], 0.1), None);
        assert_eq!(of(&[([0, 1], 2.0); 200], 0.1), None, "scores that do not vary");
        let all_noise = of(&screen, 100.0).unwrap();
        assert_eq!((all_noise.reliability, all_noise.low), (0.0, 0.0));
        assert_eq!(of(&screen, 0.0).unwrap().reliability, 1.0);
    }
}
