//! Overrides of a configuration, which every configured command takes.

use crate::failure::{Result, request_error};
use clap::Args;
use knockout_sources::synth;
use serde::{Deserialize, Serialize};

/// Changes to the configuration.
#[derive(Debug, Args)]
pub(crate) struct Overrides {
    /// Changes as key=value; `knockout config show` lists them (for training with --model and --data)
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) keys: Vec<String>,
}

/// The configuration of the synthetic yeast, under its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SynthSection {
    /// The synthetic yeast.
    pub(crate) synth: synth::SynthConfig,
}

impl Overrides {
    /// The configuration of a preset with the overrides applied.
    pub(crate) fn resolve(&self, preset: &str) -> Result<SynthSection> {
        let synth = synth::SynthConfig::preset(preset).ok_or_else(|| {
            request_error(format!(
                "there is no synthetic yeast {preset:?}; choose from {}; presets of models need --data",
                synth::PRESETS.join(", ")
            ))
        })?;
        Ok(knockout_base::config::resolve(&SynthSection { synth }, &self.keys)?)
    }
}
