//! Reference kernels: every operation as it is defined, for any float type. The vectorised kernels are checked against them, and `f64`
//! runs on them. They are not optimised.

mod attention;
mod block;
mod linear;
mod neighbour_sum;
mod pairwise;
mod sparse;
#[cfg(test)]
mod tests;

pub(crate) use attention::{attend, attend_backward};
pub(crate) use block::{block_rows, block_rows_backward};
pub(crate) use linear::{linear, transposed_product};
pub(crate) use neighbour_sum::{neighbour_sum, neighbour_sum_backward, self_term_backward};
pub(crate) use pairwise::{pair_rows, pair_rows_backward};
pub(crate) use sparse::{edge_loss, edge_loss_chunk, spmm};
