//! The weighted sum of several losses.

use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;

/// `Σ weight · part`, each part one value. A part of weight 0 gets a gradient of zero.
pub(crate) fn weighted_sum<T: Real>(tape: &mut Tape<'_, T>, parts: &[(Var, f64)]) -> Var {
    let parts = parts.to_vec();
    let forward_parts = parts.clone();
    tape.op(
        "loss.total",
        1,
        |values, out| {
            out[0] = forward_parts.iter().map(|&(var, weight)| T::of(weight) * values.of(var)[0]).sum();
        },
        move |step, (), gradients| {
            for (var, weight) in parts {
                gradients.add(var, |sum| sum[0] += T::of(weight) * step.gradient[0]);
            }
        },
    )
}
