//! What follows a linear layer.

use crate::Real;
use rayon::prelude::*;

/// Elements in a task.
const CHUNK: usize = 1 << 14;

/// A function applied to every element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x
    None,
    /// max(x, 0); its derivative at 0 is 0.
    Relu,
}

impl Activation {
    /// The function's value.
    #[inline(always)]
    pub fn apply<T: Real>(self, x: T) -> T {
        match self {
            Self::None => x,
            // Written so that NaN stays NaN: a diverging network must not look like a quiet one.
            Self::Relu => {
                if x < T::ZERO {
                    T::ZERO
                } else {
                    x
                }
            }
        }
    }

    /// Turns the gradient of the outputs into the gradient of the inputs, given the outputs.
    pub fn backward<T: Real>(self, outputs: &[T], gradient: &mut [T]) {
        match self {
            Self::None => {}
            Self::Relu => {
                gradient.par_chunks_mut(CHUNK).zip(outputs.par_chunks(CHUNK)).for_each(
                    |(gradient, outputs)| {
                        for (gradient, &output) in gradient.iter_mut().zip(outputs) {
                            *gradient = if output > T::ZERO { *gradient } else { T::ZERO };
                        }
                    },
                );
            }
        }
    }
}
