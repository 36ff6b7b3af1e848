//! Non-negative least squares with few unknowns, from the normal equations.

use knockout_base::stats::mean;

/// Returns the x ≥ 0 that minimises xᵀGx − 2mᵀx, by coordinate descent.
pub(crate) fn non_negative_least_squares(gram: &[f64], moments: &[f64]) -> Vec<f64> {
    let size = moments.len();
    let mut x = vec![0.0; size];
    for _ in 0..10_000 {
        let mut largest = 0.0_f64;
        for i in 0..size {
            let diagonal = gram[i * size + i];
            if diagonal <= 0.0 {
                continue;
            }
            let dot: f64 = gram[i * size..][..size].iter().zip(&x).map(|(g, x)| g * x).sum();
            let next = (x[i] + (moments[i] - dot) / diagonal).max(0.0);
            largest = largest.max((next - x[i]).abs() * diagonal.sqrt());
            x[i] = next;
        }
        if largest == 0.0 || largest * largest <= 1e-24 * moments.iter().map(|m| m.abs()).sum::<f64>() {
            break;
        }
    }
    x
}

/// An intercept and a non-negative weight for each of several predictors.
#[derive(Debug, Clone, PartialEq)]
pub struct StackWeights {
    /// The constant term.
    pub intercept: f64,
    /// The factor of each predictor.
    pub weights: Vec<f64>,
}

impl StackWeights {
    /// Fits the weights to scores by least squares; `predictions` has a vector per predictor.
    ///
    /// Weights are not negative: otherwise predictors that are nearly equal would get large weights of opposite signs.
    ///
    /// # Panics
    ///
    /// If a predictor does not have a prediction for every score.
    pub fn fit(predictions: &[Vec<f64>], scores: &[f64]) -> Self {
        let size = predictions.len();
        let means: Vec<f64> = predictions.iter().map(|values| mean(values)).collect();
        let score_mean = mean(scores);
        let covariance = |a: (&[f64], f64), b: (&[f64], f64)| -> f64 {
            assert_eq!(a.0.len(), b.0.len(), "every record has every prediction");
            a.0.iter().zip(b.0).map(|(x, y)| (x - a.1) * (y - b.1)).sum()
        };
        let column = |i: usize| (&predictions[i][..], means[i]);
        let mut gram = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..size {
                gram[i * size + j] = covariance(column(i), column(j));
            }
        }
        let moments: Vec<f64> = (0..size).map(|i| covariance(column(i), (scores, score_mean))).collect();
        let weights = non_negative_least_squares(&gram, &moments);
        let explained: f64 = weights.iter().zip(&means).map(|(weight, mean)| weight * mean).sum();
        Self { intercept: score_mean - explained, weights }
    }

    /// Returns the weighted sum of predictions.
    pub fn sum(&self, predictions: impl IntoIterator<Item = f64>) -> f64 {
        self.intercept
            + self.weights.iter().zip(predictions).map(|(weight, value)| weight * value).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictors() -> [Vec<f64>; 2] {
        [(0..50).map(|i| f64::from(i % 7)).collect(), (0..50).map(|i| f64::from(i * i % 11)).collect()]
    }

    #[test]
    fn the_weights_of_a_mixture_are_recovered() {
        let [first, second] = predictors();
        let scores: Vec<f64> = first.iter().zip(&second).map(|(a, b)| 3.0 + 0.5 * a + 2.0 * b).collect();
        let found = StackWeights::fit(&[first, second], &scores);
        assert!((found.intercept - 3.0).abs() < 1e-6, "{found:?}");
        assert!((found.weights[0] - 0.5).abs() < 1e-6 && (found.weights[1] - 2.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_predictor_that_correlates_negatively_gets_no_weight() {
        let [first, second] = predictors();
        let third: Vec<f64> = (0..50).map(|i| f64::from(i % 5)).collect();
        let scores = first.iter().zip(&second).zip(&third).map(|((a, b), c)| 0.5 * a + 2.0 * b - 0.7 * c);
        let scores: Vec<f64> = scores.collect();
        let found = StackWeights::fit(&[first, second, third], &scores);
        assert_eq!(found.weights[2], 0.0);
        assert!(found.weights[0] > 0.3 && found.weights[1] > 1.8, "{found:?}");
    }

    #[test]
    fn the_constrained_minimum_is_found() {
        // Without the constraint the second unknown would be negative.
        let (gram, moments) = (vec![2.0, 1.0, 1.0, 2.0], vec![2.0, -1.0]);
        assert_eq!(non_negative_least_squares(&gram, &moments), [1.0, 0.0]);
        let free = non_negative_least_squares(&gram, &[3.0, 3.0]);
        assert!(free.iter().all(|x| (x - 1.0).abs() < 1e-9), "{free:?}");
    }
}
