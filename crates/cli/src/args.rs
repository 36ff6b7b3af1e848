//! What the user typed. One struct per command, next to the command; here only what all share.

use crate::{command, exit};
use clap::{Args, Parser, Subcommand};

pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("KNOCKOUT_COMMIT"), ")");

/// Train graph networks on gene-deletion screens, and see where every millisecond of training goes.
#[derive(Debug, Parser)]
#[command(name = "knockout", version = VERSION, after_help = exit::HELP, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct Global {
    /// Print one JSON document on standard output and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Worker threads; 0 means one per core. Results do not depend on it
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Nothing on standard error but errors: no progress, no remarks. Results are still printed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print the settings that were changed, and at the end wall and CPU time; twice for every stage
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands, in the order a newcomer needs them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "lab")]
    Demo(command::demo::DemoArgs),
    #[cfg(feature = "lab")]
    Data(command::data::DataArgs),
    #[cfg(feature = "lab")]
    Train(command::train::TrainArgs),
    #[cfg(feature = "lab")]
    Baseline(command::baseline::BaselineArgs),
    #[cfg(feature = "lab")]
    Evaluate(command::evaluate::EvaluateArgs),
    #[cfg(feature = "lab")]
    Benchmark(command::benchmark::BenchmarkArgs),
    #[cfg(feature = "lab")]
    Sweep(command::sweep::SweepArgs),
    #[cfg(feature = "lab")]
    Predict(command::predict::PredictArgs),
    #[cfg(feature = "lab")]
    Explain(command::explain::ExplainArgs),
    #[cfg(feature = "lab")]
    Profile(command::profile::ProfileArgs),
    #[cfg(feature = "lab")]
    Experiment(command::experiment::ExperimentArgs),
    #[cfg(feature = "lab")]
    Config(command::config::ConfigArgs),
    #[cfg(feature = "lab")]
    Runs(command::runs::RunsArgs),
    Compare(command::compare::CompareArgs),
    Trace(command::trace::TraceArgs),
    Logs(command::logs::LogsArgs),
    Completions(command::completions::CompletionsArgs),
    Man(command::man::ManArgs),
}
