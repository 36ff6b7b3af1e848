//! `knockout data`: make, look at, check and divide datasets.

mod bench;
mod delete;
mod gene;
mod import;
mod precompute;
mod show;
mod split;
mod synth;
mod verify;

pub(crate) use delete::{Deleted, of_sample as delete_sample, text as deletion_text};
pub(crate) use show::text as show_text;
pub(crate) use split::table as split_table;
pub(crate) use synth::make as make_synthetic;

use crate::failure::Result;
use crate::ui::Ui;
use clap::{Args, Subcommand};
use knockout_data::screen::Dataset;
use std::path::Path;
use std::sync::Arc;

/// Make, look at, check and divide datasets
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    Synth(synth::SynthArgs),
    Import(Box<import::ImportArgs>),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
    Verify(verify::VerifyArgs),
    Split(split::SplitArgs),
    Bench(bench::BenchArgs),
    Precompute(precompute::PrecomputeArgs),
}

pub(crate) fn run(args: DataArgs, ui: &Ui) -> Result<()> {
    match args.command {
        DataCommand::Synth(args) => synth::run(&args, ui),
        DataCommand::Import(args) => import::run(*args, ui),
        DataCommand::Show(args) => show::run(&args, ui),
        DataCommand::Delete(args) => delete::run(&args, ui),
        DataCommand::Verify(args) => verify::run(&args, ui),
        DataCommand::Split(args) => split::run(&args, ui),
        DataCommand::Bench(args) => bench::run(&args, ui),
        DataCommand::Precompute(args) => precompute::run(&args, ui),
    }
}

/// Opens a dataset, with a message under `--verbose`.
pub(crate) fn open(dir: &Path) -> Result<Arc<Dataset>> {
    let started = std::time::Instant::now();
    let dataset = Dataset::open(dir)?;
    tracing::info!(
        "opened {} in {:.3} s: {} genes, {} networks, {} samples",
        dir.display(),
        started.elapsed().as_secs_f64(),
        dataset.cell.genes().len(),
        dataset.cell.networks().len(),
        dataset.samples.len()
    );
    Ok(Arc::new(dataset))
}
