//! The named experiments of the reference: which keys each sets, and which of its keys have no meaning here.

use crate::ui::{Ui, request_error};
use clap::Args;
use knockout_model::{HeteroOptions, ModelEntry, ModelOptions as _};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The files that ship with the program.
const FILES: [(&str, &str); 7] = [
    ("073", include_str!("../experiments/073.toml")),
    ("077", include_str!("../experiments/077.toml")),
    ("082", include_str!("../experiments/082.toml")),
    ("083", include_str!("../experiments/083.toml")),
    ("084", include_str!("../experiments/084.toml")),
    ("085", include_str!("../experiments/085.toml")),
    ("086", include_str!("../experiments/086.toml")),
];

#[derive(Debug, Args)]
pub(crate) struct ExperimentArg {
    /// Start from a named experiment of the hetero model: 073, 077, 082, 083, 084, 085 or 086
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Experiment {
    about: String,
    unused: Vec<String>,
    keys: BTreeMap<String, toml::Value>,
}

impl ExperimentArg {
    /// The keys it sets; none where none is asked for. Says what of the reference's has no meaning here.
    pub(crate) fn keys(&self, model: &ModelEntry, ui: &Ui) -> anyhow::Result<Vec<String>> {
        let Some(name) = &self.experiment else { return Ok(Vec::new()) };
        if model.name != HeteroOptions::NAME {
            return Err(request_error(format!("experiment {name} is one of --model hetero")));
        }
        let Some((_, text)) = FILES.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
            return Err(request_error(format!(
                "there is no experiment {name:?}; choose from {}",
                known.join(", ")
            )));
        };
        let experiment: Experiment = toml::from_str(text)?;
        ui.note(&format!("experiment {name}: {}", experiment.about));
        for unused in &experiment.unused {
            ui.note(&format!("  without meaning here: {unused}"));
        }
        Ok(experiment.keys.iter().map(|(key, value)| format!("{key}={value}")).collect())
    }
}
