//! Which networks matter: the mixture of likenesses that best explains how alike the genes' measured profiles are.
//!
//! Two genes whose interactions are alike over the same partners have a high mean product of residuals. These products are
//! regressed on the likenesses of the same genes in every network, with weights that are not negative. No prediction is needed
//! for that, so it costs a fraction of a fit, and a network that says nothing gets the weight 0.

use super::neighbourhood::Neighbourhoods;
use crate::matrix::{Matrix, product};

/// Genes that are enough to tell the networks apart.
const MOST_GENES: usize = 1_500;
/// Partners that two genes must share.
const LEAST_SHARED: f32 = 20.0;

/// Weights of networks, which add up to 1; all 0 where none explains anything.
///
/// `residuals` and `seen` (1 where there is a residual) have a column for each of `columns`, which are genes.
pub(super) fn weights(
    networks: &[Neighbourhoods],
    columns: &[u32],
    residuals: &Matrix<f32>,
    seen: &Matrix<f32>,
) -> Vec<f64> {
    // Every k-th column where there are many, and as many rows as there are.
    let stride = columns.len().div_ceil(MOST_GENES).max(1);
    let chosen: Vec<usize> = (0..columns.len()).step_by(stride).collect();
    let genes: Vec<u32> = chosen.iter().map(|&place| columns[place]).collect();
    let (residuals, seen) = (take_columns(residuals, &chosen), take_columns(seen, &chosen));
    let shared = product(seen.transposed(), &seen);
    let products = product(residuals.transposed(), &residuals);
    let likenesses: Vec<Matrix<f32>> = networks
        .iter()
        .map(|network| {
            let mut likeness = Matrix::zeros(genes.len(), genes.len());
            network.add_likeness(&genes, &genes, 1.0, &mut likeness);
            likeness
        })
        .collect();
    // Normal equations over pairs of genes, each weighted by the partners it shares; the last unknown is a constant.
    let size = networks.len() + 1;
    let (mut gram, mut moments) = (vec![0.0; size * size], vec![0.0; size]);
    let mut features = vec![1.0; size];
    for i in 0..genes.len() {
        for j in 0..i {
            let weight = shared.get(i, j);
            if weight < LEAST_SHARED {
                continue;
            }
            for (feature, likeness) in features.iter_mut().zip(&likenesses) {
                *feature = f64::from(likeness.get(i, j));
            }
            let (weight, target) = (f64::from(weight), f64::from(products.get(i, j) / weight));
            for a in 0..size {
                moments[a] += weight * features[a] * target;
                for b in 0..size {
                    gram[a * size + b] += weight * features[a] * features[b];
                }
            }
        }
    }
    let mut found = least_squares_from_zero_up(&gram, &moments);
    found.pop();
    let total: f64 = found.iter().sum();
    if total > 0.0 {
        for weight in &mut found {
            *weight /= total;
        }
    }
    found
}

/// The x ≥ 0 that minimises xᵀGx − 2mᵀx, one coordinate after the other.
fn least_squares_from_zero_up(gram: &[f64], moments: &[f64]) -> Vec<f64> {
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

fn take_columns(matrix: &Matrix<f32>, columns: &[usize]) -> Matrix<f32> {
    let values = (0..matrix.rows()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
    let values = values.map(|(row, column)| matrix.get(row, column)).collect();
    Matrix::new(matrix.rows(), columns.len(), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_constrained_minimum() {
        // Unconstrained the second would be negative.
        let (gram, moments) = (vec![2.0, 1.0, 1.0, 2.0], vec![2.0, -1.0]);
        assert_eq!(least_squares_from_zero_up(&gram, &moments), [1.0, 0.0]);
        let free = least_squares_from_zero_up(&gram, &[3.0, 3.0]);
        assert!(free.iter().all(|x| (x - 1.0).abs() < 1e-9), "{free:?}");
    }
}
