//! Attention of all rows to all rows; see [`knockout_engine::kernel::SelfAttention`].

use super::projections::Projections;
use super::{Dropout, add_to, slice};
use crate::init::Init;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Values, Var};
use knockout_engine::kernel::{Activation, Attended, Scalar};

/// `y = output(concat over heads of Σ_j a_ij v_j)`, where `a_ij` is the softmax over rows j of `q_i · k_j / √(width / heads)`; `q, k, v` are linear in
/// x. `x, y: [n, width]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelfAttentionLayer {
    projections: Projections,
    heads: usize,
}

/// Variables that a penalty on attention weights reads.
#[derive(Debug, Clone, Copy)]
pub struct AttentionVars {
    /// q, `[n, width]`.
    pub query: Var,
    /// k.
    pub key: Var,
    /// Weighted values `[n, width]`, then the logarithm of each softmax's denominator `[n, heads]`.
    pub attended: Var,
}

impl SelfAttentionLayer {
    /// Adds `name.query`, `.key`, `.value` and `.output`.
    pub(crate) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        heads: usize,
        init: &mut Init,
    ) -> Self {
        Self { projections: Projections::new(parameters, name, width, init), heads }
    }

    /// Records attention of all rows to all rows.
    pub(crate) fn forward<T: Scalar>(self, tape: &mut Tape<'_, T>, x: Var) -> (Var, AttentionVars) {
        let (width, heads) = (self.projections.width(), self.heads);
        let inputs @ [query, key, value] = self.projections.project(tape, x);
        let len = tape.value(query).len();
        let attended = tape.op(
            "attention",
            len + len / width * heads,
            |values, out| {
                let (rows, log_sum) = out.split_at_mut(len);
                attention_of(values, inputs, (width, heads)).forward(rows, log_sum);
            },
            move |step, (), gradients| {
                let split = |both| -> Attended<'_, T> {
                    let (rows, log_sum) = <[T]>::split_at(both, len);
                    Attended { rows, log_sum }
                };
                let attention = attention_of(step.values, inputs, (width, heads));
                let back = attention.backward(split(step.output), split(step.gradient));
                for (var, gradient) in [(query, back.query), (key, back.key), (value, back.value)] {
                    gradients.add(var, |sum| add_to(sum, &gradient));
                }
            },
        );
        let rows = slice(tape, attended, 0..len);
        let mixed = self.projections.output.forward(tape, "output", rows, Activation::None);
        (mixed, AttentionVars { query, key, attended })
    }

    /// Records attention of each member of a set to all members of it, itself included, with optional dropout of the
    /// weights: `x: [members, width]`.
    pub(crate) fn forward_sets<'a, T: Scalar>(
        self,
        tape: &mut Tape<'a, T>,
        x: Var,
        sets: GeneSetsRef<'a>,
        dropout: Option<&Dropout>,
    ) -> Var {
        let inputs = self.projections.project(tape, x);
        let among = super::set_attention::Among::All;
        let sizes = (self.projections.width(), self.heads);
        let attended = super::set_attention::attend(tape, inputs, sets, sizes, among, dropout);
        self.projections.output.forward(tape, "output", attended, Activation::None)
    }
}

/// The attention in the form of the kernels.
fn attention_of<T: Scalar>(
    values: Values<'_, T>,
    inputs: [Var; 3],
    (width, heads): (usize, usize),
) -> knockout_engine::kernel::SelfAttention<'_, T> {
    let [query, key, value] = inputs.map(|var| values.of(var));
    knockout_engine::kernel::SelfAttention { query, key, value, width, heads }
}
