//! Initial values of parameters. One stream of random numbers per model, keyed by the run's seed.

use knockout_base::random::Rng;

/// Draws initial values.
#[derive(Debug)]
pub struct Init {
    rng: Rng,
    weights: Weights,
}

/// How the weights of linear layers are drawn.
#[derive(Debug, Clone, Copy)]
enum Weights {
    /// Uniform within Xavier's bound with the gain of relu: √2 · √(6 / (inputs + outputs)).
    Xavier,
    /// Normal with variance 2 / outputs: Kaiming's, fan-out mode.
    Kaiming,
    /// Uniform within ±1 / √inputs: `PyTorch`'s own.
    ByInputs,
}

impl Init {
    /// Creates the stream of a seed, with Xavier's weights.
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed, "parameters"), weights: Weights::Xavier }
    }

    /// Creates the stream of a seed, with normal weights of variance 2 / outputs.
    pub(crate) fn kaiming(seed: u64) -> Self {
        Self { weights: Weights::Kaiming, ..Self::new(seed) }
    }

    /// Creates the stream of a seed, with weights uniform within ±1 / √inputs.
    pub(crate) fn by_inputs(seed: u64) -> Self {
        Self { weights: Weights::ByInputs, ..Self::new(seed) }
    }

    /// Draws a weight of a linear layer.
    pub fn weight(&mut self, inputs: usize, outputs: usize) -> f64 {
        match self.weights {
            Weights::Xavier => self.uniform(xavier_relu(inputs, outputs)),
            Weights::Kaiming => self.normal((2.0 / outputs as f64).sqrt()),
            Weights::ByInputs => self.uniform(1.0 / (inputs as f64).sqrt()),
        }
    }

    /// Draws a value uniform within ±`bound`.
    pub fn uniform(&mut self, bound: f64) -> f64 {
        (2.0 * self.rng.unit() - 1.0) * bound
    }

    /// Draws a normal value around 0.
    pub fn normal(&mut self, deviation: f64) -> f64 {
        self.rng.normal() * deviation
    }
}

/// Xavier's bound with the gain of relu: √2 · √(6 / (inputs + outputs)).
fn xavier_relu(inputs: usize, outputs: usize) -> f64 {
    (12.0 / (inputs + outputs) as f64).sqrt()
}
