//! The configuration of a run: one value with defaults that everything else is derived from.
//!
//! `config show`, the run's folder, checkpoint compatibility ([`Config::identity`]) and the conditions under which two runs are
//! compared ([`Config::conditions`]) are all views of the same resolved [`Config`]. Sections belong to the modules that use them:
//! `loader.*` to [`crate::loader`], `model.*` to the model's own options.

mod from;
mod gather;
pub mod hydra;
mod identity;
mod optimiser;
mod split;
mod synonyms;

pub use from::FromOptions;
pub(crate) use from::{RESIDUALS_OF, START, with_name};
pub use gather::GatherEvery;
pub use identity::{Identity, IdentityDifference};
pub use optimiser::{OptimiserOptions, ScheduleKind};
pub use split::{Fold, SplitOptions};
pub use synonyms::synonym;

use crate::loader::{LoaderOptions, RowOrder};
use identity::flatten;
use knockout_base::error::{Error, Result};
use knockout_data::batch::ProcessorKind;
use knockout_data::cell::Cell;
use knockout_models::{MODELS, ModelConfig, ModelEntry, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use toml::{Table, Value};

/// Every setting of a run. The model is a table until it is looked up in a registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config<M = ModelConfig> {
    /// Seed of initial values and of the order of samples.
    pub seed: u64,
    /// Samples in a batch.
    pub batch: usize,
    /// Epochs at most.
    pub epochs: u32,
    /// Batches trained on at most, over all epochs; 0 means no limit.
    pub max_steps: u64,
    /// How samples are divided.
    pub split: SplitOptions,
    /// How batches are made.
    #[serde(default)]
    pub loader: LoaderOptions,
    /// The model and its options.
    pub model: M,
    /// The optimiser.
    pub optimiser: OptimiserOptions,
    /// How a step is divided.
    #[serde(default)]
    pub train: TrainOptions,
    /// When to save and when to stop.
    pub run: RunOptions,
    /// Other runs that it builds on.
    #[serde(default)]
    pub from: FromOptions,
    /// Predictions that it keeps for runs that build on it.
    #[serde(default)]
    pub residuals: ResidualOptions,
}

/// How a step is divided among processes: the keys `train.*`. The number of processes is not a setting: no number depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainOptions {
    /// Number of shards of a batch. Their gradients are computed separately and summed in a fixed order.
    pub shards: usize,
    /// Interval of the steps in which a loss that couples samples is computed over the whole batch; in the others it is
    /// computed shard by shard.
    pub gather_every: GatherEvery,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self { shards: 1, gather_every: GatherEvery::Steps(1) }
    }
}

/// Predictions that a solved run keeps for runs that are trained on its residuals: the keys `residuals.*`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResidualOptions {
    /// Number of folds of the training part, 0 for none. The model is also solved without each fold, which gives residuals of
    /// records that it was not fitted to.
    pub folds: u32,
}

/// When to save and when to stop: the keys `run.*`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOptions {
    /// Epochs without a better validation Pearson after which the run ends; 0 means never.
    pub patience: u32,
    /// Minutes between checkpoints inside an epoch.
    pub checkpoint_every: f64,
    /// Samples in a batch when only predicting.
    pub predict_batch: usize,
}

impl Config {
    /// The defaults of a model on a cell.
    pub fn defaults(model: &ModelEntry, cell: &Cell) -> Result<Self> {
        let common = Self {
            seed: 0,
            batch: 64,
            epochs: 100,
            max_steps: 0,
            split: SplitOptions::default(),
            loader: LoaderOptions::default(),
            model: model.defaults(cell),
            optimiser: OptimiserOptions::default(),
            train: TrainOptions::default(),
            run: RunOptions { patience: 0, checkpoint_every: 10.0, predict_batch: 16_384 },
            from: FromOptions::default(),
            residuals: ResidualOptions::default(),
        };
        common.with(model.training)
    }

    /// Returns the defaults of a model of [`MODELS`] on a cell, with overrides.
    pub fn of<S: AsRef<str>>(model: &str, cell: &Cell, overrides: &[S]) -> Result<Self> {
        Self::defaults(&ModelEntry::find(model, MODELS)?, cell)?.with(overrides)
    }

    /// Applies overrides `key=value` in order, later ones winning.
    pub fn with<S: AsRef<str>>(&self, overrides: &[S]) -> Result<Self> {
        let mut table = Table::try_from(self).map_err(unwritable)?;
        // `model.start` is another spelling of `from.start`: models do not depend on runs.
        let spelt = |key: &S| match key.as_ref().strip_prefix("model.start=") {
            Some(run) => format!("from.start={run}"),
            None => key.as_ref().to_owned(),
        };
        let synonyms = |key: &str| {
            // The American spelling of the section `optimiser`.
            let spelt = key.trim_start_matches('+').replace("optimizer", "optimiser");
            [spelt].into_iter().chain(synonym(key).map(str::to_owned)).collect()
        };
        for text in overrides.iter().map(spelt) {
            // A number or a word: the value decides which.
            if let Some(value) = text.strip_prefix("train.gather_every=")
                && let Some(Value::Table(train)) = table.get_mut("train")
            {
                let word = value.trim().trim_matches('"') == gather::NEVER;
                let slot = if word { Value::String(String::new()) } else { Value::Integer(1) };
                train.insert("gather_every".to_owned(), slot);
            }
            if text.starts_with("model.merge_networks=") && !Self::merges_networks(&table) {
                return Err(from::no_effect("model.merge_networks", self.model.name(), NOT_MERGED));
            }
            let rest = match table.get_mut("model") {
                Some(Value::Table(section)) => self.model.adapt_loss(section, text)?,
                _ => Some(text),
            };
            knockout_base::config::apply(&mut table, rest.as_slice(), synonyms)?;
        }
        Self::read(table, &[self.model.entry()])
    }

    /// Whether the model can read all networks as one.
    fn merges_networks(table: &Table) -> bool {
        table.get("model").and_then(Value::as_table).is_some_and(|model| model.contains_key("merge_networks"))
    }

    /// Reads what [`Config::to_toml`] wrote; the model is one of `models`.
    pub fn from_toml(text: &str, models: &[ModelEntry]) -> Result<Self> {
        Self::read(toml::from_str(text).map_err(|error| Error::request(error.message()))?, models)
    }

    /// The configuration as TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(unwritable)
    }

    fn read(table: Table, models: &[ModelEntry]) -> Result<Self> {
        let document: Config<Table> = knockout_base::config::read(table)?;
        Ok(Self {
            model: ModelConfig::read(document.model, models)?,
            seed: document.seed,
            batch: document.batch,
            epochs: document.epochs,
            max_steps: document.max_steps,
            split: document.split,
            loader: document.loader,
            optimiser: document.optimiser,
            train: document.train,
            run: document.run,
            from: document.from,
            residuals: document.residuals,
        })
    }

    /// Checks everything that can be checked before anything is computed.
    pub fn check(&self, cell: &Cell) -> Result<()> {
        within("batch", self.batch, 1..=MOST_SAMPLES, "it must be from 1 to 2147483647")?;
        within(
            "run.predict_batch",
            self.run.predict_batch,
            1..=MOST_SAMPLES,
            "it must be from 1 to 2147483647",
        )?;
        within("loader.threads", self.loader.threads, 0..=1024, "it must be from 0 to 1024")?;
        within("loader.depth", self.loader.depth, 0..=4096, "it must be from 0 to 4096")?;
        within("train.shards", self.train.shards, 1..=MOST_SHARDS, "it must be from 1 to 65536")?;
        if let GatherEvery::Steps(steps) = self.train.gather_every {
            limits::at_least_one("train.gather_every", steps as usize)?;
        }
        limits::at_least_one("loader.queries", self.loader.queries)?;
        limits::at_least_one("epochs", self.epochs as usize)?;
        limits::not_negative("optimiser.weight_decay", self.optimiser.weight_decay)?;
        limits::not_negative("optimiser.clip_norm", self.optimiser.clip_norm)?;
        limits::not_negative("run.checkpoint_every", self.run.checkpoint_every)?;
        self.split.check()?;
        self.optimiser.check()?;
        self.check_steps(cell)?;
        self.from.check(self.model.name(), self.model.entry().is_solved)?;
        self.check_folds()?;
        self.model.check(cell)?;
        self.check_memory(cell, 0)
    }

    /// Refuses a model or batches that could not be held, before anything is allocated. `members` is the number of deleted genes in the
    /// largest part of a batch that is computed at once, 0 where the samples are not known.
    pub(crate) fn check_memory(&self, cell: &Cell, members: usize) -> Result<()> {
        let prefetched =
            (self.loader.depth.max(self.loader.threads + 1) as u64).saturating_mul(PREFETCHED_BYTES);
        let needed = self.model.size_estimate(cell, members).training_bytes().saturating_add(prefetched);
        knockout_base::memory::check("training this model", needed).map_err(|error| {
            let advice = "lower model.width, the number of layers or batch, or use a larger machine";
            Error::request(format!("{error}; {advice}")).caused_by(error)
        })
    }

    /// Rejects settings of training steps for a solved model, on which they have no effect.
    fn check_steps(&self, cell: &Cell) -> Result<()> {
        let entry = self.model.entry();
        if entry.is_solved {
            let defaults = Self::defaults(&entry, cell)?.flat();
            let counts = |key: &str| {
                ["seed", "model.", "split.", "from.", "residuals."].iter().any(|part| key.starts_with(part))
            };
            let mut changed = self.flat().into_iter().filter(|(key, value)| defaults.get(key) != Some(value));
            if let Some((key, _)) = changed.find(|(key, _)| !counts(key)) {
                let message = format!(
                    "{key} has no effect on {}, which is solved, not trained step by step; leave it out, or name a network, for example \
                     --model dango",
                    entry.name
                );
                return Err(Error::request(message));
            }
        }
        Ok(())
    }

    /// Refuses folds for a model that cannot be solved without them.
    fn check_folds(&self) -> Result<()> {
        let folds = self.residuals.folds;
        if folds == 0 {
            return Ok(());
        }
        within("residuals.folds", folds as usize, 2..=100, "it must be 0, or from 2 to 100")?;
        let entry = self.model.entry();
        let why = match (entry.is_solved, self.from.with.is_empty()) {
            (false, _) => "is trained step by step: only solved models are solved again for each fold",
            (true, false) => "is stacked with other runs, which saw all folds",
            (true, true) => return Ok(()),
        };
        Err(from::no_effect("residuals.folds", entry.name, why))
    }

    /// Returns the representation of deletions: the configured one, but what the model needs instead of `perturbation`.
    pub fn processor(&self) -> ProcessorKind {
        match (self.loader.processor, self.model.processor()) {
            (ProcessorKind::Perturbation, Some(needed)) => needed,
            (kind, _) => kind,
        }
    }

    /// Returns whether residuals of a run of this configuration are of records that it was fitted to.
    pub fn has_fitted_residuals(&self) -> bool {
        self.model.entry().is_solved && self.residuals.folds == 0
    }

    /// Returns what a user should know before a run starts.
    pub fn notice(&self) -> Option<&'static str> {
        self.model.notice(self.train.shards)
    }

    /// Returns the identity of a run of this configuration over a gene table, given by its hash. Only a checkpoint of the same
    /// identity can be resumed.
    pub fn identity(&self, gene_table: &str) -> Identity {
        // The length of a run and its checkpoint interval may change when it is resumed. Of the loader, only the order changes
        // results.
        let mut lasting = self.clone();
        (lasting.epochs, lasting.max_steps) = (0, 0);
        (lasting.run.checkpoint_every, lasting.run.predict_batch) = (0.0, 0);
        let LoaderOptions { order, queries, .. } = lasting.loader;
        lasting.loader = LoaderOptions { order, queries, ..LoaderOptions::default() };
        let mut config = lasting.flat();
        if order == RowOrder::Shuffled {
            config.retain(|key, _| !["loader.order", "loader.queries"].contains(&&key[..]));
        }
        // Other runs are identified by their weights, not by their folders.
        for key in ["from.residuals_of", "from.start", "from.with"] {
            config.remove(key);
        }
        // Newer keys are left out where they have no effect, so that earlier runs keep their identity.
        if self.train.shards == 1 {
            config.retain(|key, _| !key.starts_with("train."));
        }
        for (key, nothing) in [
            ("split.fold", "\"\""),
            ("split.file", "\"\""),
            ("split.train_subset", "0"),
            ("model.metabolism", "\"off\""),
            ("model.features", "\"none\""),
            ("model.merge_networks", "false"),
            ("model.fanout", "0"),
            ("model.annotations", "[]"),
            ("model.covariates", "[]"),
            ("model.low_rank.covariates", "[]"),
            ("model.network_kernel.annotations", "[]"),
            ("model.parts", r#"["low_rank","network_kernel","profile_neighbours","profile_kernel"]"#),
            ("model.amplitudes", r#"["fitness","essential"]"#),
            ("model.profile.rank", "256"),
            ("model.profile.memory_mib", "4096"),
            ("residuals.folds", "0"),
        ] {
            if config.get(key).is_some_and(|value| value == nothing) {
                config.remove(key);
            }
        }
        Identity { model: self.model.name().to_owned(), gene_table: gene_table.to_owned(), config }
    }

    /// Returns the settings, by key, that affect the cost of a step and differ from the model's defaults on a cell.
    /// Measurements that differ in one of them are not comparable.
    pub fn conditions(&self, cell: &Cell) -> Result<BTreeMap<String, String>> {
        // The cost of a step does not depend on the length of the run or on its records. Batch, processor and number of records
        // are separate conditions.
        const ELSEWHERE: [&str; 7] =
            ["seed", "batch", "epochs", "max_steps", "loader.processor", "loader.store", "model.name"];
        let defaults = Self::defaults(&self.model.entry(), cell)?.flat();
        let mut settings = self.flat();
        settings.retain(|key, value| {
            let counts =
                !ELSEWHERE.contains(&&key[..]) && !key.starts_with("run.") && !key.starts_with("split.");
            counts && defaults.get(key) != Some(value)
        });
        // Words without their quotes, as they are typed.
        for value in settings.values_mut() {
            *value = serde_json::from_str::<String>(value).unwrap_or_else(|_| std::mem::take(value));
        }
        Ok(settings)
    }

    /// Returns every setting by its dotted key, as JSON.
    fn flat(&self) -> BTreeMap<String, String> {
        flatten(&serde_json::to_value(self).expect("a configuration is plain tables and numbers"))
    }

    /// Returns the settings other than the seed in which a run differs from another one; empty for two seeds of one
    /// configuration.
    pub fn differences_beside_seed(&self, gene_table: &str, other: (&Self, &str)) -> Vec<IdentityDifference> {
        let (other, other_genes) = other;
        let same_seed = Self { seed: other.seed, ..self.clone() };
        let mut differences = same_seed.identity(gene_table).differences(&other.identity(other_genes));
        if self.model.name() != other.model.name() {
            // Settings of another model follow from its name.
            differences.retain(|difference| !difference.key.starts_with("model."));
        }
        differences
    }
}

/// Reason why only the hetero model merges networks.
const NOT_MERGED: &str = "reads each network by itself (the hetero model has this key)";
/// Largest number of shards.
const MOST_SHARDS: usize = 1 << 16;
/// Samples are numbered in 32 bits.
const MOST_SAMPLES: usize = i32::MAX as usize;
/// Memory of an empty prefetched batch.
const PREFETCHED_BYTES: u64 = 4096;

fn within(key: &'static str, value: usize, range: RangeInclusive<usize>, rule: &'static str) -> Result<()> {
    if range.contains(&value) { Ok(()) } else { Err(limits::out_of_range(key, value, rule)) }
}

fn unwritable(error: toml::ser::Error) -> Error {
    Error::request("the configuration cannot be written as TOML").caused_by(error)
}
