//! A multi-layer perceptron with an optional norm, fused into one operation; see [`knockout_engine::kernel::Block`].

use super::{Dropout, Linear, add_to};
use knockout_engine::grad::{Gradients, Tape, Values, Var};
use knockout_engine::kernel::{Activation, Affine, Block, NormScale, Scalar};

/// Affine parameters of a norm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormVars {
    /// γ, `[width]`.
    pub scale: Var,
    /// β, `[width]`.
    pub shift: Var,
}

/// `y = last(norm(linear_n(… between(linear_1(x)))))`, `x: [n, inputs]`, `y: [n, outputs]`.
#[derive(Debug, Clone)]
pub(crate) struct Mlp {
    /// Linear layers, first to last.
    pub linears: Vec<Linear>,
    /// Activation after every linear layer but the last.
    pub between: Activation,
    /// Layer norm over the channels of a row.
    pub norm: Option<NormVars>,
    /// Activation at the end.
    pub last: Activation,
}

impl Mlp {
    /// Input width.
    pub(crate) fn inputs(&self) -> usize {
        self.linears[0].inputs
    }

    /// Output width.
    pub(crate) fn outputs(&self) -> usize {
        self.linears[self.linears.len() - 1].outputs
    }

    /// The layers in the form of the kernels.
    pub(crate) fn block<'t, T: Scalar>(
        &self,
        values: Values<'t, T>,
        dropout: Option<&'t Dropout>,
    ) -> Block<'t, T> {
        let norm =
            self.norm.map(|norm| NormScale { scale: values.of(norm.scale), shift: values.of(norm.shift) });
        let linears = self.linears.iter().map(|linear| linear.affine(values)).collect();
        let mut block = Block::new(linears, self.between, norm, self.last);
        block.dropout = dropout.map(Dropout::mask);
        block
    }

    /// Adds a block's flat gradient to those of its parameters.
    pub(crate) fn add_gradient<T: Scalar>(&self, gradient: &[T], gradients: &mut Gradients<T>) {
        let linears = self.linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
        add_parts(
            gradient,
            linears.chain(self.norm.iter().flat_map(|norm| [norm.scale, norm.shift])),
            gradients,
        );
    }

    /// Records the layers, with optional dropout after every activation.
    pub(crate) fn forward<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        name: &'static str,
        x: Var,
        dropout: Option<&Dropout>,
    ) -> Var {
        let (layer, back) = (self.clone(), dropout.cloned());
        let rows = tape.value(x).len() / self.inputs();
        tape.op(
            name,
            [rows, self.outputs()],
            |values, out| {
                self.block(values, dropout).forward(values.of(x), out);
            },
            move |step, (), gradients| {
                let (x_values, pool) = (step.values.of(x), step.values.pool());
                let block = layer.block(step.values, back.as_ref());
                let mut gradient = pool.zeros(block.parameter_count());
                let mut d_x = pool.scratch(x_values.len());
                block.backward(x_values, step.gradient, &mut d_x, &mut gradient);
                layer.add_gradient(&gradient, gradients);
                gradients.add(x, |sum| add_to(sum, &d_x));
            },
        )
    }
}

/// Adds the parts of a flat gradient, one after the other, to those of `vars`.
pub(crate) fn add_parts<T: Scalar>(
    gradient: &[T],
    vars: impl IntoIterator<Item = Var>,
    gradients: &mut Gradients<T>,
) {
    let mut rest = gradient;
    for var in vars {
        gradients.add(var, |sum| {
            let (part, after) = rest.split_at(sum.len());
            add_to(sum, part);
            rest = after;
        });
    }
}

impl Linear {
    /// Weight and bias in the form of the kernels.
    pub(crate) fn affine<'t, T: Scalar>(&self, values: Values<'t, T>) -> Affine<'t, T> {
        Affine { weight: values.of(self.weight), bias: values.of(self.bias) }
    }
}
