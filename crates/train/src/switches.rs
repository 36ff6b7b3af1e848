//! Changes that could make training faster, as overrides of a run's configuration.
//!
//! A switch refers to keys, not to models. If a model lacks the key or has nothing to switch off, the switch has a reason
//! instead of overrides.

use crate::config::Config;
use knockout_data::cell::Cell;
use knockout_models::string_lambda;
use toml::{Table, Value};

/// A switch and its overrides of one configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its name in tables.
    pub name: &'static str,
    /// Overrides that turn it on, or why there are none.
    pub keys: Result<Vec<String>, String>,
    /// Its effects beside time; empty if there are none.
    pub note: &'static str,
}

/// Properties of a built model that has seen a batch.
#[derive(Debug, Clone, Copy)]
pub struct BuiltModel {
    /// Bytes of the model's buffers as it is configured.
    pub buffer_bytes: u64,
    /// Bytes of memory that are free beside them.
    pub free_bytes: u64,
    /// Whether its loss couples the samples of a batch.
    pub couples_samples: bool,
}

/// Factor between the batch and the larger batch.
const LARGER: u64 = 8;

/// Every switch.
pub fn switches(config: &Config, cell: &Cell, built: BuiltModel) -> Vec<Switch> {
    let table = Table::try_from(config).unwrap_or_default();
    let model = SwitchRules { config, cell, built, section: table.get("model").and_then(Value::as_table) };
    let switch = |name, keys, note| Switch { name, keys, note };
    let never = |name, reason: &str| Switch { name, keys: Err(reason.to_owned()), note: "" };
    vec![
        switch("one network", model.one_network(), "the model sees less of the cell"),
        switch("STRING channels merged", model.merged_string(), "channels become indistinguishable"),
        switch("no metabolism", model.without("metabolism"), "the model sees less of the cell"),
        switch("no local part", model.global_only(), "the deleted genes' own embeddings are not used"),
        switch("all rows computed", model.all_rows(), ""),
        switch("no reconstruction loss", model.no_reconstruction(), "only the scores shape the embeddings"),
        switch(
            "gradients of 4 batches accumulated",
            model.accumulated(),
            "a step of the optimiser is of 4 batches",
        ),
        switch("larger batch", model.larger_batch(), "fewer steps of the optimiser per epoch"),
        switch("gradients not clipped", model.unclipped(), "a bad batch moves the parameters further"),
        switch("batches made ahead by a thread", model.ahead(), ""),
        switch("masks made per sample", model.processor("mask"), ""),
        switch("masks kept and restored", model.processor("resident-mask"), ""),
        switch("networks rebuilt per sample", model.processor("subgraph"), ""),
        switch("masks, and edges copied per sample", model.copied(), "what the Python system did"),
        never("one step traced by itself", "a way of looking, not a switch: `knockout profile --at-step N`"),
        switch(
            "no gather across shards",
            model.not_gathered(),
            "each shard's loss sees its own samples only",
        ),
        never("masks on the device", "there is no accelerator; models take gene indices and need no masks"),
        never(
            "masks of genes cached",
            "part of `loader.processor=mask`, which looks up each gene's edges in one table",
        ),
        never("less logging", "nothing is logged inside a measured step; see the phase `logging`"),
    ]
}

struct SwitchRules<'a> {
    config: &'a Config,
    cell: &'a Cell,
    built: BuiltModel,
    section: Option<&'a Table>,
}

type SwitchKeys = Result<Vec<String>, String>;

impl SwitchRules<'_> {
    fn key(&self, key: &str) -> Result<&Value, String> {
        self.section
            .and_then(|section| section.get(key))
            .ok_or_else(|| format!("{} has no key model.{key}", self.config.model.name()))
    }

    /// Returns the networks of the configuration, each as written and with its name.
    fn networks(&self) -> Result<Vec<(&Value, &str)>, String> {
        let list = self.key("networks")?.as_array().ok_or("model.networks is not a list")?;
        let name = |entry: &Value| -> Option<String> {
            entry.as_str().or_else(|| entry.as_table()?.get("name")?.as_str()).map(str::to_owned)
        };
        let known = |entry| {
            let name = name(entry)?;
            let network = self.cell.networks().iter().find(|network| network.name() == name)?;
            Some((entry, network.name()))
        };
        Ok(list.iter().filter_map(known).collect())
    }

    /// The network with most edges alone.
    fn one_network(&self) -> SwitchKeys {
        let networks = self.networks()?;
        if networks.len() < 2 {
            return Err("the configuration has one network already".to_owned());
        }
        let edges = |name: &str| self.cell.network(name).map_or(0, knockout_data::cell::Network::edge_count);
        let largest = networks.iter().max_by_key(|(_, name)| edges(name)).ok_or("there is no network")?;
        Ok(vec![format!("model.networks=[{}]", largest.0)])
    }

    fn merged_string(&self) -> SwitchKeys {
        self.key("string_channels")?;
        let channels = self.networks()?.iter().filter(|(_, name)| string_lambda(name).is_some()).count();
        if channels < 2 {
            return Err(format!("merging takes two STRING channels, and the configuration has {channels}"));
        }
        Ok(vec!["model.string_channels=merged".to_owned()])
    }

    fn without(&self, key: &str) -> SwitchKeys {
        match self.key(key)?.as_str() {
            Some("on") => Ok(vec![format!("model.{key}=off")]),
            _ => Err(format!("model.{key} is off already")),
        }
    }

    fn global_only(&self) -> SwitchKeys {
        match self.key("combination")?.as_str() {
            Some("global-only") => Err("the configuration has no local part".to_owned()),
            _ => Ok(vec!["model.combination=global-only".to_owned()]),
        }
    }

    fn all_rows(&self) -> SwitchKeys {
        match self.key("route")?.as_str() {
            Some("changed-rows") => Ok(vec!["model.route=node-mask".to_owned()]),
            _ => Err("the configuration computes all rows already".to_owned()),
        }
    }

    fn no_reconstruction(&self) -> SwitchKeys {
        self.key("alpha")?;
        Ok(vec!["model.alpha=pre-then-post".to_owned(), "model.transition_epoch=0".to_owned()])
    }

    fn accumulated(&self) -> SwitchKeys {
        if self.config.optimiser.accumulate.is_empty() {
            Ok(vec!["optimiser.accumulate=[\"0:4\"]".to_owned()])
        } else {
            Err("the configuration accumulates already".to_owned())
        }
    }

    fn not_gathered(&self) -> SwitchKeys {
        if self.config.train.shards == 1 {
            return Err("train.shards is 1: a batch is not divided".to_owned());
        }
        if !self.built.couples_samples {
            return Err("the loss is a mean over samples, and gathers nothing".to_owned());
        }
        Ok(vec!["train.gather_every=never".to_owned()])
    }

    fn larger_batch(&self) -> SwitchKeys {
        // Buffers grow at most with the batch.
        let wanted = self.built.buffer_bytes.saturating_mul(LARGER);
        if wanted > self.built.free_bytes / 2 {
            return Err(self.too_much(wanted));
        }
        Ok(vec![format!("batch={}", self.config.batch as u64 * LARGER)])
    }

    fn unclipped(&self) -> SwitchKeys {
        if self.config.optimiser.clip_norm > 0.0 {
            Ok(vec!["optimiser.clip_norm=0".to_owned()])
        } else {
            Err("optimiser.clip_norm is 0 already".to_owned())
        }
    }

    fn ahead(&self) -> SwitchKeys {
        if self.config.loader.threads > 0 {
            return Err("loader.threads makes batches ahead already".to_owned());
        }
        Ok(vec!["loader.threads=1".to_owned(), "loader.depth=2".to_owned()])
    }

    fn processor(&self, name: &str) -> SwitchKeys {
        if self.config.loader.processor.name() == name {
            return Err(format!("loader.processor is {name} already"));
        }
        Ok(vec![format!("loader.processor={name}")])
    }

    fn copied(&self) -> SwitchKeys {
        // Two ends of four bytes and a flag.
        let edges: usize = self.cell.networks().iter().map(knockout_data::cell::Network::edge_count).sum();
        let wanted = edges as u64 * 9 * self.config.batch as u64;
        if wanted > self.built.free_bytes / 4 {
            return Err(self.too_much(wanted));
        }
        Ok(vec!["loader.processor=mask".to_owned(), "loader.collate=replicated".to_owned()])
    }

    fn too_much(&self, wanted: u64) -> String {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        format!("a batch could take {:.1} GiB, and {:.1} are free", gib(wanted), gib(self.built.free_bytes))
    }
}
