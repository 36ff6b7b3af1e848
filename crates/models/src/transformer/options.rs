//! The transformer's options.

use super::{Transformer, TransformerSizes};
use crate::layer::FeatureUse;
use crate::loss::{LossError, PointDist, PointDistOptions, PointLoss};
use crate::network::{check_names, check_once, graph_of};
use crate::{Model, ModelOptions, OptionsError, SelfLoops, SizeEstimate};
use knockout_data::cell::Cell;
use knockout_engine::kernel::Scalar;
use serde::{Deserialize, Serialize};

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
    /// Whether content features stand beside the gene table, instead of it, or are not read. Runs from before it was a key read none.
    #[serde(default)]
    pub features: FeatureUse,
    /// The loss: of single records, of distributions, and the weight of the pull towards networks (`lambda_graph`).
    pub loss: PointDistOptions,
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
            loss: PointDistOptions {
                point: PointLoss::Mse,
                lambda_graph: 0.1,
                ..PointDistOptions::default()
            },
        }
    }

    fn check(&self, cell: &Cell) -> Result<(), OptionsError> {
        OptionsError::size("model.width", self.width)?;
        OptionsError::size("model.heads", self.heads)?;
        if !self.width.is_multiple_of(self.heads) {
            let value = format!("{} with {} heads", self.width, self.heads);
            return Err(OptionsError::out_of_range(
                "model.width",
                value,
                "it must be a multiple of model.heads",
            ));
        }
        if self.layers > 1 << 10 {
            return Err(OptionsError::out_of_range("model.layers", self.layers, "it must be from 0 to 1024"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(OptionsError::out_of_range(
                "model.dropout",
                self.dropout,
                "it must be from 0 to below 1",
            ));
        }
        check_names(cell, self.networks.iter().map(String::as_str))?;
        check_once(self.networks.iter().map(String::as_str))?;
        let heads = self.layers.saturating_sub(self.penalty_layer) * self.heads;
        if self.pulls() && self.networks.len() > heads {
            let value = format!("{} networks", self.networks.len());
            let rule = "each needs a head from model.penalty_layer on: more layers or heads, fewer networks, \
                        or model.loss.lambda_graph=0";
            return Err(OptionsError::out_of_range("model.networks", value, rule));
        }
        self.features.check(cell)?;
        PointDist::<f32>::new(self.loss.clone(), 0)?;
        Ok(())
    }

    fn size_estimate(&self, cell: &Cell) -> SizeEstimate {
        let [width, layers, genes] = [self.width, self.layers, cell.genes().len()].map(|size| size as f64);
        // Four projections, a feed-forward network of four times the width; of each layer inputs, projections and outputs.
        SizeEstimate {
            parameters: self.features.parameter_count(cell, self.width)
                + (layers + 1.0) * 12.0 * width * width,
            activations: layers * 9.0 * genes * width,
        }
    }

    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError> {
        Ok(Box::new(self.model::<f32>(cell, seed)?))
    }
}

impl TransformerOptions {
    /// Whether any head is pulled towards a network.
    fn pulls(&self) -> bool {
        self.loss.lambda_graph != 0.0 && !self.networks.is_empty()
    }

    /// The model of checked options.
    pub(super) fn model<T: Scalar>(&self, cell: &Cell, seed: u64) -> Result<Transformer<T>, LossError> {
        let sizes = TransformerSizes { width: self.width, layers: self.layers, heads: self.heads };
        let (features, loss) = (self.features.of(cell), self.loss.clone());
        let model = Transformer::with_features(cell.genes().len(), sizes, features, loss, seed)?
            .with_dropout(self.dropout);
        if !self.pulls() {
            return Ok(model);
        }
        let networks = self.networks.iter().filter_map(|name| cell.network(name));
        let graphs: Vec<_> = networks.map(|network| graph_of(network, SelfLoops::AsStored)).collect();
        Ok(model.with_penalties(&graphs, self.penalty_layer))
    }
}
