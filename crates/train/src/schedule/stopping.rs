//! The best value so far, and early stopping.

use serde::{Deserialize, Serialize};

/// Whether less or more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less, as of an error.
    Min,
    /// More, as of a correlation.
    Max,
}

impl Better {
    /// The value that every number improves on.
    pub(super) fn worst(self) -> f64 {
        match self {
            Self::Min => f64::INFINITY,
            Self::Max => f64::NEG_INFINITY,
        }
    }
}

/// The best value so far; NaN is never better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Best {
    mode: Better,
    #[serde(with = "crate::exact")]
    value: f64,
    epoch: Option<u32>,
}

/// The effect of a new value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Improvement {
    /// The best so far.
    Improved,
    /// Not better; patience is left.
    Waiting,
    /// Not better for longer than patience allows: stop.
    Exhausted,
}

impl Best {
    /// Nothing seen yet.
    pub fn new(mode: Better) -> Self {
        Self { mode, value: mode.worst(), epoch: None }
    }

    /// The best value and its epoch; `None` before the first.
    pub fn value(&self) -> Option<(f64, u32)> {
        self.epoch.map(|epoch| (self.value, epoch))
    }

    /// Takes the value of an epoch: [`Improvement::Improved`] or [`Improvement::Waiting`].
    pub fn observe(&mut self, epoch: u32, value: f64) -> Improvement {
        self.observe_beyond(epoch, value, 0.0)
    }

    fn observe_beyond(&mut self, epoch: u32, value: f64, margin: f64) -> Improvement {
        let better = match self.mode {
            Better::Min => value < self.value - margin,
            Better::Max => value > self.value + margin,
        };
        if better {
            (self.value, self.epoch) = (value, Some(epoch));
            return Improvement::Improved;
        }
        Improvement::Waiting
    }
}

/// Stops a run whose monitored value has not improved for `patience` epochs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopping {
    best: Best,
    patience: u32,
    #[serde(with = "crate::exact")]
    min_delta: f64,
    waited: u32,
}

impl EarlyStopping {
    /// Creates it with a patience in epochs; an improvement by `min_delta` or less does not count.
    pub fn new(mode: Better, patience: u32, min_delta: f64) -> Self {
        Self { best: Best::new(mode), patience, min_delta: min_delta.abs(), waited: 0 }
    }

    /// The best value and its epoch.
    pub fn best(&self) -> Option<(f64, u32)> {
        self.best.value()
    }

    /// Takes the value of an epoch.
    pub fn observe(&mut self, epoch: u32, value: f64) -> Improvement {
        if self.best.observe_beyond(epoch, value, self.min_delta) == Improvement::Improved {
            self.waited = 0;
            return Improvement::Improved;
        }
        self.waited = self.waited.saturating_add(1);
        if self.is_exhausted() { Improvement::Exhausted } else { Improvement::Waiting }
    }

    /// Whether no patience is left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.waited >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Improvement::{Exhausted, Improved, Waiting};

    #[test]
    fn patience_ends_after_as_many_epochs_without_improvement() {
        let mut stopping = EarlyStopping::new(Better::Max, 2, 0.1);
        let verdicts: Vec<Improvement> = [0.5, 0.55, 0.7, f64::NAN, 0.75]
            .into_iter()
            .enumerate()
            .map(|(epoch, value)| stopping.observe(epoch as u32, value))
            .collect();
        assert_eq!(verdicts, [Improved, Waiting, Improved, Waiting, Exhausted]);
        assert_eq!(stopping.best(), Some((0.7, 2)));
    }

    #[test]
    fn the_state_survives_text() {
        let mut stopping = EarlyStopping::new(Better::Min, 3, 0.0);
        for epoch in 0..3 {
            let text = serde_json::to_string(&stopping).unwrap();
            assert_eq!(serde_json::from_str::<EarlyStopping>(&text).unwrap(), stopping, "{text}");
            stopping.observe(epoch, 1.0 / 3.0);
        }
    }

    #[test]
    fn a_value_that_is_none_is_never_best() {
        let mut best = Best::new(Better::Min);
        assert_eq!(best.observe(0, f64::NAN), Improvement::Waiting);
        assert_eq!(best.value(), None);
        assert_eq!(best.observe(1, 3.0), Improvement::Improved);
        assert_eq!(best.value(), Some((3.0, 1)));
    }
}
