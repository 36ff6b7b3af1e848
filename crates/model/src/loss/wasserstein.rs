//! How far the distribution of the predictions is from that of the targets.
//!
//! Two forms in one dimension: the debiased Sinkhorn divergence that the reference trains with, and the exact distance
//! it approaches as the blur goes to 0.

use knockout_kernel::Real;
use serde::{Deserialize, Serialize};

/// The smallest temperature is the square of this.
const BLUR: f64 = 0.05;
/// The temperature's root shrinks by this from one iteration to the next.
const SCALING: f64 = 0.9;
/// A term below e^−45 of the largest cannot be seen in an `f64` sum of any number of rows we meet.
const NEGLIGIBLE: f64 = -45.0;

/// Which distance between two distributions.
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

/// The debiased Sinkhorn divergence between n predictions x and m targets y, uniform weights, cost C(a, b) = (a−b)²/2,
/// blur 0.05, as geomloss computes it (p 2, scaling 0.9).
///
/// With `S_ε(C, h)_i = −ε log Σ_j exp(h_j − C_ij/ε)`, a = −ln n, b = −ln m and ε falling from the squared diameter to the
/// squared blur:
///
/// ```text
/// start            f = S(C_xy, b), g = S(C_yx, a), p = S(C_xx, a), q = S(C_yy, b)
/// every ε          f ← (f + S(C_xy, b + g/ε))/2, g ← (g + S(C_yx, a + f/ε))/2, p ← (p + S(C_xx, a + p/ε))/2, q alike
/// last ε again     the same without averaging
/// value            mean(f − p) + mean(g − q)
/// gradient_i       ( Σ_j π_ij (x_i − y_j) − Σ_j ρ_ij (x_i − x_j) ) / n
/// ```
///
/// where π and ρ are the row-softmax of `b + g/ε − C_xy/ε` and `a + p/ε − C_xx/ε` with the g and p that enter the last line:
/// they are constants for the gradient. If all numbers are equal, value and gradient are 0.
///
/// `gradient` may be shorter than `predictions`: it is then that of the first rows.
///
/// # Panics
///
/// If the gradient is longer than the predictions, or one side is empty and the other is not.
pub fn sinkhorn<T: Real>(predictions: &[T], targets: &[T], gradient: &mut [T]) -> T {
    assert!(gradient.len() <= predictions.len(), "a gradient of rows that are there");
    assert_eq!(predictions.is_empty(), targets.is_empty(), "both sides have rows");
    gradient.fill(T::ZERO);
    let x: Vec<f64> = predictions.iter().map(|x| x.to_f64()).collect();
    let y: Vec<f64> = targets.iter().map(|y| y.to_f64()).collect();
    if !x.iter().chain(&y).all(|value| value.is_finite()) {
        // Not a distance: the caller's check of the loss finds it.
        return T::of(f64::NAN);
    }
    let steps = temperatures(&x, &y);
    let Some(&last) = steps.last() else { return T::ZERO };

    let mut potentials = Potentials::start(&x, &y, steps[0]);
    for &epsilon in &steps {
        potentials.halve_towards(&x, &y, epsilon);
    }
    let end = potentials.next(&x, &y, last);
    for (i, gradient) in gradient.iter_mut().enumerate() {
        let towards_targets = mean_distance(x[i], &y, &potentials.g, last);
        let towards_others = mean_distance(x[i], &x, &potentials.p, last);
        *gradient = T::of((towards_targets - towards_others) / x.len() as f64);
    }
    T::of(mean_difference(&end.f, &end.p) + mean_difference(&end.g, &end.q))
}

/// D², then the falling temperatures, then the squared blur; none where all values are equal.
fn temperatures(x: &[f64], y: &[f64]) -> Vec<f64> {
    let (low, high) = x
        .iter()
        .chain(y)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
    let diameter = high - low;
    if diameter.is_nan() || diameter <= 0.0 {
        return Vec::new();
    }
    let (first, step) = (2.0 * libm::log(diameter), 2.0 * libm::log(SCALING));
    // As many as `numpy.arange` has.
    let count = ((2.0 * libm::log(BLUR) - first) / step).ceil().max(0.0) as usize;
    let falling = (0..count).map(|i| libm::exp(first + step * i as f64));
    std::iter::once(diameter * diameter).chain(falling).chain([BLUR * BLUR]).collect()
}

/// The dual potentials: f, g of the transport, p, q of either side to itself.
struct Potentials {
    f: Vec<f64>,
    g: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Potentials {
    fn start(x: &[f64], y: &[f64], epsilon: f64) -> Self {
        let zero = Self {
            f: vec![0.0; x.len()],
            g: vec![0.0; y.len()],
            p: vec![0.0; x.len()],
            q: vec![0.0; y.len()],
        };
        zero.next(x, y, epsilon)
    }

    /// One simultaneous update.
    fn next(&self, x: &[f64], y: &[f64], epsilon: f64) -> Self {
        Self {
            f: soft_minimum(x, y, &self.g, epsilon),
            g: soft_minimum(y, x, &self.f, epsilon),
            p: soft_minimum(x, x, &self.p, epsilon),
            q: soft_minimum(y, y, &self.q, epsilon),
        }
    }

    fn halve_towards(&mut self, x: &[f64], y: &[f64], epsilon: f64) {
        let next = self.next(x, y, epsilon);
        for (mine, next) in
            [(&mut self.f, next.f), (&mut self.g, next.g), (&mut self.p, next.p), (&mut self.q, next.q)]
        {
            for (mine, next) in mine.iter_mut().zip(next) {
                *mine = f64::midpoint(*mine, next);
            }
        }
    }
}

/// `S_ε(C, −ln m + potential/ε)` at every place of `from`.
fn soft_minimum(from: &[f64], to: &[f64], potential: &[f64], epsilon: f64) -> Vec<f64> {
    let uniform = libm::log(to.len() as f64);
    let mut exponents = vec![0.0; to.len()];
    from.iter()
        .map(|&place| {
            let largest = fill_exponents(&mut exponents, place, to, potential, epsilon);
            let sum: f64 = exponents.iter().map(|&exponent| relative(exponent - largest)).sum();
            -epsilon * (libm::log(sum) + largest - uniform)
        })
        .collect()
}

/// The mean of place − to under the weights softmax((potential − C)/ε).
fn mean_distance(place: f64, to: &[f64], potential: &[f64], epsilon: f64) -> f64 {
    let mut exponents = vec![0.0; to.len()];
    let largest = fill_exponents(&mut exponents, place, to, potential, epsilon);
    let (mut mass, mut moment) = (0.0, 0.0);
    for (&exponent, &to) in exponents.iter().zip(to) {
        let weight = relative(exponent - largest);
        mass += weight;
        moment += weight * (place - to);
    }
    moment / mass
}

/// (potential − C)/ε, and the largest of them.
fn fill_exponents(out: &mut [f64], place: f64, to: &[f64], potential: &[f64], epsilon: f64) -> f64 {
    let mut largest = f64::NEG_INFINITY;
    for ((out, &to), &potential) in out.iter_mut().zip(to).zip(potential) {
        *out = (potential - 0.5 * (place - to) * (place - to)) / epsilon;
        largest = largest.max(*out);
    }
    largest
}

/// exp, without the work where it cannot matter: at low temperatures that is nearly everywhere.
fn relative(exponent: f64) -> f64 {
    if exponent < NEGLIGIBLE { 0.0 } else { libm::exp(exponent) }
}

fn mean_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a - b).sum::<f64>() / a.len() as f64
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

fn in_order<T: Real>(values: &[T]) -> Vec<(usize, f64)> {
    let mut rows: Vec<(usize, f64)> = values.iter().map(|value| value.to_f64()).enumerate().collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows
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
    fn a_number_that_is_none_makes_the_value_none() {
        for bad in [f64::NAN, f64::INFINITY] {
            for transport in [Transport::Sinkhorn, Transport::Exact] {
                assert!(!transport.of(&[bad, 1.0], &[0.0, 1.0], &mut [0.0; 2]).is_finite());
            }
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_last_line_with_its_potentials_held() {
        let x = [0.3, -1.2, 0.31, 0.9, 2.0];
        let y = [0.1, -0.4, 1.5, 0.2];
        let steps = temperatures(&x, &y);
        let mut held = Potentials::start(&x, &y, steps[0]);
        for &epsilon in &steps {
            held.halve_towards(&x, &y, epsilon);
        }
        let last = BLUR * BLUR;
        let value = |places: &[f64]| {
            mean_difference(
                &soft_minimum(places, &y, &held.g, last),
                &soft_minimum(places, &x, &held.p, last),
            )
        };
        let mut gradient = [0.0; 5];
        sinkhorn(&x, &y, &mut gradient);
        for (i, gradient) in gradient.into_iter().enumerate() {
            let (mut up, mut down) = (x, x);
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let slope = (value(&up) - value(&down)) / 2e-6;
            assert!((gradient - slope).abs() <= 1e-7 + 1e-6 * slope.abs(), "{i}: {gradient} {slope}");
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
