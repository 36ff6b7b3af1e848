//! Least squares with few unknowns that must not be negative, from their normal equations.

/// The x ≥ 0 that minimises xᵀGx − 2mᵀx, one coordinate after the other.
pub(crate) fn from_zero_up(gram: &[f64], moments: &[f64]) -> Vec<f64> {
    let size = moments.len();
    let mut x = vec![0.0; size];
    for _ in 0..10_000 {
        let mut largest = 0.0_f64;
        for i in 0..size {
            let own = gram[i * size + i];
            if own <= 0.0 {
                continue;
            }
            let dot: f64 = gram[i * size..][..size].iter().zip(&x).map(|(g, x)| g * x).sum();
            let next = (x[i] + (moments[i] - dot) / own).max(0.0);
            largest = largest.max((next - x[i]).abs() * own.sqrt());
            x[i] = next;
        }
        if largest == 0.0 || largest * largest <= 1e-24 * moments.iter().map(|m| m.abs()).sum::<f64>() {
            break;
        }
    }
    x
}

/// An intercept and a weight for each of several predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// What is added.
    pub intercept: f64,
    /// What each prediction is multiplied by; none is negative.
    pub weights: Vec<f64>,
}

/// Weights of predictions that together come nearest to the scores. None but the intercept may be negative: predictions that say
/// nearly the same would otherwise be set against each other.
///
/// # Panics
///
/// If there are not as many predictions of each kind as scores.
pub fn weigh(predictions: &[Vec<f64>], scores: &[f64]) -> Weights {
    let size = predictions.len();
    let means: Vec<f64> = predictions.iter().map(|values| knockout_base::stats::mean(values)).collect();
    let score_mean = knockout_base::stats::mean(scores);
    let products = |a: (&[f64], f64), b: (&[f64], f64)| -> f64 {
        assert_eq!(a.0.len(), b.0.len(), "every record has every prediction");
        a.0.iter().zip(b.0).map(|(x, y)| (x - a.1) * (y - b.1)).sum()
    };
    let column = |place: usize| (&predictions[place][..], means[place]);
    let mut gram = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..size {
            gram[i * size + j] = products(column(i), column(j));
        }
    }
    let moments: Vec<f64> = (0..size).map(|place| products(column(place), (scores, score_mean))).collect();
    let weights = from_zero_up(&gram, &moments);
    let explained: f64 = weights.iter().zip(&means).map(|(weight, mean)| weight * mean).sum();
    Weights { intercept: score_mean - explained, weights }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_weighed_as_they_were_mixed() {
        let first: Vec<f64> = (0..50).map(|i| f64::from(i % 7)).collect();
        let second: Vec<f64> = (0..50).map(|i| f64::from(i * i % 11)).collect();
        let scores: Vec<f64> = first.iter().zip(&second).map(|(a, b)| 3.0 + 0.5 * a + 2.0 * b).collect();
        let found = weigh(&[first.clone(), second.clone()], &scores);
        assert!((found.intercept - 3.0).abs() < 1e-6, "{found:?}");
        assert!((found.weights[0] - 0.5).abs() < 1e-6 && (found.weights[1] - 2.0).abs() < 1e-6, "{found:?}");

        let against: Vec<f64> = (0..50).map(|i| f64::from(i % 5)).collect();
        let scores: Vec<f64> = scores.iter().zip(&against).map(|(score, c)| score - 0.7 * c).collect();
        let found = weigh(&[first, second, against], &scores);
        assert_eq!(found.weights[2], 0.0, "what speaks against the scores is left out");
        assert!(found.weights[0] > 0.3 && found.weights[1] > 1.8, "{found:?}");
    }

    #[test]
    fn weights_are_those_of_the_constrained_minimum() {
        // Unconstrained the second would be negative.
        let (gram, moments) = (vec![2.0, 1.0, 1.0, 2.0], vec![2.0, -1.0]);
        assert_eq!(from_zero_up(&gram, &moments), [1.0, 0.0]);
        let free = from_zero_up(&gram, &[3.0, 3.0]);
        assert!(free.iter().all(|x| (x - 1.0).abs() < 1e-9), "{free:?}");
    }
}
