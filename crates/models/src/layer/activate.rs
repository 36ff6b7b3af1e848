//! An activation as an operation of its own, where it cannot be fused with a linear layer.

use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::{Activation, Real};
use rayon::prelude::*;

/// Elements in a task.
const CHUNK: usize = 1 << 14;

/// `y = activation(x)`, element by element.
pub(crate) fn activate<T: Real>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    x: Var,
    activation: Activation,
) -> Var {
    if activation == Activation::None {
        return x;
    }
    tape.op(
        name,
        tape.value(x).len(),
        |values, out| {
            out.par_chunks_mut(CHUNK).zip(values.of(x).par_chunks(CHUNK)).for_each(|(out, x)| {
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = activation.apply(x);
                }
            });
        },
        move |step, (), gradients| {
            activation.backward(step.values.of(x), step.gradient);
            gradients.add(x, |sum| super::add_to(sum, step.gradient));
        },
    )
}
