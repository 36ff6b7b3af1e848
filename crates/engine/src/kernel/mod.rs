//! CPU kernels on plain slices: sparse products, fused layers, and the backward pass of each.
//!
//! The module depends on neither the tape nor genes: a row is a row, an edge is an entry of a sparse matrix. Every operation exists
//! twice: vectorised for `f32`, over the instruction sets the CPU has ([`Isa`]), and as a reference kernel for any [`Real`], which
//! is what `f64` runs on and what tests compare with. [`Scalar`] chooses between them by type.
//!
//! | folder | contents |
//! |---|---|
//! | `sparse` | CSR matrices and the kernels that walk their entries |
//! | `dense` | whole layers on rows: descriptions, and the parallel drivers over tiles of rows |
//! | `elementwise` | activations, dropout masks |
//! | `simd` | instruction sets, and the operations on a tile of rows in `f32` |
//! | `reference` | every operation as it is defined, for any float type |
//!
//! Work is cut into chunks whose number depends on the input alone, and partial sums are reduced in the order of the chunks:
//! the result is the same to the last bit for any number of threads.

#![allow(
    clippy::inline_always,
    reason = "a body must be inlined to be compiled for the instruction set of its caller"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes are counted as in the equations; iterators hide which one"
)]

mod buffer;
mod dense;
mod elementwise;
mod flops;
mod real;
mod reference;
mod scalar;
mod simd;
pub mod slices;
mod sparse;
#[cfg(test)]
mod testing;
mod workers;

pub use buffer::{Buffer, Pool};
pub use dense::{
    Affine, Attended, AttentionGradients, Block, CrossAttention, Head, HeadUpstream, IndexedRows, Layout,
    LinearTerm, NORM_EPSILON, NormScale, Pairwise, PairwiseOutput, SelfAttention, SetTables, SharedRows,
    SourceTile, reduce_in_order,
};
pub use elementwise::{Activation, DropoutMask};
pub use flops::counted_flop;
pub use real::Real;
pub use scalar::Scalar;
pub use simd::{Isa, PackedBlock, PackedPairwise, peak_flop_per_s};
pub use sparse::{Csr, DistinctEdges, EdgeLoss, Graph, MASKED, NeighbourSum, RowGradients, Spmm, StoreMode};
pub use workers::worker_pool;
