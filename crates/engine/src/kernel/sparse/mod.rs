//! Sparse matrices and the kernels that walk their entries: products, sums over neighbours of one sample, errors at edges.
//!
//! Each file has the description of an operation and its `f32` kernels; `reference` has their definitions.

pub(crate) mod csr;
pub(crate) mod edge_loss;
mod graph;
pub(crate) mod neighbour_sum;
pub(crate) mod spmm;
#[cfg(test)]
mod tests;

pub use csr::Csr;
pub use edge_loss::EdgeLoss;
pub use graph::{DistinctEdges, Graph};
pub use neighbour_sum::{MASKED, NeighbourSum, RowGradients};
pub use spmm::{Spmm, StoreMode};
