//! Products of matrices, in single or double precision.
#![expect(unsafe_code, reason = "the product takes pointers and strides")]

use super::Matrix;
use rayon::prelude::*;

/// Rows of the result per call; large enough that packing the right side again in every call is cheap.
const BLOCK_ROWS: usize = 192;
/// Rows of a Gram matrix per call.
const BLOCK_COLUMNS: usize = 64;

/// An element type of matrices.
pub(crate) trait Element: Copy + Default + Send + Sync + Into<f64> {
    fn of(value: f64) -> Self;

    /// Writes `a · b` to `out`, whose rows are `out_stride` apart.
    fn multiply(
        size: [usize; 3],
        a: Strided<'_, Self>,
        b: Strided<'_, Self>,
        out: &mut [Self],
        out_stride: usize,
    );
}

/// Values with a row stride and a column stride.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    values: &'a [T],
    row: usize,
    column: usize,
}

/// An operand of a product.
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

    /// Returns the values starting at a row and a column.
    fn from(self, row: usize, column: usize) -> Strided<'a, T> {
        match self {
            Self::Plain(matrix) => {
                let columns = matrix.columns();
                Strided { values: &matrix.values()[row * columns + column..], row: columns, column: 1 }
            }
            Self::Transposed(matrix) => {
                let columns = matrix.columns();
                Strided { values: &matrix.values()[column * columns + row..], row: 1, column: columns }
            }
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
            fn of(value: f64) -> Self {
                value as Self
            }

            fn multiply(
                [rows, inner, columns]: [usize; 3],
                a: Strided<'_, Self>,
                b: Strided<'_, Self>,
                out: &mut [Self],
                out_stride: usize,
            ) {
                if rows == 0 || inner == 0 || columns == 0 {
                    return;
                }
                let last = |side: Strided<'_, Self>, rows: usize, columns: usize| {
                    (rows - 1) * side.row + (columns - 1) * side.column
                };
                assert!(last(a, rows, inner) < a.values.len(), "the left operand is large enough");
                assert!(last(b, inner, columns) < b.values.len(), "the right operand is large enough");
                assert!(
                    columns <= out_stride && (rows - 1) * out_stride + columns <= out.len(),
                    "the result fits into the output"
                );
                // SAFETY: the assertions above bound the last element read from each operand and the last element written (all
                // strides are positive), and the rows of the result do not overlap.
                unsafe {
                    $gemm(
                        rows,
                        inner,
                        columns,
                        1.0,
                        a.values.as_ptr(),
                        a.row as isize,
                        a.column as isize,
                        b.values.as_ptr(),
                        b.row as isize,
                        b.column as isize,
                        0.0,
                        out.as_mut_ptr(),
                        out_stride as isize,
                        1,
                    );
                }
            }
        }
    };
}
element!(f32, matrixmultiply::sgemm);
element!(f64, matrixmultiply::dgemm);

/// Returns `a · b`; either operand may be transposed.
///
/// # Panics
///
/// If the shapes do not match.
pub(crate) fn product<'a, T: Element + 'a>(
    a: impl Into<Operand<'a, T>>,
    b: impl Into<Operand<'a, T>>,
) -> Matrix<T> {
    let (a, b) = (a.into(), b.into());
    let mut out = Matrix::zeros(a.shape().0, b.shape().1);
    product_into(a, b, &mut out);
    out
}

/// Writes `a · b` to a matrix.
///
/// # Panics
///
/// If the shapes do not match.
pub(crate) fn product_into<'a, T: Element + 'a>(
    a: impl Into<Operand<'a, T>>,
    b: impl Into<Operand<'a, T>>,
    out: &mut Matrix<T>,
) {
    let (a, b) = (a.into(), b.into());
    let ((rows, inner), (b_rows, columns)) = (a.shape(), b.shape());
    assert_eq!(inner, b_rows, "inner sizes of a product");
    assert_eq!((out.rows(), out.columns()), (rows, columns), "size of a product");
    if inner == 0 {
        out.values_mut().fill(T::default());
    } else if columns > 0 {
        let blocks = out.values_mut().par_chunks_mut(BLOCK_ROWS * columns).enumerate();
        blocks.for_each(|(block, out)| {
            let size = [out.len() / columns, inner, columns];
            T::multiply(size, a.from(block * BLOCK_ROWS, 0), b.from(0, 0), out, columns);
        });
    }
}

/// Writes the entries of `a · bᵀ` on and above the diagonal to `out`. The entries below it are unspecified.
///
/// # Panics
///
/// If the shapes do not match.
pub(crate) fn upper_inner_products<T: Element>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>) {
    let (size, inner) = (a.rows(), a.columns());
    assert_eq!((b.rows(), b.columns()), (size, inner), "both sides of a square product");
    assert_eq!((out.rows(), out.columns()), (size, size), "size of a product");
    if inner == 0 || size == 0 {
        out.values_mut().fill(T::default());
        return;
    }
    out.values_mut().par_chunks_mut(BLOCK_ROWS * size).enumerate().for_each(|(block, out)| {
        let first = block * BLOCK_ROWS;
        let left = Operand::Plain(a).from(first, 0);
        let right = Operand::Transposed(b).from(0, first);
        T::multiply([out.len() / size, inner, size - first], left, right, &mut out[first..], size);
    });
}

/// Returns the Gram matrix of the columns, in double precision.
pub(crate) fn gram<T: Element>(matrix: &Matrix<T>) -> Matrix<f64> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let wide = Matrix::new(rows, columns, matrix.values().iter().map(|&value| value.into()).collect());
    let mut out = Matrix::<f64>::zeros(columns, columns);
    if rows == 0 || columns == 0 {
        return out;
    }
    // Blocks of rows up to the diagonal; the other half is mirrored.
    out.values_mut().par_chunks_mut(BLOCK_COLUMNS * columns).enumerate().for_each(|(block, out)| {
        let (first, count) = (block * BLOCK_COLUMNS, out.len() / columns);
        let left = Operand::Transposed(&wide).from(first, 0);
        f64::multiply([count, rows, first + count], left, Operand::Plain(&wide).from(0, 0), out, columns);
    });
    for row in 0..columns {
        for column in row + 1..columns {
            out.set(row, column, out.get(column, row));
        }
    }
    out
}

impl<T> Matrix<T> {
    /// Returns the transpose as an operand of a product.
    pub(crate) fn transposed(&self) -> Operand<'_, T> {
        Operand::Transposed(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    fn random(rows: usize, columns: usize, rng: &mut Rng) -> Matrix<f64> {
        Matrix::new(rows, columns, (0..rows * columns).map(|_| rng.normal()).collect())
    }

    #[test]
    fn products_match_the_definition() {
        let mut rng = Rng::new(0, "product");
        for (rows, inner, columns) in [(1, 1, 1), (3, 5, 2), (200, 7, 31), (97, 130, 96), (4, 0, 3)] {
            let (a, b) = (random(rows, inner, &mut rng), random(inner, columns, &mut rng));
            let mut transposed = Matrix::zeros(inner, rows);
            (0..rows).for_each(|i| (0..inner).for_each(|k| transposed.set(k, i, a.get(i, k))));
            let (plain, from_transposed) = (product(&a, &b), product(transposed.transposed(), &b));
            for i in 0..rows {
                for j in 0..columns {
                    let expected: f64 = (0..inner).map(|k| a.get(i, k) * b.get(k, j)).sum();
                    assert!((plain.get(i, j) - expected).abs() < 1e-10);
                    assert!((from_transposed.get(i, j) - expected).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn gram_matrices_and_upper_halves_match_full_products() {
        let mut rng = Rng::new(0, "gram");
        for (rows, columns) in [(1, 1), (40, 9), (7, 200), (401, 130), (0, 3), (3, 0)] {
            let (a, b) = (random(rows, columns, &mut rng), random(rows, columns, &mut rng));
            let (found, expected) = (gram(&a), product(a.transposed(), &a));
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
            assert!(close(found.values(), expected.values()));
            let (mut upper, whole) = (Matrix::zeros(rows, rows), product(&a, b.transposed()));
            upper_inner_products(&a, &b, &mut upper);
            assert!((0..rows).all(|row| close(&upper.row(row)[row..], &whole.row(row)[row..])));
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mut rng = Rng::new(0, "threads");
        let (a, b) = (random(901, 77, &mut rng), random(77, 65, &mut rng));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product(&a, &b))
        };
        assert!(run(1) == run(2) && run(1) == run(7));
    }
}
