//! Layers: one operation on the tape each, with its equation, shapes and backward pass. They depend on rows and gene sets, not
//! on models.

mod activate;
mod combine;
mod dropout;
mod gather;
mod gene_rows;
mod graph_penalty;
mod linear;
mod meta;
mod mlp;
mod projections;
mod reconstruction;
mod residual_norm;
mod sage;
mod self_attention;
mod set_attention;
mod set_score;
mod slice;

pub(crate) use activate::activate;
pub(crate) use combine::weighted_sum;
pub use dropout::Dropout;
pub(crate) use dropout::apply_dropout;
pub use gather::{gather, set_sums};
pub(crate) use gene_rows::GeneRows;
pub use gene_rows::{FeatureUse, GeneFeatures};
pub(crate) use graph_penalty::GraphPenalty;
pub use linear::Linear;
pub(crate) use meta::MetaEmbedding;
pub(crate) use mlp::{Mlp, NormVars, add_parts};
pub(crate) use reconstruction::Reconstruction;
pub(crate) use residual_norm::ResidualNorm;
pub(crate) use sage::Sage;
pub use self_attention::AttentionVars;
pub(crate) use self_attention::SelfAttentionLayer;
pub(crate) use set_attention::SetAttention;
pub use set_score::{SetScorer, SetScores};
pub(crate) use slice::slice;

pub(crate) use knockout_engine::kernel::slices::{add_scaled, add_to, dot, softmax, softmax_backward};
use knockout_engine::kernel::{Layout, LinearTerm};

/// The forward product of a linear layer: `x Wᵀ`, `weight: [out, in]`.
fn forward_term<'a, T>(rows: &'a [T], depth: usize, weight: &'a [T]) -> LinearTerm<'a, T> {
    LinearTerm { rows, depth, weight, layout: Layout::OutIn }
}

/// The backward product of a linear layer: `dy W`, with the same weight; `depth` is the layer's output width.
fn backward_term<'a, T>(gradient: &'a [T], depth: usize, weight: &'a [T]) -> LinearTerm<'a, T> {
    LinearTerm { rows: gradient, depth, weight, layout: Layout::InOut }
}

#[cfg(test)]
mod tests;
