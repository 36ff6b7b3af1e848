//! The commands, one module each.

pub(crate) mod completions;
pub(crate) mod man;
pub(crate) mod trace;

use crate::args::Command;
use crate::ui::Ui;

/// Runs one command to its end.
pub(crate) fn run(command: Command, ui: &Ui) -> anyhow::Result<()> {
    match command {
        Command::Trace(args) => trace::run(args, ui),
        Command::Completions(args) => completions::run(&args, ui),
        Command::Man(args) => man::run(&args, ui),
    }
}
