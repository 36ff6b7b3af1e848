//! How alike every gene is to the genes that training knows, and the kernels over rows and columns that follow from it.

use super::inner_products;
use super::neighbourhood::Neighbourhoods;
use crate::grid::{Grid, Row, parts_of_triple};
use crate::matrix::Matrix;

/// What any two genes share: with it the process contains one additive in the genes.
const SHARED: f32 = 0.03;

/// The kernel of every gene with the known ones: those of rows and columns.
pub(super) struct Table {
    grid: Grid,
    /// Known genes, ascending.
    known: Vec<u32>,
    /// All genes by known genes.
    kernel: Matrix<f32>,
    /// Places among the known genes of the columns, and of the genes of each row (one twice for a gene).
    column_places: Vec<usize>,
    row_places: Vec<(usize, usize)>,
    /// What the networks alone give a known gene with itself.
    diagonal: Vec<f32>,
}

impl Table {
    pub(super) fn new(grid: Grid, networks: &[Neighbourhoods], mixture: &[f32], gene_count: usize) -> Self {
        let genes_of_rows = grid.rows().iter().flat_map(|&(row, _)| match row {
            Row::Gene(gene) => [gene, gene],
            Row::Pair(a, b) => [a, b],
        });
        let mut known: Vec<u32> = genes_of_rows.chain(grid.columns().iter().copied()).collect();
        known.sort_unstable();
        known.dedup();
        let mut kernel = Matrix::new(gene_count, known.len(), vec![SHARED; gene_count * known.len()]);
        let all: Vec<u32> = (0..gene_count as u32).collect();
        for (network, &weight) in networks.iter().zip(mixture).filter(|(_, weight)| **weight > 0.0) {
            network.add_likeness(&all, &known, weight, &mut kernel);
        }
        let place = |gene: u32| known.binary_search(&gene).unwrap_or_default();
        let column_places = grid.columns().iter().map(|&gene| place(gene)).collect();
        let row_places = grid
            .rows()
            .iter()
            .map(|&(row, _)| match row {
                Row::Gene(gene) => (place(gene), place(gene)),
                Row::Pair(a, b) => (place(a), place(b)),
            })
            .collect();
        let diagonal =
            known.iter().enumerate().map(|(place, &gene)| kernel.get(gene as usize, place)).collect();
        Self { grid, known, kernel, column_places, row_places, diagonal }
    }

    /// How much of a gene is known, from 0 to 1: all of one that training has seen, else as much as the known genes nearest to it
    /// share with it.
    pub(super) fn known_share(&self, gene: u32) -> f64 {
        if self.known.binary_search(&gene).is_ok() {
            return 1.0;
        }
        let nearest = self.kernel.row(gene as usize).iter().copied().fold(0.0_f32, f32::max);
        f64::from((nearest - SHARED).clamp(0.0, 1.0))
    }

    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Sets what a gene shares with itself beyond the networks.
    pub(super) fn set_own(&mut self, own: f32) {
        for (place, &gene) in self.known.iter().enumerate() {
            self.kernel.set(gene as usize, place, self.diagonal[place] + own);
        }
    }

    pub(super) fn row_kernel(&self) -> Matrix<f32> {
        let rows = self.grid.rows();
        let mut out = Matrix::zeros(rows.len(), rows.len());
        let mut line = Vec::new();
        for (place, &(row, _)) in rows.iter().enumerate() {
            self.row_vector(row, &mut line);
            out.row_mut(place).copy_from_slice(&line);
        }
        out
    }

    pub(super) fn column_kernel(&self) -> Matrix<f32> {
        self.with_columns(self.grid.columns())
    }

    /// The kernel of genes with the columns.
    fn with_columns(&self, genes: &[u32]) -> Matrix<f32> {
        let values = genes.iter().flat_map(|&gene| {
            let row = self.kernel.row(gene as usize);
            self.column_places.iter().map(move |&place| row[place])
        });
        Matrix::new(genes.len(), self.column_places.len(), values.collect())
    }

    /// The kernel of a row, known or not, with the rows of the grid.
    fn row_vector(&self, row: Row, out: &mut Vec<f32>) {
        out.clear();
        let rows = self.grid.rows().iter().zip(&self.row_places);
        match row {
            Row::Gene(gene) => {
                let kernel = self.kernel.row(gene as usize);
                out.extend(rows.map(|(&(other, _), &(place, _))| match other {
                    Row::Gene(_) => kernel[place],
                    Row::Pair(..) => 0.0,
                }));
            }
            Row::Pair(a, b) => {
                let (a, b) = (self.kernel.row(a as usize), self.kernel.row(b as usize));
                out.extend(rows.map(|(&(other, _), &(c, d))| match other {
                    Row::Gene(_) => 0.0,
                    Row::Pair(..) => 0.5 * (a[c] * b[d] + a[d] * b[c]),
                }));
            }
        }
    }

    /// For some genes as columns, what each row of the grid adds: one row for every gene of the table, 0 for the others.
    pub(super) fn answers(&self, alpha: &Matrix<f32>, genes: &[u32]) -> Matrix<f32> {
        let found = inner_products(&self.with_columns(genes), alpha);
        let mut out = Matrix::zeros(self.kernel.rows(), alpha.rows());
        for (place, &gene) in genes.iter().enumerate() {
            out.row_mut(gene as usize).copy_from_slice(found.row(place));
        }
        out
    }

    /// The process at a set of ascending genes: the mean over the ways to take it apart into a row and a column. Of a triple
    /// with a known pair only that way counts, as in training.
    pub(super) fn value(&self, set: &[u32], answers: &Matrix<f32>, scratch: &mut Vec<f32>) -> f64 {
        let mut at = |(row, gene): (Row, u32)| -> f64 {
            self.row_vector(row, scratch);
            let answers = answers.row(gene as usize);
            f64::from(scratch.iter().zip(answers).map(|(a, b)| a * b).sum::<f32>())
        };
        match *set {
            [a, b] => f64::midpoint(at((Row::Gene(a), b)), at((Row::Gene(b), a))),
            [_, _, _] => match self.grid.part_of_triple(set) {
                Some(part) => at(part),
                None => parts_of_triple(set).into_iter().map(at).sum::<f64>() / 3.0,
            },
            _ => 0.0,
        }
    }
}
