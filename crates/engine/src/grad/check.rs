//! Gradients against central differences.

use crate::grad::{Gradients, Parameters, Tape, Var};

/// The gradient with the largest deviation from a central difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Name of the parameter.
    pub parameter: String,
    /// Index of the value in it.
    pub index: usize,
    /// Derivative by the backward pass.
    pub backward: f64,
    /// Derivative by central differences.
    pub difference: f64,
    /// Distance in units of the tolerance; above 1 is wrong.
    pub tolerances: f64,
}

const STEP: f64 = 1e-6;
const ABSOLUTE: f64 = 1e-5;
const RELATIVE: f64 = 1e-3;

/// Compares every gradient (of each parameter, up to `most` values spread over it) with central differences of the loss, and
/// two backward passes with each other. `evaluate` returns the loss and adds to the gradients it is given, as [`evaluate_loss`] does.
///
/// # Panics
///
/// If two backward passes differ in a bit: the caller is a test.
pub fn gradient_check(
    parameters: &mut Parameters<f64>,
    most: usize,
    evaluate: impl Fn(&Parameters<f64>, Option<&mut Gradients<f64>>) -> f64,
) -> Mismatch {
    let backward = |parameters: &Parameters<f64>| {
        let mut gradients = Gradients::zeros(parameters);
        evaluate(parameters, Some(&mut gradients));
        gradients
    };
    let (gradients, again) = (backward(parameters), backward(parameters));
    let mut worst =
        Mismatch { parameter: String::new(), index: 0, backward: 0.0, difference: 0.0, tolerances: 0.0 };
    for at in 0..parameters.len() {
        assert_eq!(gradients.parameter(at), again.parameter(at), "two backward passes differ");
        let count = parameters.get(at).values().len();
        for index in (0..count).step_by(count.div_ceil(most.max(1)).max(1)) {
            let value = parameters.get(at).values()[index];
            let mut loss_at = |moved: f64| {
                parameters.values_mut(at)[index] = moved;
                evaluate(parameters, None)
            };
            let difference = (loss_at(value + STEP) - loss_at(value - STEP)) / (2.0 * STEP);
            parameters.values_mut(at)[index] = value;
            let backward = gradients.parameter(at)[index];
            let tolerances = (backward - difference).abs() / (ABSOLUTE + RELATIVE * difference.abs());
            if tolerances > worst.tolerances {
                let parameter = parameters.get(at).name().to_owned();
                worst = Mismatch { parameter, index, backward, difference, tolerances };
            }
        }
    }
    worst
}

/// Returns the value of a loss, after a backward pass where gradients are given.
pub fn evaluate_loss(tape: Tape<'_, f64>, loss: Var, gradients: Option<&mut Gradients<f64>>) -> f64 {
    let value = tape.scalar(loss);
    if let Some(gradients) = gradients {
        tape.backward(loss, gradients);
    }
    value
}
