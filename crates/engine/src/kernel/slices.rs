//! Level-1 operations on slices, for any float type: axpy, dot product, softmax.

use crate::kernel::Real;

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

/// `Σ a b`, in eight independent accumulators: one alone would make every addition wait for the one before.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [T::ZERO; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let tail: T = a_tail.iter().zip(b_tail).map(|(&a, &b)| a * b).sum();
    sums.into_iter().sum::<T>() + tail
}

/// Softmax, in place.
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

/// Turns the gradient of softmax weights into that of their scores, in place: `w (g − Σ w g)`.
pub fn softmax_backward<T: Real>(weights: &[T], gradient: &mut [T]) {
    let mean = dot(weights, gradient);
    for (gradient, &weight) in gradient.iter_mut().zip(weights) {
        *gradient = weight * (*gradient - mean);
    }
}
