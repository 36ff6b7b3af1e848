//! The hetero model's options: those of the reference's experiment 085, with a norm of each row by itself.

use super::{
    Aggregation, DifferenceScale, Hetero, HeteroNetwork, HeteroParts, METABOLISM, MetabolicGraph,
    MetabolismSwitch, NoiseKind, NormKind, Route, ScoreCombination, StartKind,
};
use crate::layer::FeatureUse;
use crate::limits;
use crate::loss::{LossConfig, LossOptions, LossPrecision, LossShape, MleWassSupCrOptions};
use crate::network::{MERGED_NETWORKS, MERGED_STRING, check_any, check_names, check_once};
use crate::{Model, ModelOptions, SelfLoopChoice, SizeEstimate, StringChannels};
use knockout_base::error::{Error, Result};
use knockout_data::batch::ProcessorKind;
use knockout_data::cell::{Cell, Metabolism, Network};
use knockout_engine::kernel::Activation;
use serde::{Deserialize, Serialize};

/// The hetero model's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeteroOptions {
    /// Width of a row.
    pub width: usize,
    /// Layers of message passing.
    pub layers: usize,
    /// Linear layers after each sum over neighbours.
    pub gin_linears: usize,
    /// Width between them.
    pub gin_hidden: usize,
    /// Activation after linear layers and norms.
    pub activation: Activation,
    /// Values that norms take their statistics over.
    pub norm: NormKind,
    /// How networks are combined.
    pub aggregation: Aggregation,
    /// Heads of `cross_attention`; they divide the width.
    pub cross_heads: usize,
    /// Width of a pair's hidden layer in `pairwise_interaction`.
    pub pair_hidden: usize,
    /// Linear layers of a pair.
    pub pair_linears: usize,
    /// How the global and the local part of a score are combined.
    pub combination: ScoreCombination,
    /// Attention layers of the local part.
    pub local_layers: usize,
    /// Their heads; they divide the width.
    pub local_heads: usize,
    /// Whether every gene counts among its own neighbours.
    pub self_loops: SelfLoopChoice,
    /// Dropout probability after every activation in training. Earlier runs without this key had none.
    #[serde(default)]
    pub dropout: f64,
    /// Whether a gene loses the same values in every cell of a batch.
    #[serde(default)]
    pub noise: NoiseKind,
    /// Where parameters start. Earlier runs without this key use `reference`.
    #[serde(default)]
    pub init: StartKind,
    /// Scale of the difference between the wild type and a sample.
    #[serde(default)]
    pub difference: DifferenceScale,
    /// How a batch is evaluated; the numbers are the same.
    pub route: Route,
    /// The networks it reads.
    pub networks: Vec<String>,
    /// Whether the STRING channels among them are networks or become one, `string`.
    pub string_channels: StringChannels,
    /// Whether all networks become one, with their edge types as channels. Earlier runs without this key kept them apart.
    #[serde(default)]
    pub merge_networks: bool,
    /// Incoming edges of a gene that a training step reads in each network; 0 for all. Earlier runs without this key read all.
    #[serde(default)]
    pub fanout: usize,
    /// Whether reactions and metabolites are nodes, too. Earlier runs without this key had none.
    #[serde(default)]
    pub metabolism: MetabolismSwitch,
    /// Use of content features: beside the gene table, instead of it, or none. Earlier runs without this key use none.
    #[serde(default)]
    pub features: FeatureUse,
    /// Loss of the scores.
    pub loss: LossConfig,
    /// Options of the loss `mle_wass_supcr`.
    pub mle_wass_supcr: MleWassSupCrOptions,
}

impl Default for HeteroOptions {
    /// Without any network.
    fn default() -> Self {
        Self {
            width: 64,
            layers: 3,
            gin_linears: 4,
            gin_hidden: 64,
            activation: Activation::Gelu,
            norm: NormKind::Node,
            aggregation: Aggregation::PairwiseInteraction,
            cross_heads: 4,
            pair_hidden: 32,
            pair_linears: 2,
            combination: ScoreCombination::Concat,
            local_layers: 2,
            local_heads: 8,
            self_loops: SelfLoopChoice::AsStored,
            dropout: 0.0,
            noise: NoiseKind::Shared,
            init: StartKind::Reference,
            difference: DifferenceScale::Mean,
            route: Route::ChangedRows,
            networks: Vec::new(),
            string_channels: StringChannels::Apart,
            merge_networks: false,
            fanout: 0,
            metabolism: MetabolismSwitch::Off,
            features: FeatureUse::None,
            loss: LossConfig::default(),
            mle_wass_supcr: MleWassSupCrOptions::default(),
        }
    }
}

impl ModelOptions for HeteroOptions {
    const NAME: &'static str = "hetero";
    const SUMMARY: &'static str = "A graph network over all networks that sees the cell with the genes gone";
    const TRAINING: &'static [&'static str] = &[
        "batch=28",
        "optimiser.learning_rate=5e-4",
        "optimiser.schedule=cosine",
        "optimiser.weight_decay=1e-12",
        "optimiser.cosine.first_cycle=300",
        "optimiser.cosine.cycle_factor=0.75",
        "optimiser.cosine.lowest=1e-6",
        "optimiser.cosine.warmup=0",
        "optimiser.cosine.gamma=0.5",
        // Every sample has rows of its own, and those of a batch must fit in memory.
        "run.predict_batch=64",
    ];

    fn defaults(cell: &Cell) -> Self {
        Self {
            networks: cell.networks().iter().map(|network| network.name().to_owned()).collect(),
            ..Self::default()
        }
    }

    fn networks(&self, _cell: &Cell) -> Vec<String> {
        self.networks.clone()
    }

    fn reads_features(&self) -> bool {
        self.features != FeatureUse::None
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        self.check_sizes()?;
        self.check_networks(cell)?;
        self.check_metabolism(cell)?;
        self.features.check(cell)?;
        self.mle_wass_supcr.check()?;
        self.loss().check(Self::NAME, true)?;
        self.check_route()?;
        self.check_fanout()
    }

    fn loss(&self) -> LossConfig {
        if self.loss.name() == MleWassSupCrOptions::NAME {
            LossConfig::new(self.mle_wass_supcr.clone())
        } else {
            self.loss.clone()
        }
    }

    fn size_estimate(&self, cell: &Cell, _members: usize) -> SizeEstimate {
        let of = |size: usize| size as f64;
        let (width, hidden, genes) = (of(self.width), of(self.gin_hidden), of(cell.genes().len()));
        // After each sum over neighbours a linear layer in, some between and one out. Of the wild type, a sum and the outputs of the linear
        // layers for each gene, network and layer; the rows that deletions change are not known before a batch is.
        let linears = 2.0 * width * hidden + (of(self.gin_linears) - 2.0).max(0.0) * hidden * hidden;
        // One network with channels has one row for all of them, and a first linear layer that reads them side by side.
        let count = of(self.networks.len());
        let (networks, channels) = if self.merge_networks { (1.0, count) } else { (count, 1.0) };
        let outputs = of(self.layers) * networks;
        let linears = linears + (channels - 1.0) * width * hidden;
        let pairs =
            of(self.layers) * of(self.pair_linears) * of(self.pair_hidden) * (width + of(self.pair_hidden));
        let local = of(self.local_layers) * 4.0 * width * width;
        let nodes = self
            .metabolism_of(cell)
            .map_or(0.0, |metabolism| of(metabolism.reactions().len()) + of(metabolism.metabolites().len()));
        SizeEstimate {
            parameters: self.features.parameter_count(cell, self.width)
                + nodes * width
                + outputs * linears
                + pairs
                + local,
            activations: outputs * genes * (width * channels + of(self.gin_linears) * hidden),
        }
    }

    fn build<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model<T>>> {
        Ok(Box::new(self.model(cell, seed)))
    }

    fn processor(&self) -> Option<ProcessorKind> {
        match self.route {
            Route::EdgeMask => Some(ProcessorKind::Mask),
            Route::Rebuilt => Some(ProcessorKind::Subgraph),
            Route::ChangedRows | Route::NodeMask => None,
        }
    }

    fn notice(&self, shards: usize) -> Option<&'static str> {
        if self.norm == NormKind::Graph && shards > 1 {
            return Some(
                "model.norm=graph takes its mean and deviation over the samples of a shard, not of the whole batch; all rows are computed",
            );
        }
        if self.route != Route::ChangedRows {
            return None;
        }
        if self.norm == NormKind::Graph {
            return Some(
                "model.norm=graph makes every row depend on all others: all rows are computed, as with model.route=node-mask",
            );
        }
        (self.dropout > 0.0 && self.noise == NoiseKind::Independent).then_some(
            "model.noise=independent makes every row differ from the wild type's: training computes all rows, as with model.route=node-mask",
        )
    }
}

impl HeteroOptions {
    /// Builds the model in any precision. The options have been checked.
    pub fn model<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Hetero<T> {
        let parts = HeteroParts {
            networks: self.networks_of(cell),
            metabolism: self.metabolism_of(cell).map(MetabolicGraph::of),
            features: self.features.of(cell),
        };
        let loss = self.loss().build(LossShape { width: self.width, seed });
        Hetero::with_parts(cell.genes().len(), parts, self.clone(), seed).with_loss(loss)
    }

    fn check_sizes(&self) -> Result<()> {
        for (key, value) in [
            ("model.width", self.width),
            ("model.layers", self.layers),
            ("model.gin_linears", self.gin_linears),
            ("model.gin_hidden", self.gin_hidden),
            ("model.cross_heads", self.cross_heads),
            ("model.pair_hidden", self.pair_hidden),
            ("model.local_heads", self.local_heads),
            ("model.pair_linears", self.pair_linears),
        ] {
            limits::size(key, value)?;
        }
        limits::size("model.local_layers", self.local_layers.max(1))?;
        let divides = |key, heads: usize, matters: bool| {
            if matters && !self.width.is_multiple_of(heads) {
                let value = format!("{} with {heads} heads", self.width);
                return Err(limits::out_of_range(key, value, "heads must divide model.width"));
            }
            Ok(())
        };
        divides("model.local_heads", self.local_heads, self.combination != ScoreCombination::GlobalOnly)?;
        divides("model.cross_heads", self.cross_heads, self.aggregation == Aggregation::CrossAttention)?;
        let refuse = |key, value: String, rule| Err(limits::out_of_range(key, value, rule));
        if !self.width.is_multiple_of(2) {
            return refuse("model.width", self.width.to_string(), "it must be even");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let rule = "it must be at least 0 and less than 1";
            return refuse("model.dropout", self.dropout.to_string(), rule);
        }
        if self.pair_linears < 2 {
            return refuse("model.pair_linears", self.pair_linears.to_string(), "it must be at least 2");
        }
        if self.activation == Activation::None {
            let rule = "a graph network needs one of relu, gelu, sigmoid, leaky_relu, tanh";
            return refuse("model.activation", "none".to_owned(), rule);
        }
        Ok(())
    }

    fn check_networks(&self, cell: &Cell) -> Result<()> {
        let refuse = |value: String, rule| Err(limits::out_of_range("model.networks", value, rule));
        check_any(Self::NAME, cell)?;
        if self.networks.is_empty() {
            return refuse("[]".to_owned(), "it must name at least one network");
        }
        check_names(cell, self.networks.iter().map(String::as_str))?;
        check_once(self.networks.iter().map(String::as_str))
    }

    /// The metabolism as the model reads it, if it does and there is one.
    fn metabolism_of<'c>(&self, cell: &'c Cell) -> Option<&'c Metabolism> {
        cell.metabolism().filter(|_| self.metabolism == MetabolismSwitch::On)
    }

    fn check_metabolism(&self, cell: &Cell) -> Result<()> {
        let refuse = |rule| Err(limits::out_of_range("model.metabolism", "on", rule));
        if self.metabolism == MetabolismSwitch::Off {
            return Ok(());
        }
        if cell.metabolism().is_none_or(|metabolism| metabolism.requirements().is_empty()) {
            return refuse(
                "the dataset has no reactions that need a gene: use model.metabolism=off, or import it again with --metabolism",
            );
        }
        if self.networks.iter().any(|name| name == METABOLISM) {
            return refuse("a network has the name metabolism: leave it out of model.networks");
        }
        Ok(())
    }

    fn check_route(&self) -> Result<()> {
        let why = match (self.route, self.norm, self.self_loops) {
            (Route::Rebuilt, NormKind::Graph, _) => {
                "cannot be taken with model.norm=graph, whose statistics are those of all rows of the batch: use node-mask"
            }
            (Route::EdgeMask, _, SelfLoopChoice::Add) => {
                "has no flags for added self-loops: use node-mask, or model.self_loops=as-stored"
            }
            (Route::Rebuilt, _, SelfLoopChoice::Add) => {
                "knows no added self-loops: use node-mask, or model.self_loops=as-stored"
            }
            (Route::EdgeMask | Route::Rebuilt, ..) if self.string_channels == StringChannels::Merged => {
                "knows the networks as they are stored: use node-mask, or model.string_channels=apart"
            }
            (Route::EdgeMask | Route::Rebuilt, ..) if self.merge_networks => {
                "takes one graph per network: use node-mask, or model.merge_networks=false"
            }
            _ => return Ok(()),
        };
        Err(Error::request(format!("model.route={} {why}", self.route.name())))
    }

    fn check_fanout(&self) -> Result<()> {
        let why = match self.route {
            _ if self.fanout == 0 => return Ok(()),
            Route::EdgeMask | Route::Rebuilt => "needs model.route=changed-rows or node-mask",
            _ if self.merge_networks => {
                "draws edges of each network by itself: use model.merge_networks=false, or model.fanout=0"
            }
            Route::ChangedRows | Route::NodeMask => return limits::size("model.fanout", self.fanout),
        };
        Err(Error::request(format!("model.fanout={} {why}", self.fanout)))
    }

    /// The networks as the model reads them.
    fn networks_of(&self, cell: &Cell) -> Vec<HeteroNetwork> {
        let networks = cell.networks().iter().enumerate();
        let chosen = networks.filter(|(_, network)| self.networks.iter().any(|name| name == network.name()));
        let (merged, single): (Vec<_>, Vec<_>) =
            chosen.partition(|(_, network)| self.string_channels.merges(network));
        let mut networks: Vec<HeteroNetwork> = single
            .into_iter()
            .map(|(index, network)| {
                let chosen = HeteroNetwork::of(network, index, self.self_loops);
                if self.route == Route::EdgeMask { chosen.indexed(network) } else { chosen }
            })
            .collect();
        if !merged.is_empty() {
            let merged: Vec<&Network> = merged.into_iter().map(|(_, network)| network).collect();
            networks.push(HeteroNetwork::merged(MERGED_STRING, &merged, self.self_loops));
        }
        if self.merge_networks {
            networks.sort_by(|a, b| a.name.cmp(&b.name));
            networks = vec![HeteroNetwork::of_channels(MERGED_NETWORKS, networks)];
        }
        networks
    }
}
