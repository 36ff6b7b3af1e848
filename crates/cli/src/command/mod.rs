//! The commands, one module each.

#[cfg(feature = "lab")]
pub(crate) mod baseline;
#[cfg(feature = "lab")]
pub(crate) mod benchmark;
pub(crate) mod compare;
pub(crate) mod completions;
#[cfg(feature = "lab")]
pub(crate) mod config;
#[cfg(feature = "lab")]
pub(crate) mod data;
#[cfg(feature = "lab")]
pub(crate) mod demo;
#[cfg(feature = "lab")]
pub(crate) mod evaluate;
#[cfg(feature = "lab")]
pub(crate) mod experiment;
#[cfg(feature = "lab")]
pub(crate) mod explain;
#[cfg(feature = "lab")]
pub(crate) mod explore;
pub(crate) mod logs;
pub(crate) mod man;
#[cfg(feature = "lab")]
pub(crate) mod overrides;
#[cfg(feature = "lab")]
pub(crate) mod pack;
#[cfg(feature = "lab")]
pub(crate) mod predict;
#[cfg(feature = "lab")]
pub(crate) mod profile;
#[cfg(feature = "lab")]
pub(crate) mod runs;
#[cfg(feature = "lab")]
pub(crate) mod sweep;
pub(crate) mod trace;
#[cfg(feature = "lab")]
pub(crate) mod train;

use crate::args::{Global, VERSION};
use crate::exit;
use crate::failure::Result;
use crate::ui::Ui;
use clap::{Parser, Subcommand};

/// Train graph networks on gene-deletion screens, and see where every millisecond of training goes.
#[derive(Debug, Parser)]
#[command(name = "knockout", version = VERSION, after_help = exit::HELP, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, in the order a newcomer needs them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "lab")]
    Demo(demo::DemoArgs),
    #[cfg(feature = "lab")]
    Data(data::DataArgs),
    #[cfg(feature = "lab")]
    Train(train::TrainArgs),
    #[cfg(feature = "lab")]
    Baseline(baseline::BaselineArgs),
    #[cfg(feature = "lab")]
    Evaluate(evaluate::EvaluateArgs),
    #[cfg(feature = "lab")]
    Benchmark(benchmark::BenchmarkArgs),
    #[cfg(feature = "lab")]
    Sweep(sweep::SweepArgs),
    #[cfg(feature = "lab")]
    Predict(predict::PredictArgs),
    #[cfg(feature = "lab")]
    Explain(explain::ExplainArgs),
    #[cfg(feature = "lab")]
    Pack(pack::PackArgs),
    #[cfg(feature = "lab")]
    Explore(explore::ExploreArgs),
    #[cfg(feature = "lab")]
    Profile(profile::ProfileArgs),
    #[cfg(feature = "lab")]
    Experiment(experiment::ExperimentArgs),
    #[cfg(feature = "lab")]
    Config(config::ConfigArgs),
    #[cfg(feature = "lab")]
    Runs(runs::RunsArgs),
    Compare(compare::CompareArgs),
    Trace(trace::TraceArgs),
    Logs(logs::LogsArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs one command to its end.
pub(crate) fn run(command: Command, ui: &Ui) -> Result<()> {
    match command {
        #[cfg(feature = "lab")]
        Command::Demo(args) => demo::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Data(args) => data::run(args, ui),
        #[cfg(feature = "lab")]
        Command::Train(args) => train::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Baseline(args) => baseline::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Evaluate(args) => evaluate::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Benchmark(args) => benchmark::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Sweep(args) => sweep::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Predict(args) => predict::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Explain(args) => explain::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Pack(args) => pack::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Explore(args) => explore::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Profile(args) => profile::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Experiment(args) => experiment::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Config(args) => config::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Runs(args) => runs::run(&args, ui),
        Command::Compare(args) => compare::run(&args, ui),
        Command::Trace(args) => trace::run(args, ui),
        Command::Logs(args) => logs::run(&args, ui),
        Command::Completions(args) => completions::run(&args, ui),
        Command::Man(args) => man::run(&args, ui),
    }
}
