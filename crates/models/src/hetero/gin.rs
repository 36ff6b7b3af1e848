//! A graph isomorphism layer over one network.

use super::channels::ChannelSums;
use super::deletion::DeletedEdges;
use super::fanout::Edges;
use super::norm::{Norm, NormKind, graph_norm};
use super::plan::LayerPlan;
use crate::init::Init;
use crate::layer::{Dropout, Linear, Mlp, activate, apply_dropout};
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar};
use std::sync::Arc;

/// `g_i = activation(norm(MLP(Σ over edges j→i, both kept, of x_j + (1 + eps) x_i)))`.
///
/// `x: [rows of the input stage, width]`, `g: [genes + sample rows of the network, width]`. A deleted gene keeps its self term alone. The
/// sums of a network with several channels stand side by side.
#[derive(Debug, Clone)]
pub(super) struct Gin {
    mlp: Mlp,
    eps: Var,
    norm: Norm,
    activation: Activation,
}

impl Gin {
    /// Adds `name.gin.linear1` … `name.gin.eps` and `name.norm`.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        widths: &[usize],
        norm: NormKind,
        activation: Activation,
        init: &mut Init,
    ) -> Self {
        let linears = widths
            .windows(2)
            .enumerate()
            .map(|(at, pair)| {
                Linear::new(parameters, &format!("{name}.gin.linear{}", at + 1), pair[0], pair[1], init)
            })
            .collect();
        let eps = parameters.add(format!("{name}.gin.eps"), &[1], || 0.0);
        let width = widths[widths.len() - 1];
        let norm = Norm::new(parameters, &format!("{name}.norm"), width, norm);
        // A norm of each row is fused into the block; one over all rows has to wait for them.
        let last = if matches!(norm, Norm::Graph(_)) { Activation::None } else { activation };
        let mlp = Mlp { linears, between: activation, norm: norm.of_rows(), last };
        Self { mlp, eps, norm, activation }
    }

    /// The layers after the sum over neighbours.
    pub(super) fn mlp(&self) -> &Mlp {
        &self.mlp
    }

    /// Records network `k` of a layer.
    pub(super) fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        (edges, k): (&[Edges<'a>], usize),
        plan: &Arc<LayerPlan>,
        deletion: &Arc<DeletedEdges>,
        dropout: Option<&Dropout>,
    ) -> Var {
        let (layer, rows, genes) = (self.clone(), plan.networks[k].len(), plan.input.genes());
        let propagation = ChannelSums::new((edges, k), plan, deletion);
        let back = propagation.clone();
        let back_dropout = dropout.cloned();
        let inputs = self.mlp.inputs();
        let width = inputs / edges.len();
        let g = tape.op(
            "gin",
            [genes + rows, self.mlp.outputs()],
            |values, out| {
                let self_weight = T::ONE + values.of(self.eps)[0];
                let sums = propagation.forward(values.of(x), self_weight, width, values.pool());
                self.mlp.block(values, dropout).forward(&sums, out);
                plan.saves_sums.then_some(sums)
            },
            move |step, sums, gradients| {
                let self_weight = T::ONE + step.values.of(layer.eps)[0];
                let (x_values, pool) = (step.values.of(x), step.values.pool());
                let sums = sums.unwrap_or_else(|| back.forward(x_values, self_weight, width, pool));
                let block = layer.mlp.block(step.values, back_dropout.as_ref());
                let mut gradient = pool.zeros(block.parameter_count());
                let mut d_sums = pool.scratch((genes + rows) * inputs);
                block.backward(&sums, step.gradient, &mut d_sums, &mut gradient);
                layer.mlp.add_gradient(&gradient, gradients);
                let mut d_eps = 0.0;
                gradients
                    .add(x, |d_x| d_eps = back.backward(x_values, self_weight, width, &d_sums, d_x, pool));
                gradients.add(layer.eps, |sum| sum[0] += T::of(d_eps));
            },
        );
        self.after_block(tape, g, genes, dropout)
    }

    /// ε.
    pub(super) fn eps(&self) -> Var {
        self.eps
    }

    /// Records what follows the sums, given them: `g = activation(norm(MLP(sums)))`, the wild type's `genes` rows first.
    pub(super) fn of_sums<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        sums: Var,
        genes: usize,
        dropout: Option<&Dropout>,
    ) -> Var {
        let g = self.mlp.forward(tape, "gin", sums, dropout);
        self.after_block(tape, g, genes, dropout)
    }

    /// A norm over all rows has to wait for them.
    fn after_block<T: Scalar>(
        &self,
        tape: &mut Tape<'_, T>,
        g: Var,
        genes: usize,
        dropout: Option<&Dropout>,
    ) -> Var {
        match self.norm {
            Norm::None | Norm::Node(_) => g,
            Norm::Graph(vars) => {
                let normal = graph_norm(tape, "gin.norm", g, vars, genes);
                let values = activate(tape, "gin.activation", normal, self.activation);
                // The block applies dropout after each of its layers: this is one more site.
                let dropout =
                    dropout.map(|dropout| Dropout { site: dropout.site | 1 << 63, ..dropout.clone() });
                apply_dropout(tape, "gin.dropout", values, self.mlp.outputs(), dropout)
            }
        }
    }
}
