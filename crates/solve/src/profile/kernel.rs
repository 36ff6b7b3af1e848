//! The profile kernel: a Gaussian process over gene pairs whose genes are similar if their profiles are.
//!
//! The similarity of two genes is the third power of that of their profiles, and a tenth of their similarity in the networks. It is made
//! positive by keeping its leading directions, found by subspace iteration. What they leave of a gene's variance is its own.

use super::raise;
use crate::error::bad_tensor;
use crate::grid::Grid;
use crate::matrix::{Matrix, dot, orthonormal_columns, product, symmetric_eigen};
use crate::pair_products::{GeneTableRows, PairForm};
use crate::process::{ConjugateGradients, KernelFeatures, ProcessFields};
use crate::tensor::{Tensor, find, has};
use knockout_base::error::Error;
use knockout_base::random::Rng;
use knockout_data::cell::GeneSetsRef;

/// The power of the similarity of profiles.
const POWER: i32 = 3;
/// Variance of a gene that it shares with no other gene.
const OWN: f32 = 0.3;
/// Weight of the similarity in the networks.
const NETWORKS: f32 = 0.1;
/// Variance of the noise, relative to the product of two similarities of 1.
const NOISE: f32 = 0.05;
/// Oversampling: additional directions of the subspace iteration.
const OVERSAMPLING: usize = 16;
/// Rounds of subspace iteration.
const ROUNDS: usize = 4;
/// Maximum number of steps of conjugate gradients.
const MAX_STEPS: usize = 50;
/// Relative residual at which the equations are considered solved.
const TOLERANCE: f64 = 1e-2;

const FEATURES: &str = "profile_kernel.features";
const TABLES: &str = "profile_kernel.tables";

/// The solved process. Genes are numbered as the rows of a symmetric grid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProfileKernel {
    features: Matrix<f32>,
    /// A row per gene; its product with the features of the other gene is half of the value of a pair.
    tables: Matrix<f32>,
}

impl ProfileKernel {
    /// Solves the process for the residuals of pairs, given the features of their genes.
    pub(super) fn solve(
        features: KernelFeatures,
        grid: &Grid,
        sets: GeneSetsRef<'_>,
        residuals: &[f64],
        on_step: &mut dyn FnMut(usize),
    ) -> Self {
        let pair = |(set, &residual): (&[u32], &f64)| {
            let (row, column) = grid.cells(set).iter().next()?;
            Some((row.min(column) as u32, row.max(column) as u32, residual as f32))
        };
        let pairs: Vec<(u32, u32, f32)> = sets.iter().zip(residuals).filter_map(pair).collect();
        let mut fields = ProcessFields::of_pairs(&pairs, &features);
        drop(pairs);
        fields.set(&features, 0.0, 0.0);
        let mut gradients = ConjugateGradients::new(&fields);
        gradients.run(&mut fields, NOISE, MAX_STEPS, TOLERANCE, &mut |state| on_step(state.step));
        let tables = match fields.pairs.as_mut() {
            Some(field) => field.tables(&gradients.solution, &features),
            None => Matrix::zeros(features.vectors.rows(), features.vectors.columns()),
        };
        Self { features: features.vectors, tables }
    }

    /// Returns the process at a pair; 0 for other sets, and for genes without a profile.
    pub(crate) fn value(&self, grid: &Grid, set: &[u32]) -> f64 {
        let entry = |row: usize, column: usize| {
            f64::from(dot(self.tables.row(row), self.features.row(column)))
                + f64::from(dot(self.tables.row(column), self.features.row(row)))
        };
        grid.cells(set).mean(entry).unwrap_or(0.0)
    }

    /// Returns the process at all pairs of genes of the grid.
    pub(crate) fn values(&self) -> Matrix<f32> {
        let half = product(&self.tables, self.features.transposed());
        let mut values = half.clone();
        for row in 0..half.rows() {
            let others = values.row_mut(row).iter_mut().enumerate();
            others.for_each(|(column, value)| *value += half.get(column, row));
        }
        values
    }

    /// Calls a function with the process at pairs as a bilinear form, times a weight.
    pub(crate) fn with_form<T>(
        &self,
        grid: &Grid,
        weight: f64,
        use_form: impl FnOnce(PairForm<'_>) -> T,
    ) -> T {
        let row_of = |gene: usize| grid.row_of_gene(gene);
        use_form(PairForm {
            weight,
            x: GeneTableRows { table: &self.tables, row_of: &row_of },
            y: GeneTableRows { table: &self.features, row_of: &row_of },
        })
    }

    pub(crate) fn tensors(&self) -> [Tensor; 2] {
        [Tensor::from_matrix(FEATURES, &self.features), Tensor::from_matrix(TABLES, &self.tables)]
    }

    /// Loads the process; `None` if the solution was stored without it.
    pub(crate) fn load(tensors: &[Tensor], grid: &Grid) -> Result<Option<Self>, Error> {
        if !has(tensors, FEATURES) {
            return Ok(None);
        }
        let matrix = |name: &str| find(tensors, name)?.matrix_with_rows(grid.rows().len());
        let (features, tables) = (matrix(FEATURES)?, matrix(TABLES)?);
        if features.columns() != tables.columns() {
            return Err(bad_tensor(TABLES));
        }
        Ok(Some(Self { features, tables }))
    }
}

/// Returns the features of genes in at most `rank` directions, from the similarities of their profiles and their features in the networks.
pub(super) fn features(similarities: &Matrix<f32>, networks: &KernelFeatures, rank: usize) -> KernelFeatures {
    let genes = similarities.rows();
    let mut powers = similarities.clone();
    raise(&mut powers, POWER);
    let unshared: Vec<f32> = networks.residual.iter().map(|residual| OWN + NETWORKS * residual).collect();
    let times = |basis: &Matrix<f32>| {
        let mut image = product(&powers, basis);
        let shared = product(&networks.vectors, &product(networks.vectors.transposed(), basis));
        for (gene, own) in unshared.iter().enumerate() {
            let others = shared.row(gene).iter().zip(basis.row(gene));
            for (image, (shared, basis)) in image.row_mut(gene).iter_mut().zip(others) {
                *image += NETWORKS * shared + own * basis;
            }
        }
        image
    };
    let columns = (rank + OVERSAMPLING).min(genes);
    let mut rng = Rng::new(0, "profile features");
    let start = (0..genes * columns).map(|_| rng.normal() as f32).collect();
    let mut basis = orthonormal_columns(&Matrix::new(genes, columns, start));
    for _ in 0..ROUNDS {
        basis = orthonormal_columns(&times(&basis));
    }
    let within = product(basis.transposed(), &times(&basis)).cast::<f64>();
    let mut symmetric = within.clone();
    for i in 0..columns {
        (0..columns).for_each(|j| symmetric.set(i, j, f64::midpoint(within.get(i, j), within.get(j, i))));
    }
    let (values, rotation) = symmetric_eigen(&symmetric);
    let kept = values.iter().take(rank).take_while(|&&value| value > 0.0).count();
    let mut leading = rotation.first_rows(kept);
    for (row, value) in values[..kept].iter().enumerate() {
        leading.row_mut(row).iter_mut().for_each(|x| *x *= value.sqrt());
    }
    let vectors = product(&basis, leading.cast().transposed());
    let left_over = |(gene, own): (usize, &f32)| {
        let (networks, row) = (networks.vectors.row(gene), vectors.row(gene));
        (own + NETWORKS * dot(networks, networks) - dot(row, row)).max(0.0)
    };
    let residual = unshared.iter().enumerate().map(left_over).collect();
    KernelFeatures::new(vectors, residual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Cholesky;
    use knockout_data::cell::GeneSets;

    /// Compares the process with its dense covariance over pairs of records. The similarity is positive, and its directions are all kept.
    #[test]
    fn pairs_are_predicted_as_by_the_dense_process() {
        let mut rng = Rng::new(0, "profile kernel");
        let genes = 9_usize;
        let mut similarities = Matrix::zeros(genes, genes);
        for (a, b, similarity) in [(0, 1, 0.6), (1, 2, 0.5), (3, 4, 0.55), (0, 5, 0.3), (6, 7, 0.09)] {
            similarities.set(a, b, similarity);
            similarities.set(b, a, similarity);
        }
        let vectors = Matrix::new(genes, 3, (0..genes * 3).map(|_| rng.normal() as f32).collect());
        let networks = KernelFeatures::new(vectors, (0..genes).map(|_| rng.unit() as f32).collect());
        let own = |gene: usize| f64::from(OWN + NETWORKS * networks.residual[gene]);
        let similarity = |a: usize, b: usize| -> f64 {
            let profiles = f64::from(similarities.get(a, b));
            let shared = f64::from(dot(networks.vectors.row(a), networks.vectors.row(b)));
            let profiles = if profiles > 0.1 { profiles.powi(POWER) } else { 0.0 };
            profiles + f64::from(NETWORKS) * shared + if a == b { own(a) } else { 0.0 }
        };
        let found = features(&similarities, &networks, genes);
        for a in 0..genes {
            for b in 0..genes {
                let product = f64::from(dot(found.vectors.row(a), found.vectors.row(b)));
                assert!((product - similarity(a, b)).abs() < 1e-5, "{a} {b}");
            }
        }
        assert!(found.residual.iter().all(|residual| *residual < 1e-5), "{:?}", found.residual);

        let all: Vec<[u32; 2]> = (1..genes as u32).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
        // Two pairs in three are measured, each gene among them.
        let sets: GeneSets =
            all.iter().enumerate().filter(|(i, _)| i % 3 > 0).map(|(_, set)| &set[..]).collect();
        let residuals: Vec<f64> = (0..sets.len()).map(|_| rng.normal()).collect();
        let grid = Grid::from_sets(sets.view());
        assert_eq!(grid.rows().len(), genes);
        let covariance = |x: &[u32], y: &[u32]| {
            let [a, b, c, d] = [x[0], x[1], y[0], y[1]].map(|gene| gene as usize);
            0.5 * (similarity(a, c) * similarity(b, d) + similarity(a, d) * similarity(b, c))
        };
        let count = sets.len();
        let mut dense = Matrix::zeros(count, count);
        for (row, x) in sets.view().iter().enumerate() {
            for (column, y) in sets.view().iter().enumerate() {
                let noise = if row == column { f64::from(NOISE) } else { 0.0 };
                dense.set(row, column, covariance(x, y) + noise);
            }
        }
        let mut solution = residuals.clone();
        Cholesky::new(dense).solve(&mut solution);
        let kernel = ProfileKernel::solve(found, &grid, sets.view(), &residuals, &mut |_| ());
        for set in &all {
            let terms =
                sets.view().iter().zip(&solution).map(|(other, weight)| covariance(set, other) * weight);
            let expected: f64 = terms.sum();
            let value = kernel.value(&grid, set);
            assert!((value - expected).abs() < 0.03 * (1.0 + expected.abs()), "{set:?}: {value} {expected}");
        }
        let tensors = kernel.tensors();
        assert_eq!(ProfileKernel::load(&tensors, &grid).unwrap(), Some(kernel));
        assert_eq!(ProfileKernel::load(&[], &grid).unwrap(), None);
        assert!(ProfileKernel::load(&tensors[..1], &grid).is_err());
    }

    /// Keeps the leading directions, and leaves the rest of every gene's variance to itself.
    #[test]
    fn fewer_directions_keep_the_variances() {
        let mut rng = Rng::new(1, "profile kernel");
        let genes = 40;
        let mut similarities = Matrix::zeros(genes, genes);
        for a in 0..genes {
            for b in (0..a).filter(|b| a % 4 == b % 4) {
                let similarity = 0.4 + 0.2 * rng.unit() as f32;
                similarities.set(a, b, similarity);
                similarities.set(b, a, similarity);
            }
        }
        let networks = KernelFeatures::new(Matrix::zeros(genes, 1), vec![1.0; genes]);
        let found = features(&similarities, &networks, 4);
        assert_eq!(found.vectors.columns(), 4);
        for gene in 0..genes {
            let row = found.vectors.row(gene);
            assert!((dot(row, row) + found.residual[gene] - (OWN + NETWORKS)).abs() < 1e-4, "{gene}");
        }
        assert!(dot(found.vectors.row(0), found.vectors.row(4)) > 0.05);
        assert!(dot(found.vectors.row(0), found.vectors.row(1)).abs() < 0.01);
    }
}
