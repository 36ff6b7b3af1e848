//! The mixture of networks whose similarities best explain the similarity of the measured profiles.
//!
//! Two genes with similar interactions over the same partners have a high mean product of residuals. These products are regressed on
//! the similarities of the genes in every network, with non-negative weights. This needs no predictions, so it is much cheaper than a
//! fit. A network without information gets the weight 0.

use super::neighbourhood::Neighbourhoods;
use crate::grid::Grid;
use crate::least_squares::non_negative_least_squares;
use crate::matrix::{Matrix, product};
use crate::profile::Profiles;
use knockout_data::cell::GeneSetsRef;

/// Number of genes that suffices for the regression.
const MAX_GENES: usize = 1_000;

/// Returns the weights of the networks, with sum 1; all 0 if no network explains anything.
pub(super) fn fit_weights(
    networks: &[Neighbourhoods],
    grid: &Grid,
    sets: GeneSetsRef<'_>,
    residuals: &[f64],
) -> Vec<f64> {
    // Every k-th column and all rows.
    let stride = grid.columns().len().div_ceil(MAX_GENES).max(1);
    let genes: Vec<u32> = grid.columns().iter().copied().step_by(stride).collect();
    let Profiles { residuals, is_measured } = Profiles::new(grid, sets, residuals, stride);
    let shared = product(is_measured.transposed(), &is_measured);
    let products = product(residuals.transposed(), &residuals);
    let similarities: Vec<Matrix<f32>> = networks
        .iter()
        .map(|network| {
            let mut similarity = Matrix::zeros(genes.len(), genes.len());
            network.add_similarity(&genes, &genes, 1.0, &mut similarity);
            similarity
        })
        .collect();
    // Normal equations over pairs of genes, weighted by the number of shared partners; the last unknown is a constant.
    let size = networks.len() + 1;
    let (mut gram, mut moments) = (vec![0.0; size * size], vec![0.0; size]);
    let mut features = vec![1.0; size];
    for i in 0..genes.len() {
        for j in 0..i {
            let weight = shared.get(i, j);
            if weight == 0.0 {
                continue;
            }
            for (feature, similarity) in features.iter_mut().zip(&similarities) {
                *feature = f64::from(similarity.get(i, j));
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
    let mut found = non_negative_least_squares(&gram, &moments);
    found.pop();
    let total: f64 = found.iter().sum();
    if total > 0.0 {
        for weight in &mut found {
            *weight /= total;
        }
    }
    found
}
