//! Distance between the distributions of predictions and targets.
//!
//! Two forms in one dimension: the debiased Sinkhorn divergence that the reference trains with, and the exact distance
//! it approaches as the blur goes to 0.

use super::sinkhorn::{in_order, sinkhorn};
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// Distance between two distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// [`sinkhorn`].
    #[default]
    Sinkhorn,
    /// [`exact_transport`].
    Exact,
}

impl Transport {
    fn of<T: Real>(self, predictions: &[T], targets: &[T], gradient: &mut [T]) -> T {
        match self {
            Self::Sinkhorn => sinkhorn(predictions, targets, gradient),
            Self::Exact => exact_transport(predictions, targets, gradient),
        }
    }
}

/// The distance in every dimension, over the rows that have a target there.
///
/// `predictions` and `targets` are `[rows, dimensions]`; a dimension with fewer than two targets has none (`None`).
/// `weights` gives the weight of each; `None` means the mean over dimensions that have a value:
///
/// ```text
/// L = Σ_d w_d L_d        or        L = mean over d of L_d
/// ```
///
/// `gradient` may be shorter than `predictions`: it is then that of the first rows, and the others are constants.
///
/// # Panics
///
/// If the lengths do not fit.
pub fn wasserstein<T: Real>(
    transport: Transport,
    (predictions, targets): (&[T], &[T]),
    dimensions: usize,
    weights: Option<&[f64]>,
    gradient: &mut [T],
) -> (T, Vec<Option<T>>) {
    assert_eq!(predictions.len(), targets.len(), "one target per prediction");
    assert!(dimensions > 0 && predictions.len().is_multiple_of(dimensions), "whole rows");
    assert!(weights.is_none_or(|weights| weights.len() == dimensions), "one weight per dimension");
    gradient.fill(T::ZERO);
    let mut per = Vec::with_capacity(dimensions);
    for d in 0..dimensions {
        let at: Vec<usize> =
            (d..targets.len()).step_by(dimensions).filter(|&at| !targets[at].is_nan()).collect();
        if at.len() < 2 {
            per.push(None);
            continue;
        }
        let x: Vec<T> = at.iter().map(|&at| predictions[at]).collect();
        let y: Vec<T> = at.iter().map(|&at| targets[at]).collect();
        let mut slope = vec![T::ZERO; at.iter().filter(|&&at| at < gradient.len()).count()];
        per.push(Some(transport.of(&x, &y, &mut slope)));
        for (&at, slope) in at.iter().zip(slope) {
            gradient[at] = slope;
        }
    }
    let live = per.iter().flatten().count().max(1) as f64;
    let weight = |d: usize| weights.map_or(1.0 / live, |weights| weights[d]);
    for (at, gradient) in gradient.iter_mut().enumerate() {
        *gradient = T::of(gradient.to_f64() * weight(at % dimensions));
    }
    let total: f64 =
        per.iter().enumerate().filter_map(|(d, value)| Some(weight(d) * (*value)?.to_f64())).sum();
    (T::of(total), per)
}

/// Half the squared 2-Wasserstein distance of n predictions and m targets, exactly, in O(n log n + m log m):
///
/// ```text
/// L = ½ ∫₀¹ (F_x⁻¹(u) − F_y⁻¹(u))² du        dL/dx_i = ∫ over the quantiles of x_i of (x_i − F_y⁻¹(u)) du
/// ```
///
/// For n = m it is half the mean squared difference of the sorted samples. Equal predictions are taken in row order, so
/// that a collapsed model is pulled apart.
///
/// `gradient` may be shorter than `predictions`: it is then that of the first rows.
///
/// # Panics
///
/// If the gradient is longer than the predictions, or one side is empty and the other is not.
pub fn exact_transport<T: Real>(predictions: &[T], targets: &[T], gradient: &mut [T]) -> T {
    assert!(gradient.len() <= predictions.len(), "a gradient of rows that are there");
    assert_eq!(predictions.is_empty(), targets.is_empty(), "both sides have rows");
    gradient.fill(T::ZERO);
    let (x, y) = (in_order(predictions), in_order(targets));
    let (n, m) = (x.len() as u64, y.len() as u64);
    // Mass in units of 1/(n m): a prediction has m of them, a target n.
    let unit = 1.0 / (n.max(1) * m.max(1)) as f64;
    let (mut i, mut j, mut left_i, mut left_j) = (0, 0, m, n);
    let (mut total, mut slope) = (0.0, 0.0);
    while i < x.len() && j < y.len() {
        let moved = left_i.min(left_j);
        let difference = x[i].1 - y[j].1;
        total += moved as f64 * unit * difference * difference;
        slope += moved as f64 * unit * difference;
        left_i -= moved;
        left_j -= moved;
        if left_i == 0 {
            if let Some(gradient) = gradient.get_mut(x[i].0) {
                *gradient = T::of(slope);
            }
            (i, left_i, slope) = (i + 1, m, 0.0);
        }
        if left_j == 0 {
            (j, left_j) = (j + 1, n);
        }
    }
    T::of(0.5 * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_at_distance_zero() {
        for transport in [Transport::Sinkhorn, Transport::Exact] {
            let mut gradient = [9.0; 3];
            assert_eq!(transport.of(&[2.0; 3], &[2.0; 5], &mut gradient), 0.0);
            assert_eq!(gradient, [0.0; 3]);
            assert_eq!(transport.of::<f64>(&[], &[], &mut []), 0.0);
        }
    }

    #[test]
    fn huge_differences_stay_finite() {
        for transport in [Transport::Sinkhorn, Transport::Exact] {
            let mut gradient = [0.0_f32; 2];
            let value = transport.of(&[1e6_f32, -1e6], &[0.0, 1.0], &mut gradient);
            assert!((value / 5e11 - 1.0).abs() < 1e-3, "{value}");
            assert!(
                (gradient[0] / 5e5 - 1.0).abs() < 1e-3 && (gradient[1] / -5e5 - 1.0).abs() < 1e-3,
                "{gradient:?}"
            );
        }
    }

    #[test]
    fn a_value_that_is_not_finite_makes_the_distance_not_finite() {
        for bad in [f64::NAN, f64::INFINITY] {
            for transport in [Transport::Sinkhorn, Transport::Exact] {
                assert!(!transport.of(&[bad, 1.0], &[0.0, 1.0], &mut [0.0; 2]).is_finite());
            }
        }
    }

    #[test]
    fn one_prediction_against_many_targets() {
        let mut gradient = [0.0];
        let value = exact_transport(&[1.0], &[0.0, 3.0], &mut gradient);
        assert_eq!((value, gradient), (1.25, [-0.5]));
    }

    #[test]
    fn dimensions_without_two_targets_are_left_out() {
        let mut gradient = [9.0; 4];
        let rows = (&[1.0, 5.0, 3.0, 6.0][..], &[0.0, f64::NAN, 1.0, 7.0][..]);
        let (total, per) = wasserstein(Transport::Exact, rows, 2, None, &mut gradient);
        assert_eq!((total, per), (1.25, vec![Some(1.25), None]));
        assert_eq!(gradient, [0.5, 0.0, 1.0, 0.0]);
        let rows = (&[1.0, 5.0][..], &[f64::NAN; 2][..]);
        assert_eq!(wasserstein(Transport::Exact, rows, 1, None, &mut gradient[..2]).0, 0.0);
    }
}
