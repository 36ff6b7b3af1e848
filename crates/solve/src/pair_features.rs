//! Features of pairs for boosted trees: predictions of the parts of a stack, and what is known of both genes.
//!
//! A gene with training records has its mean score, the size of its residuals and the shares of strong ones. A new gene has the means of
//! these over the known genes, weighted by their similarity in the networks. The features of one new gene begin with it; those of two
//! known or two new genes are in ascending order, value by value.

use crate::error::bad_tensor;
use crate::matrix::{Matrix, dot};
use crate::model::Records;
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_data::cell::{Cell, GenePositions, Separation};

/// Weight of the value 0, to which means over few similar genes shrink.
const PRIOR_WEIGHT: f32 = 0.1;
/// Residuals beyond this many standard deviations are strong.
const STRONG: f64 = 2.0;
/// Distance of genes on different chromosomes.
const FAR: f32 = 3e6;
/// Figures of the training records of a gene: effect, size, strong negative and positive shares, and similarity to known genes.
const FIGURES: usize = 5;
/// Features of the pair itself beside the parts: new genes, similarity, mean over similar genes, distance.
const OF_PAIR: usize = 4;

const GENES: &str = "trees.genes";
const KNOWN: &str = "trees.known";
const SUMS: &str = "trees.sums";
const WEIGHTS: &str = "trees.weights";

/// Tables that the features of pairs are looked up in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairFeatures {
    /// For each gene, its figures.
    genes: Matrix<f32>,
    is_known: Vec<bool>,
    /// For each gene, the sum of its partners' vectors times the residuals, and without these.
    sums: Matrix<f32>,
    weights: Matrix<f32>,
    /// For each gene: features of the cell, and the logarithm of its degree.
    traits: Matrix<f32>,
    positions: Option<GenePositions>,
}

impl PairFeatures {
    /// Computes the tables from the training records and their residuals; `vectors` has the similarity of genes in the networks.
    pub(crate) fn new(
        cell: &Cell,
        names: &[String],
        train: &Records,
        residuals: &[f64],
        vectors: &Matrix<f32>,
    ) -> Self {
        let (count, directions) = (cell.genes().len(), vectors.columns());
        let mean = knockout_base::stats::mean(&train.scores);
        let rms = (residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len().max(1) as f64).sqrt();
        let mut genes = Matrix::<f32>::zeros(count, FIGURES);
        let (mut sums, mut weights) = (Matrix::zeros(count, directions), Matrix::zeros(count, directions));
        let mut records = vec![0.0_f32; count];
        for ((set, score), &residual) in train.sets.view().iter().zip(&train.scores).zip(residuals) {
            for &gene in set {
                records[gene as usize] += 1.0;
                let strong = |is: bool| f32::from(u8::from(is));
                let figures = [
                    (score - mean) as f32,
                    (residual * residual) as f32,
                    strong(residual < -STRONG * rms),
                    strong(residual > STRONG * rms),
                ];
                genes.row_mut(gene as usize).iter_mut().zip(figures).for_each(|(sum, value)| *sum += value);
            }
            if let &[a, b] = set {
                for (gene, partner) in [(a as usize, b as usize), (b as usize, a as usize)] {
                    let vector = vectors.row(partner);
                    let add = |sum: &mut f32, x: &f32, times: f32| *sum += times * x;
                    sums.row_mut(gene)
                        .iter_mut()
                        .zip(vector)
                        .for_each(|(sum, x)| add(sum, x, residual as f32));
                    weights.row_mut(gene).iter_mut().zip(vector).for_each(|(sum, x)| add(sum, x, 1.0));
                }
            }
        }
        let is_known: Vec<bool> = records.iter().map(|&records| records > 0.0).collect();
        let mut similar = Matrix::<f32>::zeros(FIGURES, directions);
        for gene in (0..count).filter(|&gene| is_known[gene]) {
            let row = genes.row_mut(gene);
            for sum in row.iter_mut() {
                *sum /= records[gene];
            }
            row[1] = row[1].sqrt();
            row[FIGURES - 1] = 1.0;
            for (figure, value) in genes.row(gene).iter().enumerate() {
                let into = similar.row_mut(figure).iter_mut().zip(vectors.row(gene));
                into.for_each(|(sum, x)| *sum += value * x);
            }
        }
        for (gene, is_known) in is_known.iter().enumerate() {
            let total = dot(vectors.row(gene), similar.row(FIGURES - 1)).max(0.0);
            if !is_known {
                for figure in 0..FIGURES - 1 {
                    let mean = dot(vectors.row(gene), similar.row(figure)) / (total + PRIOR_WEIGHT);
                    genes.set(gene, figure, mean);
                }
            }
            genes.set(gene, FIGURES - 1, total);
        }
        Self::of_cell(cell, names, genes, is_known, sums, weights)
    }

    fn of_cell(
        cell: &Cell,
        names: &[String],
        genes: Matrix<f32>,
        is_known: Vec<bool>,
        sums: Matrix<f32>,
        weights: Matrix<f32>,
    ) -> Self {
        let columns: Vec<usize> = cell.features().map_or_else(Vec::new, |features| {
            names.iter().filter_map(|name| features.names().iter().position(|known| known == name)).collect()
        });
        let mut traits = Matrix::zeros(cell.genes().len(), columns.len() + 1);
        for gene in 0..cell.genes().len() {
            let row = traits.row_mut(gene);
            for (value, &column) in row.iter_mut().zip(&columns) {
                *value = cell.features().and_then(|all| all.get(gene, column)).unwrap_or(f32::NAN);
            }
            let degree: usize = cell.networks().iter().map(|network| network.degree(gene)).sum();
            row[columns.len()] = (1.0 + degree as f32).ln();
        }
        Self { genes, is_known, sums, weights, traits, positions: cell.positions().cloned() }
    }

    /// Returns the number of features, given that of the parts.
    pub(crate) fn width(&self, parts: usize) -> usize {
        parts + OF_PAIR + 2 * (FIGURES + self.traits.columns())
    }

    /// Returns how many genes of a pair are new.
    pub(crate) fn new_genes(&self, set: &[u32]) -> usize {
        set.iter().filter(|&&gene| !self.is_known[gene as usize]).count()
    }

    /// Appends the features of a pair, given the predictions of the parts.
    pub(crate) fn push(&self, set: [u32; 2], parts: &[f64], vectors: &Matrix<f32>, out: &mut Vec<f32>) {
        let [mut a, mut b] = set.map(|gene| gene as usize);
        if self.is_known[a] && !self.is_known[b] {
            std::mem::swap(&mut a, &mut b);
        }
        let new = self.new_genes(&set);
        out.extend(parts.iter().map(|&part| part as f32));
        let distance = match self.positions.as_ref().map(|found| found.separation(set[0], set[1])) {
            Some(Separation::Bases(bases)) => bases as f32,
            Some(Separation::OtherChromosome) => FAR,
            Some(Separation::Unknown) | None => f32::NAN,
        };
        let similar = |gene: usize, partner: usize| {
            let vector = vectors.row(gene);
            dot(vector, self.sums.row(partner))
                / (dot(vector, self.weights.row(partner)).max(0.0) + PRIOR_WEIGHT)
        };
        let mean = match new {
            0 => 0.5 * (similar(a, b) + similar(b, a)),
            1 => similar(a, b),
            _ => f32::NAN,
        };
        out.extend([new as f32, dot(vectors.row(a), vectors.row(b)), mean, distance]);
        for table in [&self.genes, &self.traits] {
            for (&x, &y) in table.row(a).iter().zip(table.row(b)) {
                out.extend(if new == 1 || x <= y || y.is_nan() { [x, y] } else { [y, x] });
            }
        }
    }

    pub(crate) fn tensors(&self) -> [Tensor; 4] {
        let known: Vec<u32> =
            (0..self.is_known.len() as u32).filter(|&gene| self.is_known[gene as usize]).collect();
        let rows = |table: &Matrix<f32>| {
            let values = known.iter().flat_map(|&gene| table.row(gene as usize).iter().copied()).collect();
            Matrix::new(known.len(), table.columns(), values)
        };
        let flags = self.is_known.iter().map(|&is_known| f32::from(u8::from(is_known))).collect();
        [
            Tensor::from_matrix(GENES, &self.genes),
            Tensor::vector(KNOWN, flags),
            Tensor::from_matrix(SUMS, &rows(&self.sums)),
            Tensor::from_matrix(WEIGHTS, &rows(&self.weights)),
        ]
    }

    /// Loads the tables; `None` if a solution was stored without them.
    pub(crate) fn load(
        tensors: &[Tensor],
        cell: &Cell,
        names: &[String],
        directions: usize,
    ) -> Result<Option<Self>, Error> {
        if !has(tensors, GENES) {
            return Ok(None);
        }
        let count = cell.genes().len();
        let genes = find(tensors, GENES)?.matrix_with_rows(count)?;
        let is_known: Vec<bool> =
            find_vector(tensors, KNOWN, count)?.iter().map(|&flag| flag > 0.0).collect();
        let known: Vec<usize> = (0..count).filter(|&gene| is_known[gene]).collect();
        let table = |name: &str| {
            let rows = find(tensors, name)?.matrix_with_rows(known.len())?;
            if rows.columns() != directions {
                return Err(bad_tensor(name));
            }
            let mut all = Matrix::zeros(count, directions);
            known
                .iter()
                .enumerate()
                .for_each(|(row, &gene)| all.row_mut(gene).copy_from_slice(rows.row(row)));
            Ok(all)
        };
        if genes.columns() != FIGURES {
            return Err(bad_tensor(GENES));
        }
        Ok(Some(Self::of_cell(cell, names, genes, is_known, table(SUMS)?, table(WEIGHTS)?)))
    }
}
