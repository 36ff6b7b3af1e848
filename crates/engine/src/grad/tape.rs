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
use std::fmt;
use std::sync::Arc;

/// Direction of a pass over the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Forward pass.
    Forward,
    /// Backward pass.
    Backward,
}

/// Shape of an operation's output: rows and columns, or a number of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputShape {
    sizes: [usize; 2],
    dimensions: usize,
}

impl OutputShape {
    /// Returns the number of values.
    pub fn count(self) -> usize {
        self.sizes[0] * self.sizes[1]
    }

    /// Returns the size of each dimension.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes[..self.dimensions]
    }
}

impl From<usize> for OutputShape {
    fn from(count: usize) -> Self {
        Self { sizes: [count, 1], dimensions: 1 }
    }
}

impl From<[usize; 2]> for OutputShape {
    fn from(sizes: [usize; 2]) -> Self {
        Self { sizes, dimensions: 2 }
    }
}

/// An operation as an observer receives it.
#[derive(Debug, Clone, Copy)]
pub struct ObservedOperation<'a> {
    /// Its name.
    pub name: &'static str,
    /// The part of the model that it belongs to, named as its parameters are: `layer1.network.physical`.
    pub part: Option<&'a Arc<str>>,
    /// Shape of its output; `None` inside of an operation.
    pub shape: Option<OutputShape>,
}

/// Receives the begin and end of every operation: a profiler. Operations are nested.
pub trait Observer: fmt::Debug {
    /// Called before an operation runs.
    fn begin(&self, pass: Pass, operation: ObservedOperation<'_>);
    /// Called after the operation that began last has run.
    fn end(&self);
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
    part: Option<Arc<str>>,
    shape: OutputShape,
    backward: Backward<'a, T>,
}

impl<T: Real> TapeOperation<'_, T> {
    fn observed(&self) -> ObservedOperation<'_> {
        ObservedOperation { name: self.name, part: self.part.as_ref(), shape: Some(self.shape) }
    }
}

/// A record of one forward pass.
pub struct Tape<'a, T: Real> {
    parameters: &'a Parameters<T>,
    outputs: Vec<Buffer<T>>,
    operations: Vec<TapeOperation<'a, T>>,
    observer: Option<&'a dyn Observer>,
    /// The part of the model whose operations are being recorded, where they are observed.
    part: Option<Arc<str>>,
}

impl<'a, T: Real> Tape<'a, T> {
    /// Creates an empty tape over a model's parameters.
    pub fn new(parameters: &'a Parameters<T>) -> Self {
        Self { parameters, outputs: Vec::new(), operations: Vec::new(), observer: None, part: None }
    }

    /// Reports every operation to an observer.
    #[must_use]
    pub fn observed(mut self, observer: Option<&'a dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Returns the observer, which also receives what runs inside of an operation.
    pub fn observer(&self) -> Option<&'a dyn Observer> {
        self.observer
    }

    /// Records the operations of a part of the model: observers receive its name with each of them. Of nested parts, the
    /// innermost counts.
    pub fn inside<R>(&mut self, part: &Arc<str>, record: impl FnOnce(&mut Self) -> R) -> R {
        if self.observer.is_none() {
            return record(self);
        }
        let around = self.part.replace(Arc::clone(part));
        let recorded = record(self);
        self.part = around;
        recorded
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

    /// Computes the values of an output of this shape and records their backward function.
    ///
    /// `forward` must write every value of its output; what it returns is saved for `backward`.
    pub fn op<S: 'a>(
        &mut self,
        name: &'static str,
        shape: impl Into<OutputShape>,
        forward: impl FnOnce(Values<'_, T>, &mut [T]) -> S,
        backward: impl FnOnce(BackwardStep<'_, T>, S, &mut Gradients<T>) + 'a,
    ) -> Var {
        let shape = shape.into();
        let mut output = self.parameters.pool().scratch(shape.count());
        if let Some(observer) = self.observer {
            let operation = ObservedOperation { name, part: self.part.as_ref(), shape: Some(shape) };
            observer.begin(Pass::Forward, operation);
        }
        let saved = forward(self.values(), &mut output);
        if let Some(observer) = self.observer {
            observer.end();
        }
        self.outputs.push(output);
        let backward = Box::new(move |step: BackwardStep<'_, T>, gradients: &mut Gradients<T>| {
            backward(step, saved, gradients);
        });
        let part = self.part.clone();
        self.operations.push(TapeOperation { name, part, shape, backward });
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
                observer.begin(Pass::Backward, operation.observed());
            }
            (operation.backward)(
                BackwardStep { values: self.values(), output, gradient: &mut gradient },
                gradients,
            );
            if let Some(observer) = self.observer {
                observer.end();
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

    /// Writes down what it receives.
    #[derive(Debug, Default)]
    struct Log(std::cell::RefCell<Vec<String>>);

    impl Observer for Log {
        fn begin(&self, pass: Pass, operation: ObservedOperation<'_>) {
            let part = operation.part.map_or("-", |part| part);
            let sizes = operation.shape.map(|shape| shape.sizes().to_vec());
            self.0.borrow_mut().push(format!("{pass:?} {part} {} {sizes:?}", operation.name));
        }

        fn end(&self) {
            self.0.borrow_mut().push("end".to_owned());
        }
    }

    #[test]
    fn observers_receive_the_innermost_part_and_the_shape() {
        let parameters = Parameters::<f64>::new(&Pool::new());
        let log = Log::default();
        let mut tape = Tape::new(&parameters).observed(Some(&log));
        let [layer, network] = ["layer", "layer.network"].map(Arc::<str>::from);
        let constant = |tape: &mut Tape<'_, f64>, name| {
            tape.op(name, [2, 3], |_, out| out.fill(1.0), |_, (), _| {});
        };
        tape.inside(&layer, |tape| {
            tape.inside(&network, |tape| constant(tape, "inner"));
            constant(tape, "outer");
        });
        let loss = tape.op("sum", 1, |_, out| out[0] = 1.0, |_, (), _| {});
        tape.backward(loss, &mut Gradients::zeros(&parameters));
        let expected = [
            "Forward layer.network inner Some([2, 3])",
            "end",
            "Forward layer outer Some([2, 3])",
            "end",
            "Forward - sum Some([1])",
            "end",
            "Backward - sum Some([1])",
            "end",
        ];
        assert_eq!(*log.0.borrow(), expected);
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
