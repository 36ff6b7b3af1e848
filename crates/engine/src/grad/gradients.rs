//! Gradients of parameters, and of intermediate values during a backward pass.

use crate::grad::{Parameters, Var};
use crate::kernel::{Buffer, Pool, Real, StoreMode};
use rayon::prelude::*;

/// One gradient per parameter, which several batches may accumulate into.
#[derive(Debug)]
pub struct Gradients<T: Real> {
    parameters: Vec<Buffer<T>>,
    pub(crate) values: Vec<Option<Buffer<T>>>,
    pub(crate) sizes: Vec<usize>,
    pool: Pool<T>,
}

/// Values in one partial sum of a norm.
const SUM_CHUNK: usize = 1 << 14;

impl<T: Real> Gradients<T> {
    /// Creates zero gradients for all parameters.
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

    /// Adds the gradients of another part of a batch.
    pub fn add_all(&mut self, other: &Self) {
        let pairs = self.parameters.par_iter_mut().zip(&other.parameters);
        pairs.for_each(|(sum, part)| sum.iter_mut().zip(&**part).for_each(|(sum, &part)| *sum += part));
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the gradient of the parameter at an index.
    pub fn parameter(&self, index: usize) -> &[T] {
        &self.parameters[index]
    }

    /// Returns the gradient of the parameter at an index, mutable: resuming restores an accumulated one.
    pub fn parameter_mut(&mut self, index: usize) -> &mut [T] {
        &mut self.parameters[index]
    }

    /// Calls `add` to accumulate into the gradient of a variable.
    pub fn add(&mut self, var: Var, add: impl FnOnce(&mut [T])) {
        if let Some(index) = var.as_parameter() {
            return add(&mut self.parameters[index]);
        }
        let index = var.as_value();
        add(self.values[index].get_or_insert_with(|| self.pool.zeros(self.sizes[index])));
    }

    /// Calls `put` to write the gradient of a variable: the first to do so overwrites ([`StoreMode::Set`]), the others accumulate.
    pub fn put(&mut self, var: Var, put: impl FnOnce(&mut [T], StoreMode)) {
        if let Some(index) = var.as_parameter() {
            return put(&mut self.parameters[index], StoreMode::Add);
        }
        let index = var.as_value();
        match &mut self.values[index] {
            Some(gradient) => put(gradient, StoreMode::Add),
            empty => put(empty.insert(self.pool.scratch(self.sizes[index])), StoreMode::Set),
        }
    }

    /// Calls `add` to accumulate into the gradients of two different parameters.
    ///
    /// # Panics
    ///
    /// If they are the same, or one is not a parameter: a bug of the layer.
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
            let partials: Vec<f64> = gradient.par_chunks(SUM_CHUNK).map(squares).collect();
            partials.iter().sum()
        };
        self.parameters.iter().map(sum).sum::<f64>().sqrt()
    }

    /// Index of the first parameter whose gradient is not finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        self.parameters.iter().position(|gradient| gradient.iter().any(|value| !value.is_finite()))
    }
}

/// Σ v², in eight independent accumulators: one alone would make every addition wait for the one before.
fn squares<T: Real>(values: &[T]) -> f64 {
    let (lanes, tail) = values.as_chunks::<8>();
    let mut sums = [0.0f64; 8];
    for lanes in lanes {
        for (sum, value) in sums.iter_mut().zip(lanes) {
            *sum += value.to_f64() * value.to_f64();
        }
    }
    sums.iter().sum::<f64>() + tail.iter().map(|value| value.to_f64() * value.to_f64()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grad::Tape;

    #[test]
    fn the_first_to_put_overwrites_and_parameters_accumulate() {
        let mut parameters = Parameters::new(&Pool::new());
        let a = parameters.add("a", &[3], || 2.0);
        let mut gradients = Gradients::zeros(&parameters);
        let put = |sum: &mut [f64], store: StoreMode| {
            for slot in sum {
                *slot = if store == StoreMode::Set { 1.0 } else { *slot + 1.0 };
            }
        };
        // Twice: what the first pass left behind must not come back.
        for pass in 1..=2 {
            let mut tape = Tape::new(&parameters);
            let copy = tape.op(
                "copy",
                3,
                |values, out| out.copy_from_slice(values.of(a)),
                move |step, (), gradients| {
                    assert_eq!(step.gradient, [2.0; 3]);
                    gradients.put(a, put);
                },
            );
            let sum = tape.op(
                "sum",
                1,
                |values, out| out[0] = values.of(copy).iter().sum(),
                move |_, (), gradients| {
                    gradients.put(copy, put);
                    gradients.put(copy, put);
                },
            );
            tape.backward(sum, &mut gradients);
            assert_eq!(gradients.parameter(0), [f64::from(pass); 3]);
        }
    }

    #[test]
    fn the_norm_counts_every_value() {
        let mut parameters = Parameters::new(&Pool::new());
        let a = parameters.add("a", &[19], || 0.0);
        let mut gradients = Gradients::<f32>::zeros(&parameters);
        gradients.add(a, |sum| sum.iter_mut().zip(1u8..).for_each(|(slot, i)| *slot = f32::from(i)));
        assert!((gradients.norm() - 2470f64.sqrt()).abs() < 1e-9);
    }
}
