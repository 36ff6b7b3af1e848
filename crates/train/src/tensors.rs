//! Named tensors: the form in which models, optimisers and checkpoints exchange numbers.

pub use knockout_solve::Tensor;

use knockout_base::error::{Error, Result};

/// A named tensor to be saved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorRef<'a> {
    /// Name of the tensor.
    pub name: &'a str,
    /// Its shape; empty for a single number.
    pub shape: &'a [usize],
    /// Its values, row by row.
    pub values: &'a [f32],
}

impl<'a> From<&'a Tensor> for TensorRef<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { name: &tensor.name, shape: &tensor.shape, values: &tensor.values }
    }
}

impl TensorRef<'_> {
    /// Returns the values as little-endian bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.values.len() * 4];
        for (bytes, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.values) {
            *bytes = value.to_le_bytes();
        }
        bytes
    }
}

/// Returns blake3 over tensors in name order: of each its name, its shape and its values, little-endian.
///
/// Equal weights have equal hashes on every machine, in whatever order they are given.
pub fn weights_hash(tensors: &[TensorRef<'_>]) -> String {
    let mut order: Vec<&TensorRef<'_>> = tensors.iter().collect();
    order.sort_by_key(|tensor| tensor.name);
    let mut hasher = blake3::Hasher::new();
    for tensor in order {
        hasher.update(&(tensor.name.len() as u64).to_le_bytes());
        hasher.update(tensor.name.as_bytes());
        hasher.update(&(tensor.shape.len() as u64).to_le_bytes());
        for &size in tensor.shape {
            hasher.update(&(size as u64).to_le_bytes());
        }
        hasher.update(&tensor.bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Copies a tensor of a checkpoint into a parameter of the same length.
pub(crate) fn copy_tensor(tensors: &[Tensor], name: &str, slots: &mut [f32]) -> Result<()> {
    let found = tensors.iter().find(|tensor| tensor.name == name && tensor.values.len() == slots.len());
    let tensor = found.ok_or_else(|| missing_tensor(name, slots.len()))?;
    slots.copy_from_slice(&tensor.values);
    Ok(())
}

/// Returns the error of a checkpoint without a tensor that its model needs.
pub(crate) fn missing_tensor(name: &str, count: usize) -> Error {
    Error::failure(format!("the checkpoint has no tensor {name:?} of {count} numbers"))
}
