//! Pairwise combination on tiles.
//!
//! Operations that algebra saves, with rows of width d, hidden layers of width b and scores of width c:
//! - a source row that several output rows of the tile read goes through its half of a first layer once, and a pair of source rows that is
//!   read more than once through the rest of its MLP once; in the backward pass the gradients of its readers are summed first, since all
//!   of it is linear;
//! - the first layer of a pair (i, i) is one product with the sum of its halves;
//! - the score's first layer is linear in the pair's hidden layer, `S (W h + b) + c = (S W) h + (S b + c)`: with `S W` composed once, options are
//!   scored without being formed;
//! - in the backward pass `dy W` serves both the softmax weight and the hidden layer, and the gradient of `S W` is propagated to `S` and `W` once,
//!   after all rows.
//!
//! Pairs of more than two linear layers run on the reference kernels.

mod backward;
mod forward;
mod gradient;
mod hidden;
mod pack;
mod tile;

pub(crate) use backward::pair_rows_backward;
pub(crate) use forward::pair_rows;
pub(crate) use gradient::add_pair_gradient;
pub use pack::PackedPairwise;
