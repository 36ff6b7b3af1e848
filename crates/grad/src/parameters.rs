//! The numbers that are trained.

use crate::Var;
use knockout_kernel::{Buffer, Pool, Real};

/// A named array of numbers that are trained.
#[derive(Debug, Clone)]
pub struct Parameter<T: Real> {
    name: String,
    shape: Vec<usize>,
    values: Buffer<T>,
}

impl<T: Real> Parameter<T> {
    /// Its name, unique in a model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its shape, row-major.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its values.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// All parameters of a model, in the order they were added.
#[derive(Debug, Clone)]
pub struct Parameters<T: Real> {
    entries: Vec<Parameter<T>>,
    pool: Pool<T>,
}

impl<T: Real> Parameters<T> {
    /// None yet.
    pub fn new(pool: &Pool<T>) -> Self {
        Self { entries: Vec::new(), pool: pool.clone() }
    }

    /// Adds one; every tape shows it under the variable that is returned.
    ///
    /// # Panics
    ///
    /// If the name is taken: a bug of the model.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize], mut value: impl FnMut() -> f64) -> Var {
        let name = name.into();
        assert!(self.find(&name).is_none(), "two parameters are named {name:?}");
        let mut values = self.pool.zeros(shape.iter().product());
        values.iter_mut().for_each(|slot| *slot = T::of(value()));
        self.entries.push(Parameter { name, shape: shape.to_vec(), values });
        Var::parameter(self.entries.len() - 1)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Parameter<T>> {
        self.entries.iter()
    }

    /// How many arrays.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many numbers.
    pub fn number_count(&self) -> usize {
        self.entries.iter().map(|entry| entry.values.len()).sum()
    }

    /// The one at a place.
    pub fn get(&self, index: usize) -> &Parameter<T> {
        &self.entries[index]
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<&Parameter<T>> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The values at a place, to change them.
    pub fn values_mut(&mut self, index: usize) -> &mut [T] {
        &mut self.entries[index].values
    }

    /// The values of a name, to load them.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut [T]> {
        self.entries.iter_mut().find(|entry| entry.name == name).map(|entry| &mut entry.values[..])
    }

    /// Bytes of all buffers of the model so far, in use or waiting to be used again: parameters, moments, gradients and
    /// what tapes computed.
    pub fn allocated_bytes(&self) -> usize {
        self.pool.allocated_bytes()
    }

    pub(crate) fn pool(&self) -> &Pool<T> {
        &self.pool
    }
}
