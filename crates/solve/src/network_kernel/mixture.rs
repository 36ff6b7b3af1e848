//! Which networks matter: the mixture of likenesses that best explains how alike the genes' measured profiles are.
//!
//! Two genes whose interactions are alike over the same partners have a high mean product of residuals. These products are
//! regressed on the likenesses of the same genes in every network, with weights that are not negative. No prediction is needed
//! for that, so it costs a fraction of a fit, and a network that says nothing gets the weight 0.

use super::neighbourhood::Neighbourhoods;
use crate::grid::Grid;
use crate::least_squares::from_zero_up;
use crate::matrix::{Matrix, product};
use knockout_data::cell::GeneSetsRef;

/// Genes that are enough to tell the networks apart.
const MOST_GENES: usize = 1_000;

/// Weights of networks, which add up to 1; all 0 where none explains anything.
pub(super) fn weights(
    networks: &[Neighbourhoods],
    grid: &Grid,
    sets: GeneSetsRef<'_>,
    residuals: &[f64],
) -> Vec<f64> {
    // Every k-th column where there are many, and as many rows as there are.
    let stride = grid.columns().len().div_ceil(MOST_GENES).max(1);
    let genes: Vec<u32> = grid.columns().iter().copied().step_by(stride).collect();
    let (residuals, seen) = as_matrices(grid, sets, residuals, stride);
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

/// Mean residuals over the rows and every k-th column of the grid, and 1 where there are some.
fn as_matrices(
    grid: &Grid,
    sets: GeneSetsRef<'_>,
    residuals: &[f64],
    stride: usize,
) -> (Matrix<f32>, Matrix<f32>) {
    let mut sums = Matrix::<f32>::zeros(grid.rows().len(), grid.columns().len().div_ceil(stride));
    let mut seen = sums.clone();
    for (set, &residual) in sets.iter().zip(residuals) {
        for (row, column) in grid.cells(set).iter().filter(|(_, column)| column % stride == 0) {
            let column = column / stride;
            sums.set(row, column, sums.get(row, column) + residual as f32);
            seen.set(row, column, seen.get(row, column) + 1.0);
        }
    }
    for (sum, seen) in sums.values_mut().iter_mut().zip(seen.values_mut()) {
        if *seen > 0.0 {
            *sum /= *seen;
            *seen = 1.0;
        }
    }
    (sums, seen)
}
