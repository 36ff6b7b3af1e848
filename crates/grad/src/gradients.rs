//! Gradients of parameters, and of intermediate values while a tape is walked back.

use crate::{Parameters, Var};
use knockout_kernel::{Buffer, Pool, Real};
use rayon::prelude::*;

/// One gradient per parameter, kept from step to step so that several batches can add to it.
#[derive(Debug)]
pub struct Gradients<T: Real> {
    parameters: Vec<Buffer<T>>,
    pub(crate) values: Vec<Option<Buffer<T>>>,
    pub(crate) sizes: Vec<usize>,
    pool: Pool<T>,
}

/// Numbers in one partial sum of a norm.
const SUM_CHUNK: usize = 1 << 14;

impl<T: Real> Gradients<T> {
    /// Zeros.
    pub fn zeros(parameters: &Parameters<T>) -> Self {
        let pool = parameters.pool().clone();
        Self {
            parameters: parameters.iter().map(|entry| pool.zeros(entry.values().len())).collect(),
            values: Vec::new(),
            sizes: Vec::new(),
            pool,
        }
    }

    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.parameters.par_iter_mut().for_each(|gradient| gradient.fill(T::ZERO));
    }

    /// The gradient of the parameter at a place.
    pub fn parameter(&self, index: usize) -> &[T] {
        &self.parameters[index]
    }

    /// Lets `add` add to the gradient of a variable.
    pub fn add(&mut self, var: Var, add: impl FnOnce(&mut [T])) {
        if let Some(index) = var.as_parameter() {
            return add(&mut self.parameters[index]);
        }
        let place = var.as_value();
        add(self.values[place].get_or_insert_with(|| self.pool.zeros(self.sizes[place])));
    }

    /// Lets `add` add to the gradients of two different parameters at once.
    ///
    /// # Panics
    ///
    /// If they are the same, or one is no parameter: a bug of the layer.
    pub fn add_pair(&mut self, [a, b]: [Var; 2], add: impl FnOnce(&mut [T], &mut [T])) {
        let (Some(a), Some(b)) = (a.as_parameter(), b.as_parameter()) else {
            unreachable!("a pair of parameters")
        };
        let [a, b] = self.parameters.get_disjoint_mut([a, b]).expect("two different parameters");
        add(a, b);
    }

    /// √Σ g² over all parameters, in `f64` and in a fixed order.
    pub fn norm(&self) -> f64 {
        let sum = |gradient: &Buffer<T>| -> f64 {
            let partials: Vec<f64> = gradient
                .par_chunks(SUM_CHUNK)
                .map(|chunk| chunk.iter().map(|value| value.to_f64() * value.to_f64()).sum())
                .collect();
            partials.iter().sum()
        };
        self.parameters.iter().map(sum).sum::<f64>().sqrt()
    }

    /// The first parameter with a value that is not finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        self.parameters.iter().position(|gradient| gradient.iter().any(|value| !value.is_finite()))
    }
}
