//! Gradients against their definition.

use crate::{Gradients, Parameters};

/// The worst gradient that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The parameter.
    pub parameter: String,
    /// The place in it.
    pub index: usize,
    /// What the backward pass gave.
    pub backward: f64,
    /// What differences of the loss gave.
    pub difference: f64,
    /// The distance in tolerances; above 1 is wrong.
    pub tolerances: f64,
}

const STEP: f64 = 1e-6;
const ABSOLUTE: f64 = 1e-5;
const RELATIVE: f64 = 1e-3;

/// Compares every gradient (of each parameter, up to `most` values spread over it) with central differences of the loss, and
/// two backward passes with each other. `evaluate` gives the loss and, where it is handed gradients, adds to them.
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
    for place in 0..parameters.len() {
        assert_eq!(gradients.parameter(place), again.parameter(place), "two backward passes differ");
        let count = parameters.get(place).values().len();
        for index in (0..count).step_by(count.div_ceil(most.max(1)).max(1)) {
            let value = parameters.get(place).values()[index];
            let mut at = |moved: f64| {
                parameters.values_mut(place)[index] = moved;
                evaluate(parameters, None)
            };
            let difference = (at(value + STEP) - at(value - STEP)) / (2.0 * STEP);
            parameters.values_mut(place)[index] = value;
            let backward = gradients.parameter(place)[index];
            let tolerances = (backward - difference).abs() / (ABSOLUTE + RELATIVE * difference.abs());
            if tolerances > worst.tolerances {
                let parameter = parameters.get(place).name().to_owned();
                worst = Mismatch { parameter, index, backward, difference, tolerances };
            }
        }
    }
    worst
}
