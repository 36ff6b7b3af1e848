//! Cholesky factorisation, and orthonormal columns computed with it.

use super::{Element, Matrix, gram, product};
use rayon::prelude::*;

/// The lower triangular factor L of a matrix L·Lᵀ.
pub(crate) struct Cholesky {
    factor: Matrix<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix. Pivots below 1e-13 of the largest diagonal entry are raised to it, so a matrix that is singular up to
    /// rounding is treated as barely regular.
    pub(crate) fn new(mut matrix: Matrix<f64>) -> Self {
        let size = matrix.rows();
        let largest = (0..size).map(|i| matrix.get(i, i)).fold(0.0_f64, f64::max);
        let least = (largest * 1e-13).max(f64::MIN_POSITIVE);
        for i in 0..size {
            let (done, rest) = matrix.values_mut().split_at_mut(i * size);
            let (row, _) = rest.split_at_mut(size);
            for j in 0..i {
                let other = &done[j * size..][..=j];
                let dot: f64 = row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
                row[j] = (row[j] - dot) / other[j];
            }
            let square: f64 = row[..i].iter().map(|x| x * x).sum();
            row[i] = (row[i] - square).max(least).sqrt();
            row[i + 1..].fill(0.0);
        }
        Self { factor: matrix }
    }

    /// Solves Lx = b in place, for a b that is 0 before index `first`.
    fn forward_from(&self, first: usize, b: &mut [f64]) {
        for i in first..b.len() {
            let row = self.factor.row(i);
            let dot: f64 = row[first..i].iter().zip(&b[first..i]).map(|(l, x)| l * x).sum();
            b[i] = (b[i] - dot) / row[i];
        }
    }

    /// Solves L·Lᵀx = b in place.
    #[cfg(test)]
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.forward_from(0, b);
        for i in (0..b.len()).rev() {
            b[i] /= self.factor.get(i, i);
            let (value, row) = (b[i], &self.factor.row(i)[..i]);
            b[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= l * value);
        }
    }
}

/// Returns orthonormal columns with the span of a matrix of full rank.
///
/// They are the matrix times the inverse transposed Cholesky factor of its Gram matrix, computed in double precision.
pub(crate) fn orthonormal_columns<T: Element>(matrix: &Matrix<T>) -> Matrix<T> {
    let factor = Cholesky::new(gram(matrix));
    let columns = matrix.columns();
    // Row i of the inverse of Lᵀ, transposed, is L⁻¹ times the i-th unit vector.
    let mut inverse = Matrix::zeros(columns, columns);
    inverse.values_mut().par_chunks_exact_mut(columns.max(1)).enumerate().for_each(|(i, row)| {
        row[i] = 1.0;
        factor.forward_from(i, row);
    });
    product(matrix, &inverse.cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    #[test]
    fn systems_are_solved_and_columns_become_orthonormal() {
        let mut rng = Rng::new(0, "factor");
        for size in [1, 2, 9, 40] {
            let tall =
                Matrix::new(2 * size, size, (0..2 * size * size).map(|_| rng.normal()).collect::<Vec<_>>());
            let gram = product(tall.transposed(), &tall);
            let expected: Vec<f64> = (0..size).map(|_| rng.normal()).collect();
            let mut x: Vec<f64> =
                (0..size).map(|i| gram.row(i).iter().zip(&expected).map(|(a, b)| a * b).sum()).collect();
            Cholesky::new(gram).solve(&mut x);
            assert!(x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-7), "{x:?} {expected:?}");
            let q = orthonormal_columns(&tall);
            let unit = product(q.transposed(), &q);
            for i in 0..size {
                for j in 0..size {
                    assert!((unit.get(i, j) - f64::from(u8::from(i == j))).abs() < 1e-9);
                }
            }
        }
    }
}
