//! Approximate posterior variances of sets.
//!
//! An exact variance needs a solution of all equations for every set. This approximation treats the partners of every gene as spread
//! evenly over the genes. In the directions of the features, which are orthogonal over the known genes, the equations are then diagonal.
//! A gene without records keeps its prior variance.

use super::setting::KernelSetting;
use crate::matrix::{Matrix, product};
use crate::pair_products::{GeneTableRows, PairForm, PairProducts};
use crate::process::KernelFeatures;
use knockout_data::cell::GeneSetsRef;

/// Returns the squared features, and their sums over the known genes.
fn squared(features: &KernelFeatures, known: &[u32]) -> (Matrix<f32>, Vec<f32>) {
    let values = features.vectors.values().iter().map(|x| x * x).collect();
    let squares = Matrix::new(features.genes(), features.vectors.columns(), values);
    let mut sums = vec![0.0; squares.columns()];
    for &gene in known {
        sums.iter_mut().zip(squares.row(gene as usize)).for_each(|(sum, x)| *sum += x);
    }
    (squares, sums)
}

/// Returns the genes with records.
fn known(counts: &[f32]) -> Vec<u32> {
    (0..counts.len() as u32).filter(|&gene| counts[gene as usize] > 0.0).collect()
}

/// Variances of pairs: inner products of the remaining variance of one gene and the squared features of the other.
pub(super) struct PairVariance {
    products: PairProducts,
}

impl PairVariance {
    /// Computes the variances from the number of records of each gene.
    pub(super) fn new(features: &KernelFeatures, setting: KernelSetting, counts: &[f32]) -> Self {
        let known = known(counts);
        let (squares, sums) = squared(features, &known);
        let (count, width) = (known.len().max(1) as f32, sums.len());
        let records = counts.iter().sum::<f32>() / 2.0;
        let share = records / (count * count * setting.noise);
        let mut both = Matrix::zeros(width, width);
        for (i, a) in sums.iter().enumerate() {
            both.row_mut(i)
                .iter_mut()
                .zip(&sums)
                .for_each(|(remaining, b)| *remaining = 0.5 / (1.0 + share * a * b));
        }
        let mut remaining = product(&squares, &both);
        for (gene, &records) in counts.iter().enumerate() {
            let unshared = features.unshared_variance(gene, setting.nugget);
            let each = unshared * records / (count * setting.noise);
            let row = remaining.row_mut(gene).iter_mut();
            row.zip(&sums).for_each(|(remaining, sum)| *remaining += unshared / (1.0 + each * sum));
        }
        let x = GeneTableRows { table: &remaining, row_of: &Some };
        let y = GeneTableRows { table: &squares, row_of: &Some };
        Self { products: PairProducts::new(counts.len(), &[PairForm { weight: 1.0, x, y }]) }
    }

    pub(super) fn of_pair(&self, a: u32, b: u32) -> f32 {
        self.products.of_pair(a, b)
    }

    /// Returns the variance of each set; 0 for sets that are not pairs.
    pub(super) fn of_sets(&self, sets: GeneSetsRef<'_>) -> Vec<f32> {
        self.products.of_sets(sets)
    }
}

/// Variances of triples; rows and array genes are treated as independent.
pub(super) struct TripleVariance {
    /// Genes by rows of the grid.
    of_rows: Matrix<f32>,
    /// Variance of each gene as the array gene of an unknown pair.
    array: Vec<f32>,
    /// Prior variance of each gene.
    prior: Vec<f32>,
    single: f32,
}

/// Returns the variance of a row from those of its genes; ignores their similarity.
fn row_variance(a: f32, b: f32, single: f32) -> f32 {
    0.5 * a * b + 0.25 * single * (a + b)
}

impl TripleVariance {
    /// Computes the variances from the numbers of records of each row and each array gene.
    pub(super) fn new(
        features: &KernelFeatures,
        setting: KernelSetting,
        rows: &[(u32, u32)],
        row_counts: &[f32],
        counts: &[f32],
    ) -> Self {
        let known = known(counts);
        let (squares, sums) = squared(features, &known);
        let count = known.len().max(1) as f32;
        let prior: Vec<f32> = (0..features.genes())
            .map(|gene| {
                squares.row(gene).iter().sum::<f32>() + features.unshared_variance(gene, setting.nugget)
            })
            .collect();
        let of_row =
            |&(a, b): &(u32, u32)| row_variance(prior[a as usize], prior[b as usize], setting.single);
        let mean = rows.iter().map(of_row).sum::<f32>() / rows.len().max(1) as f32;
        let mut remaining = Matrix::zeros(rows.len(), sums.len());
        for (i, (row, records)) in rows.iter().zip(row_counts).enumerate() {
            let (variance, each) = (of_row(row), of_row(row) * records / (count * setting.noise));
            let row = remaining.row_mut(i).iter_mut();
            row.zip(&sums).for_each(|(remaining, sum)| *remaining = variance / (1.0 + each * sum));
        }
        let mut of_rows = product(&squares, remaining.transposed());
        let mut array = Vec::with_capacity(counts.len());
        for (gene, &records) in counts.iter().enumerate() {
            let unshared = features.unshared_variance(gene, setting.nugget);
            let left = unshared / (1.0 + unshared * mean * records / setting.noise);
            let out = of_rows.row_mut(gene).iter_mut().zip(rows);
            out.for_each(|(out, row)| *out += left * of_row(row));
            array.push(squares.row(gene).iter().sum::<f32>() + left);
        }
        Self { of_rows, array, prior, single: setting.single }
    }

    /// Returns the variance of a row with an array gene.
    pub(super) fn of_row(&self, row: usize, gene: u32) -> f32 {
        self.of_rows.get(gene as usize, row)
    }

    /// Returns the variance of a pair that is not a row, with an array gene.
    pub(super) fn of_new_pair(&self, a: u32, b: u32, gene: u32) -> f32 {
        row_variance(self.prior[a as usize], self.prior[b as usize], self.single) * self.array[gene as usize]
    }
}
