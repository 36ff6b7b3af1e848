//! The commands, one module each.

pub(crate) mod completions;
#[cfg(feature = "lab")]
pub(crate) mod config;
#[cfg(feature = "lab")]
pub(crate) mod data;
#[cfg(feature = "lab")]
pub(crate) mod demo;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod trace;

use crate::args::Command;
use crate::ui::Ui;

/// Runs one command to its end.
pub(crate) fn run(command: Command, ui: &Ui) -> anyhow::Result<()> {
    match command {
        #[cfg(feature = "lab")]
        Command::Demo(args) => demo::run(&args, ui),
        #[cfg(feature = "lab")]
        Command::Data(args) => data::run(args, ui),
        #[cfg(feature = "lab")]
        Command::Config(args) => config::run(&args, ui),
        Command::Trace(args) => trace::run(args, ui),
        Command::Logs(args) => logs::run(&args, ui),
        Command::Completions(args) => completions::run(&args, ui),
        Command::Man(args) => man::run(&args, ui),
    }
}
