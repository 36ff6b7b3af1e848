//! How well measurements of the same gene sets agree, and what that leaves for a model to reach.

use serde::{Deserialize, Serialize};

/// Gene sets that were measured twice: by two sources, or again by the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// The source of the first measurements.
    pub first: String,
    /// That of the second ones; the same for repeats within one source.
    pub second: String,
    /// Gene sets with both.
    pub sets: usize,
    /// Pearson correlation of the first scores with the second ones.
    pub pearson: f64,
}

/// Sets below which a correlation says nothing.
pub const FEWEST_REPEATS: usize = 10;

/// Agreement of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ceiling {
    /// Correlation of a measurement with its repetition: what measuring again would predict.
    pub repeat_pearson: f64,
    /// Lower end of its 95 % interval (Fisher's).
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Gene sets that were measured twice.
    pub sets: usize,
    /// What a model without any error would have, if both measurements err alike and independently: the root.
    pub model_pearson: f64,
}

impl Ceiling {
    /// The mean over pairs of sources, weighted by their sets; without such pairs over repeats within sources. `None` without
    /// repeats.
    pub fn of(repeats: &[Repeats]) -> Option<Self> {
        let is_between = |repeats: &&Repeats| repeats.first != repeats.second;
        let between: Vec<&Repeats> = repeats.iter().filter(is_between).collect();
        let chosen = if between.is_empty() { repeats.iter().collect() } else { between };
        let sets: usize = chosen.iter().map(|repeats| repeats.sets).sum();
        if sets < FEWEST_REPEATS {
            return None;
        }
        let sum: f64 = chosen.iter().map(|repeats| repeats.sets as f64 * repeats.pearson).sum();
        let pearson = (sum / sets as f64).clamp(-1.0, 1.0);
        let (middle, reach) = (pearson.atanh(), 1.96 / (sets as f64 - 3.0).sqrt());
        Some(Self {
            repeat_pearson: pearson,
            low: (middle - reach).tanh(),
            high: (middle + reach).tanh(),
            sets,
            model_pearson: pearson.max(0.0).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(first: &str, second: &str, sets: usize, pearson: f64) -> Repeats {
        Repeats { first: first.to_owned(), second: second.to_owned(), sets, pearson }
    }

    #[test]
    fn other_sources_count_before_repeats_of_one() {
        let ceiling = Ceiling::of(&[
            repeats("a", "a", 1_000, 0.9),
            repeats("a", "b", 100, 0.6),
            repeats("a", "c", 300, 0.4),
        ]);
        let ceiling = ceiling.unwrap();
        assert!((ceiling.repeat_pearson - 0.45).abs() < 1e-12);
        assert_eq!(ceiling.sets, 400);
        assert!((ceiling.model_pearson - 0.45_f64.sqrt()).abs() < 1e-12);
        // tanh(atanh(0.45) -+ 1.96 / sqrt(397)), computed apart.
        assert!((ceiling.low - 0.368_193).abs() < 1e-6 && (ceiling.high - 0.524_893).abs() < 1e-6);
        assert_eq!(Ceiling::of(&[repeats("a", "a", 50, 0.81)]).unwrap().sets, 50);
    }

    #[test]
    fn few_repeats_and_perfect_ones_are_no_trouble() {
        assert_eq!(Ceiling::of(&[]), None);
        assert_eq!(Ceiling::of(&[repeats("a", "b", 9, 0.5)]), None);
        let perfect = Ceiling::of(&[repeats("a", "b", 20, 1.0)]).unwrap();
        assert_eq!((perfect.low, perfect.high, perfect.model_pearson), (1.0, 1.0, 1.0));
        assert_eq!(Ceiling::of(&[repeats("a", "b", 20, -0.2)]).unwrap().model_pearson, 0.0);
    }
}
