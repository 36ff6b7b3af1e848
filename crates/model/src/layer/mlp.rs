//! Linear layers in a row, with a norm at their end: one operation; see [`knockout_kernel::Block`].

use super::{Dropped, Linear, add_to};
use knockout_grad::{Gradients, Tape, Values, Var};
use knockout_kernel::{Activation, Affine, Block, NormScale, Scalar};

/// A norm's parameters.
#[derive(Debug, Clone, Copy)]
pub struct NormVars {
    /// γ by channel.
    pub scale: Var,
    /// β by channel.
    pub shift: Var,
}

/// `y = last(norm(linear_n(… between(linear_1(x)))))`, `x: [n, inputs]`, `y: [n, outputs]`.
#[derive(Debug, Clone)]
pub struct Mlp {
    /// In order.
    pub linears: Vec<Linear>,
    /// After every linear layer but the last.
    pub between: Activation,
    /// Each row over its channels; `None`: no norm.
    pub norm: Option<NormVars>,
    /// At the end.
    pub last: Activation,
}

impl Mlp {
    /// Values in a row that comes in.
    pub fn inputs(&self) -> usize {
        self.linears[0].inputs
    }

    /// Values in a row that goes out.
    pub fn outputs(&self) -> usize {
        self.linears[self.linears.len() - 1].outputs
    }

    /// What the kernels are given.
    pub(crate) fn block<'t, T: Scalar>(
        &self,
        values: Values<'t, T>,
        dropped: Option<&'t Dropped>,
    ) -> Block<'t, T> {
        let norm =
            self.norm.map(|norm| NormScale { scale: values.of(norm.scale), shift: values.of(norm.shift) });
        let linears = self.linears.iter().map(|linear| linear.affine(values)).collect();
        let mut block = Block::new(linears, self.between, norm, self.last);
        block.noise = dropped.map(Dropped::noise);
        block
    }

    /// Adds a block's gradient to those of its parameters.
    pub(crate) fn add<T: Scalar>(&self, gradient: &[T], gradients: &mut Gradients<T>) {
        let linears = self.linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
        add_parts(
            gradient,
            linears.chain(self.norm.iter().flat_map(|norm| [norm.scale, norm.shift])),
            gradients,
        );
    }

    /// Records the layers; something may be dropped after every activation.
    pub fn forward<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        name: &'static str,
        x: Var,
        dropped: Option<&Dropped>,
    ) -> Var {
        let (layer, inputs) = (self.clone(), self.inputs());
        let back = dropped.cloned();
        let rows = tape.value(x).len() / inputs;
        tape.op(
            name,
            rows * self.outputs(),
            |values, out| {
                self.block(values, dropped).forward(values.of(x), out);
            },
            move |step, (), gradients| {
                let (x_values, pool) = (step.values.of(x), step.values.pool());
                let block = layer.block(step.values, back.as_ref());
                let mut gradient = pool.zeros(block.number_count());
                let mut d_x = pool.scratch(x_values.len());
                block.backward(x_values, step.gradient, &mut d_x, &mut gradient);
                layer.add(&gradient, gradients);
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
    /// What the kernels are given.
    pub(crate) fn affine<'t, T: Scalar>(&self, values: Values<'t, T>) -> Affine<'t, T> {
        Affine { weight: values.of(self.weight), bias: values.of(self.bias) }
    }
}
