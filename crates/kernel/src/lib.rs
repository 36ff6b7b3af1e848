//! CPU kernels on plain slices: sparse products, fused layers, and the backward of each.
//!
//! The crate knows neither the tape nor genes: a row is a row, an edge is an entry of a sparse matrix. Every operation exists
//! twice: fast for `f32`, over the instruction sets the processor has ([`Isa`]), and plain for any [`Real`] in
//! [`plain`], which is what finite differences and golden `f64` values test. [`Scalar`] chooses between them by type.
//!
//! Work is cut into chunks whose number depends on the input alone, and partial sums are added in the order of the chunks:
//! the result is the same to the last bit for any number of threads.

#![allow(
    clippy::inline_always,
    reason = "a body must be inlined to be compiled for the instruction set of its caller"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes are counted as in the equations; iterators hide which one"
)]

mod activation;
mod block;
mod buffer;
mod cross;
mod csr;
mod dense;
mod edges;
mod fast;
mod isa;
mod lanes;
mod meeting;
mod noise;
mod pairwise;
pub mod plain;
mod real;
mod scalar;
pub mod slices;
mod spmm;
mod sums;
#[cfg(test)]
mod tests;
mod workers;

pub use activation::Activation;
pub use block::{Affine, Block, NORM_EPSILON, NormScale, add_in_order};
pub use buffer::{Buffer, Pool};
pub use cross::{CrossAttention, Picked};
pub use csr::{Csr, CsrError, Graph, Target};
pub use dense::{Layout, Term};
pub use edges::EdgeTask;
pub use fast::{PackedBlock, PackedPairwise};
pub use isa::{Isa, IsaError};
pub use meeting::{Meeting, Met};
pub use noise::Noise;
pub use pairwise::{Pairwise, PairwiseOutput};
pub use real::Real;
pub use scalar::Scalar;
pub use spmm::{SpmmTask, Store};
pub use sums::{DROPPED, SumGradients, Sums};
pub use workers::worker_pool;
