//! The debiased Sinkhorn divergence in one dimension.
//!
//! Both sides are sorted, so that distant points are contiguous and skipped at low temperatures, and the two updates of a pair
//! of potentials share one pass over the matrix of exponentials.

use super::exponential::exp_8;
use knockout_engine::kernel::Real;

/// The smallest temperature is the square of this.
const BLUR: f64 = 0.05;
/// The temperature's root shrinks by this from one iteration to the next.
const SCALING: f64 = 0.9;
/// A term below e^−45 is negligible in a sum of at least [`ENOUGH`].
const NEGLIGIBLE: f64 = -45.0;
/// A sum below this is taken again relative to its largest term.
const ENOUGH: f64 = 0.01;
/// Terms that are handled at once.
const LANES: usize = 8;

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
    if !predictions.iter().chain(targets).all(|value| value.is_finite()) {
        // Not a distance: the caller's check of the loss finds it.
        return T::of(f64::NAN);
    }
    let rows = in_order(predictions);
    let x: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let y: Vec<f64> = in_order(targets).iter().map(|row| row.1).collect();
    let steps = temperatures(&x, &y);
    let Some(&last) = steps.last() else { return T::ZERO };

    let mut potentials = Potentials::start(&x, &y, steps[0]);
    for &epsilon in &steps {
        potentials.halve_towards(&x, &y, epsilon);
    }
    let end = potentials.next(&x, &y, last);
    for &(row, point) in &rows {
        if let Some(gradient) = gradient.get_mut(row) {
            let towards_targets = mean_distance(point, &y, &potentials.g, last);
            let towards_others = mean_distance(point, &x, &potentials.p, last);
            *gradient = T::of((towards_targets - towards_others) / x.len() as f64);
        }
    }
    T::of(mean_difference(&end.f, &end.p) + mean_difference(&end.g, &end.q))
}

/// D², then the falling temperatures, then the squared blur; none where all values are equal. Both sides are sorted.
fn temperatures(x: &[f64], y: &[f64]) -> Vec<f64> {
    let (Some(low), Some(high)) = (x.first().zip(y.first()), x.last().zip(y.last())) else {
        return Vec::new();
    };
    let diameter = high.0.max(*high.1) - low.0.min(*low.1);
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
        let (f, g) = update_pair((x, &self.f), (y, &self.g), epsilon);
        Self { f, g, p: update_itself(x, &self.p, epsilon), q: update_itself(y, &self.q, epsilon) }
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

/// S(C, b + g/ε) and S(C^T, a + f/ε), from one matrix `M_ij = exp((f_i + g_j − C_ij)/ε)`:
///
/// ```text
/// −ε log (1/m Σ_j exp((g_j − C_ij)/ε)) = f_i − ε log (1/m Σ_j M_ij)
/// ```
///
/// and likewise by columns. After an update at ε no exponent exceeds log max(n, m), since S never does, nor a mean of two; the
/// next temperature is at least 0.81 ε: nothing overflows.
fn update_pair((x, f): (&[f64], &[f64]), (y, g): (&[f64], &[f64]), epsilon: f64) -> (Vec<f64>, Vec<f64>) {
    let mut columns = vec![0.0; y.len()];
    let rows: Vec<f64> =
        x.iter().zip(f).map(|(&x, &f)| add_row((x, f), y, g, epsilon, &mut columns)).collect();
    let updated = |from: (&[f64], &[f64]), to: (&[f64], &[f64]), sums: &[f64]| {
        (0..sums.len()).map(|i| from_sum(sums[i], (from.0[i], from.1[i]), to, epsilon)).collect()
    };
    (updated((x, f), (y, g), &rows), updated((y, g), (x, f), &columns))
}

/// Updates the potential of a side with itself: the matrix is symmetric, so half of it is enough.
fn update_itself(x: &[f64], p: &[f64], epsilon: f64) -> Vec<f64> {
    let mut sums = vec![0.0; x.len()];
    for i in 0..x.len() {
        let (done, rest) = sums.split_at_mut(i + 1);
        let sum = add_row((x[i], p[i]), &x[i + 1..], &p[i + 1..], epsilon, rest);
        done[i] += sum + libm::exp(2.0 * p[i] / epsilon);
    }
    (0..x.len()).map(|i| from_sum(sums[i], (x[i], p[i]), (x, p), epsilon)).collect()
}

/// Adds one row of the matrix to the sums of its columns; gives its own sum.
fn add_row((point, own): (f64, f64), to: &[f64], other: &[f64], epsilon: f64, columns: &mut [f64]) -> f64 {
    let inverse = 1.0 / epsilon;
    let mut sums = [0.0; LANES];
    let whole = to.len() / LANES * LANES;
    let (to_lanes, other_lanes) = (to[..whole].as_chunks::<LANES>().0, other[..whole].as_chunks::<LANES>().0);
    let column_lanes = columns[..whole].as_chunks_mut::<LANES>().0;
    let exponent = |to: f64, other: f64| (own + other - 0.5 * (point - to) * (point - to)) * inverse;
    for ((to, other), columns) in to_lanes.iter().zip(other_lanes).zip(column_lanes) {
        let mut terms = [0.0; LANES];
        let mut seen = false;
        for lane in 0..LANES {
            terms[lane] = exponent(to[lane], other[lane]);
            seen |= terms[lane] > NEGLIGIBLE;
        }
        if seen {
            exp_8(&mut terms);
            for lane in 0..LANES {
                sums[lane] += terms[lane];
                columns[lane] += terms[lane];
            }
        }
    }
    let mut sum: f64 = sums.iter().sum();
    for ((&to, &other), column) in to[whole..].iter().zip(&other[whole..]).zip(&mut columns[whole..]) {
        let term = libm::exp(exponent(to, other));
        sum += term;
        *column += term;
    }
    sum
}

/// The updated potential of a point, from the sum of its row.
fn from_sum(sum: f64, (point, own): (f64, f64), (to, other): (&[f64], &[f64]), epsilon: f64) -> f64 {
    let uniform = libm::log(to.len() as f64);
    if sum >= ENOUGH {
        return own - epsilon * (libm::log(sum) - uniform);
    }
    // The old potential is far below the new one: its row has too few digits.
    let (exponents, largest) = exponents(point, to, other, epsilon);
    let sum: f64 = exponents.iter().map(|exponent| libm::exp(exponent - largest)).sum();
    -epsilon * (libm::log(sum) + largest - uniform)
}

/// The mean of x − y under the weights softmax((potential − C)/ε).
fn mean_distance(point: f64, to: &[f64], potential: &[f64], epsilon: f64) -> f64 {
    let (exponents, largest) = exponents(point, to, potential, epsilon);
    let (mut mass, mut moment) = (0.0, 0.0);
    for (exponent, &to) in exponents.into_iter().zip(to) {
        let weight = libm::exp(exponent - largest);
        mass += weight;
        moment += weight * (point - to);
    }
    moment / mass
}

/// (potential − C)/ε, and the largest of them.
fn exponents(point: f64, to: &[f64], potential: &[f64], epsilon: f64) -> (Vec<f64>, f64) {
    let exponent =
        |(&to, &potential): (&f64, &f64)| (potential - 0.5 * (point - to) * (point - to)) / epsilon;
    let exponents: Vec<f64> = to.iter().zip(potential).map(exponent).collect();
    let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (exponents, largest)
}

fn mean_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a - b).sum::<f64>() / a.len() as f64
}

/// Returns the rows by value, equal ones in row order.
pub(super) fn in_order<T: Real>(values: &[T]) -> Vec<(usize, f64)> {
    let mut rows: Vec<(usize, f64)> = values.iter().map(|value| value.to_f64()).enumerate().collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `S_ε(C, −ln m + potential/ε)` by its definition.
    fn soft_minimum(from: &[f64], to: &[f64], potential: &[f64], epsilon: f64) -> Vec<f64> {
        from.iter().map(|&point| from_sum(0.0, (point, 0.0), (to, potential), epsilon)).collect()
    }

    #[test]
    fn the_gradient_is_that_of_the_last_line_with_its_potentials_held() {
        let x = [-1.2, 0.3, 0.31, 0.9, 2.0];
        let y = [-0.4, 0.1, 0.2, 1.5];
        let steps = temperatures(&x, &y);
        let mut held = Potentials::start(&x, &y, steps[0]);
        for &epsilon in &steps {
            held.halve_towards(&x, &y, epsilon);
        }
        let last = BLUR * BLUR;
        let value = |points: &[f64]| {
            mean_difference(
                &soft_minimum(points, &y, &held.g, last),
                &soft_minimum(points, &x, &held.p, last),
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

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 32, ..proptest::prelude::ProptestConfig::default() })]
        /// The shared pass, the skipping and the lanes change nothing.
        #[test]
        fn every_update_is_that_of_the_definition(
            mut x in proptest::collection::vec(-3.0..3.0, 1..40),
            mut y in proptest::collection::vec(-3.0..30.0, 1..40),
        ) {
            x.sort_by(f64::total_cmp);
            y.sort_by(f64::total_cmp);
            let steps = temperatures(&x, &y);
            let mut potentials = Potentials::start(&x, &y, steps[0]);
            for &epsilon in &steps {
                let next = potentials.next(&x, &y, epsilon);
                for (mine, expected) in [
                    (&next.f, soft_minimum(&x, &y, &potentials.g, epsilon)),
                    (&next.g, soft_minimum(&y, &x, &potentials.f, epsilon)),
                    (&next.p, soft_minimum(&x, &x, &potentials.p, epsilon)),
                    (&next.q, soft_minimum(&y, &y, &potentials.q, epsilon)),
                ] {
                    for (mine, expected) in mine.iter().zip(expected) {
                        // ε times a logarithm: what that rounds by is multiplied by ε.
                        let rounding = 1e-12 * (1.0 + expected.abs()) + 1e-14 * epsilon;
                        let close = (mine - expected).abs() <= rounding;
                        proptest::prop_assert!(close, "{mine} {expected} at {epsilon}");
                    }
                }
                potentials.halve_towards(&x, &y, epsilon);
            }
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (x, y) = ([0.4, -2.0, 1.0, 0.3], [0.0, 3.0, -1.0]);
        let (mut forward, mut backward) = ([0.0; 4], [0.0; 4]);
        let value = sinkhorn(&x, &y, &mut forward);
        let reversed = [0.3, 1.0, -2.0, 0.4];
        assert_eq!(value, sinkhorn(&reversed, &[-1.0, 0.0, 3.0], &mut backward));
        backward.reverse();
        assert_eq!(forward, backward);
    }
}
