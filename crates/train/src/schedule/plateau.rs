//! Lowering the rate where the monitored value no longer improves, as PyTorch's `ReduceLROnPlateau` does.

use super::{Better, not_negative, positive, refuse};
use knockout_base::error::Result;
use serde::{Deserialize, Serialize};

/// Options of [`Plateau`]: the keys `optimiser.plateau.*`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlateauOptions {
    /// Factor of a reduction, below 1.
    pub factor: f64,
    /// Epochs without improvement before a reduction.
    pub patience: u32,
    /// A change below this fraction of the best is not an improvement.
    pub threshold: f64,
    /// Epochs after a reduction in which nothing is counted.
    pub cooldown: u32,
    /// Least learning rate.
    pub lowest: f64,
    /// A reduction by less is not made.
    pub epsilon: f64,
}

/// Everything that decides a [`Plateau`], as checkpoints hold it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlateauSettings {
    /// The rate at the start.
    #[serde(with = "crate::exact")]
    pub(super) rate: f64,
    /// Whether less or more is better.
    pub(super) mode: Better,
    /// The rate is multiplied by this.
    #[serde(with = "crate::exact")]
    pub(super) factor: f64,
    /// Epochs without improvement before a reduction.
    pub(super) patience: u32,
    /// A change below this share of the best is not an improvement.
    #[serde(with = "crate::exact")]
    pub(super) threshold: f64,
    /// Epochs after a reduction in which nothing is counted.
    pub(super) cooldown: u32,
    /// The rate never goes below.
    #[serde(with = "crate::exact")]
    pub(super) lowest: f64,
    /// A reduction by less is not made.
    #[serde(with = "crate::exact")]
    pub(super) epsilon: f64,
}

#[cfg(test)]
/// PyTorch's.
impl Default for PlateauSettings {
    fn default() -> Self {
        Self {
            rate: 1e-3,
            mode: Better::Min,
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            cooldown: 0,
            lowest: 0.0,
            epsilon: 1e-8,
        }
    }
}

/// A rate that falls where the monitored value stops improving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    options: PlateauSettings,
    #[serde(with = "crate::exact")]
    rate: f64,
    #[serde(with = "crate::exact")]
    best: f64,
    bad_epochs: u32,
    cooling: u32,
}

impl Plateau {
    /// Creates the schedule before epoch 0; the monitored value is minimised.
    pub fn new(rate: f64, options: &PlateauOptions) -> Result<Self> {
        let PlateauOptions { factor, patience, threshold, cooldown, lowest, epsilon } = *options;
        let mode = Better::Min;
        Self::of(PlateauSettings { rate, mode, factor, patience, threshold, cooldown, lowest, epsilon })
    }

    /// At epoch 0.
    pub(super) fn of(options: PlateauSettings) -> Result<Self> {
        let start =
            Self { options, rate: options.rate, best: options.mode.worst(), bad_epochs: 0, cooling: 0 };
        start.check()?;
        Ok(start)
    }

    pub(super) fn check(&self) -> Result<()> {
        let options = &self.options;
        positive("learning_rate", options.rate)?;
        positive("factor", options.factor)?;
        not_negative("threshold", options.threshold)?;
        not_negative("lowest", options.lowest)?;
        not_negative("epsilon", options.epsilon)?;
        if options.factor >= 1.0 {
            refuse("factor", options.factor, "it must be below 1")?;
        }
        // It may have fallen to 0, where that is the lowest.
        not_negative("rate", self.rate)
    }

    /// The rate in force.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Takes the value of an epoch; NaN is not an improvement.
    pub fn observe(&mut self, value: f64) {
        let PlateauSettings { mode, factor, patience, threshold, cooldown, lowest, epsilon, .. } =
            self.options;
        let improved = match mode {
            Better::Min => value < self.best * (1.0 - threshold),
            Better::Max => value > self.best * (1.0 + threshold),
        };
        if improved {
            self.best = value;
            self.bad_epochs = 0;
        } else {
            self.bad_epochs = self.bad_epochs.saturating_add(1);
        }
        if self.cooling > 0 {
            self.cooling -= 1;
            self.bad_epochs = 0;
        }
        if self.bad_epochs > patience {
            let reduced = (self.rate * factor).max(lowest);
            if self.rate - reduced > epsilon {
                self.rate = reduced;
            }
            self.cooling = cooldown;
            self.bad_epochs = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(options: PlateauSettings, values: &[f64]) -> Vec<f64> {
        let mut plateau = Plateau::of(options).unwrap();
        values
            .iter()
            .map(|&value| {
                plateau.observe(value);
                plateau.rate()
            })
            .collect()
    }

    /// Rates of `torch.optim.lr_scheduler.ReduceLROnPlateau` 2.15 for the same values.
    #[test]
    fn the_rates_are_pytorchs() {
        let options = PlateauSettings {
            rate: 0.01,
            factor: 0.5,
            patience: 1,
            threshold: 0.01,
            cooldown: 2,
            lowest: 1e-4,
            ..PlateauSettings::default()
        };
        let values = [
            0.895,
            0.927,
            0.781,
            0.811,
            0.765,
            0.493,
            0.43,
            0.723,
            0.459,
            f64::NAN,
            0.698,
            0.464,
            0.589,
            0.425,
            0.472,
            0.26,
            0.439,
            0.518,
            0.366,
            0.441,
            0.402,
            0.148,
            0.416,
            0.339,
        ];
        let mut expected = vec![0.01; 8];
        expected.extend([0.005; 4]);
        expected.extend([0.0025; 5]);
        expected.extend([0.00125; 6]);
        expected.push(0.000_625);
        assert_eq!(rates(options, &values), expected);

        let options = PlateauSettings {
            rate: 0.01,
            mode: Better::Max,
            patience: 2,
            epsilon: 1e-5,
            ..PlateauSettings::default()
        };
        let values = [
            0.06,
            0.016,
            0.193,
            0.125,
            0.184,
            0.226,
            0.203,
            0.254,
            0.159,
            f64::NAN,
            0.189,
            0.297,
            0.296,
            0.149,
            0.167,
            0.193,
            0.353,
            0.257,
            0.305,
            0.25,
            0.301,
            0.287,
            0.29,
            0.347,
        ];
        let rates_now = rates(options, &values);
        let mut expected = vec![0.01; 10];
        expected.extend([0.001; 4]);
        expected.extend([0.0001; 5]);
        expected.extend([0.00001; 5]);
        for (mine, expected) in rates_now.iter().zip(&expected) {
            assert!((mine / expected - 1.0).abs() < 1e-12, "{rates_now:?}");
        }

        let options = PlateauSettings {
            rate: 0.01,
            factor: 0.3,
            patience: 0,
            threshold: 0.0,
            cooldown: 1,
            lowest: 0.002,
            ..PlateauSettings::default()
        };
        assert_eq!(
            rates(options, &[1.034, 1.071, 0.906, 0.941, 0.857, 0.863]),
            [0.01, 0.003, 0.003, 0.002, 0.002, 0.002]
        );
    }

    #[test]
    fn the_state_survives_text() {
        let mut plateau = Plateau::of(PlateauSettings { patience: 1, ..PlateauSettings::default() }).unwrap();
        let text = serde_json::to_string(&plateau).unwrap();
        assert_eq!(serde_json::from_str::<Plateau>(&text).unwrap(), plateau);
        for value in [0.3, 0.1 + 0.2, 0.5, f64::NAN] {
            plateau.observe(value);
            let text = serde_json::to_string(&plateau).unwrap();
            assert_eq!(serde_json::from_str::<Plateau>(&text).unwrap(), plateau, "{text}");
        }
    }

    #[test]
    fn a_factor_that_raises_is_refused() {
        let error = Plateau::of(PlateauSettings { factor: 1.0, ..PlateauSettings::default() }).unwrap_err();
        assert_eq!(error.to_string(), "the schedule's factor (optimiser.*) is 1, but it must be below 1");
    }
}
