//! Means, sums and correlations of whole vectors, in 64 bits. A correlation that is not defined is `None`.

use crate::stats::average_ranks;

/// Returns the Pearson correlation of two vectors without NaN; `None` with fewer than two elements or where either is constant
/// (all elements equal; there is no threshold).
///
/// # Panics
///
/// If the lengths differ.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "a correlation needs pairs");
    if a.len() < 2 || is_constant(a) || is_constant(b) {
        return None;
    }
    let (a, b) = (Deviations::of(a), Deviations::of(b));
    let products: Vec<f64> = a.values.iter().zip(&b.values).map(|(x, y)| x * y).collect();
    // A product of roots, not the root of a product, which would overflow or vanish sooner.
    let r = sum(&products) / (a.sum_of_squares.sqrt() * b.sum_of_squares.sqrt());
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// Returns the Spearman correlation: Pearson of the average ranks, where 0 and −0 tie.
///
/// # Panics
///
/// If the lengths differ.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "a correlation needs pairs");
    pearson(&average_ranks(a), &average_ranks(b))
}

/// Returns the rows that have a target (not NaN), widened to 64 bits: predictions, then targets.
///
/// # Panics
///
/// If the lengths differ.
pub fn rows_with_target<P, T>(predictions: &[P], targets: &[T]) -> (Vec<f64>, Vec<f64>)
where
    P: Copy + Into<f64>,
    T: Copy + Into<f64>,
{
    assert_eq!(predictions.len(), targets.len(), "every target has a prediction");
    let rows = predictions.iter().zip(targets).map(|(&p, &y)| (p.into(), y.into()));
    rows.filter(|(_, y): &(f64, f64)| !y.is_nan()).unzip()
}

/// Whether all values are equal; there is no threshold.
pub fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// Sums in blocks: the rounding error grows with the number of blocks, not of values.
pub fn sum(values: &[f64]) -> f64 {
    values.chunks(256).map(|block| block.iter().sum::<f64>()).sum()
}

/// Returns the mean, corrected by the mean of the residuals so that vectors far from 0 keep their digits.
pub fn mean(values: &[f64]) -> f64 {
    let first = sum(values) / values.len() as f64;
    let residuals: Vec<f64> = values.iter().map(|value| value - first).collect();
    first + sum(&residuals) / values.len() as f64
}

/// Returns Σ(x − x̄)².
pub fn sum_of_squared_deviations(values: &[f64]) -> f64 {
    Deviations::of(values).sum_of_squares
}

/// Values minus their mean.
struct Deviations {
    values: Vec<f64>,
    sum_of_squares: f64,
}

impl Deviations {
    fn of(values: &[f64]) -> Self {
        let mean = mean(values);
        let values: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
        Self { sum_of_squares: sum(&squares), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vectors() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((-10.0..10.0, -10.0..10.0), 3..80).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn pearson_ignores_scale_and_origin_and_is_symmetric(
            (a, b) in vectors(), scale in 0.01..100.0, origin in -1e3..1e3,
        ) {
            let r = pearson(&a, &b).unwrap();
            prop_assert!((-1.0..=1.0).contains(&r));
            prop_assert_eq!(pearson(&b, &a), Some(r));
            let moved: Vec<f64> = a.iter().map(|x| scale * x + origin).collect();
            prop_assert!((pearson(&moved, &b).unwrap() - r).abs() < 1e-8);
            let turned: Vec<f64> = a.iter().map(|x| -x).collect();
            prop_assert!((pearson(&turned, &b).unwrap() + r).abs() < 1e-12);
        }

        #[test]
        fn spearman_sees_order_alone((a, b) in vectors()) {
            let bent: Vec<f64> = a.iter().map(|x: &f64| x.powi(3) + x).collect();
            prop_assert_eq!(spearman(&a, &b), spearman(&bent, &b));
        }
    }
}
