//! Products of matrices, in single or double precision.
#![expect(unsafe_code, reason = "the product takes pointers and strides")]

use super::Matrix;
use rayon::prelude::*;

/// Rows of the result that one call computes.
const BLOCK_ROWS: usize = 96;

/// A number that matrices are made of.
pub(crate) trait Element: Copy + Default + Send + Sync {
    /// Adds `a · b` to `out`, or `aᵀ · b` for the rows `first..` of it.
    fn multiply(a: Operand<'_, Self>, b: &Matrix<Self>, first: usize, out: &mut [Self]);
}

/// The left side of a product.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    Plain(&'a Matrix<T>),
    Transposed(&'a Matrix<T>),
}

impl<'a, T: Copy + Default> Operand<'a, T> {
    fn shape(self) -> (usize, usize) {
        match self {
            Self::Plain(matrix) => (matrix.rows(), matrix.columns()),
            Self::Transposed(matrix) => (matrix.columns(), matrix.rows()),
        }
    }

    /// Values from a row on, and the strides from row to row and from column to column.
    fn at_row(self, row: usize) -> (&'a [T], isize, isize) {
        match self {
            Self::Plain(matrix) => (&matrix.values()[row * matrix.columns()..], matrix.columns() as isize, 1),
            Self::Transposed(matrix) => (&matrix.values()[row..], 1, matrix.columns() as isize),
        }
    }
}

impl<'a, T> From<&'a Matrix<T>> for Operand<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        Self::Plain(matrix)
    }
}

macro_rules! element {
    ($float:ty, $gemm:path) => {
        impl Element for $float {
            fn multiply(a: Operand<'_, Self>, b: &Matrix<Self>, first: usize, out: &mut [Self]) {
                let (_, inner) = a.shape();
                let columns = b.columns();
                let rows = out.len() / columns;
                let (values, row_stride, column_stride) = a.at_row(first);
                let last = (rows - 1) as isize * row_stride + (inner - 1) as isize * column_stride;
                assert!((last as usize) < values.len() && b.rows() == inner && out.len() == rows * columns);
                // SAFETY: the assertion above bounds the last element that is read of `a` (strides are positive); `b` has
                // `inner * columns` values and `out` has `rows * columns`, each with the strides given.
                unsafe {
                    $gemm(
                        rows,
                        inner,
                        columns,
                        1.0,
                        values.as_ptr(),
                        row_stride,
                        column_stride,
                        b.values().as_ptr(),
                        columns as isize,
                        1,
                        0.0,
                        out.as_mut_ptr(),
                        columns as isize,
                        1,
                    );
                }
            }
        }
    };
}
element!(f32, matrixmultiply::sgemm);
element!(f64, matrixmultiply::dgemm);

/// `a · b`, where `a` may be transposed.
///
/// # Panics
///
/// If the shapes do not fit.
pub(crate) fn product<'a, T: Element + 'a>(a: impl Into<Operand<'a, T>>, b: &Matrix<T>) -> Matrix<T> {
    let a = a.into();
    let (rows, inner) = a.shape();
    assert_eq!(inner, b.rows(), "inner sizes of a product");
    let mut out = Matrix::zeros(rows, b.columns());
    if rows > 0 && inner > 0 && b.columns() > 0 {
        let blocks = out.values_mut().par_chunks_mut(BLOCK_ROWS * b.columns()).enumerate();
        blocks.for_each(|(block, out)| T::multiply(a, b, block * BLOCK_ROWS, out));
    }
    out
}

impl<T> Matrix<T> {
    /// Marks the matrix as transposed in a product.
    pub(crate) fn transposed(&self) -> Operand<'_, T> {
        Operand::Transposed(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_random::Rng;

    fn random(rows: usize, columns: usize, rng: &mut Rng) -> Matrix<f64> {
        Matrix::new(rows, columns, (0..rows * columns).map(|_| rng.normal()).collect())
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let mut rng = Rng::new(0, "product");
        for (rows, inner, columns) in [(1, 1, 1), (3, 5, 2), (200, 7, 31), (97, 130, 96), (4, 0, 3)] {
            let (a, b) = (random(rows, inner, &mut rng), random(inner, columns, &mut rng));
            let mut flipped = Matrix::zeros(inner, rows);
            (0..rows).for_each(|i| (0..inner).for_each(|k| flipped.set(k, i, a.get(i, k))));
            let (plain, turned) = (product(&a, &b), product(flipped.transposed(), &b));
            for i in 0..rows {
                for j in 0..columns {
                    let expected: f64 = (0..inner).map(|k| a.get(i, k) * b.get(k, j)).sum();
                    assert!((plain.get(i, j) - expected).abs() < 1e-10);
                    assert!((turned.get(i, j) - expected).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mut rng = Rng::new(0, "threads");
        let (a, b) = (random(301, 77, &mut rng), random(77, 65, &mut rng));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product(&a, &b))
        };
        assert!(run(1) == run(2) && run(1) == run(7));
    }
}
