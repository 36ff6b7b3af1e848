//! `knockout trace`: profiler traces in, findings out. Always compiled in: it needs no model code.

mod analyze;
mod compare;
mod convert;
#[cfg(feature = "parquet")]
mod export;
mod findings;
mod input;
mod operators;

#[cfg(feature = "lab")]
pub(crate) use findings::analyze_recorded;

use crate::failure::Result;
use crate::ui::Ui;
use clap::{Args, Subcommand};

/// Analyse, compare, convert and export traces of the PyTorch profiler
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace analyze rank0.pt.trace.json.gz
  knockout trace compare before.json.gz after.json.gz --fail-above 1.05
  knockout trace convert huge.json small.json.gz --min-duration 10")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    Analyze(analyze::AnalyzeArgs),
    Compare(compare::TraceCompareArgs),
    Convert(convert::ConvertArgs),
    #[cfg(feature = "parquet")]
    Export(export::ExportArgs),
}

pub(crate) fn run(args: TraceArgs, ui: &Ui) -> Result<()> {
    match args.command {
        TraceCommand::Analyze(args) => analyze::run(&args, ui),
        TraceCommand::Compare(args) => compare::run(&args, ui),
        TraceCommand::Convert(args) => convert::run(&args, ui),
        #[cfg(feature = "parquet")]
        TraceCommand::Export(args) => export::run(&args, ui),
    }
}
