//! The readout: a global score of the cell, a local score of the deleted genes, and their combination.

use super::dropout::{DropoutPass, Site};
use crate::init::Init;
use crate::layer::{Linear, Mlp, SetScorer, add_scaled, add_to, gather, softmax, softmax_backward};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar};
use serde::{Deserialize, Serialize};

/// How the global and the local part become one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreCombination {
    /// Mean of both.
    #[default]
    Concat,
    /// Weighted sum, with weights from an MLP over both scores.
    Gating,
    /// The global score alone.
    GlobalOnly,
}

/// Scale of the difference between two pooled cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceScale {
    /// A mean over genes, as pooling gives it: the more genes a cell has, the less a deletion changes.
    #[default]
    Mean,
    /// Their total: the mean times the number of genes.
    Total,
}

impl DifferenceScale {
    /// Returns the factor of a mean over genes.
    pub(super) fn factor(self, genes: usize) -> f64 {
        match self {
            Self::Mean => 1.0,
            Self::Total => genes as f64,
        }
    }
}

/// `global = out(activation(hidden(z_wild − z_sample)))`; `local` = a set scorer on the wild type's rows of the deleted genes.
#[derive(Debug, Clone)]
pub(super) struct Readout {
    global: Mlp,
    local: Option<SetScorer>,
    gate: Option<Mlp>,
    width: usize,
    /// Of the difference between cells.
    factor: f64,
}

/// Outputs of the readout.
#[derive(Debug, Clone, Copy)]
pub struct ReadoutVars {
    /// `z_wild − z_sample`, `[samples, width]`.
    pub difference: Var,
    /// Global scores, `[samples]`.
    pub global: Var,
    /// Local scores, `[samples]`; `None` without a local part.
    pub local: Option<Var>,
    /// Softmax weights of both scores, `[samples, 2]`, with gating.
    pub gate: Option<Var>,
    /// Combined scores, `[samples]`.
    pub predictions: Var,
}

impl Readout {
    /// Adds `global.*` and, where there are any, `local.*` and `gate.*`.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        (width, factor): (usize, f64),
        (heads, layers): (usize, usize),
        combination: ScoreCombination,
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let mut mlp = |parameters: &mut Parameters<T>, name: &str, inputs, outputs| Mlp {
            linears: vec![
                Linear::new(parameters, &format!("{name}.hidden"), inputs, width, init),
                Linear::new(parameters, &format!("{name}.out"), width, outputs, init),
            ],
            between: activation,
            norm: None,
            last: Activation::None,
        };
        let global = mlp(parameters, "global", width, 1);
        let gate = (combination == ScoreCombination::Gating).then(|| mlp(parameters, "gate", 2, 2));
        let local = (combination != ScoreCombination::GlobalOnly)
            .then(|| SetScorer::new(parameters, "local", width, heads, layers, activation, init));
        Self { global, local, gate, width, factor }
    }

    /// The two layers of the global score.
    pub(super) fn global(&self) -> [Linear; 2] {
        [self.global.linears[0], self.global.linears[1]]
    }

    /// The scorer of the deleted genes, where there is one.
    pub(super) fn local(&self) -> Option<&SetScorer> {
        self.local.as_ref()
    }

    /// Records the score of every sample from the pooled cells `[1 + samples, width]` and the wild type's rows.
    pub(super) fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        pooled: Var,
        rows: Var,
        sets: GeneSetsRef<'a>,
        pass: Option<DropoutPass>,
    ) -> ReadoutVars {
        let difference = difference(tape, pooled, self.width, T::of(self.factor));
        let dropout = pass.map(|pass| pass.of_samples(Site::Global, sets.len()));
        let global = self.global.forward(tape, "global", difference, dropout.as_ref());
        let Some(scorer) = &self.local else {
            return ReadoutVars { difference, global, local: None, gate: None, predictions: global };
        };
        let members = gather(tape, rows, sets.genes(), self.width);
        let dropout = pass.map(|pass| pass.of_members(Site::Local, sets.genes().len()));
        let local = scorer.forward(tape, members, sets, dropout.as_ref()).scores;
        let weights = self.gate.as_ref().map(|gate| {
            let both = stack(tape, global, local);
            let scores = gate.forward(tape, "gate", both, None);
            softmax_of_two(tape, scores)
        });
        let predictions = combine(tape, global, local, weights);
        ReadoutVars { difference, global, local: Some(local), gate: weights, predictions }
    }
}

/// Records the first row minus each of the others, times a factor.
fn difference<T: Scalar>(tape: &mut Tape<'_, T>, pooled: Var, width: usize, factor: T) -> Var {
    tape.op(
        "difference",
        [tape.value(pooled).len() / width - 1, width],
        |values, out| {
            let (wild, samples) = values.of(pooled).split_at(width);
            for (out, sample) in out.chunks_exact_mut(width).zip(samples.chunks_exact(width)) {
                for ((out, &wild), &sample) in out.iter_mut().zip(wild).zip(sample) {
                    *out = (wild - sample) * factor;
                }
            }
        },
        move |step, (), gradients| {
            gradients.add(pooled, |sum| {
                let (wild, samples) = sum.split_at_mut(width);
                step.gradient.iter_mut().for_each(|gradient| *gradient *= factor);
                step.gradient.chunks_exact(width).for_each(|gradient| add_to(wild, gradient));
                add_scaled(samples, -T::ONE, step.gradient);
            });
        },
    )
}

/// Records the stack of two `[n]` as `[n, 2]`.
fn stack<T: Scalar>(tape: &mut Tape<'_, T>, a: Var, b: Var) -> Var {
    tape.op(
        "gate.stack",
        [tape.value(a).len(), 2],
        |values, out| {
            for (out, (&a, &b)) in out.chunks_exact_mut(2).zip(values.of(a).iter().zip(values.of(b))) {
                out.copy_from_slice(&[a, b]);
            }
        },
        move |step, (), gradients| {
            for (at, var) in [a, b].into_iter().enumerate() {
                gradients.add(var, |sum| {
                    sum.iter_mut()
                        .zip(step.gradient.chunks_exact(2))
                        .for_each(|(sum, both)| *sum += both[at]);
                });
            }
        },
    )
}

/// Records the softmax of each row of `[n, 2]`.
fn softmax_of_two<T: Scalar>(tape: &mut Tape<'_, T>, scores: Var) -> Var {
    tape.op(
        "gate.softmax",
        [tape.value(scores).len() / 2, 2],
        |values, out| {
            out.copy_from_slice(values.of(scores));
            out.chunks_exact_mut(2).for_each(softmax);
        },
        move |step, (), gradients| {
            for (weights, gradient) in step.output.chunks_exact(2).zip(step.gradient.chunks_exact_mut(2)) {
                softmax_backward(weights, gradient);
            }
            gradients.add(scores, |sum| add_to(sum, step.gradient));
        },
    )
}

/// Records `Σ weight · part`; the weights default to one half.
fn combine<T: Scalar>(tape: &mut Tape<'_, T>, global: Var, local: Var, weights: Option<Var>) -> Var {
    let half = T::of(0.5);
    tape.op(
        "combine",
        tape.value(global).len(),
        |values, out| {
            let (global, local) = (values.of(global), values.of(local));
            for (at, out) in out.iter_mut().enumerate() {
                let [a, b] = weights.map_or([half, half], |weights| {
                    let weights = values.of(weights);
                    [weights[2 * at], weights[2 * at + 1]]
                });
                *out = a * global[at] + b * local[at];
            }
        },
        move |step, (), gradients| {
            for (at, part) in [global, local].into_iter().enumerate() {
                gradients.add(part, |sum| {
                    for (row, (sum, &gradient)) in sum.iter_mut().zip(&*step.gradient).enumerate() {
                        let weight = weights.map_or(half, |weights| step.values.of(weights)[2 * row + at]);
                        *sum += weight * gradient;
                    }
                });
                let values = step.values.of(part);
                if let Some(weights) = weights {
                    gradients.add(weights, |sum| {
                        for (sum, (&value, &gradient)) in
                            sum.chunks_exact_mut(2).zip(values.iter().zip(&*step.gradient))
                        {
                            sum[at] += value * gradient;
                        }
                    });
                }
            }
        },
    )
}
