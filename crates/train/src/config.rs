//! What a run is asked to do: a value with defaults, written into the run's folder.
//!
//! The defaults of DANGO are those of the published one, except that schedules are really stepped and λ is looked up by channel. Those of
//! the hetero model are experiment 085's, with a norm of each row by itself.

use crate::checkpoint::{Difference, Identity};
use crate::loading::LoaderConfig;
use crate::schedule::{
    Accumulation, Cosine, CosineOptions, FirstEpoch, LearningRate, Mode as Better, Plateau, PlateauOptions,
    ScheduleError,
};
use knockout_batch::ProcessorKind;
use knockout_cell::{Cell, Network};
use knockout_model::loss::{AlphaSchedule, LossError, MleWassSupCrOptions};
use knockout_model::{
    ActivationName, Aggregation, AggregationSizes, Combination, Dango, DangoNetwork, Hetero, HeteroNetwork,
    HeteroOptions, Model, NoiseKind, NormKind, ObjectiveName, Route, SelfLoops,
};
use knockout_screen::{Division, Scheme, SplitSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that decides a run's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The seed of starting values and of the order of samples.
    pub seed: u64,
    /// Samples in a batch.
    pub batch: usize,
    /// Epochs at most.
    pub epochs: u32,
    /// Steps of the optimiser at most; 0 means no limit.
    pub max_steps: u64,
    /// What is held out, and how.
    pub split: SplitConfig,
    /// How batches are made.
    #[serde(default)]
    pub loader: LoaderConfig,
    /// The model.
    pub model: ModelConfig,
    /// The optimiser.
    pub optimiser: OptimiserConfig,
    /// When to save and when to stop.
    pub run: RunConfig,
}

/// How samples are divided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitConfig {
    /// What is kept apart.
    pub scheme: Scheme,
    /// Share of the validation part.
    pub val: f64,
    /// Share of the test part.
    pub test: f64,
    /// Only this many samples; 0 means all.
    pub subset: usize,
    /// The split's own seed: runs of several seeds are judged on the same records.
    pub seed: u64,
}

/// The model and what it minimises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum ModelConfig {
    /// See [`knockout_model::Dango`].
    Dango(DangoConfig),
    /// See [`knockout_model::Hetero`].
    Hetero(HeteroConfig),
}

/// The models there are, by their names on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelName {
    /// Embeddings from networks, a score for the deleted genes.
    Dango,
    /// A graph network that sees the cell with the genes gone.
    Hetero,
}

impl ModelConfig {
    /// The model's name on the command line and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dango(_) => "dango",
            Self::Hetero(_) => "hetero",
        }
    }
}

/// DANGO's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DangoConfig {
    /// Values in an embedding.
    pub width: usize,
    /// Heads of the attention; they divide the width.
    pub heads: usize,
    /// Whether every gene counts among its own neighbours.
    pub self_loops: SelfLoops,
    /// How the weight of the reconstruction changes.
    pub alpha: AlphaName,
    /// The epoch in which α has arrived.
    pub transition_epoch: u32,
    /// Whether STRING's channels are networks of their own.
    #[serde(default)]
    pub string_channels: StringChannels,
    /// The networks it reads, each with its λ.
    pub networks: Vec<NetworkChoice>,
}

/// The hetero model's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeteroConfig {
    /// Values in a row.
    pub width: usize,
    /// Layers of message passing.
    pub layers: usize,
    /// Linear layers after each sum.
    pub gin_linears: usize,
    /// The width between them.
    pub gin_hidden: usize,
    /// The function after linear layers and norms.
    pub activation: ActivationName,
    /// Over what norms are taken.
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
    pub combination: Combination,
    /// Attention layers of the local part.
    pub local_layers: usize,
    /// Their heads; they divide the width.
    pub local_heads: usize,
    /// Whether every gene counts among its own neighbours.
    pub self_loops: SelfLoops,
    /// The share of values that training drops after every activation. Runs from before it was a key had none.
    #[serde(default)]
    pub dropout: f64,
    /// Whether a gene loses the same values in every cell of a batch.
    #[serde(default)]
    pub noise: NoiseKind,
    /// How a batch is evaluated; the numbers are the same.
    pub route: Route,
    /// The networks it reads.
    pub networks: Vec<String>,
    /// Whether the STRING channels among them are networks or become one, `string`.
    pub string_channels: StringChannels,
    /// What it minimises.
    pub loss: ObjectiveName,
    /// The settings of `loss=mle_wass_supcr`.
    pub mle_wass_supcr: MleWassSupCrOptions,
}

/// What becomes of STRING's channels among the networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StringChannels {
    /// Each is a network.
    #[default]
    Apart,
    /// One network has the edges of all, each once; its λ is the least of theirs.
    Merged,
}

/// A network and what a pair without an edge counts in its reconstruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkChoice {
    /// Its name in the dataset.
    pub name: String,
    /// λ.
    pub lambda: f64,
}

/// See [`AlphaSchedule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlphaName {
    /// Reconstruction alone, then interaction alone.
    PreThenPost,
    /// From reconstruction alone to half of each.
    LinearUntilUniform,
    /// From reconstruction alone to interaction alone.
    LinearUntilFlipped,
}

/// The optimiser's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimiserConfig {
    /// The learning rate at the start (at the top, with `cosine`).
    pub learning_rate: f64,
    /// How it changes.
    pub schedule: ScheduleName,
    /// How fast parameters shrink, in units of the learning rate.
    pub weight_decay: f64,
    /// Gradients are scaled down to this norm; 0 leaves them.
    pub clip_norm: f64,
    /// Batches per step from an epoch on, such as `["0:1", "10:4"]`.
    pub accumulate: Vec<String>,
    /// The plateau schedule.
    pub plateau: PlateauConfig,
    /// The cosine schedule.
    pub cosine: CosineConfig,
}

/// How the learning rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleName {
    /// Not at all.
    Constant,
    /// It falls where the validation error no longer does.
    Plateau,
    /// Cosine annealing with warm-up and restarts.
    Cosine,
}

/// See [`PlateauOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlateauConfig {
    /// The rate is multiplied by this.
    pub factor: f64,
    /// Epochs without improvement that are borne.
    pub patience: u32,
    /// A change below this share of the best is no improvement.
    pub threshold: f64,
    /// Epochs after a reduction in which nothing is counted.
    pub cooldown: u32,
    /// The rate never goes below.
    pub lowest: f64,
    /// A reduction by less is not made.
    pub epsilon: f64,
}

/// See [`CosineOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineConfig {
    /// Epochs of the first cycle, warm-up included.
    pub first_cycle: u32,
    /// Growth of a cycle's length.
    pub cycle_factor: f64,
    /// The rate at the bottom.
    pub lowest: f64,
    /// Epochs of rising rate at the start of each cycle.
    pub warmup: u32,
    /// Change of the top rate from cycle to cycle.
    pub gamma: f64,
}

/// When to save and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Epochs without a better validation Pearson after which the run ends; 0 means never.
    pub patience: u32,
    /// Minutes between checkpoints inside an epoch.
    pub checkpoint_every: f64,
    /// Samples in a batch when only predicting.
    pub predict_batch: usize,
}

/// A configuration that cannot be carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A network that the dataset does not have.
    #[error("the dataset has no network {name:?}; it has {}", have.join(", "))]
    NoSuchNetwork {
        /// The name configured.
        name: String,
        /// The names there are.
        have: Vec<String>,
    },
    /// A way of evaluating that the model cannot take.
    #[error("model.route={route} {why}")]
    Route {
        /// The way.
        route: &'static str,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// No network at all.
    #[error(
        "no network is configured; the dataset has no STRING channel, so name some: model.networks=[{{name=\"physical\",lambda=1.0}}]"
    )]
    NoNetwork,
    /// A number that cannot be.
    #[error("{key} is {value}, but {rule}")]
    Number {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it has to be.
        rule: &'static str,
    },
    /// A loss that cannot be.
    #[error("model.mle_wass_supcr: {0}")]
    Loss(#[from] LossError),
    /// A schedule that cannot be followed.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// λ of a STRING channel, `None` for any other network.
///
/// Few edges were added to the first three channels' complements from one version to the next, so that pairs without an edge
/// say less there.
pub fn string_lambda(network: &str) -> Option<f64> {
    const CHANNELS: [(&str, f64); 6] = [
        ("neighborhood", 0.1),
        ("coexpression", 0.1),
        ("experimental", 0.1),
        ("fusion", 1.0),
        ("cooccurence", 1.0),
        ("database", 1.0),
    ];
    let rest = network.strip_prefix("string")?;
    CHANNELS.iter().find(|(channel, _)| rest.ends_with(channel)).map(|&(_, lambda)| lambda)
}

impl Config {
    /// The defaults of a model on a cell.
    pub fn of(model: ModelName, cell: &Cell) -> Self {
        match model {
            ModelName::Dango => Self::dango(cell),
            ModelName::Hetero => Self::hetero(cell),
        }
    }

    /// The hetero model on all networks of a cell.
    pub fn hetero(cell: &Cell) -> Self {
        let dango = Self::dango(cell);
        Self {
            batch: 28,
            model: ModelConfig::Hetero(HeteroConfig {
                width: 64,
                layers: 3,
                gin_linears: 4,
                gin_hidden: 64,
                activation: ActivationName::Gelu,
                norm: NormKind::Node,
                aggregation: Aggregation::PairwiseInteraction,
                cross_heads: 4,
                pair_hidden: 32,
                pair_linears: 2,
                combination: Combination::Concat,
                local_layers: 2,
                local_heads: 8,
                self_loops: SelfLoops::AsStored,
                dropout: 0.0,
                noise: NoiseKind::Shared,
                route: Route::ChangedRows,
                networks: cell.networks().iter().map(|network| network.name().to_owned()).collect(),
                string_channels: StringChannels::Apart,
                loss: ObjectiveName::LogCosh,
                mle_wass_supcr: MleWassSupCrOptions::default(),
            }),
            optimiser: OptimiserConfig {
                learning_rate: 5e-4,
                schedule: ScheduleName::Cosine,
                weight_decay: 1e-12,
                cosine: CosineConfig {
                    first_cycle: 300,
                    cycle_factor: 0.75,
                    lowest: 1e-6,
                    warmup: 0,
                    gamma: 0.5,
                },
                ..dango.optimiser
            },
            // A sample has rows of its own: what is predicted at once has to fit in memory.
            run: RunConfig { predict_batch: 64, ..dango.run },
            ..dango
        }
    }

    /// DANGO on the STRING channels of a cell.
    pub fn dango(cell: &Cell) -> Self {
        let networks = cell.networks().iter().filter_map(|network| {
            string_lambda(network.name())
                .map(|lambda| NetworkChoice { name: network.name().to_owned(), lambda })
        });
        Self {
            seed: 0,
            batch: 64,
            epochs: 100,
            max_steps: 0,
            split: SplitConfig { scheme: Scheme::Random, val: 0.1, test: 0.1, subset: 0, seed: 0 },
            loader: LoaderConfig::default(),
            model: ModelConfig::Dango(DangoConfig {
                width: 64,
                heads: 4,
                self_loops: SelfLoops::AsStored,
                alpha: AlphaName::LinearUntilUniform,
                transition_epoch: 10,
                string_channels: StringChannels::Apart,
                networks: networks.collect(),
            }),
            optimiser: OptimiserConfig {
                learning_rate: 1e-3,
                schedule: ScheduleName::Plateau,
                weight_decay: 1e-6,
                clip_norm: 10.0,
                accumulate: Vec::new(),
                plateau: PlateauConfig {
                    factor: 0.2,
                    patience: 3,
                    threshold: 1e-4,
                    cooldown: 2,
                    lowest: 1e-9,
                    epsilon: 1e-10,
                },
                cosine: CosineConfig {
                    first_cycle: 20,
                    cycle_factor: 2.0,
                    lowest: 1e-6,
                    warmup: 1,
                    gamma: 0.9,
                },
            },
            run: RunConfig { patience: 0, checkpoint_every: 10.0, predict_batch: 16_384 },
        }
    }

    /// Checks what can be checked before anything is computed.
    pub fn check(&self, cell: &Cell) -> Result<(), ConfigError> {
        at_least_one("batch", self.batch)?;
        at_least_one("epochs", self.epochs as usize)?;
        at_least_one("run.predict_batch", self.run.predict_batch)?;
        not_negative("optimiser.weight_decay", self.optimiser.weight_decay)?;
        not_negative("optimiser.clip_norm", self.optimiser.clip_norm)?;
        not_negative("run.checkpoint_every", self.run.checkpoint_every)?;
        self.learning_rate()?;
        self.accumulation()?;
        match &self.model {
            ModelConfig::Dango(dango) => dango.check(cell),
            ModelConfig::Hetero(hetero) => hetero.check(cell),
        }
    }
}

impl DangoConfig {
    fn check(&self, cell: &Cell) -> Result<(), ConfigError> {
        let dango = self;
        at_least_one("model.width", dango.width)?;
        at_least_one("model.heads", dango.heads)?;
        if !dango.width.is_multiple_of(dango.heads) || !dango.width.is_multiple_of(2) {
            let value = format!("{} with {} heads", dango.width, dango.heads);
            return Err(ConfigError::Number {
                key: "model.width",
                value,
                rule: "it must be even and a multiple of model.heads",
            });
        }
        if dango.networks.is_empty() {
            return Err(ConfigError::NoNetwork);
        }
        for choice in &dango.networks {
            if cell.network(&choice.name).is_none() {
                let have = cell.networks().iter().map(|network| network.name().to_owned()).collect();
                return Err(ConfigError::NoSuchNetwork { name: choice.name.clone(), have });
            }
            not_negative("model.networks.lambda", choice.lambda)?;
        }
        Ok(())
    }

    fn build(&self, cell: &Cell, seed: u64) -> Dango<f32> {
        let networks = self.networks(cell);
        let transition_epoch = self.transition_epoch;
        let alpha = match self.alpha {
            AlphaName::PreThenPost => AlphaSchedule::PreThenPost { transition_epoch },
            AlphaName::LinearUntilUniform => AlphaSchedule::LinearUntilUniform { transition_epoch },
            AlphaName::LinearUntilFlipped => AlphaSchedule::LinearUntilFlipped { transition_epoch },
        };
        Dango::new(cell.genes().len(), networks, self.width, self.heads, seed).with_alpha(alpha)
    }
}

impl HeteroConfig {
    fn check(&self, cell: &Cell) -> Result<(), ConfigError> {
        for (key, value) in [
            ("model.width", self.width),
            ("model.layers", self.layers),
            ("model.gin_linears", self.gin_linears),
            ("model.gin_hidden", self.gin_hidden),
            ("model.cross_heads", self.cross_heads),
            ("model.pair_hidden", self.pair_hidden),
            ("model.local_heads", self.local_heads),
        ] {
            at_least_one(key, value)?;
        }
        let divides = |key, heads: usize, matters: bool| {
            if matters && !self.width.is_multiple_of(heads) {
                let value = format!("{} with {heads} heads", self.width);
                return Err(ConfigError::Number { key, value, rule: "heads must divide model.width" });
            }
            Ok(())
        };
        divides("model.local_heads", self.local_heads, self.combination != Combination::GlobalOnly)?;
        divides("model.cross_heads", self.cross_heads, self.aggregation == Aggregation::CrossAttention)?;
        if !self.width.is_multiple_of(2) {
            let value = self.width.to_string();
            return Err(ConfigError::Number { key: "model.width", value, rule: "it must be even" });
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let value = self.dropout.to_string();
            return Err(ConfigError::Number {
                key: "model.dropout",
                value,
                rule: "it must be at least 0 and less than 1",
            });
        }
        if self.pair_linears < 2 {
            let value = self.pair_linears.to_string();
            return Err(ConfigError::Number {
                key: "model.pair_linears",
                value,
                rule: "it must be at least 2",
            });
        }
        let names: Vec<String> = cell.networks().iter().map(|network| network.name().to_owned()).collect();
        if self.networks.is_empty() {
            let (value, rule) = ("[]".to_owned(), "it must name at least one network");
            return Err(ConfigError::Number { key: "model.networks", value, rule });
        }
        for (at, name) in self.networks.iter().enumerate() {
            if !names.contains(name) {
                return Err(ConfigError::NoSuchNetwork { name: name.clone(), have: names });
            }
            if self.networks[..at].contains(name) {
                let value = format!("{name:?} twice");
                return Err(ConfigError::Number {
                    key: "model.networks",
                    value,
                    rule: "each network can be read once",
                });
            }
        }
        let refused = match (self.route, self.norm, self.self_loops) {
            (Route::Rebuilt, NormKind::Graph, _) => Some((
                "rebuilt",
                "cannot be taken with model.norm=graph, whose statistics are those of all rows of the batch: use node-mask",
            )),
            (Route::EdgeMask, _, SelfLoops::Add) => Some((
                "edge-mask",
                "has no flags for added self-loops: use node-mask, or model.self_loops=as-stored",
            )),
            (Route::Rebuilt, _, SelfLoops::Add) => {
                Some(("rebuilt", "knows no added self-loops: use node-mask, or model.self_loops=as-stored"))
            }
            (Route::EdgeMask | Route::Rebuilt, ..) if self.string_channels == StringChannels::Merged => {
                Some((
                    if self.route == Route::EdgeMask { "edge-mask" } else { "rebuilt" },
                    "knows the networks as they are stored: use node-mask, or model.string_channels=apart",
                ))
            }
            _ => None,
        };
        refused.map_or(Ok(()), |(route, why)| Err(ConfigError::Route { route, why }))
    }

    fn build(&self, cell: &Cell, seed: u64) -> Result<Hetero<f32>, LossError> {
        let networks = cell.networks().iter().enumerate();
        let chosen = networks.filter(|(_, network)| self.networks.iter().any(|name| name == network.name()));
        let is_merged = |network: &Network| {
            self.string_channels == StringChannels::Merged && string_lambda(network.name()).is_some()
        };
        let (merged, single): (Vec<_>, Vec<_>) = chosen.partition(|(_, network)| is_merged(network));
        let mut networks: Vec<HeteroNetwork> = single
            .into_iter()
            .map(|(place, network)| {
                let chosen = HeteroNetwork::of(network, place, self.self_loops);
                if self.route == Route::EdgeMask { chosen.indexed(network) } else { chosen }
            })
            .collect();
        if !merged.is_empty() {
            let merged: Vec<&Network> = merged.into_iter().map(|(_, network)| network).collect();
            networks.push(HeteroNetwork::merged("string", &merged, self.self_loops));
        }
        let options = HeteroOptions {
            width: self.width,
            layers: self.layers,
            gin_linears: self.gin_linears,
            gin_hidden: self.gin_hidden,
            activation: self.activation,
            norm: self.norm,
            aggregation: self.aggregation,
            sizes: AggregationSizes {
                heads: self.cross_heads,
                pair_hidden: self.pair_hidden,
                pair_linears: self.pair_linears,
            },
            combination: self.combination,
            local_layers: self.local_layers,
            local_heads: self.local_heads,
            dropout: self.dropout,
            noise: self.noise,
            route: self.route,
        };
        Hetero::new(cell.genes().len(), networks, options, seed).with_objective(
            self.loss,
            &self.mle_wass_supcr,
            seed,
        )
    }
}

impl Config {
    /// How the loader represents a deletion: as it is told, or as the model's route needs it where it is told nothing.
    pub fn processor(&self) -> ProcessorKind {
        let route = match &self.model {
            ModelConfig::Hetero(hetero) => hetero.route,
            ModelConfig::Dango(_) => Route::default(),
        };
        match (self.loader.processor.kind(), route) {
            (ProcessorKind::Perturbation, Route::EdgeMask) => ProcessorKind::Mask,
            (ProcessorKind::Perturbation, Route::Rebuilt) => ProcessorKind::Subgraph,
            (kind, _) => kind,
        }
    }

    /// What a user should know before the run starts, though it stops nothing.
    pub fn notice(&self) -> Option<&'static str> {
        match &self.model {
            ModelConfig::Hetero(hetero)
                if hetero.norm == NormKind::Graph && hetero.route == Route::ChangedRows =>
            {
                Some(
                    "model.norm=graph makes every row depend on all others: all rows are computed, as with model.route=node-mask",
                )
            }
            ModelConfig::Hetero(hetero)
                if hetero.dropout > 0.0
                    && hetero.noise == NoiseKind::Independent
                    && hetero.route == Route::ChangedRows =>
            {
                Some(
                    "model.noise=independent makes every row differ from the wild type's: training computes all rows, as with model.route=node-mask",
                )
            }
            _ => None,
        }
    }

    /// What identifies a run of this configuration over a gene table, given by its hash.
    pub fn identity(&self, gene_table: &str) -> Identity {
        // How long a run lasts and how often it saves may change from one sitting to the next.
        let mut lasting = self.clone();
        (lasting.epochs, lasting.max_steps) = (0, 0);
        (lasting.run.checkpoint_every, lasting.run.predict_batch) = (0.0, 0);
        lasting.loader = LoaderConfig::default();
        Identity::new(self.model.name(), gene_table, &lasting)
            .expect("a configuration is plain tables and numbers")
    }

    /// In what a run differs from another one by more than its seed; nothing for two seeds of one configuration.
    pub fn differences_beside_seed(&self, gene_table: &str, other: (&Self, &str)) -> Vec<Difference> {
        let (other, other_genes) = other;
        let same_seed = Self { seed: other.seed, ..self.clone() };
        let mut differences = same_seed.identity(gene_table).differences(&other.identity(other_genes));
        if self.model.name() != other.model.name() {
            // Settings of another model follow from its name.
            differences.retain(|difference| !difference.key.starts_with("model."));
        }
        differences
    }

    /// The recipe of the split.
    pub fn split_spec(&self) -> SplitSpec {
        SplitSpec {
            scheme: self.split.scheme,
            division: Division::Shares { val: self.split.val, test: self.split.test },
            seed: self.split.seed,
            subset: (self.split.subset > 0).then_some(self.split.subset),
        }
    }

    /// The schedule of the learning rate, at its start.
    pub fn learning_rate(&self) -> Result<LearningRate, ScheduleError> {
        let OptimiserConfig { learning_rate, plateau, cosine, .. } = &self.optimiser;
        Ok(match self.optimiser.schedule {
            ScheduleName::Constant => LearningRate::constant(*learning_rate)?,
            ScheduleName::Plateau => LearningRate::Plateau(Plateau::new(PlateauOptions {
                rate: *learning_rate,
                mode: Better::Min,
                factor: plateau.factor,
                patience: plateau.patience,
                threshold: plateau.threshold,
                cooldown: plateau.cooldown,
                lowest: plateau.lowest,
                epsilon: plateau.epsilon,
            })?),
            ScheduleName::Cosine => LearningRate::Cosine(Cosine::new(CosineOptions {
                first_cycle: cosine.first_cycle,
                cycle_factor: cosine.cycle_factor,
                highest: *learning_rate,
                lowest: cosine.lowest,
                warmup: cosine.warmup,
                gamma: cosine.gamma,
                first_epoch: FirstEpoch::default(),
            })?),
        })
    }

    /// Batches per step, by epoch.
    pub fn accumulation(&self) -> Result<Accumulation, ConfigError> {
        let mut steps = BTreeMap::new();
        for text in &self.optimiser.accumulate {
            let entry = text.split_once(':').and_then(|(epoch, batches)| {
                Some((epoch.trim().parse::<u32>().ok()?, batches.trim().parse::<u32>().ok()?))
            });
            let Some((epoch, batches)) = entry else {
                let (value, rule) =
                    (format!("{text:?}"), "each entry is \"epoch:batches\", such as \"10:4\"");
                return Err(ConfigError::Number { key: "optimiser.accumulate", value, rule });
            };
            steps.insert(epoch, batches);
        }
        Ok(Accumulation::new(steps)?)
    }

    /// Builds the model with its starting values. Call [`Config::check`] first.
    pub fn build(&self, cell: &Cell) -> Result<Box<dyn Model>, ConfigError> {
        self.check(cell)?;
        Ok(match &self.model {
            ModelConfig::Dango(dango) => Box::new(dango.build(cell, self.seed)),
            ModelConfig::Hetero(hetero) => Box::new(hetero.build(cell, self.seed)?),
        })
    }
}

impl DangoConfig {
    /// The networks as the model reads them.
    fn networks(&self, cell: &Cell) -> Vec<DangoNetwork> {
        let chosen: Vec<(&Network, f64)> = self
            .networks
            .iter()
            .filter_map(|choice| Some((cell.network(&choice.name)?, choice.lambda)))
            .collect();
        let is_merged = |network: &Network| {
            self.string_channels == StringChannels::Merged && string_lambda(network.name()).is_some()
        };
        let (channels, others): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|(network, _)| is_merged(network));
        let merged = (!channels.is_empty()).then(|| {
            let lambda = channels.iter().map(|(_, lambda)| *lambda).fold(f64::INFINITY, f64::min);
            let networks: Vec<&Network> = channels.iter().map(|(network, _)| *network).collect();
            DangoNetwork::merged("string", &networks, self.self_loops, lambda)
        });
        let others =
            others.into_iter().map(|(network, lambda)| DangoNetwork::of(network, self.self_loops, lambda));
        merged.into_iter().chain(others).collect()
    }
}

fn at_least_one(key: &'static str, value: usize) -> Result<(), ConfigError> {
    if value == 0 {
        return Err(ConfigError::Number { key, value: value.to_string(), rule: "it must be at least 1" });
    }
    Ok(())
}

fn not_negative(key: &'static str, value: f64) -> Result<(), ConfigError> {
    if !value.is_finite() || value < 0.0 {
        return Err(ConfigError::Number {
            key,
            value: value.to_string(),
            rule: "it must be a number from 0 up",
        });
    }
    Ok(())
}
