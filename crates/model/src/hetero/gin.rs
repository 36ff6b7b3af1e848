//! One network in one layer: what arrives at each row, through the layers of a graph isomorphism network.

use super::arrivals::Arrivals;
use super::norm::{Norm, NormKind, graph_norm};
use super::plan::LayerPlan;
use super::removed::Removed;
use crate::init::Init;
use crate::layer::{Dropped, Linear, Mlp, activate, drop_from};
use knockout_grad::{Parameters, Tape, Var};
use knockout_kernel::{Activation, Graph, Scalar};
use std::sync::Arc;

/// `g_i = activation(norm(MLP(Σ over edges j→i, both kept, of x_j + (1 + eps) x_i)))`.
///
/// `x: [rows of the stage before, width]`, `g: [rows that the plan lists, width]`. A deleted gene keeps its own term alone.
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
        // A norm of each row by itself is part of the block; one over all rows has to wait for them.
        let last = if matches!(norm, Norm::Graph(_)) { Activation::None } else { activation };
        let mlp = Mlp { linears, between: activation, norm: norm.of_rows(), last };
        Self { mlp, eps, norm, activation }
    }

    /// Records network `k` of a layer.
    pub(super) fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        x: Var,
        (graph, k): (&'a Graph, usize),
        plan: &Arc<LayerPlan>,
        removed: &Arc<Removed>,
        dropped: Option<&Dropped>,
    ) -> Var {
        let (layer, rows, genes) = (self.clone(), plan.networks[k].len(), graph.row_count());
        let arrivals = Arrivals::new((graph, k), plan, removed);
        let back = arrivals.clone();
        let back_dropped = dropped.cloned();
        let width = self.mlp.inputs();
        let g = tape.op(
            "gin",
            (genes + rows) * self.mlp.outputs(),
            |values, out| {
                let own = T::ONE + values.of(self.eps)[0];
                let sums = arrivals.sums(values.of(x), own, width, values.pool());
                self.mlp.block(values, dropped).forward(&sums, out);
                plan.keeps_sums.then_some(sums)
            },
            move |step, sums, gradients| {
                let own = T::ONE + step.values.of(layer.eps)[0];
                let (x_values, pool) = (step.values.of(x), step.values.pool());
                let sums = sums.unwrap_or_else(|| back.sums(x_values, own, width, pool));
                let block = layer.mlp.block(step.values, back_dropped.as_ref());
                let mut gradient = pool.zeros(block.number_count());
                let mut arrived = pool.scratch((genes + rows) * width);
                block.backward(&sums, step.gradient, &mut arrived, &mut gradient);
                layer.mlp.add(&gradient, gradients);
                let mut d_own = 0.0;
                gradients.add(x, |sum| d_own = back.backward(x_values, own, width, &arrived, sum, pool));
                gradients.add(layer.eps, |sum| sum[0] += T::of(d_own));
            },
        );
        match self.norm {
            Norm::None | Norm::Node(_) => g,
            Norm::Graph(vars) => {
                let normal = graph_norm(tape, "gin.norm", g, vars, genes);
                let values = activate(tape, "gin.activation", normal, self.activation);
                // The block has dropped its own after each of its layers: this is one more.
                let dropped =
                    dropped.map(|dropped| Dropped { site: dropped.site | 1 << 63, ..dropped.clone() });
                drop_from(tape, "gin.dropout", values, self.mlp.outputs(), dropped)
            }
        }
    }
}
