//! The metabolism of a layer: all cells of a batch, each row that differs from the wild type's.

use super::cell_pass::{CellPass, NodeGradients, NodeRows, Nodes};
use super::changes::Changes;
use super::graph::MetabolicGraph;
use crate::hetero::Route;
use crate::hetero::gin::Gin;
use crate::hetero::own_rows::OwnRows;
use crate::hetero::plan::{LayerPlan, RowStage};
use crate::hetero::propagate::{CellGroup, cell_groups};
use crate::init::Init;
use crate::layer::{Dropout, Linear};
use knockout_data::batch::Graphs;
use knockout_data::cell::{GeneSets, GeneSetsRef};
use knockout_engine::grad::{Parameters, Tape, Values, Var};
use knockout_engine::kernel::{Activation, Block, Buffer, Pool, RowGradients, Scalar, reduce_in_order};
use rayon::prelude::*;
use std::sync::Arc;

/// Deviation of the rows of reactions and metabolites at the start.
pub(crate) const TABLE_DEVIATION: f64 = 1.0;

/// The metabolism in every cell of a batch.
#[derive(Debug)]
pub(crate) struct MetabolicCells<'a> {
    graph: &'a MetabolicGraph,
    /// Reactions that run in each sample, where the route provides them; otherwise deletion is a node mask.
    running: Option<Vec<Vec<bool>>>,
    /// 0, 1, 2, …: the rows of the wild type.
    identity: Vec<u32>,
}

/// Inputs that all cells of a layer read.
#[derive(Clone, Copy)]
struct LayerInputs<'t, T: Scalar> {
    nodes: &'t Nodes<'t, T>,
    x: &'t [T],
    pool: &'t Pool<T>,
}

impl<'a> MetabolicCells<'a> {
    pub(crate) fn new(
        graph: &'a MetabolicGraph,
        route: Route,
        sets: GeneSetsRef<'_>,
        graphs: &Graphs<'_>,
    ) -> Self {
        let identity = (0..graph.sizes()[0] as u32).collect();
        Self { graph, running: graph.running_in_samples(route, sets, graphs), identity }
    }

    fn wild_type<'t, T: Scalar>(&'t self, shared: LayerInputs<'t, T>) -> CellPass<'t, T> {
        let (graph, row_of, LayerInputs { nodes, x, pool }) = (self.graph, &self.identity, shared);
        CellPass { nodes, graph, changes: Changes::wild_type(graph), row_of, x, wild: None, pool }
    }

    fn cell<'t, T: Scalar>(
        &'t self,
        cell: usize,
        stage: &'t RowStage,
        shared: LayerInputs<'t, T>,
        wild: &'t NodeRows<T>,
    ) -> CellPass<'t, T> {
        let (graph, row_of, LayerInputs { nodes, x, pool }) = (self.graph, stage.row_of(cell), shared);
        let running = match &self.running {
            None => graph.running(row_of),
            Some(samples) => samples[cell].clone(),
        };
        let changes = Changes::of(graph, running, row_of);
        CellPass { nodes, graph, changes, row_of, x, wild: Some(wild), pool }
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
            .map(|(name, rows)| parameters.add(name, &[rows, width], || init.normal(TABLE_DEVIATION)))
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

    pub(crate) fn tables(&self) -> [Var; 2] {
        self.embeddings
    }

    pub(crate) fn linears(&self) -> [Linear; 2] {
        self.linears
    }

    pub(crate) fn gin(&self) -> &Gin {
        &self.gin
    }

    /// Returns the wild type's inputs of the linear layers of reactions and metabolites and of the genes' block, from its rows `x`.
    pub(crate) fn given_in_wild_type<T: Scalar>(
        &self,
        parameters: &Parameters<T>,
        graph: &MetabolicGraph,
        x: &[T],
    ) -> [Vec<T>; 3] {
        let tape = Tape::new(parameters);
        let (nodes, pool) = (self.nodes(tape.values()), tape.values().pool());
        let cells = MetabolicCells::new(graph, Route::ChangedRows, GeneSets::default().view(), &Graphs::None);
        let pass = cells.wild_type(LayerInputs { nodes: &nodes, x, pool });
        let rows = pass.node_rows();
        let mut sums = vec![T::ZERO; x.len()];
        pass.forward(&rows, &cells.identity, &mut sums);
        let [reactions, metabolites] = rows.given().map(<[T]>::to_vec);
        [reactions, metabolites, sums]
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
            [genes + own_rows.len(), width],
            |values, out| {
                let nodes = self.nodes(values);
                let shared = LayerInputs { nodes: &nodes, x: values.of(x), pool: values.pool() };
                let (wild, mut rest) = out.split_at_mut(genes * width);
                let mut parts = Vec::new();
                for cell in 0..plan.input.cells() {
                    let (part, after) = rest.split_at_mut(own_rows.of(cell).len() * width);
                    parts.push((cell, part));
                    rest = after;
                }
                let pass = cells.wild_type(shared);
                let wild_rows = pass.node_rows();
                pass.forward(&wild_rows, &cells.identity, wild);
                parts.into_par_iter().filter(|(_, part)| !part.is_empty()).for_each(|(cell, part)| {
                    let pass = cells.cell(cell, &plan.input, shared, &wild_rows);
                    pass.forward(&pass.node_rows(), own_rows.of(cell), part);
                });
            },
            move |step, (), gradients| {
                let (nodes, pool) = (layer.nodes(step.values), step.values.pool());
                let shared = LayerInputs { nodes: &nodes, x: step.values.of(x), pool };
                let task = MetabolicBackward { shared, cells: &back_cells, plan: &back_plan, k };
                let mut flat = pool.zeros(task.lens().iter().sum());
                let mut d_eps = 0.0;
                gradients.add(x, |d_x| d_eps = task.run(step.gradient, d_x, &mut flat));
                let linears = layer.linears.iter().flat_map(|linear| [linear.weight, linear.bias]);
                crate::layer::add_parts(&flat, layer.embeddings.into_iter().chain(linears), gradients);
                gradients.add(layer.gin.eps(), |sum| sum[0] += T::of(d_eps));
            },
        );
        self.gin.of_sums(tape, sums, genes, dropout)
    }
}

struct MetabolicBackward<'t, 'a, T: Scalar> {
    shared: LayerInputs<'t, T>,
    cells: &'t MetabolicCells<'a>,
    plan: &'t LayerPlan,
    k: usize,
}

impl<T: Scalar> MetabolicBackward<'_, '_, T> {
    /// Values in a flat gradient: embeddings of reactions and metabolites, their linear layers, then r, m and s of the wild type.
    fn lens(&self) -> [usize; 7] {
        let Nodes { embeddings: [reactions, metabolites], blocks: [first, second], .. } = self.shared.nodes;
        let (reactions, metabolites) = (reactions.len(), metabolites.len());
        let [first, second] = [first, second].map(Block::parameter_count);
        [reactions, metabolites, first, second, reactions, metabolites, reactions]
    }

    fn parts<'g>(&self, mut flat: &'g mut [T]) -> NodeGradients<'g, T> {
        let [reaction, metabolite, first, second, r, m, s] = self.lens().map(|len| {
            let (part, rest) = std::mem::take(&mut flat).split_at_mut(len);
            flat = rest;
            part
        });
        NodeGradients { embeddings: [reaction, metabolite], blocks: [first, second], wild: [r, m, s] }
    }

    /// Adds to `d_x` and to the flat gradient of the nodes; returns the gradient of the self weight.
    fn run(&self, d_sums: &[T], d_x: &mut [T], flat: &mut [T]) -> f64 {
        let (stage, width, pool) = (&*self.plan.input, self.shared.nodes.width, self.shared.pool);
        let own_rows: &OwnRows = &self.plan.networks[self.k];
        let (genes, shared_rows) = (stage.genes(), stage.shared_rows());
        let (of_wild, of_cells) = d_sums.split_at(genes * width);
        let (shared, owned) = d_x.split_at_mut(shared_rows * width);
        let wild = self.cells.wild_type(self.shared);
        let wild_rows = wild.node_rows();
        let groups = cell_groups(stage, 0..stage.cells(), owned, width);
        let partials: Vec<(Buffer<T>, Buffer<T>, f64)> = groups
            .into_par_iter()
            .map(|CellGroup { cells, first, owned }| {
                let mut shared = pool.zeros(shared_rows * width);
                let mut flat = pool.zeros(self.lens().iter().sum());
                let mut d_self = 0.0;
                let mut rows = RowGradients { shared: &mut shared, own: owned, first };
                let mut gradients = self.parts(&mut flat);
                for cell in cells {
                    let own = own_rows.offsets[cell]..own_rows.offsets[cell + 1];
                    if own.is_empty() {
                        continue;
                    }
                    let pass = self.cells.cell(cell, stage, self.shared, &wild_rows);
                    let upstream = (own_rows.of(cell), &of_cells[own.start * width..own.end * width]);
                    let (nodes, none) = (pass.node_rows(), pass.no_gradients());
                    d_self += pass.backward(&nodes, upstream, none, &mut rows, &mut gradients);
                }
                (shared, flat, d_self)
            })
            .collect();
        let (mut of_shared, mut of_nodes, mut d_self) = (Vec::new(), Vec::new(), 0.0);
        for (shared, flat, of_self) in partials {
            of_shared.push(shared);
            of_nodes.push(flat);
            d_self += of_self;
        }
        reduce_in_order(&of_shared, shared);
        reduce_in_order(&of_nodes, flat);
        // What cells read of the wild type's nodes is known by now.
        let mut rows = RowGradients { shared, own: &mut [], first: shared_rows };
        let mut gradients = self.parts(flat);
        let read = gradients.wild.each_ref().map(|gradient| pool.copy(gradient));
        let upstream = (&self.cells.identity[..], of_wild);
        d_self + wild.backward(&wild_rows, upstream, read, &mut rows, &mut gradients)
    }
}
