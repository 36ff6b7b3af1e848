//! Metrics of predictions against measured scores, over a whole part of a split and in double precision.
//!
//! Never averaged over batches: a mean of batch correlations is not the correlation. A figure that is not defined is
//! `None`, so that a constant prediction is not mistaken for a correlation of 0. The module does not depend on datasets.

use knockout_base::stats::{
    is_constant, pearson, rows_with_target, spearman, sum, sum_of_squared_deviations,
};
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
    /// If any prediction is not finite, every figure is undefined.
    ///
    /// # Panics
    ///
    /// If there are not as many predictions as targets.
    pub fn of<P, T>(predictions: &[P], targets: &[T]) -> Self
    where
        P: Copy + Into<f64>,
        T: Copy + Into<f64>,
    {
        let (predictions, targets) = rows_with_target(predictions, targets);
        let count = targets.len();
        if count == 0 || !predictions.iter().all(|value| value.is_finite()) {
            return Self { count, pearson: None, spearman: None, r2: None, mse: None, rmse: None, mae: None };
        }
        let errors: Vec<f64> = predictions.iter().zip(&targets).map(|(p, y)| p - y).collect();
        let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
        let mse = sum(&squares) / count as f64;
        let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let r2 = (!is_constant(&targets)).then(|| 1.0 - sum(&squares) / sum_of_squared_deviations(&targets));
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
                    let label = format!("{}: {figure} of {name}", case.name);
                    match (figures[figure].as_f64(), mine) {
                        (Some(expected), Some(mine)) => assert!(
                            (mine - expected).abs() <= tolerance * expected.abs(),
                            "{label} is {mine}, expected {expected}"
                        ),
                        (None, None) => assert_eq!(figures[figure], "undefined", "{label}"),
                        (expected, mine) => panic!("{label} is {mine:?}, expected {expected:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_prediction_that_is_not_a_number_leaves_everything_undefined() {
        let metrics = Metrics::of(&[1.0, f64::NAN], &[1.0, 2.0]);
        assert_eq!((metrics.count, metrics.pearson, metrics.mse), (2, None, None));
        // A prediction without a target does not matter.
        assert_eq!(Metrics::of(&[1.0, f64::NAN], &[1.0, f64::NAN]).mse, Some(0.0));
    }

    fn vectors() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((-10.0..10.0, -10.0..10.0), 3..80).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn order_of_rows_does_not_matter((a, b) in vectors()) {
            let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
            let (one, other) = (Metrics::of(&a, &b), Metrics::of(&reversed(&a), &reversed(&b)));
            prop_assert!((one.pearson.unwrap() - other.pearson.unwrap()).abs() < 1e-12);
            prop_assert!((one.mse.unwrap() - other.mse.unwrap()).abs() < 1e-9);
        }
    }
}
