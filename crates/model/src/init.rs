//! Where parameters start. One stream of random numbers per model, keyed by the run's seed.

use knockout_random::Rng;

/// Draws starting values.
#[derive(Debug)]
pub struct Init(Rng);

impl Init {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, "parameters"))
    }

    /// Uniform within ±`bound`.
    pub fn uniform(&mut self, bound: f64) -> f64 {
        (2.0 * self.0.unit() - 1.0) * bound
    }

    /// Normal around 0.
    pub fn normal(&mut self, deviation: f64) -> f64 {
        self.0.normal() * deviation
    }

    /// Xavier's bound with the gain of relu: √2 · √(6 / (inputs + outputs)).
    pub fn xavier_relu(&self, inputs: usize, outputs: usize) -> f64 {
        (12.0 / (inputs + outputs) as f64).sqrt()
    }
}
