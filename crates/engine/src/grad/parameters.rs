//! Trainable parameters.

use crate::grad::Var;
use crate::kernel::{Buffer, Pool, Real};

/// A named array of trainable values.
#[derive(Debug, Clone)]
pub struct Parameter<T: Real> {
    name: String,
    shape: Vec<usize>,
    values: Buffer<T>,
}

impl<T: Real> Parameter<T> {
    /// Name, unique in a model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shape, row-major.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Values.
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
    /// No parameters yet.
    pub fn new(pool: &Pool<T>) -> Self {
        Self { entries: Vec::new(), pool: pool.clone() }
    }

    /// Adds a parameter; returns the variable that stands for it on every tape.
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

    /// All parameters, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Parameter<T>> {
        self.entries.iter()
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of values of all parameters together.
    pub fn element_count(&self) -> usize {
        self.entries.iter().map(|entry| entry.values.len()).sum()
    }

    /// The parameter at an index.
    pub fn get(&self, index: usize) -> &Parameter<T> {
        &self.entries[index]
    }

    /// The parameter of a name.
    pub fn find(&self, name: &str) -> Option<&Parameter<T>> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Values of the parameter at an index, to update them.
    pub fn values_mut(&mut self, index: usize) -> &mut [T] {
        &mut self.entries[index].values
    }

    /// Values of the parameter that a variable stands for, to start from others.
    ///
    /// # Panics
    ///
    /// If the variable is an operation's output: a bug of the model.
    pub fn of_mut(&mut self, var: Var) -> &mut [T] {
        let index = var.as_parameter().expect("a variable of a parameter");
        &mut self.entries[index].values
    }

    /// Values of the parameter of a name, to load them.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut [T]> {
        self.entries.iter_mut().find(|entry| entry.name == name).map(|entry| &mut entry.values[..])
    }

    /// Bytes of the pool, in use or free: parameters, moments, gradients and the values of tapes.
    pub fn allocated_bytes(&self) -> usize {
        self.pool.allocated_bytes()
    }

    pub(crate) fn pool(&self) -> &Pool<T> {
        &self.pool
    }
}
