//! Random numbers that are the same on every machine.
//!
//! Every use names its purpose and gets a stream of its own, so that adding one use never changes another.
//! `ChaCha8` for the bits, integer arithmetic for choices, the `libm` crate for transcendental functions: the platform's
//! own `ln` and `cos` differ in the last bit from one C library to the next.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers of its own for each (seed, purpose).
#[derive(Debug, Clone)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// Creates the stream of a purpose. Streams of different purposes are independent.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        hasher.update(purpose.as_bytes());
        Self(ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()))
    }

    /// Returns a number below `bound`, all equally likely.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        // Lemire's method: the high half of a product is uniform once the few biased low halves are thrown away.
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// Returns a number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a standard normal number (the cosine half of Box and Muller's method).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut rng = Rng::new(42, "test");
        let drawn: Vec<usize> = (0..5).map(|_| rng.below(1000)).collect();
        assert_eq!(drawn, PINNED);
        assert_ne!(Rng::new(42, "other").below(1 << 40), Rng::new(42, "test").below(1 << 40));
    }

    const PINNED: [usize; 5] = [618, 836, 703, 74, 368];

    #[test]
    fn moments_are_right() {
        let mut rng = Rng::new(1, "moments");
        let n = 100_000;
        let (mut sum, mut squares, mut low) = (0.0, 0.0, 0);
        for _ in 0..n {
            let x = rng.normal();
            sum += x;
            squares += x * x;
            low += usize::from(rng.below(10) < 3);
        }
        assert!((sum / f64::from(n)).abs() < 0.02);
        assert!((squares / f64::from(n) - 1.0).abs() < 0.02);
        assert!((low as f64 / f64::from(n) - 0.3).abs() < 0.01);
    }
}
