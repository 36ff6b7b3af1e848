//! Attention among the members of a set.

use super::projections::Projections;
use super::{Dropout, add_scaled, dot, softmax, softmax_backward};
use crate::init::Init;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Real, Scalar};

/// `x'_m = x_m + rezero · output(concat over heads of Σ_n a_mn v_n)` with `a_mn` the softmax over the OTHER members n of m's set of
/// `q_m · k_n / √(width / heads)`, head by head; `q, k, v` are linear in x.
///
/// `x, x': [members, width]`. In a set of one the sum is empty, and `output` still adds its bias.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetAttention {
    pub(crate) projections: Projections,
    pub(crate) rezero: Var,
    pub(crate) heads: usize,
}

impl SetAttention {
    /// Adds `name.query`, `.key`, `.value`, `.output` and `name.rezero`, which starts at 0.01.
    pub(crate) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        heads: usize,
        init: &mut Init,
    ) -> Self {
        let projections = Projections::new(parameters, name, width, init);
        let rezero = parameters.add(format!("{name}.rezero"), &[1], || 0.01);
        Self { projections, rezero, heads }
    }

    /// Records the layer, with optional dropout of the weights `a_mn`.
    pub(crate) fn forward<'a, T: Scalar>(
        self,
        tape: &mut Tape<'a, T>,
        x: Var,
        sets: GeneSetsRef<'a>,
        dropout: Option<&Dropout>,
    ) -> Var {
        let inputs = self.projections.project(tape, x);
        let sizes = (self.projections.width(), self.heads);
        let attended = attend(tape, inputs, sets, sizes, Among::Others, dropout);
        let mixed = self.projections.output.forward(tape, "output", attended, Activation::None);
        let rezero = self.rezero;
        tape.op(
            "rezero",
            [tape.value(x).len() / self.projections.width(), self.projections.width()],
            |values, out| {
                let factor = values.of(rezero)[0];
                out.copy_from_slice(values.of(x));
                add_scaled(out, factor, values.of(mixed));
            },
            move |step, (), gradients| {
                gradients.add(rezero, |sum| sum[0] += dot(step.gradient, step.values.of(mixed)));
                gradients.add(x, |sum| super::add_to(sum, step.gradient));
                gradients.add(mixed, |sum| add_scaled(sum, step.values.of(rezero)[0], step.gradient));
            },
        )
    }
}

/// The members of a set that a member attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// All but itself.
    Others,
    /// All, itself included.
    All,
}

/// Scaled dot-product attention among the members of a set, one softmax per head.
pub(super) fn attend<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    [q, k, v]: [Var; 3],
    sets: GeneSetsRef<'a>,
    (width, heads): (usize, usize),
    among: Among,
    dropout: Option<&Dropout>,
) -> Var {
    let head_width = width / heads;
    let scale = T::of(1.0 / (head_width as f64).sqrt());
    let channels = move |member: usize, head: usize| {
        let start = member * width + head * head_width;
        start..start + head_width
    };
    // Forward and backward both call this: the weights are cheaper to recompute than to save.
    let weights_of =
        move |q: &[T], k: &[T], member: usize, others: &[usize], head: usize, weights: &mut Vec<T>| {
            weights.clear();
            let query = &q[channels(member, head)];
            weights.extend(others.iter().map(|&other| dot(query, &k[channels(other, head)]) * scale));
            softmax(weights);
        };
    let back = dropout.cloned();
    tape.op(
        "attention",
        [sets.genes().len(), width],
        |values, out| {
            out.fill(T::ZERO);
            let mut weights = Vec::new();
            for_members(sets, among, |member, others| {
                for head in 0..heads {
                    weights_of(values.of(q), values.of(k), member, others, head, &mut weights);
                    if let Some(dropout) = dropout {
                        dropout.apply_to_row(member, head, &mut weights);
                    }
                    for (&weight, &other) in weights.iter().zip(others) {
                        add_scaled(
                            &mut out[channels(member, head)],
                            weight,
                            &values.of(v)[channels(other, head)],
                        );
                    }
                }
            });
        },
        move |step, (), gradients| {
            let (qv, kv, vv) = (step.values.of(q), step.values.of(k), step.values.of(v));
            let pool = step.values.pool();
            let [mut dq, mut dk, mut dv] = [qv, kv, vv].map(|values| pool.zeros(values.len()));
            let (mut weights, mut d_weights) = (Vec::new(), Vec::new());
            for_members(sets, among, |member, others| {
                for head in 0..heads {
                    weights_of(qv, kv, member, others, head, &mut weights);
                    let upstream = &step.gradient[channels(member, head)];
                    d_weights.clear();
                    d_weights.extend(others.iter().map(|&other| dot(upstream, &vv[channels(other, head)])));
                    if let Some(dropout) = &back {
                        dropout.apply_to_row(member, head, &mut d_weights);
                    }
                    softmax_backward(&weights, &mut d_weights);
                    for (&d_score, &other) in d_weights.iter().zip(others) {
                        let d_score = d_score * scale;
                        add_scaled(&mut dq[channels(member, head)], d_score, &kv[channels(other, head)]);
                        add_scaled(&mut dk[channels(other, head)], d_score, &qv[channels(member, head)]);
                    }
                    if let Some(dropout) = &back {
                        dropout.apply_to_row(member, head, &mut weights);
                    }
                    for (&weight, &other) in weights.iter().zip(others) {
                        add_scaled(&mut dv[channels(other, head)], weight, upstream);
                    }
                }
            });
            for (var, gradient) in [(q, dq), (k, dk), (v, dv)] {
                gradients.add(var, |sum| super::add_to(sum, &gradient));
            }
        },
    )
}

fn for_members(sets: GeneSetsRef<'_>, among: Among, mut visit: impl FnMut(usize, &[usize])) {
    let mut others = Vec::new();
    for set in sets.ranges() {
        for member in set.clone() {
            others.clear();
            others.extend(set.clone().filter(|&other| among == Among::All || other != member));
            visit(member, &others);
        }
    }
}
