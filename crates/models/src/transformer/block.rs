//! A post-norm block: attention and a feed-forward network, each with a residual connection and a norm. The encoder's layers and the transform
//! of deleted genes have the same parameters and differ in what attends to what.

use crate::init::Init;
use crate::layer::{AttentionVars, Dropout, Linear, Mlp, ResidualNorm, SelfAttentionLayer};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar};
use std::sync::Arc;

/// `x' = norm1(x + dropout(attention(x)))`, `y = norm2(x' + dropout(feed(x')))`, `feed` two linear layers with GELU and four times the width between
/// them; all `[n, width]`.
#[derive(Debug, Clone)]
pub(super) struct AttentionBlock {
    /// Name of the block, under which its operations are observed.
    part: Arc<str>,
    attention: SelfAttentionLayer,
    norm1: ResidualNorm,
    feed: Mlp,
    norm2: ResidualNorm,
}

impl AttentionBlock {
    /// Adds `name.attention.*`, `name.feed.{in,out}.*`, `name.norm1.*` and `name.norm2.*`.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        heads: usize,
        init: &mut Init,
    ) -> Self {
        let attention = SelfAttentionLayer::new(parameters, &format!("{name}.attention"), width, heads, init);
        let linears = vec![
            Linear::new(parameters, &format!("{name}.feed.in"), width, 4 * width, init),
            Linear::new(parameters, &format!("{name}.feed.out"), 4 * width, width, init),
        ];
        Self {
            part: name.into(),
            attention,
            norm1: ResidualNorm::new(parameters, &format!("{name}.norm1"), width),
            feed: Mlp { linears, between: Activation::Gelu, norm: None, last: Activation::None },
            norm2: ResidualNorm::new(parameters, &format!("{name}.norm2"), width),
        }
    }

    /// Every row attends to all rows.
    pub(super) fn encode<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        x: Var,
        dropout: Option<&Dropout>,
    ) -> (Var, AttentionVars) {
        tape.inside(&self.part, |tape| {
            let (mixed, vars) = self.attention.forward(tape, x);
            (self.close(tape, x, mixed, dropout), vars)
        })
    }

    /// Every member of a set attends to the members of it.
    pub(super) fn transform<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        sets: GeneSetsRef<'a>,
        dropout: Option<&Dropout>,
    ) -> Var {
        let weights = dropout.map(|dropout| dropout.after(3));
        tape.inside(&self.part, |tape| {
            let mixed = self.attention.forward_sets(tape, x, sets, weights.as_ref());
            self.close(tape, x, mixed, dropout)
        })
    }

    fn close<T: Scalar>(&self, tape: &mut Tape<'_, T>, x: Var, mixed: Var, dropout: Option<&Dropout>) -> Var {
        let [hidden, second] = [1, 2].map(|site| dropout.map(|dropout| dropout.after(site)));
        let x = self.norm1.forward(tape, "norm1", [x, mixed], dropout);
        let fed = self.feed.forward(tape, "feed", x, hidden.as_ref());
        self.norm2.forward(tape, "norm2", [x, fed], second.as_ref())
    }
}
