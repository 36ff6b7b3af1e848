//! DANGO's options: the published ones, except that λ is looked up by channel.

use super::{Dango, DangoNetwork};
use crate::layer::FeatureUse;
use crate::limits;
use crate::loss::{AlphaSchedule, LossConfig, LossPrecision, LossShape};
use crate::network::{MERGED_STRING, check_any, check_names, check_once, string_lambda};
use crate::{Model, ModelOptions, SelfLoopChoice, SizeEstimate, StringChannels};
use knockout_base::error::{Error, Result};
use knockout_data::cell::{Cell, Network};
use serde::{Deserialize, Serialize};

/// DANGO's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DangoOptions {
    /// Width of an embedding.
    pub width: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Whether every gene counts among its own neighbours.
    pub self_loops: SelfLoopChoice,
    /// How the weight of the reconstruction changes.
    pub alpha: AlphaSchedule,
    /// The epoch in which α has arrived.
    pub transition_epoch: u32,
    /// Whether STRING's channels are networks of their own.
    #[serde(default)]
    pub string_channels: StringChannels,
    /// Use of content features: beside the gene table, instead of it, or none. Earlier runs without this key use none.
    #[serde(default)]
    pub features: FeatureUse,
    /// The networks it reads, each with its λ.
    pub networks: Vec<NetworkChoice>,
    /// Loss of the scores. It is written only if it is not the default, so that earlier runs have the same configuration.
    #[serde(default, skip_serializing_if = "LossConfig::is_default")]
    pub loss: LossConfig,
}

/// A network and the weight of a pair without an edge in its reconstruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkChoice {
    /// Its name in the dataset.
    pub name: String,
    /// λ.
    pub lambda: f64,
}

impl ModelOptions for DangoOptions {
    const NAME: &'static str = "dango";
    const SUMMARY: &'static str = "Embeddings from the STRING networks, a score for the deleted genes";
    // A step embeds all genes whatever the batch: large batches with a higher rate cost a fraction per epoch. Schedules
    // that lower the rate validate no better (docs/results/benchmark.md).
    const TRAINING: &'static [&'static str] =
        &["batch=2048", "optimiser.learning_rate=3e-3", "optimiser.schedule=constant"];

    fn defaults(cell: &Cell) -> Self {
        let choice = |network: &Network| {
            let name = network.name().to_owned();
            string_lambda(&name).map(|lambda| NetworkChoice { name, lambda })
        };
        Self {
            width: 64,
            heads: 4,
            self_loops: SelfLoopChoice::AsStored,
            alpha: AlphaSchedule::LinearUntilUniform,
            transition_epoch: 10,
            string_channels: StringChannels::Apart,
            features: FeatureUse::None,
            networks: cell.networks().iter().filter_map(choice).collect(),
            loss: LossConfig::default(),
        }
    }

    fn networks(&self, _cell: &Cell) -> Vec<String> {
        self.networks.iter().map(|choice| choice.name.clone()).collect()
    }

    fn reads_features(&self) -> bool {
        self.features != FeatureUse::None
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        limits::size("model.width", self.width)?;
        limits::size("model.heads", self.heads)?;
        if !self.width.is_multiple_of(self.heads) || !self.width.is_multiple_of(2) {
            let value = format!("{} with {} heads", self.width, self.heads);
            let rule = "it must be even and a multiple of model.heads";
            return Err(limits::out_of_range("model.width", value, rule));
        }
        self.features.check(cell)?;
        self.loss.check(Self::NAME, false)?;
        check_any(Self::NAME, cell)?;
        if self.networks.is_empty() {
            return Err(Error::request(
                "no network is configured; the dataset has no STRING channel, so name some: \
                 model.networks=[{name=\"physical\",lambda=1.0}]",
            ));
        }
        check_names(cell, self.networks.iter().map(|choice| &choice.name[..]))?;
        check_once(self.networks.iter().map(|choice| &choice.name[..]))?;
        self.networks
            .iter()
            .try_for_each(|choice| limits::not_negative("model.networks.lambda", choice.lambda))
    }

    fn loss(&self) -> LossConfig {
        self.loss.clone()
    }

    fn size_estimate(&self, cell: &Cell, members: usize) -> SizeEstimate {
        let [width, genes, networks, members] =
            [self.width, cell.genes().len(), self.network_count(cell), members].map(|size| size as f64);
        let square = width * width;
        // An embedding of each gene; two layers with two matrices and a reconstruction of all genes for each network; the
        // meta-embedding; a linear layer of the scorer and two of attention.
        let of_network = 4.0 * square + (genes + 2.0) * width + genes;
        // For each network two means over neighbours, two outputs, the hidden half of the meta-embedding, the gradients of edges and of
        // the second output, and two squares; for each member 14 rows of the scorer and as many as a quarter of these again as gradients.
        SizeEstimate {
            parameters: self.features.parameter_count(cell, self.width)
                + networks * of_network
                + 9.5 * square,
            activations: networks * (5.5 * genes * width + 2.0 * square)
                + 2.0 * genes * width
                + 18.0 * members * width,
        }
    }

    fn build<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model<T>>> {
        let (networks, features) = (self.networks_of(cell), self.features.of(cell));
        let model =
            Dango::with_features(cell.genes().len(), networks, features, [self.width, self.heads], seed);
        let loss = self.loss.build(LossShape { width: 0, seed });
        Ok(Box::new(model.with_alpha(self.alpha, self.transition_epoch).with_loss(loss)))
    }
}

impl DangoOptions {
    /// Counts the networks as the model reads them.
    fn network_count(&self, cell: &Cell) -> usize {
        let chosen = self.networks.iter().filter_map(|choice| cell.network(&choice.name));
        let merged = chosen.filter(|network| self.string_channels.merges(network)).count();
        self.networks.len() - merged.saturating_sub(1)
    }

    /// The networks as the model reads them.
    fn networks_of(&self, cell: &Cell) -> Vec<DangoNetwork> {
        let chosen =
            self.networks.iter().filter_map(|choice| Some((cell.network(&choice.name)?, choice.lambda)));
        let (channels, others): (Vec<_>, Vec<_>) =
            chosen.partition(|(network, _)| self.string_channels.merges(network));
        let merged = (!channels.is_empty()).then(|| {
            let lambda = channels.iter().map(|(_, lambda)| *lambda).fold(f64::INFINITY, f64::min);
            let networks: Vec<&Network> = channels.iter().map(|(network, _)| *network).collect();
            DangoNetwork::merged(MERGED_STRING, &networks, self.self_loops, lambda)
        });
        let others =
            others.into_iter().map(|(network, lambda)| DangoNetwork::of(network, self.self_loops, lambda));
        merged.into_iter().chain(others).collect()
    }
}
