//! The few large singular vectors of a matrix: bases that hold them, and what the matrix's square adds to a basis.

use crate::matrix::{Matrix, orthonormal_columns, product};
use knockout_base::random::Rng;

/// The side of a matrix on which vectors lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// Takes vectors of this side through a matrix to the other one.
    fn cross(self, matrix: &Matrix<f32>, vectors: &Matrix<f32>) -> Matrix<f32> {
        match self {
            Self::Right => product(matrix, vectors),
            Self::Left => product(matrix.transposed(), vectors),
        }
    }
}

/// An orthonormal basis with what the matrix's square adds to those of its vectors that the matrix makes no longer than `below`, at most
/// `most` vectors in all; and the image of everything. The basis is in descending order of these lengths.
///
/// This is the beginning of Krylov's space: it tells vectors above a threshold from those just below it in few steps, where singular
/// values crowd and powers alone take many.
pub(super) fn explored(
    matrix: &Matrix<f32>,
    basis: &Matrix<f32>,
    side: Side,
    below: f64,
    most: usize,
) -> (Matrix<f32>, Matrix<f32>) {
    let image = side.cross(matrix, basis);
    let longer = column_lengths(&image).into_iter().take_while(|&length| length > below).count();
    let end = image.columns().min(longer + most.saturating_sub(basis.columns()));
    if longer == end {
        return (basis.clone(), image);
    }
    let new = beyond(&side.other().cross(matrix, &image.columns_of(longer..end)), basis);
    let new_image = side.cross(matrix, &new);
    (beside(basis, &new), beside(&image, &new_image))
}

/// Orthonormal columns that span what columns have beyond an orthonormal basis.
fn beyond(columns: &Matrix<f32>, basis: &Matrix<f32>) -> Matrix<f32> {
    let mut rest = columns.clone();
    // Of columns that lie almost inside of the basis the first pass leaves rounding errors, which the second makes orthogonal.
    for _ in 0..2 {
        let inside = product(basis, &product(basis.transposed(), &rest));
        rest.values_mut().iter_mut().zip(inside.values()).for_each(|(rest, inside)| *rest -= inside);
        let inverse: Vec<f64> = column_lengths(&rest).iter().map(|length| 1.0 / length.max(1e-30)).collect();
        rest = orthonormal_columns(&scaled(&rest, &inverse));
    }
    rest
}

/// The vectors of a basis and random ones, at most `most` in all.
pub(super) fn widened(basis: &Matrix<f32>, step: usize, more: usize, most: usize) -> Matrix<f32> {
    let columns = (basis.columns() + more).min(most);
    let kept = basis.columns().min(columns);
    let mut wide = Matrix::zeros(basis.rows(), columns);
    let mut rng = Rng::new(step as u64, "completion");
    // As long as the others, on average.
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

/// Columns beside each other.
fn beside(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let columns = a.columns() + b.columns();
    let mut both = Vec::with_capacity(a.rows() * columns);
    for row in 0..a.rows() {
        both.extend_from_slice(a.row(row));
        both.extend_from_slice(b.row(row));
    }
    Matrix::new(a.rows(), columns, both)
}

/// Columns times numbers.
pub(super) fn scaled(matrix: &Matrix<f32>, by: &[f64]) -> Matrix<f32> {
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

    /// The explored basis is orthonormal, holds the basis and what the square makes of it, and never outgrows the matrix.
    #[test]
    fn it_begins_krylovs_space() {
        let mut rng = Rng::new(0, "subspace");
        for (rows, columns, start) in [(30, 20, 3), (20, 30, 10), (12, 9, 5), (6, 6, 6)] {
            let matrix = random(rows, columns, &mut rng);
            for side in [Side::Left, Side::Right] {
                let length = if side == Side::Right { columns } else { rows };
                let most = rows.min(columns);
                let basis = orthonormal_columns(&random(length, start, &mut rng));
                assert_eq!(explored(&matrix, &basis, side, 0.0, most).0, basis);
                let (all, images) = explored(&matrix, &basis, side, 1e9, most);
                assert_eq!((&all.columns_of(0..start), all.columns()), (&basis, (2 * start).min(most)));
                let unit = gram(&all);
                for i in 0..all.columns() {
                    for j in 0..all.columns() {
                        assert!((unit.get(i, j) - f64::from(u8::from(i == j))).abs() < 1e-5);
                    }
                }
                let expected = side.cross(&matrix, &all);
                assert!(images.values().iter().zip(expected.values()).all(|(a, b)| (a - b).abs() < 1e-4));
                let image = side.cross(&matrix, &basis).columns_of(0..all.columns() - start);
                let left = left_out(&side.other().cross(&matrix, &image), &all);
                assert!(left < 1e-4 || image.columns() == 0, "{left}");
            }
        }
    }

    /// The share of the columns' length that a basis does not hold.
    fn left_out(columns: &Matrix<f32>, basis: &Matrix<f32>) -> f64 {
        let inside = product(basis, &product(basis.transposed(), columns));
        let square = |x: f32| f64::from(x).powi(2);
        let left: f64 = columns.values().iter().zip(inside.values()).map(|(a, b)| square(a - b)).sum();
        (left / columns.values().iter().map(|&x| square(x)).sum::<f64>()).sqrt()
    }
}
