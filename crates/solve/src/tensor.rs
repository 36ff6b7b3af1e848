//! Named numbers, as they are stored: what a checkpoint is made of. Knows no files.

use crate::matrix::Matrix;
use crate::model::SolveError;

/// A named array of single-precision numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name, distinct among those it is stored with.
    pub name: String,
    /// Its shape; empty for a single number.
    pub shape: Vec<usize>,
    /// Its values, row by row.
    pub values: Vec<f32>,
}

impl Tensor {
    pub(crate) fn new(name: impl Into<String>, shape: &[usize], values: Vec<f32>) -> Self {
        Self { name: name.into(), shape: shape.to_vec(), values }
    }

    pub(crate) fn of(name: impl Into<String>, matrix: &Matrix<f32>) -> Self {
        Self::new(name, &[matrix.rows(), matrix.columns()], matrix.values().to_vec())
    }

    /// Double-precision numbers to the last bit: each as three of single precision that add up to it.
    pub(crate) fn of_doubles(name: impl Into<String>, numbers: &[f64]) -> Self {
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

    /// What [`Tensor::of_doubles`] was given.
    pub(crate) fn doubles(&self) -> Result<Vec<f64>, SolveError> {
        let (parts, rest) = self.values.as_chunks::<3>();
        if !rest.is_empty() {
            return Err(self.wrong());
        }
        let sum = |part: &[f32; 3]| match part[0] {
            high if high.is_finite() => f64::from(high) + (f64::from(part[1]) + f64::from(part[2])),
            high => f64::from(high),
        };
        Ok(parts.iter().map(sum).collect())
    }

    /// The same as a matrix.
    pub(crate) fn matrix(&self) -> Result<Matrix<f32>, SolveError> {
        match self.shape[..] {
            [rows, columns] if rows.checked_mul(columns) == Some(self.values.len()) => {
                Ok(Matrix::new(rows, columns, self.values.clone()))
            }
            _ => Err(self.wrong()),
        }
    }

    /// The same as a matrix of a known number of rows.
    pub(crate) fn matrix_of(&self, rows: usize) -> Result<Matrix<f32>, SolveError> {
        self.matrix().and_then(|matrix| if matrix.rows() == rows { Ok(matrix) } else { Err(self.wrong()) })
    }

    /// As many values as are expected.
    pub(crate) fn of_length(&self, length: usize) -> Result<&[f32], SolveError> {
        if self.values.len() == length { Ok(&self.values) } else { Err(self.wrong()) }
    }

    fn wrong(&self) -> SolveError {
        SolveError::Tensor { name: self.name.clone() }
    }
}

/// A tensor by name.
pub(crate) fn tensor<'a>(tensors: &'a [Tensor], name: &str) -> Result<&'a Tensor, SolveError> {
    let found = tensors.iter().find(|tensor| tensor.name == name);
    found.ok_or_else(|| SolveError::Tensor { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_come_back_to_the_last_bit() {
        let numbers = [0.0, 1.0 / 3.0, -1e30 / 7.0, 1e-20, f64::INFINITY, 123_456_789.123_456_78];
        let stored = Tensor::of_doubles("x", &numbers);
        assert_eq!(stored.doubles().unwrap(), numbers);
        assert!(Tensor::new("x", &[2], vec![0.0; 2]).doubles().is_err());
        assert!(Tensor::new("x", &[2, 2], vec![0.0; 3]).matrix().is_err());
    }
}
