//! The hetero model: a graph network over all gene networks at once, applied to the cell without the deleted genes.
//!
//! ```text
//! x    = activation(norm(pre.linear(gene_embedding)))                twice; the same for every sample, so computed once
//! g_k  = activation(norm(MLP(Σ over kept edges j→i of x_j + (1 + eps) x_i)))    layer by layer, for each network k
//! g_M  = the same over reactions and metabolites instead of edges, with `model.metabolism=on`: see `metabolism`
//! x'   = aggregate(g_1 … g_G, g_M)
//! z    = attention pooling of the last x over the kept genes; z_wild over all
//! ŷ    = combination of global(z_wild − z) and local(rows of the deleted genes in the wild type)
//! ```
//!
//! The wild type and all samples of a batch go through the layers together; `plan` computes which rows a sample has of its own.

mod aggregate;
mod cells;
mod channels;
mod deletion;
mod dropout;
mod fanout;
mod gin;
mod metabolism;
mod norm;
mod options;
mod own_rows;
mod plan;
mod pooling;
mod propagate;
mod reach;
mod readout;
mod start;

pub use aggregate::{Aggregation, AggregationWeights};
pub use dropout::NoiseKind;
pub use metabolism::{MetabolicGraph, MetabolismSwitch};
pub use norm::NormKind;
pub use options::HeteroOptions;
pub use readout::{DifferenceScale, ReadoutVars, ScoreCombination};
pub use start::StartKind;

use crate::init::Init;
use crate::layer::{GeneFeatures, GeneRows, Linear, Mlp, activate, apply_dropout};
use crate::loss::{LossPosition, ScoreLoss};
use crate::{Forward, Input, Model, ModelOptions, SelfLoopChoice};
use aggregate::{Aggregate, AggregationSizes};
use deletion::DeletedEdges;
use dropout::{DropoutPass, Site};
use fanout::{Draw, Edges};
use gin::Gin;
use knockout_data::cell::GeneSetsRef;
use knockout_data::cell::Network;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Csr, Graph, Scalar};
use metabolism::{Metabolic, MetabolicCells};
use norm::Norm;
use plan::{Extent, RowPlan, RowStage};
use pooling::AttentionPooling;
use reach::MessageGraph;
use readout::Readout;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The method of evaluating a batch. With norms over single rows all routes give the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// Only rows that differ from the wild type's, over one shared adjacency.
    #[default]
    ChangedRows,
    /// All rows of every sample, over one shared adjacency.
    NodeMask,
    /// All rows, with a flag for every edge of every sample, as in the reference.
    EdgeMask,
    /// A graph without the genes, built for every sample.
    Rebuilt,
}

impl Route {
    /// The name in configurations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ChangedRows => "changed-rows",
            Self::NodeMask => "node-mask",
            Self::EdgeMask => "edge-mask",
            Self::Rebuilt => "rebuilt",
        }
    }
}

/// Names of the operations before the first layer.
const PRE: [&str; 2] = ["pre.linear1", "pre.linear2"];
/// Name of the metabolism among the networks of a layer.
const METABOLISM: &str = "metabolism";

/// One network that the model reads.
#[derive(Debug, Clone)]
pub struct HeteroNetwork {
    /// Its name; parameters are named after it.
    pub name: String,
    /// Adjacency in both directions.
    pub graph: Graph,
    /// Its index among the cell's networks.
    pub index: usize,
    /// For each entry of `graph.incoming`, the edge's position in the network as stored: what masks are indexed
    /// by. Empty until [`HeteroNetwork::indexed`].
    pub positions: Vec<u32>,
    /// Its edge types, if it has several: each edge of `graph` is in one or more of them.
    pub channels: Vec<Graph>,
}

impl HeteroNetwork {
    /// Creates the network at index `index` in the cell.
    pub fn of(network: &Network, index: usize, self_loops: SelfLoopChoice) -> Self {
        let graph = crate::graph_of(network, self_loops);
        Self { name: network.name().to_owned(), graph, index, positions: Vec::new(), channels: Vec::new() }
    }

    /// Adds the positions of edges, which a batch's masks need. Other routes skip it, because the lookup walks all edges.
    #[must_use]
    pub fn indexed(mut self, network: &Network) -> Self {
        self.positions = vec![0; self.graph.incoming.entry_count()];
        for row in 0..self.graph.row_count() {
            // Both lists by source: repeated edges have the same ends, so any of them may stand for another.
            let stored = network.incoming().range(row);
            let mut stored: Vec<(u32, u32)> = network
                .incoming()
                .row(row)
                .iter()
                .copied()
                .zip(network.incoming_positions()[stored].iter().copied())
                .collect();
            stored.sort_unstable();
            let mut entries: Vec<(usize, usize)> =
                self.graph.incoming.entries(row).map(|(entry, column)| (column, entry)).collect();
            entries.sort_unstable();
            for ((_, entry), (_, position)) in entries.into_iter().zip(stored) {
                self.positions[entry] = position;
            }
        }
        self
    }

    /// Several networks of a cell as one, each edge once. It has no index in the cell, so masks do not apply to it.
    pub fn merged(name: &str, networks: &[&Network], self_loops: SelfLoopChoice) -> Self {
        Self {
            name: name.to_owned(),
            graph: crate::merged_graph(networks, self_loops),
            index: 0,
            positions: Vec::new(),
            channels: Vec::new(),
        }
    }

    /// Merges networks into one, whose edge types they are. It takes no masks, which belong to the networks of the cell.
    pub fn of_channels(name: &str, networks: Vec<Self>) -> Self {
        let genes = networks.first().map_or(0, |network| network.graph.row_count());
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for gene in 0..genes {
            let mut targets: Vec<u32> = networks
                .iter()
                .flat_map(|network| network.graph.outgoing.row(gene).map(|target| target as u32))
                .collect();
            targets.sort_unstable();
            targets.dedup();
            columns.extend(targets);
            offsets.push(columns.len() as u32);
        }
        let outgoing = Csr::new(&offsets, &columns, genes).expect("the union of graphs is well formed");
        Self {
            name: name.to_owned(),
            graph: Graph::from_outgoing(outgoing),
            index: 0,
            positions: Vec::new(),
            channels: networks.into_iter().map(|network| network.graph).collect(),
        }
    }

    /// The graphs whose sums a row has: those of its edge types, or its own.
    pub fn graphs(&self) -> &[Graph] {
        if self.channels.is_empty() { std::slice::from_ref(&self.graph) } else { &self.channels }
    }
}

/// Parts of a cell that a model reads.
#[derive(Debug, Clone, Default)]
pub struct HeteroParts {
    /// Gene networks, one contribution to every layer each.
    pub networks: Vec<HeteroNetwork>,
    /// The metabolism; it comes after the networks.
    pub metabolism: Option<MetabolicGraph>,
    /// Content features of the genes.
    pub features: Option<GeneFeatures>,
}

/// Standard deviation of the reference's gene table.
const REFERENCE_GENE_DEVIATION: f64 = 0.02;

struct HeteroLayer {
    /// Name of the layer, under which its operations are observed.
    part: Arc<str>,
    networks: Vec<Gin>,
    /// Names of the networks in the layer, the metabolism last.
    network_parts: Vec<Arc<str>>,
    metabolism: Option<Metabolic>,
    aggregate: Aggregate,
}

/// The model.
pub struct Hetero<T: Scalar> {
    parameters: Parameters<T>,
    rows: GeneRows<T>,
    pre: [Mlp; 2],
    pre_norm: Norm,
    layers: Vec<HeteroLayer>,
    pool: AttentionPooling,
    readout: Readout,
    loss: ScoreLoss<T>,
    networks: Vec<HeteroNetwork>,
    metabolism: Option<MetabolicGraph>,
    options: HeteroOptions,
    genes: usize,
    /// Seed of the dropout masks.
    seed: u64,
}

/// The output of a forward pass.
#[derive(Debug, Clone)]
pub struct HeteroForward<T> {
    /// The rows before the first layer, `[genes, width]`.
    pub pre: Var,
    /// The rows after each layer: the wild type's `[genes, width]`, then the samples' own.
    pub layers: Vec<Var>,
    /// The weights of each layer's aggregation, where they are kept and it has any.
    pub weights: Vec<Option<Vec<T>>>,
    /// z of the wild type, then of each sample: `[1 + samples, width]`.
    pub pooled: Var,
    /// The score and its parts.
    pub readout: ReadoutVars,
    plan: Arc<RowStage>,
}

impl<T: Scalar> HeteroForward<T> {
    /// The row of a gene in a sample, among the rows after the last layer.
    pub fn row(&self, sample: usize, gene: usize) -> usize {
        let cell = self.plan.samples().start + sample;
        (self.plan.row_of(cell)[gene] & !knockout_engine::kernel::MASKED) as usize
    }
}

/// Rows that a layer computed for a batch, beside those of all genes: what changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedRows {
    /// By network, in order; the metabolism last, where it is read.
    pub networks: Vec<usize>,
    /// In any network.
    pub any: usize,
    /// All rows of all samples.
    pub all: usize,
}

impl<T: Scalar> Hetero<T> {
    /// Creates a model over `genes` genes. Networks are put in the order of their names.
    ///
    /// # Panics
    ///
    /// If there is no network or layer, one has another number of rows, or sizes do not divide: callers check.
    pub fn new(genes: usize, networks: Vec<HeteroNetwork>, options: HeteroOptions, seed: u64) -> Self {
        Self::with_parts(genes, HeteroParts { networks, ..HeteroParts::default() }, options, seed)
    }

    /// Creates a model with a metabolism and content features, if any.
    ///
    /// # Panics
    ///
    /// As [`Hetero::new`].
    pub fn with_parts(genes: usize, parts: HeteroParts, options: HeteroOptions, seed: u64) -> Self {
        let HeteroParts { mut networks, metabolism, features } = parts;
        assert!(
            !networks.is_empty() && options.layers > 0 && options.gin_linears > 0,
            "a network and a layer"
        );
        networks.sort_by(|a, b| a.name.cmp(&b.name));
        let width = options.width;
        let activation = options.activation;
        let (mut parameters, mut init) =
            (Parameters::new(&knockout_engine::kernel::Pool::new()), Init::kaiming(seed));
        let rows =
            GeneRows::new(&mut parameters, [genes, width], REFERENCE_GENE_DEVIATION, features, &mut init);
        let linears = [1, 2]
            .map(|at| Linear::new(&mut parameters, &format!("pre.linear{at}"), width, width, &mut init));
        let pre_norm = Norm::new(&mut parameters, "pre.norm", width, options.norm);
        let is_graph = matches!(pre_norm, Norm::Graph(_));
        let pre = linears.map(|linear| Mlp {
            linears: vec![linear],
            between: Activation::None,
            norm: pre_norm.of_rows(),
            last: if is_graph { Activation::None } else { activation },
        });
        let nodes =
            metabolism.as_ref().map(|graph| Metabolic::embeddings(&mut parameters, graph, width, &mut init));
        let names = networks.iter().map(|network| &network.name[..]);
        let names: Vec<&str> = names.chain(nodes.map(|_| METABOLISM)).collect();
        let mut widths = vec![options.gin_hidden; options.gin_linears + 1];
        (widths[0], widths[options.gin_linears]) = (width, width);
        let layers = (1..=options.layers).map(|layer| HeteroLayer {
            part: format!("layer{layer}").into(),
            network_parts: names.iter().map(|name| format!("layer{layer}.network.{name}").into()).collect(),
            networks: networks
                .iter()
                .map(|network| {
                    assert_eq!(network.graph.row_count(), genes, "network {:?}", network.name);
                    let name = format!("layer{layer}.network.{}", network.name);
                    let mut widths = widths.clone();
                    widths[0] *= network.graphs().len();
                    Gin::new(&mut parameters, &name, &widths, options.norm, activation, &mut init)
                })
                .collect(),
            metabolism: nodes.map(|nodes| {
                let name = format!("layer{layer}.network.{METABOLISM}");
                let gin = Gin::new(&mut parameters, &name, &widths, options.norm, activation, &mut init);
                Metabolic::new(&mut parameters, &name, nodes, (gin, width, activation), &mut init)
            }),
            aggregate: Aggregate::new(
                &mut parameters,
                &format!("layer{layer}.aggregate"),
                &names,
                width,
                options.aggregation,
                AggregationSizes {
                    heads: options.cross_heads,
                    pair_hidden: options.pair_hidden,
                    pair_linears: options.pair_linears,
                },
                (activation, options.norm),
                &mut init,
            ),
        });
        let layers = layers.collect();
        let pool = AttentionPooling::new(&mut parameters, width, activation, &mut init);
        let local = (options.local_heads, options.local_layers);
        let factor = options.difference.factor(genes);
        let readout =
            Readout::new(&mut parameters, (width, factor), local, options.combination, activation, &mut init);
        let mut model = Self {
            parameters,
            rows,
            pre,
            pre_norm,
            layers,
            pool,
            readout,
            loss: ScoreLoss::default(),
            networks,
            metabolism,
            options,
            genes,
            seed,
        };
        if model.options.init == StartKind::Scaled {
            start::scale(&mut model, seed);
        }
        model
    }

    /// Replaces the loss of the scores.
    #[must_use]
    pub(crate) fn with_loss(self, loss: ScoreLoss<T>) -> Self {
        Self { loss, ..self }
    }

    /// The networks, in order.
    pub fn networks(&self) -> &[HeteroNetwork] {
        &self.networks
    }

    /// Evaluates batches in another way.
    pub fn set_route(&mut self, route: Route) {
        self.options.route = route;
    }

    /// Returns the route of evaluation: a norm over all rows needs all of them.
    pub fn route(&self) -> Route {
        match (self.options.route, self.options.norm) {
            (Route::ChangedRows, NormKind::Graph) => Route::NodeMask,
            (route, _) => route,
        }
    }

    /// Returns the dropout of a pass; `None` in evaluation mode.
    fn pass(&self, training: Option<LossPosition>) -> Option<DropoutPass> {
        let at = training.filter(|_| self.options.dropout > 0.0)?;
        Some(DropoutPass {
            rate: self.options.dropout,
            kind: self.options.noise,
            seed: self.seed ^ at.step.rotate_left(32),
            genes: self.genes,
            shard: at.shard,
        })
    }

    /// Returns the draw of a training step; `None` where all edges are read. Shards of a batch share it.
    fn draw(&self, training: Option<LossPosition>) -> Option<Draw> {
        let at = training.filter(|_| self.options.fanout > 0)?;
        Some(Draw { fanout: self.options.fanout, seed: self.seed ^ at.step.rotate_left(32) })
    }

    /// Scores the sets. Masks and rebuilt graphs are those of the batch, where the route needs them and it has them.
    pub fn forward<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        input: Input<'a, '_>,
        weights: AggregationWeights,
    ) -> HeteroForward<T> {
        let (sets, pass) = (input.sets, self.pass(input.training));
        let route = match self.route() {
            Route::ChangedRows if pass.is_some_and(|pass| pass.kind == NoiseKind::Independent) => {
                Route::NodeMask
            }
            route => route,
        };
        let edges = Edges::of(&self.networks, self.draw(input.training));
        let plan = self.plan(&edges, sets, route);
        let deletion = Arc::new(DeletedEdges::new(route, &self.networks, self.genes, sets, input.graphs));
        let metabolism = self.metabolism.as_ref();
        let metabolism =
            metabolism.map(|graph| Arc::new(MetabolicCells::new(graph, route, sets, input.graphs)));
        let activation = self.options.activation;
        let mut x = self.rows.forward(tape);
        for (at, (layer, name)) in self.pre.iter().zip(PRE).enumerate() {
            let dropout = pass.map(|pass| pass.of_rows(Site::Pre(at), None));
            x = layer.forward(tape, name, x, dropout.as_ref());
            if matches!(self.pre_norm, Norm::Graph(_)) {
                x = self.pre_norm.forward(tape, "pre.norm", x, self.genes);
                x = activate(tape, "pre.activation", x, activation);
                x = apply_dropout(tape, "pre.dropout", x, self.options.width, dropout);
            }
        }
        let pre = x;
        let (mut rows, mut weights_by_layer) = (Vec::new(), Vec::new());
        for (at, (layer, plan)) in self.layers.iter().zip(&plan.layers).enumerate() {
            let networks = layer.networks.iter().zip(&edges).enumerate();
            let mut g: Vec<Var> = networks
                .map(|(k, (gin, edges))| {
                    let site = Site::Network { layer: at, network: k };
                    let dropout = pass.map(|pass| pass.of_rows(site, Some(&*plan.networks[k])));
                    tape.inside(&layer.network_parts[k], |tape| {
                        gin.forward(tape, x, (edges, k), plan, &deletion, dropout.as_ref())
                    })
                })
                .collect();
            if let (Some(of_metabolism), Some(cells)) = (&layer.metabolism, &metabolism) {
                let k = self.networks.len();
                let site = Site::Network { layer: at, network: k };
                let dropout = pass.map(|pass| pass.of_rows(site, Some(&*plan.networks[k])));
                g.push(tape.inside(&layer.network_parts[k], |tape| {
                    of_metabolism.forward(tape, (x, k), plan, cells, dropout.as_ref())
                }));
            }
            let site = Site::Aggregate { layer: at };
            let dropout = pass.map(|pass| pass.of_rows(site, Some(&*plan.output.own_rows)));
            let combined = tape.inside(&layer.part, |tape| {
                layer.aggregate.forward(tape, &g, plan, self.options.width, weights, dropout.as_ref())
            });
            x = combined.rows;
            rows.push(x);
            weights_by_layer.push(combined.weights);
        }
        let last = Arc::clone(&plan.layers[plan.layers.len() - 1].output);
        let pooled = self.pool.forward(tape, x, &last, pass);
        let readout = self.readout.forward(tape, pooled, x, sets, pass);
        HeteroForward { pre, layers: rows, weights: weights_by_layer, pooled, readout, plan: last }
    }

    fn plan(&self, edges: &[Vec<Edges<'_>>], sets: GeneSetsRef<'_>, route: Route) -> RowPlan {
        let extent = match route {
            Route::ChangedRows => Extent::Changed,
            Route::NodeMask | Route::EdgeMask => Extent::All,
            Route::Rebuilt => Extent::Kept,
        };
        // A network with channels is the union of their edges.
        let networks = edges.iter().zip(&self.networks).map(|(edges, network)| match &edges[..] {
            [only] => only as &dyn MessageGraph,
            _ => &network.graph,
        });
        let graphs: Vec<&dyn MessageGraph> =
            networks.chain(self.metabolism.iter().map(|graph| graph as &dyn MessageGraph)).collect();
        RowPlan::new(&graphs, self.genes, sets, self.options.layers, extent)
    }

    /// Returns the number of rows that each layer computes for a batch.
    pub fn changed_rows(&self, sets: GeneSetsRef<'_>) -> Vec<ChangedRows> {
        let rows = |plan: &Arc<plan::LayerPlan>| ChangedRows {
            networks: plan.networks.iter().map(|own_rows| own_rows.len()).collect(),
            any: plan.output.own_rows.len(),
            all: self.genes * sets.len(),
        };
        let edges = Edges::of(&self.networks, None);
        self.plan(&edges, sets, self.route()).layers.iter().map(rows).collect()
    }
}

impl<T: Scalar> Model<T> for Hetero<T> {
    fn name(&self) -> &'static str {
        HeteroOptions::NAME
    }

    fn gene_table(&self) -> Option<&'static str> {
        self.rows.table_name()
    }

    fn parameters(&self) -> &Parameters<T> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters<T> {
        &mut self.parameters
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, input: Input<'a, '_>) -> Forward {
        let forward = self.forward(tape, input, AggregationWeights::Discard);
        let ReadoutVars { predictions, difference, .. } = forward.readout;
        Forward { representation: Some(difference), ..Forward::scores(predictions) }
    }

    fn score_loss(&self) -> &ScoreLoss<T> {
        &self.loss
    }

    fn shares_rows(&self) -> bool {
        self.route() == Route::ChangedRows
    }
}

#[cfg(test)]
mod tests;
