//! `knockout config`: the resolved configuration.

use super::overrides::Overrides;
use super::train::configure;
use crate::choice;
use crate::failure::{Result, Unexpected as _};
use crate::presets::StartArgs;
use crate::ui::{Ui, Versioned};
use clap::{Args, Subcommand};
use knockout_models::ModelEntry;
use std::path::PathBuf;

/// Show configuration
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Show(ConfigShowArgs),
}

/// Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied
///
/// With --data: what `train` and `profile` take for a model on that dataset; --preset and --config are theirs. Without it: what `data
/// synth` takes, and --preset is one of the synthetic yeasts: tiny, small (the default), yeast or pairs.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout config show --preset yeast
  knockout config show --preset tiny synth.screen.samples=500
  knockout config show --model dango --data yeast optimiser.learning_rate=0.003
  knockout config show --data yeast --preset 082")]
struct ConfigShowArgs {
    /// The model; a preset or a configuration may name it
    #[arg(long, value_name = "MODEL", value_parser = choice::model(), requires = "data")]
    model: Option<ModelEntry>,
    #[command(flatten)]
    start: StartArgs,
    /// The dataset folder the model is for: its networks are part of the configuration
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(args: &ConfigArgs, ui: &Ui) -> Result<()> {
    let ConfigCommand::Show(args) = &args.command;
    if let Some(folder) = &args.data {
        let start = args.start.read(args.model, ui)?;
        let model = start.model(args.model)?;
        let mut keys = start.keys_for(&model);
        keys.extend(args.overrides.keys.iter().cloned());
        let dataset = super::data::open(folder)?;
        let config = configure(&model, &dataset, &keys)?;
        let text = config.to_toml()?;
        return ui.result(|| text, &Versioned::new(config));
    }
    let config = args.overrides.resolve(args.start.preset().unwrap_or("small"))?;
    let text = toml::to_string(&config).unexpected("could not write the configuration as TOML")?;
    ui.result(|| text, &Versioned::new(config))
}
