//! The loss of predicted interaction scores.

use crate::loss::{Reduction, log_cosh};
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;

/// `mean over b of log cosh(prediction_b − target_b)`: one value. See [`log_cosh`].
pub fn interaction_loss<'a, T: Real>(tape: &mut Tape<'a, T>, predictions: Var, targets: &'a [T]) -> Var {
    tape.op(
        "loss.interaction",
        1,
        |values, out| {
            let mut gradient = values.pool().scratch(targets.len());
            out[0] = log_cosh(values.of(predictions), targets, Reduction::Mean, &mut gradient);
            gradient
        },
        move |step, gradient, gradients| {
            gradients.add(predictions, |sum| super::add_scaled(sum, step.gradient[0], &gradient));
        },
    )
}
