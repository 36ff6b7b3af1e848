//! Losses of single rows as operations on the tape.

use super::log_cosh::{Reduction, log_cosh};
use super::weighted_mse::weighted_mse;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;
use knockout_engine::kernel::slices::add_scaled;

/// Records `mean over b of log cosh(prediction_b − target_b)`: one value. See [`log_cosh`].
pub fn interaction_loss<'a, T: Real>(tape: &mut Tape<'a, T>, predictions: Var, targets: &'a [T]) -> Var {
    record(tape, "loss.interaction", predictions, |predictions, gradient| {
        log_cosh(predictions, targets, Reduction::Mean, gradient)
    })
}

/// Records `mean over b of (prediction_b − target_b)²`: one value. See [`weighted_mse`].
pub fn mean_squared_error<'a, T: Real>(tape: &mut Tape<'a, T>, predictions: Var, targets: &'a [T]) -> Var {
    record(tape, "loss.mse", predictions, |predictions, gradient| {
        weighted_mse(predictions, targets, &[1.0], gradient).0
    })
}

/// Records a loss that `evaluate` computes from predictions, with its gradient.
fn record<T: Real>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    predictions: Var,
    evaluate: impl FnOnce(&[T], &mut [T]) -> T,
) -> Var {
    tape.op(
        name,
        1,
        |values, out| {
            let predicted = values.of(predictions);
            let mut gradient = values.pool().scratch(predicted.len());
            out[0] = evaluate(predicted, &mut gradient);
            gradient
        },
        move |step, gradient, gradients| {
            gradients.add(predictions, |sum| add_scaled(sum, step.gradient[0], &gradient));
        },
    )
}
