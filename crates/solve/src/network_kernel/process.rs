//! The Gaussian process over cells of the grid: its covariance is a product of a kernel over rows and one over columns, so that
//! a product with it is two products of matrices of genes by genes and never one over pairs of records.

use crate::grid::Cells;
use crate::matrix::{Matrix, product};

/// Kernels over rows and columns, and where the training records lie.
pub(super) struct Process<'a> {
    pub(super) rows: &'a Matrix<f32>,
    pub(super) columns: &'a Matrix<f32>,
    /// One for each record that has cells.
    pub(super) cells: &'a [Cells],
    /// Variance of the noise in units of the scores' variance.
    pub(super) noise: f32,
}

impl Process<'_> {
    /// Solves (covariance + noise) α = targets by conjugate gradients, and gives α spread over the cells.
    pub(super) fn solve(&self, targets: &[f32], steps: usize, tolerance: f64) -> Matrix<f32> {
        let mut alpha = vec![0.0_f32; targets.len()];
        let mut residual = targets.to_vec();
        let mut direction = residual.clone();
        let mut square = dot(&residual, &residual);
        let enough = square * tolerance * tolerance;
        for _ in 0..steps {
            if square <= enough || square == 0.0 {
                break;
            }
            let moved = self.times(&direction);
            let length = (square / dot(&direction, &moved)) as f32;
            for ((alpha, residual), (direction, moved)) in
                alpha.iter_mut().zip(&mut residual).zip(direction.iter().zip(&moved))
            {
                *alpha += length * direction;
                *residual -= length * moved;
            }
            let next = dot(&residual, &residual);
            let share = (next / square) as f32;
            direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + share * *d);
            square = next;
        }
        self.spread(&alpha)
    }

    /// The process at every cell, given weights on cells.
    pub(super) fn at_cells(&self, weights: &Matrix<f32>) -> Matrix<f32> {
        product(&product(self.rows, weights), self.columns)
    }

    fn times(&self, values: &[f32]) -> Vec<f32> {
        let field = self.at_cells(&self.spread(values));
        let record = |(cells, value): (&Cells, &f32)| {
            let mean = cells.mean(|row, column| f64::from(field.get(row, column))).unwrap_or(0.0);
            mean as f32 + self.noise * value
        };
        self.cells.iter().zip(values).map(record).collect()
    }

    /// A record's value is the mean over its cells; this is the adjoint.
    fn spread(&self, values: &[f32]) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.rows.rows(), self.columns.rows());
        for (cells, value) in self.cells.iter().zip(values) {
            let count = cells.iter().count() as f32;
            for (row, column) in cells.iter() {
                out.set(row, column, out.get(row, column) + value / count);
            }
        }
        out
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::matrix::Cholesky;
    use knockout_cell::GeneSets;
    use knockout_random::Rng;

    /// Products of gene matrices give what the kernel over pairs of records gives, solved densely.
    #[test]
    fn it_is_the_dense_solution() {
        let mut rng = Rng::new(0, "process");
        let genes = 9;
        let mut sets = GeneSets::default();
        for b in 0..genes {
            for a in 0..b {
                if rng.below(10) < 8 {
                    sets.push(&[a, b]);
                }
            }
        }
        let grid = Grid::of(sets.view());
        let cells: Vec<Cells> = sets.view().iter().map(|set| grid.cells(set)).collect();
        let count = genes as usize;
        let factor: Vec<f32> = (0..count * count).map(|_| rng.normal() as f32).collect();
        let factor = Matrix::new(count, count, factor);
        let kernel = product(factor.transposed(), &factor);
        let targets: Vec<f32> = cells.iter().map(|_| rng.normal() as f32).collect();
        let noise = 0.7;
        let process = Process { rows: &kernel, columns: &kernel, cells: &cells, noise };
        let field = process.at_cells(&process.solve(&targets, 500, 1e-7));

        let pair = |a: &Cells, b: &Cells| {
            let one = |r, c| b.mean(|s, d| f64::from(kernel.get(r, s)) * f64::from(kernel.get(c, d)));
            a.mean(|r, c| one(r, c).unwrap_or(0.0)).unwrap_or(0.0)
        };
        let mut dense = Matrix::zeros(cells.len(), cells.len());
        for (i, a) in cells.iter().enumerate() {
            for (j, b) in cells.iter().enumerate() {
                dense.set(i, j, pair(a, b) + if i == j { f64::from(noise) } else { 0.0 });
            }
        }
        let mut alpha: Vec<f64> = targets.iter().map(|&target| f64::from(target)).collect();
        Cholesky::new(dense).solve(&mut alpha);
        for cell in &cells {
            let expected: f64 =
                cells.iter().zip(&alpha).map(|(other, alpha)| pair(cell, other) * alpha).sum();
            let found = cell.mean(|r, c| f64::from(field.get(r, c))).unwrap_or(0.0);
            assert!((found - expected).abs() < 2e-3 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }
}
