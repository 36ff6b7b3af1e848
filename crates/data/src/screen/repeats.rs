//! Agreement of measurements of the same gene sets, and the accuracy that it allows.

use super::standard_errors::StandardErrors;
use serde::{Deserialize, Serialize};

/// Whether two measurements of the same genes are of the same alleles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatAlleles {
    /// Both sources name the same alleles.
    Same,
    /// A source does not name its alleles; some may differ.
    Unstated,
    /// The alleles differ: not a repeated measurement.
    Different,
    /// The dataset was written before alleles were kept apart.
    #[default]
    Unrecorded,
}

/// Gene sets that were measured twice: by two sources, or again by the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// The source of the first measurements.
    pub first: String,
    /// That of the second ones; the same for repeats within one source.
    pub second: String,
    /// Whether the alleles are the same.
    #[serde(default)]
    pub alleles: RepeatAlleles,
    /// Gene sets with both.
    pub sets: usize,
    /// Pearson correlation of the first scores with the second ones.
    pub pearson: f64,
}

/// Sets below which a correlation is meaningless.
pub const FEWEST_REPEATS: usize = 10;

/// Reason why no ceiling is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoCeiling {
    /// Too few gene sets were measured twice.
    NoRepeats,
    /// All gene sets that were measured twice were measured with different alleles.
    DifferentAlleles,
    /// The dataset was written before alleles were kept apart.
    UnrecordedAlleles,
}

/// Bounds of the accuracy of any model on a screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Bounds {
    /// The correlation no model can expect to exceed; synthetic data only.
    pub attainable_pearson: Option<f64>,
    /// Agreement of repeated measurements, if the screen has some.
    pub ceiling: Option<Ceiling>,
    /// Reason why a screen that was measured has no ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_ceiling: Option<NoCeiling>,
}

/// Origin of a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingBasis {
    /// Gene sets that were measured twice.
    Repeats,
    /// Standard errors that a source states.
    StandardErrors,
}

/// Agreement of repeated measurements of the same alleles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ceiling {
    /// Correlation of a measurement with its repetition: what measuring again would predict.
    pub repeat_pearson: f64,
    /// Lower end of its 95 % interval: Fisher's for repeats, by a jackknife over genes for standard errors.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Its origin.
    pub basis: CeilingBasis,
    /// Gene sets that were measured twice, or samples with a standard error.
    pub sets: usize,
    /// Correlation of a model without any error, if both measurements err alike and independently: the root.
    pub model_pearson: f64,
    /// Whether the alleles of both measurements are the same, as far as the sources name them.
    pub alleles: RepeatAlleles,
    /// Further gene sets that were measured twice with alleles that are not stated; they do not count.
    pub unstated_sets: usize,
}

impl Ceiling {
    /// Returns the mean over pairs of sources, weighted by their sets; without such pairs over repeats within sources.
    ///
    /// Repeats of the same alleles count before those whose alleles are not stated. Different alleles never count.
    pub fn of(repeats: &[Repeats]) -> Result<Self, NoCeiling> {
        let with = |alleles: RepeatAlleles| Self::of_alleles(repeats, alleles);
        let unstated = with(RepeatAlleles::Unstated);
        let unstated_sets = unstated.map_or(0, |ceiling| ceiling.sets);
        let same = with(RepeatAlleles::Same).map(|ceiling| Self { unstated_sets, ..ceiling });
        same.or(unstated).ok_or_else(|| {
            let has = |alleles: RepeatAlleles| repeats.iter().any(|repeats| repeats.alleles == alleles);
            if has(RepeatAlleles::Unrecorded) {
                NoCeiling::UnrecordedAlleles
            } else if has(RepeatAlleles::Different) {
                NoCeiling::DifferentAlleles
            } else {
                NoCeiling::NoRepeats
            }
        })
    }

    fn of_alleles(repeats: &[Repeats], alleles: RepeatAlleles) -> Option<Self> {
        let of_alleles: Vec<&Repeats> = repeats.iter().filter(|repeats| repeats.alleles == alleles).collect();
        let is_between = |repeats: &&Repeats| repeats.first != repeats.second;
        let between: Vec<&Repeats> = of_alleles.iter().copied().filter(is_between).collect();
        let chosen = if between.is_empty() { of_alleles } else { between };
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
            basis: CeilingBasis::Repeats,
            sets,
            model_pearson: pearson.max(0.0).sqrt(),
            alleles,
            unstated_sets: 0,
        })
    }

    /// Returns the ceiling that standard errors allow.
    pub fn of_errors(errors: StandardErrors) -> Self {
        let StandardErrors { samples, reliability, low, high } = errors;
        Self {
            repeat_pearson: reliability,
            low,
            high,
            basis: CeilingBasis::StandardErrors,
            sets: samples,
            model_pearson: reliability.sqrt(),
            // An error is that of one strain.
            alleles: RepeatAlleles::Same,
            unstated_sets: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(first: &str, second: &str, sets: usize, pearson: f64) -> Repeats {
        let alleles = RepeatAlleles::Same;
        Repeats { first: first.to_owned(), second: second.to_owned(), alleles, sets, pearson }
    }

    #[test]
    fn different_alleles_are_not_repeats() {
        let with = |alleles: RepeatAlleles| Repeats { alleles, ..repeats("a", "b", 700, 0.5) };
        let [different, unstated] = [RepeatAlleles::Different, RepeatAlleles::Unstated].map(with);
        assert_eq!(Ceiling::of(std::slice::from_ref(&different)), Err(NoCeiling::DifferentAlleles));
        let ceiling = Ceiling::of(&[different.clone(), unstated.clone()]).unwrap();
        assert_eq!((ceiling.alleles, ceiling.sets), (RepeatAlleles::Unstated, 700));
        let same = repeats("a", "a", 30, 0.9);
        let ceiling = Ceiling::of(&[different, unstated, same]).unwrap();
        assert_eq!((ceiling.repeat_pearson, ceiling.unstated_sets), (0.9, 700));
        let old: Repeats =
            toml::from_str("first = \"a\"\nsecond = \"a\"\nsets = 680\npearson = 0.536").unwrap();
        assert_eq!(Ceiling::of(&[old]), Err(NoCeiling::UnrecordedAlleles));
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
        assert_eq!(Ceiling::of(&[]), Err(NoCeiling::NoRepeats));
        assert_eq!(Ceiling::of(&[repeats("a", "b", 9, 0.5)]), Err(NoCeiling::NoRepeats));
        let perfect = Ceiling::of(&[repeats("a", "b", 20, 1.0)]).unwrap();
        assert_eq!((perfect.low, perfect.high, perfect.model_pearson), (1.0, 1.0, 1.0));
        assert_eq!(Ceiling::of(&[repeats("a", "b", 20, -0.2)]).unwrap().model_pearson, 0.0);
    }
}
