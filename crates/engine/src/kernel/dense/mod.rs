//! Whole layers on rows of values: their definitions, and the parallel loops over tiles of rows that compute them.
//!
//! [`crate::kernel::Scalar`] chooses the kernel of a tile.

pub(crate) mod block;
mod cross_attention;
pub(crate) mod pairwise;
mod self_attention;
mod set_tables;
mod shared_rows;

pub use block::{Affine, Block, NORM_EPSILON, NormScale, reduce_in_order};
pub use cross_attention::{CrossAttention, IndexedRows};
pub use pairwise::{Pairwise, PairwiseOutput};
pub use self_attention::{Attended, AttentionGradients, Head, HeadUpstream, SelfAttention};
pub(crate) use self_attention::{largest_norm, rows_of};
pub use set_tables::SetTables;
pub use shared_rows::{SharedRows, SourceTile};

/// Memory layout of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[out, in]`, as linear layers store it: the product is `x Wᵀ`.
    OutIn,
    /// `[in, out]`: the product is `x W`. With a layer's own weight this is its backward pass.
    InOut,
}

/// One summand of a linear layer: rows times a weight.
#[derive(Debug, Clone, Copy)]
pub struct LinearTerm<'a, T> {
    /// `[n, depth]`.
    pub rows: &'a [T],
    /// Values in a row.
    pub depth: usize,
    /// `depth × width` values.
    pub weight: &'a [T],
    /// Memory layout of `weight`.
    pub layout: Layout,
}
