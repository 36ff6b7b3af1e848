//! The logarithm of the hyperbolic cosine: squared error near 0, absolute error far away.

use knockout_engine::kernel::Real;

/// How the values of the rows become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean over rows with a target.
    Mean,
    /// Their sum.
    Sum,
}

/// log cosh x = |x| + log(1 + e^(−2|x|)) − log 2, which overflows nowhere.
fn value(x: f64) -> f64 {
    x.abs() + libm::log1p(libm::exp(-2.0 * x.abs())) - std::f64::consts::LN_2
}

/// The mean or sum over rows of log cosh(prediction − target):
///
/// ```text
/// L = 1/n Σ log cosh(p_i − y_i)        dL/dp_i = tanh(p_i − y_i) / n
/// ```
///
/// n counts the rows whose target is not NaN; without any the loss is 0.
///
/// # Panics
///
/// If the slices differ in length.
pub fn log_cosh<T: Real>(predictions: &[T], targets: &[T], reduction: Reduction, gradient: &mut [T]) -> T {
    assert_eq!(predictions.len(), targets.len(), "one target per prediction");
    assert_eq!(predictions.len(), gradient.len(), "one gradient per prediction");
    let rows = targets.iter().filter(|target| !target.is_nan()).count();
    let scale = match reduction {
        Reduction::Mean => 1.0 / rows.max(1) as f64,
        Reduction::Sum => 1.0,
    };
    let mut sum = 0.0;
    for ((&prediction, &target), gradient) in predictions.iter().zip(targets).zip(gradient) {
        *gradient = T::ZERO;
        if !target.is_nan() {
            let difference = prediction.to_f64() - target.to_f64();
            sum += value(difference);
            *gradient = T::of(libm::tanh(difference) * scale);
        }
    }
    T::of(sum * scale)
}

/// log cosh of every row by itself, with its derivative; both 0 where the target is NaN.
///
/// # Panics
///
/// If the slices differ in length.
pub fn log_cosh_each<T: Real>(predictions: &[T], targets: &[T], values: &mut [T], gradient: &mut [T]) {
    assert_eq!(predictions.len(), values.len(), "one value per prediction");
    log_cosh(predictions, targets, Reduction::Sum, gradient);
    for ((&prediction, &target), out) in predictions.iter().zip(targets).zip(values) {
        *out = if target.is_nan() { T::ZERO } else { T::of(value(prediction.to_f64() - target.to_f64())) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_differences_stay_finite() {
        let mut gradient = [0.0_f32; 3];
        let loss = log_cosh(&[1e30_f32, -1e30, 0.0], &[0.0, 0.0, 0.0], Reduction::Mean, &mut gradient);
        assert!(loss.is_finite());
        assert_eq!(gradient, [1.0 / 3.0, -1.0 / 3.0, 0.0]);
    }

    #[test]
    fn rows_without_a_target_do_not_count() {
        let mut gradient = [9.0; 3];
        let some = log_cosh(&[1.0, 5.0, 2.0], &[0.0, f64::NAN, 0.0], Reduction::Mean, &mut gradient);
        let mut without = [9.0; 2];
        assert_eq!(some, log_cosh(&[1.0, 2.0], &[0.0, 0.0], Reduction::Mean, &mut without));
        assert_eq!([gradient[0], gradient[2]], without);
        assert_eq!(gradient[1], 0.0);
        let none = log_cosh(&[1.0, 2.0], &[f64::NAN; 2], Reduction::Mean, &mut without);
        assert_eq!((none, without), (0.0, [0.0; 2]));
        assert_eq!(log_cosh::<f64>(&[], &[], Reduction::Mean, &mut []), 0.0);
    }

    #[test]
    fn a_prediction_that_is_not_a_number_is_not_hidden() {
        assert!(log_cosh(&[f64::NAN], &[0.0], Reduction::Mean, &mut [0.0]).is_nan());
    }
}
