//! CPU kernels on plain slices: sparse products, fused layers, and the backward of each.
//!
//! The crate knows neither the tape nor genes: a row is a row, an edge is an entry of a sparse matrix.

mod real;

pub use real::Real;
