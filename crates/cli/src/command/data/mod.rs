//! `knockout data`: make, look at, check and divide datasets.

mod import;

use crate::ui::Ui;
use clap::{Args, Subcommand};

/// Make, look at, check and divide datasets
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    Import(Box<import::ImportArgs>),
}

pub(crate) fn run(args: DataArgs, ui: &Ui) -> anyhow::Result<()> {
    match args.command {
        DataCommand::Import(args) => import::run(*args, ui),
    }
}
