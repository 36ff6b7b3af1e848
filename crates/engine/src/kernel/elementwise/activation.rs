//! Activation functions.

use crate::kernel::Real;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Elements in a task.
const CHUNK: usize = 1 << 14;

/// The slope of [`Activation::LeakyRelu`] below 0.
const LEAK: f64 = 0.01;

/// A function applied to every element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x
    None,
    /// max(x, 0); its derivative at 0 is 0.
    Relu,
    /// x Φ(x), by the error function and not by the tanh approximation.
    Gelu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x above 0, x/100 below.
    LeakyRelu,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Relu, Self::Gelu, Self::Sigmoid, Self::LeakyRelu, Self::Tanh];

    /// Returns the function's value.
    #[inline(always)]
    pub fn apply<T: Real>(self, x: T) -> T {
        match self {
            Self::None => x,
            // Written so that NaN stays NaN: divergence must stay visible.
            Self::Relu => {
                if x < T::ZERO {
                    T::ZERO
                } else {
                    x
                }
            }
            Self::Gelu => x * normal_cdf(x),
            Self::Sigmoid => T::ONE / (T::ONE + (-x).exp()),
            Self::LeakyRelu => {
                if x < T::ZERO {
                    x * T::of(LEAK)
                } else {
                    x
                }
            }
            Self::Tanh => x.tanh(),
        }
    }

    /// Returns the derivative at `x`.
    #[inline(always)]
    pub fn derivative<T: Real>(self, x: T) -> T {
        match self {
            Self::None => T::ONE,
            Self::Relu => {
                if x > T::ZERO {
                    T::ONE
                } else {
                    T::ZERO
                }
            }
            Self::Gelu => {
                let density = (-x * x * T::of(0.5)).exp() * T::of(0.398_942_280_401_432_7);
                normal_cdf(x) + x * density
            }
            Self::Sigmoid => {
                let y = self.apply(x);
                y * (T::ONE - y)
            }
            Self::LeakyRelu => {
                if x > T::ZERO {
                    T::ONE
                } else {
                    T::of(LEAK)
                }
            }
            Self::Tanh => {
                let y = x.tanh();
                T::ONE - y * y
            }
        }
    }

    /// Turns the gradient of the outputs into the gradient of the inputs, given the inputs.
    pub fn backward<T: Real>(self, inputs: &[T], gradient: &mut [T]) {
        if self == Self::None {
            return;
        }
        gradient.par_chunks_mut(CHUNK).zip(inputs.par_chunks(CHUNK)).for_each(|(gradient, inputs)| {
            for (gradient, &input) in gradient.iter_mut().zip(inputs) {
                *gradient *= self.derivative(input);
            }
        });
    }

    /// [`Activation::backward`] given the outputs, for functions whose derivative follows from them: the inputs need not be saved.
    ///
    /// # Panics
    ///
    /// For functions whose derivative does not follow from the output; see [`Activation::has_output_derivative`].
    pub fn backward_from_outputs<T: Real>(self, outputs: &[T], gradient: &mut [T]) {
        assert!(self.has_output_derivative(), "the derivative of {self:?} does not follow from its output");
        // Both functions preserve the sign of their input, which is all their derivative depends on.
        self.backward(outputs, gradient);
    }

    /// Whether the derivative follows from the output.
    pub fn has_output_derivative(self) -> bool {
        matches!(self, Self::None | Self::Relu | Self::LeakyRelu)
    }
}

/// Φ, the standard normal distribution function.
#[inline(always)]
fn normal_cdf<T: Real>(x: T) -> T {
    T::of(0.5) * (T::ONE + (x * T::of(std::f64::consts::FRAC_1_SQRT_2)).erf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_functions() {
        for activation in Activation::ALL {
            for x in [-3.7, -0.4, 0.3, 2.9] {
                let step = 1e-6;
                let slope = (activation.apply(x + step) - activation.apply(x - step)) / (2.0 * step);
                assert!((slope - activation.derivative(x)).abs() < 1e-8, "{activation:?} at {x}: {slope}");
            }
        }
    }

    #[test]
    fn nan_stays_nan() {
        assert!(Activation::ALL.iter().all(|activation| activation.apply(f64::NAN).is_nan()));
    }
}
