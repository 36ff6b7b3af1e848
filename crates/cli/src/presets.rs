//! Presets and configuration files that a configuration starts from. All become `key=value`.

use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::Ui;
use clap::Args;
use knockout_models::{MODELS, ModelEntry};
use knockout_train::config::hydra;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The files that ship with the program.
const FILES: [(&str, &str); 10] = [
    ("073", include_str!("../experiments/073.toml")),
    ("077", include_str!("../experiments/077.toml")),
    ("082", include_str!("../experiments/082.toml")),
    ("083", include_str!("../experiments/083.toml")),
    ("084", include_str!("../experiments/084.toml")),
    ("085", include_str!("../experiments/085.toml")),
    ("086", include_str!("../experiments/086.toml")),
    ("dango-reference", include_str!("../experiments/dango-reference.toml")),
    ("dango-short", include_str!("../experiments/dango-short.toml")),
    ("transformer-reference", include_str!("../experiments/transformer-reference.toml")),
];

/// Where the user's own presets are, unless the variable names another folder.
const OWN_FOLDER: &str = "presets";
const OWN_FOLDER_VARIABLE: &str = "KNOCKOUT_PRESETS";

/// Start of a configuration.
#[derive(Debug, Default, Args)]
pub(crate) struct StartArgs {
    /// Start from a preset: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a
    /// NAME.toml of your own in presets/ or in the folder `KNOCKOUT_PRESETS`
    #[arg(long, value_name = "NAME", visible_alias = "experiment")]
    preset: Option<String>,
    /// Start from a configuration file: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the
    /// Python system
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A preset as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    about: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    unused: Vec<String>,
    keys: BTreeMap<String, Value>,
    /// Keys of other models that the experiment compares it with.
    #[serde(default)]
    others: BTreeMap<String, BTreeMap<String, Value>>,
}

/// Start of a configuration, as read.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// The model that it names.
    pub(crate) model: Option<ModelEntry>,
    keys: Vec<String>,
    /// Other models of the same experiment, with their keys.
    others: Vec<(ModelEntry, Vec<String>)>,
}

impl StartArgs {
    /// Reads the start of a configuration; `model` is the model of the command line.
    pub(crate) fn read(&self, model: Option<ModelEntry>, ui: &Ui) -> Result<Start> {
        Start::read(self.config.as_deref(), self.preset.as_deref(), model, ui)
    }

    /// Name of the preset.
    pub(crate) fn preset(&self) -> Option<&str> {
        self.preset.as_deref()
    }
}

impl Start {
    fn read(config: Option<&Path>, preset: Option<&str>, model: Option<ModelEntry>, ui: &Ui) -> Result<Self> {
        let mut start = Self::default();
        if let Some(path) = config.filter(|path| is_yaml(path)) {
            start.add_hydra(path, model, ui)?;
        } else if let Some(path) = config {
            let text = std::fs::read_to_string(path).map_err(|error| {
                request_error(format!("could not read the configuration {}: {error}", path.display()))
            })?;
            start.add(&path.display().to_string(), &text, ui)?;
        }
        if let Some(name) = preset {
            let text = find(name)?;
            start.add(name, &text, ui)?;
        }
        Ok(start)
    }

    fn add(&mut self, name: &str, text: &str, ui: &Ui) -> Result<()> {
        let mut table: Table = toml::from_str(text)
            .map_err(|error| request_error(format!("{name} is not TOML: {}", error.message())))?;
        let model = if table.contains_key("keys") {
            let preset: Preset = table.try_into().map_err(|error: toml::de::Error| {
                request_error(format!("{name} is not a preset: {}", error.message()))
            })?;
            ui.note(&format!("preset {name}: {}", preset.about));
            for unused in &preset.unused {
                ui.note(&format!("  without meaning here: {unused}"));
            }
            let typed = |keys: &BTreeMap<String, Value>| {
                keys.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
            };
            self.keys.extend(typed(&preset.keys));
            for (model, keys) in &preset.others {
                self.others.push((known_model(name, model)?, typed(keys)));
            }
            preset.model
        } else {
            let named = match table.get_mut("model").and_then(Value::as_table_mut) {
                Some(model) => model.remove("name"),
                None => None,
            };
            leaves(&mut self.keys, "", &table);
            match named {
                None => None,
                Some(Value::String(model)) => Some(model),
                Some(other) => {
                    return Err(request_error(format!("model.name in {name} is {other}, not a name")));
                }
            }
        };
        self.name_model(name, model)
    }

    /// Adds a configuration of the Python system, and notes what has no meaning here or another one.
    fn add_hydra(&mut self, path: &Path, model: Option<ModelEntry>, ui: &Ui) -> Result<()> {
        let name = path.display();
        let read = hydra::read(path, model.map(|model| model.name))?;
        let mut lines =
            vec![format!("{name}: a configuration of the Python system, {} keys of ours", read.keys.len())];
        lines.extend(by_reason("without meaning here", &read.unused));
        lines.extend(by_reason("differs here", &read.differs));
        ui.note(&lines.join("\n  "));
        self.keys.extend(read.keys);
        self.name_model(&name.to_string(), read.model)
    }

    /// Takes the model that a file names.
    fn name_model(&mut self, name: &str, model: Option<String>) -> Result<()> {
        if let Some(model) = model {
            let entry = known_model(name, &model)?;
            if let Some(other) = self.model.filter(|other| other.name != entry.name) {
                return Err(request_error(format!("{name} is of --model {model}, not of {}", other.name)));
            }
            self.model = Some(entry);
        }
        Ok(())
    }

    /// Returns the requested model, or that of the start; fails where they differ or neither is given.
    pub(crate) fn model(&self, asked: Option<ModelEntry>) -> Result<ModelEntry> {
        match (asked, self.model) {
            (Some(asked), Some(own)) if asked.name != own.name && self.other(&asked).is_none() => {
                Err(request_error(format!(
                    "this preset or configuration is one of --model {}, not of {}",
                    own.name, asked.name
                )))
            }
            (Some(model), _) | (None, Some(model)) => Ok(model),
            (None, None) => {
                let names: Vec<String> =
                    MODELS.iter().map(|entry| format!("--model {}", entry.name)).collect();
                Err(request_error(format!("name the model: {}", names.join(" or "))))
            }
        }
    }

    /// The models that it names.
    pub(crate) fn models(&self) -> Vec<ModelEntry> {
        self.model.iter().chain(self.others.iter().map(|(model, _)| model)).copied().collect()
    }

    fn other(&self, model: &ModelEntry) -> Option<&[String]> {
        let mut others = self.others.iter();
        others.find(|(other, _)| other.name == model.name).map(|(_, keys)| &keys[..])
    }

    /// The keys it sets for a model: of another model's start only what all models of a measurement share.
    pub(crate) fn keys_for(&self, model: &ModelEntry) -> Vec<String> {
        if let Some(keys) = self.other(model) {
            return keys.to_vec();
        }
        let is_own = self.model.is_none_or(|own| own.name == model.name);
        let is_shared = |key: &&String| is_own || key.starts_with("split.") || key.starts_with("batch=");
        self.keys.iter().filter(is_shared).cloned().collect()
    }
}

/// The model of a name that stands in a file.
fn known_model(file: &str, model: &str) -> Result<ModelEntry> {
    MODELS.iter().find(|entry| entry.name == model).copied().ok_or_else(|| {
        let known: Vec<&str> = MODELS.iter().map(|entry| entry.name).collect();
        request_error(format!("{file} is for the model {model:?}; there are {}", known.join(", ")))
    })
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Keys with the same reason in one line each.
fn by_reason(what: &str, keys: &[(String, String)]) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, reason) in keys {
        by_reason.entry(reason).or_default().push(key);
    }
    by_reason.into_iter().map(|(reason, keys)| format!("{what}: {} ({reason})", keys.join(", "))).collect()
}

/// The text of a preset: one that ships, else one of the user's own.
fn find(name: &str) -> Result<String> {
    if let Some((_, text)) = FILES.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    let folder = std::env::var_os(OWN_FOLDER_VARIABLE).map_or_else(|| OWN_FOLDER.into(), PathBuf::from);
    let path = folder.join(format!("{name}.toml"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not read the preset {}", path.display()))
        }
        Err(_) => {
            let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
            Err(request_error(format!(
                "unknown preset {name:?}; choose from {}, or write {}",
                known.join(", "),
                path.display()
            )))
        }
    }
}

/// Every value of a table as `a.b=value`.
fn leaves(out: &mut Vec<String>, section: &str, table: &Table) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => leaves(out, &format!("{section}{key}."), inner),
            value => out.push(format!("{section}{key}={value}")),
        }
    }
}
