//! The transformer's options.

use super::{Transformer, TransformerSizes};
use crate::layer::FeatureUse;
use crate::limits;
use crate::loss::{LOSSES, LossConfig, LossOptions, LossPrecision, LossShape, PointDistOptions, PointLoss};
use crate::network::{check_names, check_once, graph_of};
use crate::{Model, ModelOptions, SelfLoopChoice, SizeEstimate};
use knockout_base::error::{Error, Result};
use knockout_data::cell::Cell;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

/// The transformer's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerOptions {
    /// Width of a token.
    pub width: usize,
    /// Encoder layers; 0 leaves the gene table as it is.
    pub layers: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Dropout probability in training, after attention, in and after feed-forward networks and in the readout. Attention over the
    /// whole cell is not dropped.
    pub dropout: f64,
    /// The layer, from 0, in which heads are pulled towards networks; where it has too few heads the next layer follows.
    pub penalty_layer: usize,
    /// The networks that heads are pulled towards, one head each.
    pub networks: Vec<String>,
    /// Use of content features: beside the gene table, instead of it, or none. Earlier runs without this key use none.
    #[serde(default)]
    pub features: FeatureUse,
    /// The loss of the scores, and the weight of the pull towards networks.
    pub loss: TransformerLoss,
}

/// The key `model.loss` of the transformer: a loss of the scores, with the key `lambda_graph` beside its options.
///
/// A table without a name is one of [`PointDistOptions`], as in runs from before losses had names, and so it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformerLoss {
    /// Loss of the scores.
    pub scores: LossConfig,
    /// Weight of the pull towards networks.
    pub lambda_graph: f64,
}

const LAMBDA_GRAPH: &str = "lambda_graph";

impl Default for TransformerLoss {
    fn default() -> Self {
        let options = PointDistOptions { point: PointLoss::Mse, ..PointDistOptions::default() };
        Self { scores: LossConfig::new(options), lambda_graph: 0.1 }
    }
}

impl TransformerLoss {
    fn read(value: Value) -> Result<Self> {
        let Value::Table(mut table) = value else {
            return Ok(Self { scores: LossConfig::read(value, LOSSES)?, ..Self::default() });
        };
        let lambda_graph = match table.remove(LAMBDA_GRAPH) {
            None => 0.0,
            Some(Value::Float(weight)) => weight,
            Some(Value::Integer(weight)) => weight as f64,
            Some(_) => return Err(Error::request("lambda_graph takes a number")),
        };
        Ok(Self { scores: LossConfig::read(Value::Table(table), LOSSES)?, lambda_graph })
    }
}

impl Serialize for TransformerLoss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Table::new();
        for (key, value) in self.scores.table().map_err(serde::ser::Error::custom)? {
            let is_before = key == "lambda_dist";
            if key != "name" || self.scores.name() != PointDistOptions::NAME {
                table.insert(key, value);
            }
            // Its position in the files of all runs.
            if is_before {
                table.insert(LAMBDA_GRAPH.to_owned(), Value::Float(self.lambda_graph));
            }
        }
        table.insert(LAMBDA_GRAPH.to_owned(), Value::Float(self.lambda_graph));
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TransformerLoss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl ModelOptions for TransformerOptions {
    const NAME: &'static str = "transformer";
    const SUMMARY: &'static str =
        "Attention over all genes, pulled towards the networks; the deleted genes change each other";
    // The encoder costs the same for any batch: large batches cost a fraction per epoch. No warm restart loses an epoch.
    const TRAINING: &'static [&'static str] = &[
        "batch=1024",
        "optimiser.learning_rate=5e-4",
        "optimiser.schedule=cosine",
        "optimiser.weight_decay=1e-8",
        "optimiser.cosine.first_cycle=300",
        "optimiser.cosine.lowest=1e-6",
        "optimiser.cosine.warmup=0",
        "run.predict_batch=8192",
    ];

    fn defaults(cell: &Cell) -> Self {
        Self {
            width: 64,
            layers: 6,
            heads: 8,
            dropout: 0.1,
            penalty_layer: 1,
            networks: cell.networks().iter().map(|network| network.name().to_owned()).collect(),
            features: FeatureUse::None,
            loss: TransformerLoss::default(),
        }
    }

    fn networks(&self, _cell: &Cell) -> Vec<String> {
        if self.pulls() { self.networks.clone() } else { Vec::new() }
    }

    fn reads_features(&self) -> bool {
        self.features != FeatureUse::None
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        limits::size("model.width", self.width)?;
        limits::size("model.heads", self.heads)?;
        if !self.width.is_multiple_of(self.heads) {
            let value = format!("{} with {} heads", self.width, self.heads);
            return Err(limits::out_of_range("model.width", value, "it must be a multiple of model.heads"));
        }
        if self.layers > 1 << 10 {
            return Err(limits::out_of_range("model.layers", self.layers, "it must be from 0 to 1024"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(limits::out_of_range("model.dropout", self.dropout, "it must be from 0 to below 1"));
        }
        check_names(cell, self.networks.iter().map(String::as_str))?;
        check_once(self.networks.iter().map(String::as_str))?;
        let heads = self.layers.saturating_sub(self.penalty_layer) * self.heads;
        if self.pulls() && self.networks.len() > heads {
            let value = format!("{} networks", self.networks.len());
            let rule = "each needs a head from model.penalty_layer on: more layers or heads, fewer networks, \
                        or model.loss.lambda_graph=0";
            return Err(limits::out_of_range("model.networks", value, rule));
        }
        self.features.check(cell)?;
        limits::not_negative("model.loss.lambda_graph", self.loss.lambda_graph)?;
        self.loss.scores.check(Self::NAME, true)
    }

    fn loss(&self) -> LossConfig {
        self.loss.scores.clone()
    }

    fn size_estimate(&self, cell: &Cell, members: usize) -> SizeEstimate {
        let [width, layers, genes, members] =
            [self.width, self.layers, cell.genes().len(), members].map(|size| size as f64);
        // Of a layer four projections and a feed-forward network of four times the width; its activations are three projections, three
        // rows of attention, the hidden row of the network before and after its activation, its output and two norms.
        SizeEstimate {
            parameters: self.features.parameter_count(cell, self.width)
                + (layers + 1.0) * 12.0 * width * width,
            activations: 17.0 * width * (layers * genes + members),
        }
    }

    fn build<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model<T>>> {
        let sizes = TransformerSizes { width: self.width, layers: self.layers, heads: self.heads };
        let loss = self.loss.scores.build(LossShape { width: 2 * self.width, seed });
        let model = Transformer::with_features(cell.genes().len(), sizes, self.features.of(cell), seed)
            .with_dropout(self.dropout)
            .with_loss(loss)
            .with_lambda_graph(self.loss.lambda_graph);
        if !self.pulls() {
            return Ok(Box::new(model));
        }
        let networks = self.networks.iter().filter_map(|name| cell.network(name));
        let graphs: Vec<_> =
            networks.map(|network| (network.name(), graph_of(network, SelfLoopChoice::AsStored))).collect();
        Ok(Box::new(model.with_penalties(&graphs, self.penalty_layer)))
    }
}

impl TransformerOptions {
    /// Whether any head is pulled towards a network.
    fn pulls(&self) -> bool {
        self.loss.lambda_graph != 0.0 && !self.networks.is_empty()
    }
}
