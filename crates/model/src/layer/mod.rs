//! Layers: one operation on the tape each, with its equation and its backward. They know rows and sets, not models.

mod combine;
mod gather;
mod interaction;
mod linear;
mod meta;
mod reconstruction;
mod sage;
mod set_attention;
mod set_score;

pub use combine::weighted_sum;
pub use gather::gather;
pub use interaction::interaction_loss;
pub use linear::Linear;
pub use meta::MetaEmbedding;
pub use reconstruction::Reconstruction;
pub use sage::Sage;
pub use set_attention::SetAttention;
pub use set_score::{SetScorer, SetScores, Sets};

use knockout_kernel::{Layout, Real, Term};

/// A layer's way forward: `x Wᵀ`, `weight: [out, in]`.
fn forward_term<'a, T>(rows: &'a [T], depth: usize, weight: &'a [T]) -> Term<'a, T> {
    Term { rows, depth, weight, layout: Layout::OutIn }
}

/// Its way back: `dy W`, with the same weight; `depth` is the layer's output width.
fn backward_term<'a, T>(gradient: &'a [T], depth: usize, weight: &'a [T]) -> Term<'a, T> {
    Term { rows: gradient, depth, weight, layout: Layout::InOut }
}

/// `to += from`.
fn add_to<T: Real>(to: &mut [T], from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// `to += factor · from`.
fn add_scaled<T: Real>(to: &mut [T], factor: T, from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Eight sums side by side: one alone would have every addition wait for the one before.
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
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
fn softmax<T: Real>(scores: &mut [T]) {
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
fn softmax_backward<T: Real>(weights: &[T], gradient: &mut [T]) {
    let mean = dot(weights, gradient);
    for (gradient, &weight) in gradient.iter_mut().zip(weights) {
        *gradient = weight * (*gradient - mean);
    }
}

#[cfg(test)]
mod tests;
