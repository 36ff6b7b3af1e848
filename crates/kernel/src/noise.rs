//! Dropout whose factors can be had again: what is dropped follows from a key, the row and the channel alone.
//!
//! The way back computes a tile again and needs the same factors; rows that share a key share what is dropped, however many of them are
//! computed, in whatever order and by however many threads.

use crate::{Activation, Real};
use std::ops::Range;

/// What is dropped after the activations of some rows.
#[derive(Debug, Clone, Copy)]
pub struct Noise<'a> {
    key: u64,
    /// A number below it is dropped.
    threshold: u32,
    /// What is kept is multiplied by it, so that the mean stays.
    scale: f64,
    /// The key of each row.
    rows: &'a [u32],
}

impl<'a> Noise<'a> {
    /// Drops a share of `rate` of the values of rows with these keys. Noise of different `seed` or `site` has nothing in common.
    ///
    /// # Panics
    ///
    /// If the rate is not in 0 … 1, 1 excluded: callers check.
    pub fn new(seed: u64, site: u64, rate: f64, rows: &'a [u32]) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout of {rate}");
        Self {
            key: mix(seed ^ mix(site)),
            threshold: (rate * f64::from(u32::MAX)) as u32,
            scale: 1.0 / (1.0 - rate),
            rows,
        }
    }

    /// The noise after an activation: there is none after nothing.
    pub(crate) fn after(self, activation: Activation) -> Option<Self> {
        (activation != Activation::None).then_some(self)
    }

    /// The noise of some of the rows.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        Self { rows: &self.rows[range], ..self }
    }

    /// The key of a row.
    pub(crate) fn row(&self, row: usize) -> u32 {
        self.rows[row]
    }

    /// The same noise for other rows.
    pub(crate) fn of<'b>(&self, rows: &'b [u32]) -> Noise<'b> {
        Noise { key: self.key, threshold: self.threshold, scale: self.scale, rows }
    }

    /// Multiplies rows of `stride` values by their factors after activation `layer`: 0, or what keeps the mean.
    #[inline(always)]
    pub fn drop_from<T: Real>(&self, layer: usize, values: &mut [T], stride: usize) {
        let (key, scale) = (self.key ^ layer as u64, T::of(self.scale));
        for (&row, values) in self.rows.iter().zip(values.chunks_exact_mut(stride)) {
            let start = mix(key ^ (u64::from(row) << 16)) as u32;
            for (channel, value) in values.iter_mut().enumerate() {
                let is_dropped =
                    scatter(start.wrapping_add((channel as u32).wrapping_mul(0x9e37_79b9))) < self.threshold;
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

/// The same of 32 bits, which vectors can do.
#[inline(always)]
fn scatter(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(noise: &Noise<'_>, layer: usize, rows: usize, width: usize) -> Vec<f64> {
        let mut values = vec![1.0; rows * width];
        noise.drop_from(layer, &mut values, width);
        values
    }

    #[test]
    fn the_share_is_dropped_and_the_mean_stays() {
        let rows: Vec<u32> = (0..4_000).collect();
        for rate in [0.0, 0.1, 0.5, 0.9] {
            let values = factors(&Noise::new(1, 2, rate, &rows), 0, rows.len(), 64);
            let dropped = values.iter().filter(|&&value| value < 0.5).count() as f64 / values.len() as f64;
            assert!((dropped - rate).abs() < 0.004, "{dropped} of {rate}");
            assert!((values.iter().sum::<f64>() / values.len() as f64 - 1.0).abs() < 0.02);
        }
    }

    /// Rows, channels, layers, sites and seeds are independent: a quarter of all values is dropped in both of two.
    #[test]
    fn nothing_is_dropped_together() {
        let rows: Vec<u32> = (0..2_000).collect();
        let base = factors(&Noise::new(1, 2, 0.5, &rows), 0, rows.len(), 32);
        let shifted =
            |by: usize| -> Vec<f64> { base.iter().cycle().skip(by).take(base.len()).copied().collect() };
        let others = [
            factors(&Noise::new(2, 2, 0.5, &rows), 0, rows.len(), 32),
            factors(&Noise::new(1, 3, 0.5, &rows), 0, rows.len(), 32),
            factors(&Noise::new(1, 2, 0.5, &rows), 1, rows.len(), 32),
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
    fn rows_of_one_key_are_treated_alike_wherever_they_are() {
        let noise = Noise::new(5, 0, 0.3, &[7, 9, 7, 8]);
        let all = factors(&noise, 3, 4, 16);
        assert_eq!(all[..16], all[32..48]);
        assert_ne!(all[..16], all[16..32]);
        assert_eq!(factors(&noise.part(1..3), 3, 2, 16), all[16..48]);
        assert_eq!(factors(&noise.of(&[8]), 3, 1, 16), all[48..]);
    }
}
