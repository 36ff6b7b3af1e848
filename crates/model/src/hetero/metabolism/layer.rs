//! The metabolism of a layer: all cells of a batch, each row that differs from the wild type's.

use super::cell_pass::{CellPass, NodeGradients, Nodes};
use super::graph::MetabolicGraph;
use crate::hetero::Route;
use crate::hetero::gin::Gin;
use crate::hetero::plan::{LayerPlan, OwnRows, Stage};
use crate::hetero::propagate::{CellGroup, cell_groups};
use crate::init::Init;
use crate::layer::{Dropout, Linear};
use knockout_batch::Graphs;
use knockout_cell::GeneSetsRef;
use knockout_grad::{Parameters, Tape, Values, Var};
use knockout_kernel::{Activation, Block, Buffer, Pool, RowGradients, Scalar, reduce_in_order};
use rayon::prelude::*;
use std::sync::Arc;

/// The metabolism in every cell of a batch.
#[derive(Debug)]
pub(crate) struct MetabolicCells<'a> {
    graph: &'a MetabolicGraph,
    /// Graphs of samples, where the route has them; deletion is a node mask otherwise.
    of_samples: Option<Vec<MetabolicGraph>>,
    /// 0, 1, 2, …: the rows of the wild type.
    identity: Vec<u32>,
}

impl<'a> MetabolicCells<'a> {
    pub(crate) fn new(
        graph: &'a MetabolicGraph,
        route: Route,
        sets: GeneSetsRef<'_>,
        graphs: &Graphs<'_>,
    ) -> Self {
        let identity = (0..graph.sizes()[0] as u32).collect();
        Self { graph, of_samples: graph.of_samples(route, sets, graphs), identity }
    }

    fn wild_type<'t, T: Scalar>(
        &'t self,
        nodes: &'t Nodes<'t, T>,
        x: &'t [T],
        pool: &'t Pool<T>,
    ) -> CellPass<'t, T> {
        let running = vec![true; self.graph.sizes()[1]];
        CellPass { nodes, graph: self.graph, running, row_of: &self.identity, x, pool }
    }

    fn cell<'t, T: Scalar>(
        &'t self,
        cell: usize,
        stage: &'t Stage,
        nodes: &'t Nodes<'t, T>,
        x: &'t [T],
        pool: &'t Pool<T>,
    ) -> CellPass<'t, T> {
        let row_of = stage.row_of(cell);
        let (graph, running) = match &self.of_samples {
            None => (self.graph, self.graph.running(row_of)),
            // The graph has nothing but what runs.
            Some(graphs) => (&graphs[cell], vec![true; self.graph.sizes()[1]]),
        };
        CellPass { nodes, graph, running, row_of, x, pool }
    }
}

/// `g_i = activation(norm(MLP(t_i)))`, t as [`CellPass`] computes it.
///
/// `x: [rows of the input stage, width]`, `g: [genes + own rows of the metabolism, width]`. A deleted gene keeps its self term alone.
#[derive(Debug, Clone)]
pub(crate) struct Metabolic {
    /// Rows of reactions and of metabolites, the same for all layers.
    embeddings: [Var; 2],
    linears: [Linear; 2],
    gin: Gin,
    activation: Activation,
}

impl Metabolic {
    /// Rows of reactions and metabolites: `reaction_embedding` and `metabolite_embedding`.
    pub(crate) fn embeddings<T: Scalar>(
        parameters: &mut Parameters<T>,
        graph: &MetabolicGraph,
        width: usize,
        init: &mut Init,
    ) -> [Var; 2] {
        let [_, reactions, metabolites] = graph.sizes();
        [("reaction_embedding", reactions), ("metabolite_embedding", metabolites)]
            .map(|(name, rows)| parameters.add(name, &[rows, width], || init.normal(1.0)))
    }

    /// Adds `name.reaction` and `name.metabolite`.
    pub(crate) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        embeddings: [Var; 2],
        (gin, width, activation): (Gin, usize, Activation),
        init: &mut Init,
    ) -> Self {
        let linears = ["reaction", "metabolite"]
            .map(|node| Linear::new(parameters, &format!("{name}.{node}"), width, width, init));
        Self { embeddings, linears, gin, activation }
    }

    fn nodes<'t, T: Scalar>(&self, values: Values<'t, T>) -> Nodes<'t, T> {
        let block =
            |linear: Linear| Block::new(vec![linear.affine(values)], Activation::None, None, self.activation);
        Nodes {
            embeddings: self.embeddings.map(|var| values.of(var)),
            blocks: self.linears.map(block),
            self_weight: T::ONE + values.of(self.gin.eps())[0],
            width: self.linears[0].inputs,
        }
    }

    /// Records the metabolism of a layer, which is contribution `k` of its plan.
    pub(crate) fn forward<'a, T: Scalar>(
        &self,
        tape: &mut Tape<'a, T>,
        (x, k): (Var, usize),
        plan: &Arc<LayerPlan>,
        cells: &Arc<MetabolicCells<'a>>,
        dropout: Option<&Dropout>,
    ) -> Var {
        let (layer, back_plan, back_cells) = (self.clone(), Arc::clone(plan), Arc::clone(cells));
        let own_rows = &plan.networks[k];
        let (genes, width) = (plan.input.genes(), self.linears[0].inputs);
        let sums = tape.op(
            "metabolism",
            (genes + own_rows.len()) * width,
            |values, out| {
                let (nodes, x, pool) = (self.nodes(values), values.of(x), values.pool());
                let (wild, mut rest) = out.split_at_mut(genes * width);
                let mut parts = Vec::new();
                for cell in 0..plan.input.cells() {
                    let (part, after) = rest.split_at_mut(own_rows.of(cell).len() * width);
                    parts.push((cell, part));
                    rest = after;
                }
                cells.wild_type(&nodes, x, pool).forward(&cells.identity, wild);
                parts.into_par_iter().filter(|(_, part)| !part.is_empty()).for_each(|(cell, part)| {
                    let pass = cells.cell(cell, &plan.input, &nodes, x, pool);
                    pass.forward(own_rows.of(cell), part);
                });
            },
            move |step, (), gradients| {
                let (nodes, pool) = (layer.nodes(step.values), step.values.pool());
                let task = Backward { nodes: &nodes, cells: &back_cells, plan: &back_plan, k, pool };
                let mut flat = pool.zeros(task.lens().iter().sum());
                let mut d_eps = 0.0;
                gradients.add(x, |d_x| {
                    d_eps = task.run(step.values.of(x), step.gradient, d_x, &mut flat);
                });
                let linears = layer.linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
                crate::layer::add_parts(&flat, layer.embeddings.into_iter().chain(linears), gradients);
                gradients.add(layer.gin.eps(), |sum| sum[0] += T::of(d_eps));
            },
        );
        self.gin.of_sums(tape, sums, genes, dropout)
    }
}

struct Backward<'t, 'a, T: Scalar> {
    nodes: &'t Nodes<'t, T>,
    cells: &'t MetabolicCells<'a>,
    plan: &'t LayerPlan,
    k: usize,
    pool: &'t Pool<T>,
}

impl<T: Scalar> Backward<'_, '_, T> {
    /// Values of the embeddings of reactions and metabolites, and of their linear layers, in a flat gradient.
    fn lens(&self) -> [usize; 4] {
        let ([reactions, metabolites], [first, second]) = (self.nodes.embeddings, &self.nodes.blocks);
        [reactions.len(), metabolites.len(), first.parameter_count(), second.parameter_count()]
    }

    fn parts<'g>(&self, flat: &'g mut [T]) -> NodeGradients<'g, T> {
        let [reactions, metabolites, of_reactions, _] = self.lens();
        let (reaction, rest) = flat.split_at_mut(reactions);
        let (metabolite, rest) = rest.split_at_mut(metabolites);
        let (first, second) = rest.split_at_mut(of_reactions);
        NodeGradients { embeddings: [reaction, metabolite], blocks: [first, second] }
    }

    /// Adds to `d_x` and to the flat gradient of the nodes; returns the gradient of the self weight.
    fn run(&self, x: &[T], d_sums: &[T], d_x: &mut [T], flat: &mut [T]) -> f64 {
        let (stage, width) = (&*self.plan.input, self.nodes.width);
        let own_rows: &OwnRows = &self.plan.networks[self.k];
        let (genes, shared_rows) = (stage.genes(), stage.shared_rows());
        let (of_wild, of_cells) = d_sums.split_at(genes * width);
        let (shared, owned) = d_x.split_at_mut(shared_rows * width);
        let mut rows = RowGradients { shared: &mut *shared, own: &mut [], first: shared_rows };
        let wild = self.cells.wild_type(self.nodes, x, self.pool);
        let mut d_self = wild.backward(&self.cells.identity, of_wild, &mut rows, &mut self.parts(flat));
        let groups = cell_groups(stage, 0..stage.cells(), owned, width);
        let (partials, self_parts): (Vec<(Buffer<T>, Buffer<T>)>, Vec<f64>) = groups
            .into_par_iter()
            .map(|CellGroup { cells, first, owned }| {
                let mut shared = self.pool.zeros(shared_rows * width);
                let mut flat = self.pool.zeros(self.lens().iter().sum());
                let mut d_self = 0.0;
                let mut rows = RowGradients { shared: &mut shared, own: owned, first };
                for cell in cells {
                    let own = own_rows.offsets[cell]..own_rows.offsets[cell + 1];
                    if own.is_empty() {
                        continue;
                    }
                    let pass = self.cells.cell(cell, stage, self.nodes, x, self.pool);
                    let upstream = &of_cells[own.start * width..own.end * width];
                    d_self +=
                        pass.backward(own_rows.of(cell), upstream, &mut rows, &mut self.parts(&mut flat));
                }
                ((shared, flat), d_self)
            })
            .unzip();
        let (of_shared, of_nodes): (Vec<_>, Vec<_>) = partials.into_iter().unzip();
        reduce_in_order(&of_shared, shared);
        reduce_in_order(&of_nodes, flat);
        d_self += self_parts.iter().sum::<f64>();
        d_self
    }
}
