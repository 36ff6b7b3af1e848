//! Named arrays, the contents of checkpoints. Independent of files.

use crate::error::bad_tensor;
use crate::matrix::Matrix;
use knockout_base::error::Error;

/// A named array of single-precision numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Name, unique within a checkpoint.
    pub name: String,
    /// Shape; empty for a scalar.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Vec<f32>,
}

impl Tensor {
    pub(crate) fn new(name: impl Into<String>, shape: &[usize], values: Vec<f32>) -> Self {
        Self { name: name.into(), shape: shape.to_vec(), values }
    }

    pub(crate) fn vector(name: impl Into<String>, values: Vec<f32>) -> Self {
        Self { name: name.into(), shape: vec![values.len()], values }
    }

    pub(crate) fn from_matrix(name: impl Into<String>, matrix: &Matrix<f32>) -> Self {
        Self::new(name, &[matrix.rows(), matrix.columns()], matrix.values().to_vec())
    }

    /// Stores double-precision numbers without loss: each as three single-precision numbers that add up to it.
    pub(crate) fn from_doubles(name: impl Into<String>, numbers: &[f64]) -> Self {
        let parts = |&number: &f64| {
            if !number.is_finite() {
                return [number as f32, 0.0, 0.0];
            }
            let high = number as f32;
            let rest = number - f64::from(high);
            let middle = rest as f32;
            [high, middle, (rest - f64::from(middle)) as f32]
        };
        Self::new(name, &[numbers.len(), 3], numbers.iter().flat_map(parts).collect())
    }

    /// Returns the numbers that [`Tensor::from_doubles`] stored.
    pub(crate) fn doubles(&self) -> Result<Vec<f64>, Error> {
        let (parts, rest) = self.values.as_chunks::<3>();
        if !rest.is_empty() {
            return Err(bad_tensor(&self.name));
        }
        let sum = |part: &[f32; 3]| match part[0] {
            high if high.is_finite() => f64::from(high) + (f64::from(part[1]) + f64::from(part[2])),
            high => f64::from(high),
        };
        Ok(parts.iter().map(sum).collect())
    }

    /// Returns the values as a matrix.
    pub(crate) fn matrix(&self) -> Result<Matrix<f32>, Error> {
        match self.shape[..] {
            [rows, columns] if rows.checked_mul(columns) == Some(self.values.len()) => {
                Ok(Matrix::new(rows, columns, self.values.clone()))
            }
            _ => Err(bad_tensor(&self.name)),
        }
    }

    /// Returns the values as a matrix with a known number of rows.
    pub(crate) fn matrix_with_rows(&self, rows: usize) -> Result<Matrix<f32>, Error> {
        let matrix = self.matrix()?;
        if matrix.rows() == rows { Ok(matrix) } else { Err(bad_tensor(&self.name)) }
    }

    /// Returns the values if there are `N`.
    pub(crate) fn array<const N: usize>(&self) -> Result<[f32; N], Error> {
        self.values
            .first_chunk()
            .filter(|_| self.values.len() == N)
            .copied()
            .ok_or_else(|| bad_tensor(&self.name))
    }
}

/// Returns the tensor of a name.
pub(crate) fn find<'a>(tensors: &'a [Tensor], name: &str) -> Result<&'a Tensor, Error> {
    tensors.iter().find(|tensor| tensor.name == name).ok_or_else(|| bad_tensor(name))
}

/// Returns the values of a tensor with a known length.
pub(crate) fn find_vector(tensors: &[Tensor], name: &str, length: usize) -> Result<Vec<f32>, Error> {
    let values = &find(tensors, name)?.values;
    if values.len() == length { Ok(values.clone()) } else { Err(bad_tensor(name)) }
}

/// Returns whether there is a tensor of a name.
pub(crate) fn has(tensors: &[Tensor], name: &str) -> bool {
    tensors.iter().any(|tensor| tensor.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_restored_to_the_last_bit() {
        let numbers = [0.0, 1.0 / 3.0, -1e30 / 7.0, 1e-20, f64::INFINITY, 123_456_789.123_456_78];
        assert_eq!(Tensor::from_doubles("x", &numbers).doubles().unwrap(), numbers);
    }

    #[test]
    fn wrong_shapes_are_rejected() {
        assert!(Tensor::new("x", &[2], vec![0.0; 2]).doubles().is_err());
        assert!(Tensor::new("x", &[2, 2], vec![0.0; 3]).matrix().is_err());
    }
}
