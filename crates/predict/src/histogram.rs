//! Histograms of predictions.

use serde::{Deserialize, Serialize};

/// Equal bins between two values; what lies outside counts in the first or last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HistogramScale {
    /// Lower end of the first bin.
    pub low: f64,
    /// Upper end of the last bin.
    pub high: f64,
    /// Number of bins.
    pub bins: usize,
}

impl HistogramScale {
    /// Six standard deviations on either side of a mean.
    pub fn around(mean: f64, sd: f64) -> Self {
        let half = 6.0 * if sd > 0.0 { sd } else { 1.0 };
        Self { low: mean - half, high: mean + half, bins: 96 }
    }

    /// The bin of a value.
    pub fn bin(&self, value: f64) -> usize {
        let bin = (value - self.low) / (self.high - self.low) * self.bins as f64;
        (bin.max(0.0) as usize).min(self.bins - 1)
    }

    /// Returns the number of values in each bin.
    pub fn count(&self, values: impl IntoIterator<Item = f64>) -> Vec<u64> {
        let mut counts = vec![0; self.bins];
        values.into_iter().for_each(|value| counts[self.bin(value)] += 1);
        counts
    }
}
