//! `knockout data`: make, look at, check and divide datasets.

mod bench;
mod delete;
mod import;
mod precompute;
mod show;
mod split;
mod synth;
mod verify;

pub(crate) use synth::make as make_synthetic;

use crate::failure::{Result, request_error};
use crate::ui::Ui;
use clap::{Args, Subcommand};
use knockout_data::cell::GeneId;
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
    Show(show::DataShowArgs),
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

/// Finds a gene by one of its names; the error for an unknown name lists similar ones.
fn find_gene(dataset: &Dataset, wanted: &str) -> Result<GeneId> {
    let genes = dataset.cell.genes();
    if genes.is_empty() {
        return Err(request_error("the dataset has no genes: its gene table is empty"));
    }
    genes.find(wanted).ok_or_else(|| {
        let similar = genes.similar(wanted);
        let tip = if similar.is_empty() {
            format!("name one as in genes.parquet, such as {}", genes.genes()[0].systematic)
        } else {
            format!("did you mean {}?", similar.join(", "))
        };
        request_error(format!("the dataset has no gene {wanted:?}; {tip}"))
    })
}
