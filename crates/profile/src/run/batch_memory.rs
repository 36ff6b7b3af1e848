//! How large a batch would fit into memory, by a line through what was measured.

use serde::{Deserialize, Serialize};

/// An estimate, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LargestBatch {
    /// Samples that should fit.
    pub batch: u64,
    /// Memory each sample of a batch adds.
    pub bytes_per_sample: f64,
    /// Memory with no batch at all.
    pub base_bytes: f64,
    /// Memory there is.
    pub available_bytes: u64,
    /// The measurements: batch and peak bytes.
    pub points: Vec<(u64, u64)>,
}

impl LargestBatch {
    /// The least-squares line through (batch, peak bytes). `None` for fewer than two different batches, or when memory
    /// does not grow with the batch: then the figures say nothing about the limit.
    pub fn estimate(points: &[(u64, u64)], available_bytes: u64) -> Option<Self> {
        let count = points.len() as f64;
        let mean =
            |part: fn(&(u64, u64)) -> u64| points.iter().map(|point| part(point) as f64).sum::<f64>() / count;
        let (mean_batch, mean_bytes) = (mean(|point| point.0), mean(|point| point.1));
        let apart = |point: &(u64, u64)| point.0 as f64 - mean_batch;
        let spread: f64 = points.iter().map(|point| apart(point).powi(2)).sum();
        let together: f64 = points.iter().map(|point| apart(point) * (point.1 as f64 - mean_bytes)).sum();
        let slope = together / spread;
        if points.len() < 2 || !(slope.is_finite() && slope > 0.0) {
            return None;
        }
        let base_bytes = mean_bytes - slope * mean_batch;
        let batch = ((available_bytes as f64 - base_bytes) / slope).max(0.0).floor() as u64;
        Some(Self { batch, bytes_per_sample: slope, base_bytes, available_bytes, points: points.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_make_a_line_and_one_makes_none() {
        let line = LargestBatch::estimate(&[(10, 1_100), (20, 1_200)], 2_000).unwrap();
        assert_eq!((line.batch, line.bytes_per_sample, line.base_bytes), (100, 10.0, 1_000.0));
        assert_eq!(LargestBatch::estimate(&[(10, 1_100), (20, 1_200)], 500).unwrap().batch, 0);
        assert_eq!(LargestBatch::estimate(&[(10, 1_100)], 2_000), None);
        assert_eq!(LargestBatch::estimate(&[(10, 1_100), (10, 1_200)], 2_000), None);
        assert_eq!(LargestBatch::estimate(&[(10, 1_200), (20, 1_100)], 2_000), None);
        assert_eq!(LargestBatch::estimate(&[], 2_000), None);
    }
}
