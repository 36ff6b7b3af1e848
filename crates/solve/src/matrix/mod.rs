//! Dense row-major matrices and the linear algebra of the solved models. Independent of genes and scores.
//!
//! Results do not depend on the number of threads: the blocks of a product depend only on the sizes of the matrices.

mod eigen;
mod factor;
mod product;

pub(crate) use eigen::symmetric_eigen;
#[cfg(test)]
pub(crate) use factor::Cholesky;
pub(crate) use factor::orthonormal_columns;
pub(crate) use product::{Element, gram, product, product_into, upper_inner_products};

/// A dense row-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix<T> {
    rows: usize,
    columns: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Matrix<T> {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![T::default(); rows * columns] }
    }

    /// Creates a matrix from its values.
    ///
    /// # Panics
    ///
    /// If there are not `rows * columns` values.
    pub(crate) fn new(rows: usize, columns: usize, values: Vec<T>) -> Self {
        assert_eq!(values.len(), rows * columns, "one value per entry");
        Self { rows, columns, values }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> T {
        self.values[row * self.columns + column]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, value: T) {
        self.values[row * self.columns + column] = value;
    }

    /// Returns the values in another precision.
    pub(crate) fn cast<U: Element>(&self) -> Matrix<U>
    where
        T: Element,
    {
        let values = self.values.iter().map(|&value| U::of(value.into())).collect();
        Matrix { rows: self.rows, columns: self.columns, values }
    }

    /// Returns the first rows.
    pub(crate) fn first_rows(&self, count: usize) -> Self {
        Self { rows: count, columns: self.columns, values: self.values[..count * self.columns].to_vec() }
    }

    /// Returns the first columns.
    pub(crate) fn first_columns(&self, count: usize) -> Self {
        self.columns_of(0..count)
    }

    /// Returns a range of columns.
    pub(crate) fn columns_of(&self, range: std::ops::Range<usize>) -> Self {
        let mut values = Vec::with_capacity(self.rows * range.len());
        (0..self.rows).for_each(|row| values.extend_from_slice(&self.row(row)[range.clone()]));
        Self { rows: self.rows, columns: range.len(), values }
    }
}

/// Returns two matrices with the same number of rows side by side.
pub(crate) fn concat_columns(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let mut values = Vec::with_capacity(a.values().len() + b.values().len());
    for row in 0..a.rows() {
        values.extend_from_slice(a.row(row));
        values.extend_from_slice(b.row(row));
    }
    Matrix::new(a.rows(), a.columns() + b.columns(), values)
}

/// Returns the inner product, summed in lanes that the compiler can vectorise.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Returns the inner product in double precision, summed like [`dot`].
#[inline]
pub(crate) fn inner(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}
