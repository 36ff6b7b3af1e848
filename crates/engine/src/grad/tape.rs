//! The tape: the operations of a forward pass, and their backward functions.
//!
//! ```text
//! let y = tape.op("layer", len, |values, out| { …; saved }, move |step, saved, gradients| { … });
//! tape.backward(loss, &mut gradients);
//! ```
//!
//! The forward function fills the output and returns what the backward pass needs. The backward function is given the gradient of
//! the output and adds to the gradients of the operation's inputs.

use crate::grad::var::{Var, VarSource};
use crate::grad::{Gradients, Parameters};
use crate::kernel::{Buffer, Pool, Real};

/// Direction of a pass over the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Forward pass.
    Forward,
    /// Backward pass.
    Backward,
}

/// Receives the begin and end of every operation: a profiler.
pub trait Observer {
    /// Called before an operation runs.
    fn begin(&self, pass: Pass, operation: &'static str);
    /// Called after an operation has run.
    fn end(&self, pass: Pass, operation: &'static str);
}

/// Read access to the values on a tape.
#[derive(Debug, Clone, Copy)]
pub struct Values<'t, T: Real> {
    parameters: &'t Parameters<T>,
    outputs: &'t [Buffer<T>],
    pool: &'t Pool<T>,
}

impl<'t, T: Real> Values<'t, T> {
    /// Values of a variable.
    pub fn of(&self, var: Var) -> &'t [T] {
        match var.source() {
            VarSource::Parameter(index) => self.parameters.get(index).values(),
            VarSource::Value(index) => &self.outputs[index],
        }
    }

    /// The pool that operations take their memory from.
    pub fn pool(&self) -> &'t Pool<T> {
        self.pool
    }
}

/// Operands of an operation's backward function.
#[derive(Debug)]
pub struct BackwardStep<'t, T: Real> {
    /// Values of all variables.
    pub values: Values<'t, T>,
    /// Output of the operation.
    pub output: &'t [T],
    /// The gradient of the loss with respect to `output`. It may be overwritten: it is not read afterwards.
    pub gradient: &'t mut [T],
}

type Backward<'a, T> = Box<dyn FnOnce(BackwardStep<'_, T>, &mut Gradients<T>) + 'a>;

struct TapeOperation<'a, T: Real> {
    name: &'static str,
    backward: Backward<'a, T>,
}

/// A record of one forward pass.
pub struct Tape<'a, T: Real> {
    parameters: &'a Parameters<T>,
    outputs: Vec<Buffer<T>>,
    operations: Vec<TapeOperation<'a, T>>,
    observer: Option<&'a dyn Observer>,
}

impl<'a, T: Real> Tape<'a, T> {
    /// Creates an empty tape over a model's parameters.
    pub fn new(parameters: &'a Parameters<T>) -> Self {
        Self { parameters, outputs: Vec::new(), operations: Vec::new(), observer: None }
    }

    /// Reports every operation to an observer.
    #[must_use]
    pub fn observed(mut self, observer: Option<&'a dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Returns the values of all variables so far.
    pub fn values(&self) -> Values<'_, T> {
        Values { parameters: self.parameters, outputs: &self.outputs, pool: self.parameters.pool() }
    }

    /// Values of a variable.
    pub fn value(&self, var: Var) -> &[T] {
        self.values().of(var)
    }

    /// Returns the value of a scalar variable.
    pub fn scalar(&self, var: Var) -> T {
        self.value(var)[0]
    }

    /// Computes `len` values and records their backward function.
    ///
    /// `forward` must write every value of its output; what it returns is saved for `backward`.
    pub fn op<S: 'a>(
        &mut self,
        name: &'static str,
        len: usize,
        forward: impl FnOnce(Values<'_, T>, &mut [T]) -> S,
        backward: impl FnOnce(BackwardStep<'_, T>, S, &mut Gradients<T>) + 'a,
    ) -> Var {
        let mut output = self.parameters.pool().scratch(len);
        if let Some(observer) = self.observer {
            observer.begin(Pass::Forward, name);
        }
        let saved = forward(self.values(), &mut output);
        if let Some(observer) = self.observer {
            observer.end(Pass::Forward, name);
        }
        self.outputs.push(output);
        let backward = Box::new(move |step: BackwardStep<'_, T>, gradients: &mut Gradients<T>| {
            backward(step, saved, gradients);
        });
        self.operations.push(TapeOperation { name, backward });
        Var::value(self.outputs.len() - 1)
    }

    /// Adds the gradient of `loss` (one value) to the gradients of all parameters it depends on.
    ///
    /// Operations that the loss does not depend on are skipped.
    pub fn backward(self, loss: Var, gradients: &mut Gradients<T>) {
        self.backward_from(&[(loss, &[T::ONE])], gradients);
    }

    /// Adds the gradients of a loss whose gradients with respect to some variables of this tape were computed elsewhere.
    ///
    /// # Panics
    ///
    /// If a gradient has another length than its variable.
    pub fn backward_from(mut self, seeds: &[(Var, &[T])], gradients: &mut Gradients<T>) {
        gradients.sizes.clear();
        gradients.sizes.extend(self.outputs.iter().map(|output| output.len()));
        gradients.values.clear();
        gradients.values.resize_with(self.outputs.len(), || None);
        for (var, seed) in seeds {
            gradients.add(*var, |sum| {
                assert_eq!(sum.len(), seed.len(), "a gradient for every value");
                sum.iter_mut().zip(*seed).for_each(|(sum, &seed)| *sum += seed);
            });
        }
        while let Some(operation) = self.operations.pop() {
            let Some(mut gradient) = gradients.values.pop().flatten() else { continue };
            let output = &self.outputs[self.operations.len()];
            if let Some(observer) = self.observer {
                observer.begin(Pass::Backward, operation.name);
            }
            (operation.backward)(
                BackwardStep { values: self.values(), output, gradient: &mut gradient },
                gradients,
            );
            if let Some(observer) = self.observer {
                observer.end(Pass::Backward, operation.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// loss = Σ (a·b)², written as two operations.
    fn record(parameters: &Parameters<f64>, a: Var, b: Var) -> (Tape<'_, f64>, Var) {
        let mut tape = Tape::new(parameters);
        let product = tape.op(
            "product",
            2,
            |values, out| {
                for (out, (x, y)) in out.iter_mut().zip(values.of(a).iter().zip(values.of(b))) {
                    *out = x * y;
                }
            },
            move |step, (), gradients| {
                for (this, other) in [(a, b), (b, a)] {
                    gradients.add(this, |gradient| {
                        for (slot, (up, value)) in
                            gradient.iter_mut().zip(step.gradient.iter().zip(step.values.of(other)))
                        {
                            *slot += up * value;
                        }
                    });
                }
            },
        );
        let loss = tape.op(
            "squares",
            1,
            |values, out| out[0] = values.of(product).iter().map(|x| x * x).sum(),
            move |step, (), gradients| {
                gradients.add(product, |gradient| {
                    for (slot, value) in gradient.iter_mut().zip(step.values.of(product)) {
                        *slot += 2.0 * step.gradient[0] * value;
                    }
                });
            },
        );
        (tape, loss)
    }

    #[test]
    fn gradients_that_come_from_elsewhere_go_on_from_there() {
        let mut parameters = Parameters::new(&Pool::new());
        let a = parameters.add("a", &[2], || 3.0);
        let b = parameters.add("b", &[2], || 5.0);
        let [mut whole, mut seeded] = [(); 2].map(|()| Gradients::zeros(&parameters));
        let (tape, loss) = record(&parameters, a, b);
        tape.backward(loss, &mut whole);
        let (tape, _) = record(&parameters, a, b);
        // d loss / d product = 2 · product, as the other tape finds by itself.
        tape.backward_from(&[(Var::value(0), &[30.0, 30.0])], &mut seeded);
        assert_eq!(whole.parameter(0), seeded.parameter(0));
        assert_eq!(whole.parameter(1), seeded.parameter(1));
    }

    #[test]
    fn gradients_propagate_and_accumulate() {
        let mut parameters = Parameters::new(&Pool::new());
        let mut next = 0.0;
        let mut count = || {
            next += 1.0;
            next
        };
        let a = parameters.add("a", &[2], &mut count);
        let b = parameters.add("b", &[2], &mut count);
        let mut gradients = Gradients::zeros(&parameters);
        for _ in 0..2 {
            let (tape, loss) = record(&parameters, a, b);
            assert_eq!(tape.scalar(loss), 9.0 + 64.0);
            tape.backward(loss, &mut gradients);
        }
        // d/da = 2·(ab)·b, twice.
        assert_eq!(gradients.parameter(0), [2.0 * 2.0 * 3.0 * 3.0, 2.0 * 2.0 * 8.0 * 4.0]);
        assert_eq!(gradients.parameter(1), [2.0 * 2.0 * 3.0 * 1.0, 2.0 * 2.0 * 8.0 * 2.0]);
    }
}
