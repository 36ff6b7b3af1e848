//! A range of another value.

use super::add_to;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;
use std::ops::Range;

/// `y = x[range]`, in elements.
pub(crate) fn slice<T: Real>(tape: &mut Tape<'_, T>, x: Var, range: Range<usize>) -> Var {
    let back = range.clone();
    tape.op(
        "slice",
        range.len(),
        |values, out| out.copy_from_slice(&values.of(x)[range]),
        move |step, (), gradients| gradients.add(x, |sum| add_to(&mut sum[back], step.gradient)),
    )
}
