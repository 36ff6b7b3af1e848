//! A linear layer.

use super::{backward_term, forward_term};
use crate::init::Init;
use knockout_engine::grad::{Gradients, Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar, StoreMode};

/// `y = activation(x Wᵀ + b)`, `x: [n, inputs]`, `y: [n, outputs]`.
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    /// W, `[outputs, inputs]`.
    pub weight: Var,
    /// b, `[outputs]`.
    pub bias: Var,
    /// Input width.
    pub inputs: usize,
    /// Output width.
    pub outputs: usize,
}

impl Linear {
    /// Adds `name.weight` and `name.bias`; the bias is initialised to zero.
    pub fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        inputs: usize,
        outputs: usize,
        init: &mut Init,
    ) -> Self {
        let weight =
            parameters.add(format!("{name}.weight"), &[outputs, inputs], || init.weight(inputs, outputs));
        let bias = parameters.add(format!("{name}.bias"), &[outputs], || 0.0);
        Self { weight, bias, inputs, outputs }
    }

    /// Records the layer. An activation whose derivative does not follow from its output is an operation of its own.
    pub fn forward<T: Scalar>(
        self,
        tape: &mut Tape<'_, T>,
        name: &'static str,
        x: Var,
        activation: Activation,
    ) -> Var {
        if !activation.has_output_derivative() {
            let before = self.forward(tape, name, x, Activation::None);
            return super::activate(tape, name, before, activation);
        }
        let count = tape.value(x).len() / self.inputs;
        tape.op(
            name,
            [count, self.outputs],
            |values, out| {
                let term = forward_term(values.of(x), self.inputs, values.of(self.weight));
                T::linear(&[term], Some(values.of(self.bias)), activation, StoreMode::Set, out, self.outputs);
            },
            move |step, (), gradients| {
                activation.backward_from_outputs(step.output, step.gradient);
                self.backward(step.values.of(self.weight), step.values.of(x), step.gradient, x, gradients);
            },
        )
    }

    /// Adds the gradients of weight, bias and input, given the gradient before the activation.
    pub(crate) fn backward<T: Scalar>(
        self,
        weight: &[T],
        rows: &[T],
        gradient: &[T],
        x: Var,
        gradients: &mut Gradients<T>,
    ) {
        gradients.add_pair([self.weight, self.bias], |weight, bias| {
            T::transposed_product(gradient, rows, [self.outputs, self.inputs], weight, Some(bias));
        });
        gradients.put(x, |sum, store| {
            let term = backward_term(gradient, self.outputs, weight);
            T::linear(&[term], None, Activation::None, store, sum, self.inputs);
        });
    }
}
