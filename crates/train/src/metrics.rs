//! How close predictions are to what was measured: over a whole part of a split, in 64 bits.
//!
//! Never averaged over batches: a mean of batch correlations is not the correlation. A figure that is not defined is
//! `None`, so that nobody mistakes a constant prediction for a correlation of 0. The module knows nothing of datasets.

use crate::ranks::average_ranks;
use serde::{Deserialize, Serialize};

/// All figures of one vector of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Rows that were compared: those with a target.
    pub count: usize,
    /// Pearson correlation; undefined with fewer than two rows or where either side is constant.
    pub pearson: Option<f64>,
    /// Pearson correlation of the average ranks; undefined where Pearson is.
    pub spearman: Option<f64>,
    /// 1 − Σ(y − p)² / Σ(y − ȳ)²; undefined with fewer than two rows or constant targets.
    pub r2: Option<f64>,
    /// Mean squared error; undefined without rows.
    pub mse: Option<f64>,
    /// Its root.
    pub rmse: Option<f64>,
    /// Mean absolute error; undefined without rows.
    pub mae: Option<f64>,
}

impl Metrics {
    /// Compares predictions with targets; rows whose target is NaN are left out.
    ///
    /// A prediction that is not finite leaves every figure undefined: none of them would mean anything.
    ///
    /// # Panics
    ///
    /// If there are not as many predictions as targets.
    pub fn of<P, T>(predictions: &[P], targets: &[T]) -> Self
    where
        P: Copy + Into<f64>,
        T: Copy + Into<f64>,
    {
        let (predictions, targets) = measured(predictions, targets);
        let count = targets.len();
        if count == 0 || !predictions.iter().all(|value| value.is_finite()) {
            return Self { count, pearson: None, spearman: None, r2: None, mse: None, rmse: None, mae: None };
        }
        let errors: Vec<f64> = predictions.iter().zip(&targets).map(|(p, y)| p - y).collect();
        let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
        let mse = sum(&squares) / count as f64;
        let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let r2 = (!is_constant(&targets)).then(|| {
            let deviations = Deviations::of(&targets);
            1.0 - sum(&squares) / deviations.sum_of_squares
        });
        Self {
            count,
            pearson: pearson(&predictions, &targets),
            spearman: spearman(&predictions, &targets),
            r2: r2.filter(|value| value.is_finite()),
            mse: Some(mse),
            rmse: Some(mse.sqrt()),
            mae: Some(sum(&absolute) / count as f64),
        }
    }
}

/// Pearson correlation of two vectors without NaN; `None` with fewer than two elements or where either is constant
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

/// Spearman correlation: Pearson of the average ranks, where 0 and −0 tie.
///
/// # Panics
///
/// If the lengths differ.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "a correlation needs pairs");
    pearson(&average_ranks(a), &average_ranks(b))
}

/// The rows with a target, widened.
pub(crate) fn measured<P, T>(predictions: &[P], targets: &[T]) -> (Vec<f64>, Vec<f64>)
where
    P: Copy + Into<f64>,
    T: Copy + Into<f64>,
{
    assert_eq!(predictions.len(), targets.len(), "every target has a prediction");
    let rows = predictions.iter().zip(targets).map(|(&p, &y)| (p.into(), y.into()));
    rows.filter(|(_, y): &(f64, f64)| !y.is_nan()).unzip()
}

pub(crate) fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// A sum of sums: the rounding error grows with the number of blocks, not of values.
pub(crate) fn sum(values: &[f64]) -> f64 {
    values.chunks(256).map(|block| block.iter().sum::<f64>()).sum()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    let first = sum(values) / values.len() as f64;
    // What rounding left: vectors far from 0 keep their digits.
    let rest: Vec<f64> = values.iter().map(|value| value - first).collect();
    first + sum(&rest) / values.len() as f64
}

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
    use knockout_testdata::golden::cases;
    use proptest::prelude::*;

    #[test]
    fn golden_metrics_of_awkward_vectors() {
        for case in cases("metrics/") {
            let tolerance = case.json["rtol_f64"].as_f64().unwrap();
            let expected = case.json["expected"].as_object().unwrap();
            for (name, figures) in expected {
                let predictions = case.f32(&format!("input.{name}.predictions"));
                let targets = case.f32(&format!("input.{name}.targets"));
                let metrics = Metrics::of(&predictions, &targets);
                let mine = [
                    ("pearson", metrics.pearson),
                    ("spearman", metrics.spearman),
                    ("r2", metrics.r2),
                    ("mse", metrics.mse),
                    ("rmse", metrics.rmse),
                    ("mae", metrics.mae),
                ];
                assert_eq!(figures.as_object().unwrap().len(), mine.len());
                for (figure, mine) in mine {
                    let place = format!("{}: {figure} of {name}", case.name);
                    match (figures[figure].as_f64(), mine) {
                        (Some(expected), Some(mine)) => assert!(
                            (mine - expected).abs() <= tolerance * expected.abs(),
                            "{place} is {mine}, expected {expected}"
                        ),
                        (None, None) => assert_eq!(figures[figure], "undefined", "{place}"),
                        (expected, mine) => panic!("{place} is {mine:?}, expected {expected:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_prediction_that_is_not_a_number_leaves_everything_undefined() {
        let metrics = Metrics::of(&[1.0, f64::NAN], &[1.0, 2.0]);
        assert_eq!((metrics.count, metrics.pearson, metrics.mse), (2, None, None));
        // But not where the target is missing anyway.
        assert_eq!(Metrics::of(&[1.0, f64::NAN], &[1.0, f64::NAN]).mse, Some(0.0));
    }

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

        #[test]
        fn order_of_rows_does_not_matter((a, b) in vectors()) {
            let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
            let (one, other) = (Metrics::of(&a, &b), Metrics::of(&reversed(&a), &reversed(&b)));
            prop_assert!((one.pearson.unwrap() - other.pearson.unwrap()).abs() < 1e-12);
            prop_assert!((one.mse.unwrap() - other.mse.unwrap()).abs() < 1e-9);
        }
    }
}
