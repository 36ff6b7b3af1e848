//! Weights that change by epoch: a pure function of the epoch, so there is no state to save.

use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// DANGO's α, the weight of the reconstruction: loss = α · reconstruction + (1 − α) · interaction.
///
/// With e the epoch from 0 and T the transition epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlphaSchedule {
    /// α = 1 for e < T, else 0.
    PreThenPost,
    /// α = 1 − e/(2T), then ½.
    LinearUntilUniform,
    /// α = 1 − e/T, then 0.
    LinearUntilFlipped,
}

impl AlphaSchedule {
    /// α in an epoch.
    pub fn at(self, epoch: u32, transition: u32) -> f64 {
        let (during, after) = match self {
            Self::PreThenPost => (0.0, 0.0),
            Self::LinearUntilUniform => (0.5, 0.5),
            Self::LinearUntilFlipped => (1.0, 0.0),
        };
        if epoch < transition { 1.0 - during * f64::from(epoch) / f64::from(transition) } else { after }
    }
}

/// How much of a mixed loss comes from the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "name", deny_unknown_fields)]
pub enum BufferWeight {
    /// Constant over epochs.
    Constant {
        /// From 0 (none) to 1 (all rows of the buffer).
        weight: f64,
    },
    /// e < W: 0.1 + 0.2 e/W;  e < S: 0.3 + 0.6 · σ(10 ((e−W)/(S−W) − ½));  then 0.9.
    Rising {
        /// W.
        warmup_epochs: u32,
        /// S.
        stable_epoch: u32,
    },
}

impl Default for BufferWeight {
    fn default() -> Self {
        Self::Rising { warmup_epochs: 100, stable_epoch: 500 }
    }
}

impl BufferWeight {
    /// The weight in an epoch.
    pub fn at(self, epoch: u32) -> f64 {
        match self {
            Self::Constant { weight } => weight,
            Self::Rising { warmup_epochs: warm, .. } if epoch < warm => {
                0.1 + 0.2 * f64::from(epoch) / f64::from(warm)
            }
            Self::Rising { warmup_epochs: warm, stable_epoch: stable } if epoch < stable => {
                let progress = f64::from(epoch - warm) / f64::from(stable - warm);
                0.3 + 0.6 / (1.0 + libm::exp(-10.0 * (progress - 0.5)))
            }
            Self::Rising { .. } => 0.9,
        }
    }
}

/// The temperature of a contrastive loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "name", deny_unknown_fields)]
pub enum Temperature {
    /// Constant over epochs.
    Constant {
        /// T0.
        first: f64,
    },
    /// T0 (T1/T0)^(e/n), then T1.
    Exponential {
        /// T0.
        first: f64,
        /// T1.
        last: f64,
        /// n.
        epochs: u32,
    },
    /// T1 + ½ (T0 − T1)(1 + cos(π e/n)), then T1.
    Cosine {
        /// T0.
        first: f64,
        /// T1.
        last: f64,
        /// n.
        epochs: u32,
    },
}

impl Default for Temperature {
    fn default() -> Self {
        Self::Constant { first: 0.1 }
    }
}

impl Temperature {
    /// The temperature in an epoch.
    pub fn at(self, epoch: u32) -> f64 {
        let progress = |epochs: u32| if epoch < epochs { f64::from(epoch) / f64::from(epochs) } else { 1.0 };
        match self {
            Self::Constant { first } => first,
            Self::Exponential { first, last, epochs } => first * libm::pow(last / first, progress(epochs)),
            Self::Cosine { first, last, epochs } => {
                last + 0.5 * (first - last) * (1.0 + libm::cos(PI * progress(epochs)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_at_once_has_no_first_phase() {
        assert_eq!(AlphaSchedule::PreThenPost.at(0, 0), 0.0);
        assert_eq!(AlphaSchedule::LinearUntilUniform.at(0, 0), 0.5);
        assert_eq!(BufferWeight::Rising { warmup_epochs: 0, stable_epoch: 0 }.at(0), 0.9);
        assert_eq!(Temperature::Cosine { first: 1.0, last: 0.5, epochs: 0 }.at(0), 0.5);
    }

    #[test]
    fn after_its_end_a_temperature_stays() {
        for schedule in [
            Temperature::Exponential { first: 1.0, last: 0.25, epochs: 10 },
            Temperature::Cosine { first: 1.0, last: 0.25, epochs: 10 },
        ] {
            assert_eq!((schedule.at(0), schedule.at(10), schedule.at(25)), (1.0, 0.25, 0.25));
        }
    }

    #[test]
    fn schedules_have_names_in_a_configuration() {
        let text = r#""linear-until-flipped""#;
        let alpha: AlphaSchedule = serde_json::from_str(text).unwrap();
        assert_eq!(alpha, AlphaSchedule::LinearUntilFlipped);
        assert_eq!(serde_json::to_string(&alpha).unwrap(), text);
    }
}
