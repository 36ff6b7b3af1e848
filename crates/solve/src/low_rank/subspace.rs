//! Subspaces that contain the leading singular vectors of a matrix.

use crate::matrix::{Matrix, concat_columns, orthonormal_columns, product};
use knockout_base::random::Rng;

/// The side of a matrix whose singular vectors are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingularSide {
    Left,
    Right,
}

impl SingularSide {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// Multiplies vectors of this side with a matrix; the results are vectors of the other side.
    fn apply(self, matrix: &Matrix<f32>, vectors: &Matrix<f32>) -> Matrix<f32> {
        match self {
            Self::Right => product(matrix, vectors),
            Self::Left => product(matrix.transposed(), vectors),
        }
    }
}

/// Extends an orthonormal basis by one step of a Krylov space, and returns it with its image.
///
/// Only vectors whose image is at most `max_length` long are extended, to at most `max_vectors` in all. The basis is ordered by descending
/// length of the images. A Krylov space separates singular values just above a threshold from those just below it in fewer steps
/// than powers of the matrix do.
pub(super) fn extend_krylov(
    matrix: &Matrix<f32>,
    basis: &Matrix<f32>,
    side: SingularSide,
    max_length: f64,
    max_vectors: usize,
) -> (Matrix<f32>, Matrix<f32>) {
    let image = side.apply(matrix, basis);
    let longer = column_lengths(&image).into_iter().take_while(|&length| length > max_length).count();
    let end = image.columns().min(longer + max_vectors.saturating_sub(basis.columns()));
    if longer == end {
        return (basis.clone(), image);
    }
    let new = orthonormal_complement(&side.other().apply(matrix, &image.columns_of(longer..end)), basis);
    let new_image = side.apply(matrix, &new);
    (concat_columns(basis, &new), concat_columns(&image, &new_image))
}

/// Returns orthonormal columns that span the components of columns orthogonal to a basis.
fn orthonormal_complement(columns: &Matrix<f32>, basis: &Matrix<f32>) -> Matrix<f32> {
    let mut rest = columns.clone();
    // The second pass removes the rounding errors of columns that are almost in the span of the basis.
    for _ in 0..2 {
        let inside = product(basis, &product(basis.transposed(), &rest));
        rest.values_mut().iter_mut().zip(inside.values()).for_each(|(rest, inside)| *rest -= inside);
        let inverse: Vec<f64> = column_lengths(&rest).iter().map(|length| 1.0 / length.max(1e-30)).collect();
        rest = orthonormal_columns(&scale_columns(&rest, &inverse));
    }
    rest
}

/// Appends `extra` random vectors to a basis, up to `max_vectors` in all.
pub(super) fn append_random(
    basis: &Matrix<f32>,
    step: usize,
    extra: usize,
    max_vectors: usize,
) -> Matrix<f32> {
    let columns = (basis.columns() + extra).min(max_vectors);
    let kept = basis.columns().min(columns);
    let mut wide = Matrix::zeros(basis.rows(), columns);
    let mut rng = Rng::new(step as u64, "completion");
    // The expected length is 1.
    let length = 1.0 / (basis.rows().max(1) as f64).sqrt();
    for row in 0..basis.rows() {
        let out = wide.row_mut(row);
        out[..kept].copy_from_slice(&basis.row(row)[..kept]);
        out[kept..].iter_mut().for_each(|x| *x = (length * rng.normal()) as f32);
    }
    wide
}

fn column_lengths(matrix: &Matrix<f32>) -> Vec<f64> {
    let mut squares = vec![0.0; matrix.columns()];
    for row in 0..matrix.rows() {
        squares.iter_mut().zip(matrix.row(row)).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// Returns the columns of a matrix, each times a factor.
pub(super) fn scale_columns(matrix: &Matrix<f32>, by: &[f64]) -> Matrix<f32> {
    let (mut scaled, by) = (matrix.clone(), by.iter().map(|&x| x as f32).collect::<Vec<_>>());
    if !by.is_empty() {
        for row in scaled.values_mut().chunks_exact_mut(by.len()) {
            row.iter_mut().zip(&by).for_each(|(x, by)| *x *= by);
        }
    }
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::gram;

    fn random(rows: usize, columns: usize, rng: &mut Rng) -> Matrix<f32> {
        Matrix::new(rows, columns, (0..rows * columns).map(|_| rng.normal() as f32).collect())
    }

    /// The extended basis is orthonormal, contains the basis and its image under the squared matrix, and is bounded.
    #[test]
    fn a_basis_is_extended_by_a_krylov_step() {
        let mut rng = Rng::new(0, "subspace");
        for (rows, columns, start) in [(30, 20, 3), (20, 30, 10), (12, 9, 5), (6, 6, 6)] {
            let matrix = random(rows, columns, &mut rng);
            for side in [SingularSide::Left, SingularSide::Right] {
                let length = if side == SingularSide::Right { columns } else { rows };
                let max_vectors = rows.min(columns);
                let basis = orthonormal_columns(&random(length, start, &mut rng));
                assert_eq!(extend_krylov(&matrix, &basis, side, 0.0, max_vectors).0, basis);
                let (all, images) = extend_krylov(&matrix, &basis, side, 1e9, max_vectors);
                assert_eq!(
                    (&all.columns_of(0..start), all.columns()),
                    (&basis, (2 * start).min(max_vectors))
                );
                let unit = gram(&all);
                for i in 0..all.columns() {
                    for j in 0..all.columns() {
                        assert!((unit.get(i, j) - f64::from(u8::from(i == j))).abs() < 1e-5);
                    }
                }
                let expected = side.apply(&matrix, &all);
                assert!(images.values().iter().zip(expected.values()).all(|(a, b)| (a - b).abs() < 1e-4));
                let image = side.apply(&matrix, &basis).columns_of(0..all.columns() - start);
                let left = residual(&side.other().apply(&matrix, &image), &all);
                assert!(left < 1e-4 || image.columns() == 0, "{left}");
            }
        }
    }

    /// Returns the relative length of the columns' components outside a basis.
    fn residual(columns: &Matrix<f32>, basis: &Matrix<f32>) -> f64 {
        let inside = product(basis, &product(basis.transposed(), columns));
        let square = |x: f32| f64::from(x).powi(2);
        let left: f64 = columns.values().iter().zip(inside.values()).map(|(a, b)| square(a - b)).sum();
        (left / columns.values().iter().map(|&x| square(x)).sum::<f64>()).sqrt()
    }
}
