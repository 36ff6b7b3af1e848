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
pub(crate) mod logs;
pub(crate) mod man;
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

use crate::args::Command;
use crate::failure::Result;
use crate::ui::Ui;

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
