//! Squared error over several dimensions, some of whose targets are missing.

use knockout_engine::kernel::Real;

/// The weighted mean over dimensions of the mean squared error over rows with a target:
///
/// ```text
/// L_d = 1/n_d Σ_{i: y_id not NaN} (p_id − y_id)²        L = Σ w_d L_d / Σ w_d   over d with n_d > 0
/// dL/dp_id = w_d / Σ w · 2 (p_id − y_id) / n_d          0 where the target is NaN
/// ```
///
/// `predictions`, `targets` and `gradient` are `[rows, dimensions]`, `weights` is `[dimensions]`. Beside the total comes
/// each dimension's own value, `None` where it has no target. The total is 0 if no dimension with a weight has one.
///
/// # Panics
///
/// If the lengths do not fit.
pub fn weighted_mse<T: Real>(
    predictions: &[T],
    targets: &[T],
    weights: &[f64],
    gradient: &mut [T],
) -> (T, Vec<Option<T>>) {
    let dimensions = weights.len();
    assert!(dimensions > 0 && predictions.len().is_multiple_of(dimensions), "whole rows");
    assert_eq!(predictions.len(), targets.len(), "one target per prediction");
    assert_eq!(predictions.len(), gradient.len(), "one gradient per prediction");
    let (mut sums, mut counts) = (vec![0.0; dimensions], vec![0_usize; dimensions]);
    for (at, (&prediction, &target)) in predictions.iter().zip(targets).enumerate() {
        if !target.is_nan() {
            let difference = prediction.to_f64() - target.to_f64();
            sums[at % dimensions] += difference * difference;
            counts[at % dimensions] += 1;
        }
    }
    let live: f64 =
        weights.iter().zip(&counts).filter(|&(_, &count)| count > 0).map(|(&weight, _)| weight).sum();
    let share = |d: usize| if counts[d] > 0 && live > 0.0 { weights[d] / live } else { 0.0 };
    for (at, (&prediction, &target)) in predictions.iter().zip(targets).enumerate() {
        let d = at % dimensions;
        gradient[at] = if target.is_nan() {
            T::ZERO
        } else {
            T::of(share(d) * 2.0 * (prediction.to_f64() - target.to_f64()) / counts[d] as f64)
        };
    }
    let mean = |d: usize| (counts[d] > 0).then(|| sums[d] / counts[d] as f64);
    let total: f64 =
        (0..dimensions).filter(|&d| share(d) > 0.0).filter_map(|d| Some(share(d) * mean(d)?)).sum();
    (T::of(total), (0..dimensions).map(|d| mean(d).map(T::of)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_without_targets_takes_no_weight() {
        let mut gradient = [9.0; 4];
        let (total, per) = weighted_mse(
            &[1.0, 5.0, 3.0, 6.0],
            &[0.0, f64::NAN, 1.0, f64::NAN],
            &[0.25, 0.75],
            &mut gradient,
        );
        assert_eq!((total, per), (2.5, vec![Some(2.5), None]));
        assert_eq!(gradient, [1.0, 0.0, 2.0, 0.0]);
    }

    #[test]
    fn without_any_target_the_loss_is_zero() {
        let mut gradient = [9.0; 2];
        let (total, per) = weighted_mse(&[1.0, 2.0], &[f64::NAN; 2], &[1.0], &mut gradient);
        assert_eq!((total, per, gradient), (0.0, vec![None], [0.0; 2]));
        assert_eq!(weighted_mse::<f64>(&[], &[], &[1.0], &mut []), (0.0, vec![None]));
        // All weight on a dimension that has no target.
        let (total, _) = weighted_mse(&[1.0, 2.0], &[f64::NAN, 0.0], &[1.0, 0.0], &mut gradient);
        assert_eq!((total, gradient), (0.0, [0.0; 2]));
    }
}
