//! Small sums over slices, for any float type: what layers and kernels do to a row.

use crate::Real;

/// `to += from`.
pub fn add_to<T: Real>(to: &mut [T], from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// `to += factor · from`.
pub fn add_scaled<T: Real>(to: &mut [T], factor: T, from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// `Σ a b`. Eight sums side by side: one alone would have every addition wait for the one before.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [T::ZERO; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum();
    sums.into_iter().sum::<T>() + rest
}

/// Turns scores into weights that sum to 1, in place.
pub fn softmax<T: Real>(scores: &mut [T]) {
    let top = scores.iter().copied().fold(T::NEG_INFINITY, T::max);
    let mut sum = T::ZERO;
    for score in scores.iter_mut() {
        *score = (*score - top).exp();
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
}

/// Turns the gradient of weights into the gradient of their scores, in place: `w (g − Σ w g)`.
pub fn softmax_backward<T: Real>(weights: &[T], gradient: &mut [T]) {
    let mean = dot(weights, gradient);
    for (gradient, &weight) in gradient.iter_mut().zip(weights) {
        *gradient = weight * (*gradient - mean);
    }
}
