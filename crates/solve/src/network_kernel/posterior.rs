//! The process's own variance of single sets: how much the training records leave open.
//!
//! Exact variances would take a solution of all equations for every set. Here every gene's records count as if their partners were
//! spread evenly over the genes: in the directions of the features, which are orthogonal over the known genes, the equations then
//! fall apart into single numbers. A gene without records keeps its whole variance.

use super::Setting;
use super::features::Features;
use crate::matrix::{Matrix, product};
use crate::pair_products::{Form, PairProducts, Rows};
use knockout_data::cell::GeneSetsRef;

/// Squares of features, and sums of squares over the known genes.
fn squared(features: &Features, known: &[u32]) -> (Matrix<f32>, Vec<f32>) {
    let values = features.vectors.values().iter().map(|x| x * x).collect();
    let squares = Matrix::new(features.genes(), features.vectors.columns(), values);
    let mut sums = vec![0.0; squares.columns()];
    for &gene in known {
        sums.iter_mut().zip(squares.row(gene as usize)).for_each(|(sum, x)| *sum += x);
    }
    (squares, sums)
}

fn known(counts: &[f32]) -> Vec<u32> {
    (0..counts.len() as u32).filter(|&gene| counts[gene as usize] > 0.0).collect()
}

/// Variances of pairs, as inner products of what is open of one gene and the squares of the other.
pub(super) struct PairVariance {
    products: PairProducts,
}

impl PairVariance {
    /// From the records of each gene.
    pub(super) fn of(features: &Features, setting: Setting, counts: &[f32]) -> Self {
        let known = known(counts);
        let (squares, sums) = squared(features, &known);
        let (count, width) = (known.len().max(1) as f32, sums.len());
        let records = counts.iter().sum::<f32>() / 2.0;
        let share = records / (count * count * setting.noise);
        let mut both = Matrix::zeros(width, width);
        for (i, a) in sums.iter().enumerate() {
            both.row_mut(i).iter_mut().zip(&sums).for_each(|(open, b)| *open = 0.5 / (1.0 + share * a * b));
        }
        let mut open = product(&squares, &both);
        for (gene, &records) in counts.iter().enumerate() {
            let alone = setting.own + features.rest[gene];
            let each = alone * records / (count * setting.noise);
            open.row_mut(gene)
                .iter_mut()
                .zip(&sums)
                .for_each(|(open, sum)| *open += alone / (1.0 + each * sum));
        }
        let (x, y) = (Rows { table: &open, place: &Some }, Rows { table: &squares, place: &Some });
        Self { products: PairProducts::of(counts.len(), &[Form { weight: 1.0, x, y }]) }
    }

    pub(super) fn at(&self, a: u32, b: u32) -> f32 {
        self.products.at(a, b)
    }

    /// One for each set; 0 for sets that are no pairs.
    pub(super) fn of_sets(&self, sets: GeneSetsRef<'_>) -> Vec<f32> {
        self.products.of_sets(sets)
    }
}

/// Variances of triples, every row and every array gene on its own.
pub(super) struct TripleVariance {
    /// Genes by rows of the grid.
    of_rows: Matrix<f32>,
    /// What every gene adds as an array of an unknown pair, and its variance as part of one.
    array: Vec<f32>,
    prior: Vec<f32>,
    single: f32,
}

/// The variance of a row, given those of its genes; that they may be like each other is left out.
fn of_both(a: f32, b: f32, single: f32) -> f32 {
    0.5 * a * b + 0.25 * single * (a + b)
}

impl TripleVariance {
    /// From the records of each row and of each array gene.
    pub(super) fn of(
        features: &Features,
        setting: Setting,
        rows: &[(u32, u32)],
        row_counts: &[f32],
        counts: &[f32],
    ) -> Self {
        let known = known(counts);
        let (squares, sums) = squared(features, &known);
        let count = known.len().max(1) as f32;
        let prior: Vec<f32> = (0..features.genes())
            .map(|gene| squares.row(gene).iter().sum::<f32>() + setting.own + features.rest[gene])
            .collect();
        let of_row = |&(a, b): &(u32, u32)| of_both(prior[a as usize], prior[b as usize], setting.single);
        let mean = rows.iter().map(of_row).sum::<f32>() / rows.len().max(1) as f32;
        let mut open = Matrix::zeros(rows.len(), sums.len());
        for (place, (row, records)) in rows.iter().zip(row_counts).enumerate() {
            let (own, each) = (of_row(row), of_row(row) * records / (count * setting.noise));
            open.row_mut(place)
                .iter_mut()
                .zip(&sums)
                .for_each(|(open, sum)| *open = own / (1.0 + each * sum));
        }
        let mut of_rows = product(&squares, open.transposed());
        let mut array = Vec::with_capacity(counts.len());
        for (gene, &records) in counts.iter().enumerate() {
            let alone = setting.own + features.rest[gene];
            let left = alone / (1.0 + alone * mean * records / setting.noise);
            let out = of_rows.row_mut(gene).iter_mut().zip(rows);
            out.for_each(|(out, row)| *out += left * of_row(row));
            array.push(squares.row(gene).iter().sum::<f32>() + left);
        }
        Self { of_rows, array, prior, single: setting.single }
    }

    pub(super) fn of_row(&self, row: usize, gene: u32) -> f32 {
        self.of_rows.get(gene as usize, row)
    }

    /// Of a pair that is no row, with an array.
    pub(super) fn unknown(&self, a: u32, b: u32, gene: u32) -> f32 {
        of_both(self.prior[a as usize], self.prior[b as usize], self.single) * self.array[gene as usize]
    }
}
