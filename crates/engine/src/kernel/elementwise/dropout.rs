//! Counter-based dropout masks: whether a value is dropped is a hash of the seed, the site, the row's key and the channel.
//!
//! The backward pass recomputes a tile and gets the same mask without having stored it. Rows of one key have one mask, whatever rows are
//! computed, in whatever order and by however many threads.

use crate::kernel::{Activation, Real};
use std::ops::Range;

/// The dropout mask of some rows, to be applied after an activation.
#[derive(Debug, Clone, Copy)]
pub struct DropoutMask<'a> {
    stream: u64,
    /// A value whose hash is below it is dropped.
    threshold: u32,
    /// Factor of the values that are kept, 1 / (1 − p): the mean is preserved.
    scale: f64,
    /// Key of each row.
    keys: &'a [u32],
}

impl<'a> DropoutMask<'a> {
    /// A mask of dropout probability `rate` for rows with these keys. Masks of different `seed` or `site` are independent.
    ///
    /// # Panics
    ///
    /// If the rate is not in 0 … 1, 1 excluded: callers check.
    pub fn new(seed: u64, site: u64, rate: f64, keys: &'a [u32]) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout of {rate}");
        Self {
            stream: mix(seed ^ mix(site)),
            threshold: (rate * f64::from(u32::MAX)) as u32,
            scale: 1.0 / (1.0 - rate),
            keys,
        }
    }

    /// The mask to apply after an activation; there is none where there is no activation.
    pub(crate) fn after(self, activation: Activation) -> Option<Self> {
        (activation != Activation::None).then_some(self)
    }

    /// The mask of a range of the rows.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        Self { keys: &self.keys[range], ..self }
    }

    /// Key of a row.
    pub(crate) fn key(&self, row: usize) -> u32 {
        self.keys[row]
    }

    /// The mask of rows with other keys.
    pub(crate) fn with_keys<'b>(&self, keys: &'b [u32]) -> DropoutMask<'b> {
        DropoutMask { stream: self.stream, threshold: self.threshold, scale: self.scale, keys }
    }

    /// Multiplies rows of `stride` values by their factors after activation `layer`: 0 or 1 / (1 − p).
    #[inline(always)]
    pub fn apply<T: Real>(&self, layer: usize, values: &mut [T], stride: usize) {
        let (stream, scale) = (self.stream ^ layer as u64, T::of(self.scale));
        for (&key, values) in self.keys.iter().zip(values.chunks_exact_mut(stride)) {
            let start = mix(stream ^ (u64::from(key) << 16)) as u32;
            for (channel, value) in values.iter_mut().enumerate() {
                let is_dropped = avalanche(start.wrapping_add((channel as u32).wrapping_mul(0x9e37_79b9)))
                    < self.threshold;
                *value *= if is_dropped { T::ZERO } else { scale };
            }
        }
    }
}

/// A bijection of 64 bits in which every bit depends on all (the finaliser of `SplitMix64`).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// [`mix`] for 32 bits, which vectorises.
#[inline(always)]
fn avalanche(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(dropout: &DropoutMask<'_>, layer: usize, rows: usize, width: usize) -> Vec<f64> {
        let mut values = vec![1.0; rows * width];
        dropout.apply(layer, &mut values, width);
        values
    }

    #[test]
    fn the_rate_is_met_and_the_mean_preserved() {
        let rows: Vec<u32> = (0..4_000).collect();
        for rate in [0.0, 0.1, 0.5, 0.9] {
            let values = factors(&DropoutMask::new(1, 2, rate, &rows), 0, rows.len(), 64);
            let dropped = values.iter().filter(|&&value| value < 0.5).count() as f64 / values.len() as f64;
            assert!((dropped - rate).abs() < 0.004, "{dropped} of {rate}");
            assert!((values.iter().sum::<f64>() / values.len() as f64 - 1.0).abs() < 0.02);
        }
    }

    /// Rows, channels, layers, sites and seeds are independent: a quarter of all values is dropped in both of two.
    #[test]
    fn masks_are_independent() {
        let rows: Vec<u32> = (0..2_000).collect();
        let base = factors(&DropoutMask::new(1, 2, 0.5, &rows), 0, rows.len(), 32);
        let shifted =
            |by: usize| -> Vec<f64> { base.iter().cycle().skip(by).take(base.len()).copied().collect() };
        let others = [
            factors(&DropoutMask::new(2, 2, 0.5, &rows), 0, rows.len(), 32),
            factors(&DropoutMask::new(1, 3, 0.5, &rows), 0, rows.len(), 32),
            factors(&DropoutMask::new(1, 2, 0.5, &rows), 1, rows.len(), 32),
            shifted(1),
            shifted(32),
        ];
        for (at, other) in others.iter().enumerate() {
            let both = base.iter().zip(other).filter(|&(&a, &b)| a < 0.5 && b < 0.5).count();
            let share = both as f64 / base.len() as f64;
            assert!((share - 0.25).abs() < 0.01, "{at}: {share}");
        }
    }

    #[test]
    fn rows_of_one_key_have_one_mask_wherever_they_are() {
        let dropout = DropoutMask::new(5, 0, 0.3, &[7, 9, 7, 8]);
        let all = factors(&dropout, 3, 4, 16);
        assert_eq!(all[..16], all[32..48]);
        assert_ne!(all[..16], all[16..32]);
        assert_eq!(factors(&dropout.slice(1..3), 3, 2, 16), all[16..48]);
        assert_eq!(factors(&dropout.with_keys(&[8]), 3, 1, 16), all[48..]);
    }
}
