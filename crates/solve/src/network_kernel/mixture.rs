//! Which networks matter: the mixture of likenesses that best explains how alike the genes' measured profiles are.
//!
//! Two genes whose interactions are alike over the same partners have a high mean product of residuals. These products are
//! regressed on the likenesses of the same genes in every network, with weights that are not negative. No prediction is needed
//! for that, so it costs a fraction of a fit, and a network that says nothing gets the weight 0.

use super::neighbourhood::Neighbourhoods;
use crate::least_squares::from_zero_up;
use crate::matrix::{Matrix, product};

/// Genes that are enough to tell the networks apart.
const MOST_GENES: usize = 1_500;

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
            if weight == 0.0 {
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
    let mut found = from_zero_up(&gram, &moments);
    found.pop();
    let total: f64 = found.iter().sum();
    if total > 0.0 {
        for weight in &mut found {
            *weight /= total;
        }
    }
    found
}

fn take_columns(matrix: &Matrix<f32>, columns: &[usize]) -> Matrix<f32> {
    let values = (0..matrix.rows()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
    let values = values.map(|(row, column)| matrix.get(row, column)).collect();
    Matrix::new(matrix.rows(), columns.len(), values)
}
