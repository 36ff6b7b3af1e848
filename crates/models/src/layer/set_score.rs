//! A score for a set of rows (`HyperSAGNN`).

use super::{Dropout, Linear, SetAttention, apply_dropout};
use crate::init::Init;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar};
use std::sync::Arc;

/// `static_m = activation(static(x_m))`; `dynamic = x` after the attention layers; `score_b = mean over set b of
/// p · (dynamic_m − static_m)² + p₀`, the square element by element.
///
/// `x: [members, width]`, `score: [sets]`; sets of any size.
#[derive(Debug, Clone)]
pub struct SetScorer {
    pub(crate) fixed: Linear,
    pub(crate) layers: Vec<SetAttention>,
    pub(crate) score: Linear,
    pub(crate) activation: Activation,
    /// Names of the scorer and of its attention layers, under which their operations are observed.
    part: Arc<str>,
    layer_parts: Vec<Arc<str>>,
}

/// Outputs of a scorer.
#[derive(Debug, Clone, Copy)]
pub struct SetScores {
    /// Rows after the last attention layer, `[members, width]`.
    pub dynamic: Var,
    /// Scores, `[sets]`.
    pub scores: Var,
}

impl SetScorer {
    /// Adds `name.static`, `name.layer1` … and `name.score`.
    pub fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        heads: usize,
        layers: usize,
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let fixed = Linear::new(parameters, &format!("{name}.static"), width, width, init);
        let layer_parts: Vec<Arc<str>> =
            (1..=layers).map(|layer| format!("{name}.layer{layer}").into()).collect();
        let layers =
            layer_parts.iter().map(|part| SetAttention::new(parameters, part, width, heads, init)).collect();
        let score = Linear::new(parameters, &format!("{name}.score"), width, 1, init);
        Self { fixed, layers, score, activation, part: name.into(), layer_parts }
    }

    /// Records the scores of rows `x`, which belong to `sets`; dropout applies to the weights of each attention
    /// layer and to its output.
    pub fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        sets: GeneSetsRef<'a>,
        dropout: Option<&Dropout>,
    ) -> SetScores {
        tape.inside(&self.part, |tape| self.scores(tape, x, sets, dropout))
    }

    fn scores<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        sets: GeneSetsRef<'a>,
        dropout: Option<&Dropout>,
    ) -> SetScores {
        let fixed = self.fixed.forward(tape, "static", x, self.activation);
        let (score, width) = (self.score, self.score.inputs);
        let dynamic =
            self.layers.iter().zip(&self.layer_parts).enumerate().fold(x, |x, (at, (layer, part))| {
                let [output, weights] =
                    [at, self.layers.len() + at].map(|site| dropout.map(|dropout| dropout.after(site)));
                tape.inside(part, |tape| {
                    let x = layer.forward(tape, x, sets, weights.as_ref());
                    apply_dropout(tape, "dropout", x, width, output)
                })
            });
        let scores = tape.op(
            "score",
            sets.len(),
            |values, out| {
                let (weight, bias) = (values.of(score.weight), values.of(score.bias)[0]);
                let member = |member: usize| -> T {
                    let row = member * width..(member + 1) * width;
                    let pairs = values.of(dynamic)[row.clone()].iter().zip(&values.of(fixed)[row]);
                    pairs.zip(weight).map(|((&a, &b), &weight)| weight * (a - b) * (a - b)).sum::<T>() + bias
                };
                for (out, set) in out.iter_mut().zip(sets.ranges()) {
                    *out = set.clone().map(member).sum::<T>() / T::of(set.len() as f64);
                }
            },
            move |step, (), gradients| {
                let (a, b, weight) =
                    (step.values.of(dynamic), step.values.of(fixed), step.values.of(score.weight));
                let pool = step.values.pool();
                let (mut d_dynamic, mut d_weight, mut d_bias) =
                    (pool.scratch(a.len()), vec![T::ZERO; width], T::ZERO);
                for (&upstream, set) in step.gradient.iter().zip(sets.ranges()) {
                    let share = upstream / T::of(set.len() as f64);
                    for member in set {
                        d_bias += share;
                        for (channel, at) in (member * width..(member + 1) * width).enumerate() {
                            let difference = a[at] - b[at];
                            d_weight[channel] += share * difference * difference;
                            d_dynamic[at] = T::of(2.0) * share * weight[channel] * difference;
                        }
                    }
                }
                gradients.add(score.weight, |sum| super::add_to(sum, &d_weight));
                gradients.add(score.bias, |sum| sum[0] += d_bias);
                gradients.add(dynamic, |sum| super::add_to(sum, &d_dynamic));
                gradients.add(fixed, |sum| super::add_scaled(sum, -T::ONE, &d_dynamic));
            },
        );
        SetScores { dynamic, scores }
    }
}
