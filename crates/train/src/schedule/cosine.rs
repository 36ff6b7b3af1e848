//! Cosine annealing with warm-up and restarts.

use super::{not_negative, positive, refuse};
use knockout_base::error::Result;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Learning rate of epoch 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FirstEpoch {
    /// The formula at t = 0: the top rate without a warm-up.
    #[default]
    Formula,
    /// The lowest rate, as the reference does (`parity`).
    Lowest,
}

/// Options of [`Cosine`]: the keys `optimiser.cosine.*`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineOptions {
    /// Epochs of the first cycle, warm-up included.
    pub first_cycle: u32,
    /// Growth of a cycle's length without its warm-up.
    pub cycle_factor: f64,
    /// Learning rate at the bottom.
    pub lowest: f64,
    /// Epochs of rising rate at the start of each cycle.
    pub warmup: u32,
    /// Factor of the top rate from cycle to cycle.
    pub gamma: f64,
}

/// Everything that decides a [`Cosine`], as checkpoints hold it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CosineSettings {
    /// Epochs of the first cycle, warm-up included.
    pub(super) first_cycle: u32,
    /// The length of a cycle without its warm-up grows by this factor.
    #[serde(with = "crate::exact")]
    pub(super) cycle_factor: f64,
    /// The rate at the top of the first cycle.
    #[serde(with = "crate::exact")]
    pub(super) highest: f64,
    /// The rate at the bottom.
    #[serde(with = "crate::exact")]
    pub(super) lowest: f64,
    /// Epochs of rising rate at the start of each cycle.
    pub(super) warmup: u32,
    /// The top rate changes by this factor from cycle to cycle.
    #[serde(with = "crate::exact")]
    pub(super) gamma: f64,
    /// Learning rate of epoch 0.
    pub(super) first_epoch: FirstEpoch,
}

/// Cosine annealing with warm-up and restarts. In epoch t of cycle c, whose length is n and whose warm-up is w:
///
/// ```text
/// top  = highest · gamma^c
/// rate = lowest + (top − lowest) · t/w                                     t < w
///        lowest + (top − lowest)(1 + cos(π (t − w)/(n − w)))/2             else
/// next = int((n − w) · cycle_factor) + w epochs, but at least w + 1
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cosine {
    options: CosineSettings,
    epoch: u64,
    cycle: u32,
    in_cycle: u32,
    length: u32,
}

impl Cosine {
    /// Creates the schedule before epoch 0; `highest` is the rate at the top of the first cycle.
    pub fn new(highest: f64, options: &CosineOptions) -> Result<Self> {
        let CosineOptions { first_cycle, cycle_factor, lowest, warmup, gamma } = *options;
        let first_epoch = FirstEpoch::default();
        Self::of(CosineSettings { first_cycle, cycle_factor, highest, lowest, warmup, gamma, first_epoch })
    }

    /// At epoch 0.
    pub(super) fn of(options: CosineSettings) -> Result<Self> {
        let start = Self { options, epoch: 0, cycle: 0, in_cycle: 0, length: options.first_cycle };
        start.check()?;
        Ok(start)
    }

    pub(super) fn check(&self) -> Result<()> {
        let options = &self.options;
        positive("learning_rate", options.highest)?;
        not_negative("lowest", options.lowest)?;
        positive("gamma", options.gamma)?;
        positive("cycle_factor", options.cycle_factor)?;
        if options.lowest > options.highest {
            refuse("lowest", options.lowest, "it must not be above the highest rate")?;
        }
        if options.warmup >= options.first_cycle {
            refuse("warmup", options.warmup, "it must be shorter than the first cycle")?;
        }
        if options.warmup >= self.length {
            refuse("length", self.length, "a cycle must be longer than its warm-up")?;
        }
        if self.in_cycle >= self.length {
            refuse("in_cycle", self.in_cycle, "it must be within the cycle")?;
        }
        // With a gamma above 1 the rate overflows after many cycles.
        not_negative("rate", self.rate())
    }

    /// The rate in force.
    pub fn rate(&self) -> f64 {
        let CosineSettings { highest, lowest, warmup, gamma, first_epoch, .. } = self.options;
        if self.epoch == 0 && first_epoch == FirstEpoch::Lowest {
            return lowest;
        }
        let top = highest * libm::pow(gamma, f64::from(self.cycle));
        if self.in_cycle < warmup {
            return (top - lowest) * f64::from(self.in_cycle) / f64::from(warmup) + lowest;
        }
        let progress = f64::from(self.in_cycle - warmup) / f64::from(self.length - warmup);
        lowest + (top - lowest) * (1.0 + libm::cos(PI * progress)) / 2.0
    }

    /// Advances to the next epoch.
    pub fn end_epoch(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
        self.in_cycle += 1;
        if self.in_cycle >= self.length {
            let CosineSettings { warmup, cycle_factor, .. } = self.options;
            self.cycle = self.cycle.saturating_add(1);
            self.in_cycle = 0;
            // A float beyond u32 is clamped by the cast.
            let grown = (f64::from(self.length - warmup) * cycle_factor) as u32;
            self.length = grown.max(1).saturating_add(warmup);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: CosineSettings = CosineSettings {
        first_cycle: 4,
        cycle_factor: 0.5,
        highest: 1.0,
        lowest: 0.0,
        warmup: 0,
        gamma: 0.5,
        first_epoch: FirstEpoch::Formula,
    };

    fn rates(options: CosineSettings, epochs: usize) -> Vec<f64> {
        let mut cosine = Cosine::of(options).unwrap();
        (0..epochs)
            .map(|_| {
                let rate = cosine.rate();
                cosine.end_epoch();
                rate
            })
            .collect()
    }

    #[test]
    fn golden_learning_rate() {
        for case in knockout_testdata::golden::cases("losses/learning_rate") {
            let configurations = case.json["options"]["configurations"].as_array().unwrap();
            for (i, configuration) in configurations.iter().enumerate() {
                let number = |key: &str| configuration[key].as_f64().unwrap();
                let options = CosineSettings {
                    first_cycle: number("first") as u32,
                    cycle_factor: number("mult"),
                    highest: number("high"),
                    lowest: number("low"),
                    warmup: number("warm") as u32,
                    gamma: number("gamma"),
                    first_epoch: FirstEpoch::Lowest,
                };
                let expected = case.expected(&format!("output.rate.{i}"));
                let parity = rates(options, expected.len());
                let ours =
                    rates(CosineSettings { first_epoch: FirstEpoch::Formula, ..options }, expected.len());
                assert!(expected.len() > 1);
                for (epoch, (&mine, &expected)) in parity.iter().zip(expected).enumerate() {
                    assert!((mine - expected).abs() <= 1e-15, "{i}, epoch {epoch}: {mine} {expected}");
                }
                // Ours differs in epoch 0 only, and there only without a warm-up.
                assert_eq!(ours[1..], parity[1..]);
                let top = if options.warmup == 0 { options.highest } else { options.lowest };
                assert_eq!(ours[0], top);
            }
        }
    }

    #[test]
    fn the_first_epoch_runs_at_the_top_without_a_warmup() {
        assert_eq!(rates(OPTIONS, 1), [1.0]);
        assert_eq!(rates(CosineSettings { first_epoch: FirstEpoch::Lowest, ..OPTIONS }, 1), [0.0]);
    }

    #[test]
    fn a_cycle_never_shrinks_to_its_warmup() {
        let rates = rates(CosineSettings { warmup: 1, ..OPTIONS }, 60);
        assert!(rates.iter().all(|rate| rate.is_finite() && (0.0..=1.0).contains(rate)), "{rates:?}");
        assert!(super::tests::rates(OPTIONS, 60).iter().all(|rate| rate.is_finite()));
    }

    #[test]
    fn settings_that_cannot_be_followed_are_named() {
        for (options, key) in [
            (CosineSettings { warmup: 4, ..OPTIONS }, "warmup"),
            (CosineSettings { lowest: 2.0, ..OPTIONS }, "lowest"),
            (CosineSettings { highest: f64::NAN, ..OPTIONS }, "learning_rate"),
            (CosineSettings { cycle_factor: 0.0, ..OPTIONS }, "cycle_factor"),
        ] {
            assert!(Cosine::of(options).unwrap_err().to_string().contains(&format!("{key} (optimiser")));
        }
    }
}
