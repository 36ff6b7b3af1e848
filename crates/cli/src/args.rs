//! Options that all commands share, and the words of the command line. The arguments of a command are next to it.

use clap::Args;
use std::ffi::OsString;
use std::sync::OnceLock;

pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("KNOCKOUT_COMMIT"), ")");

/// The command line after the program's name. An interpreter that runs the program has other arguments of its own.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the command line for commands that record it or start the program again.
pub(crate) fn remember(words: impl IntoIterator<Item = OsString>) {
    WORDS.get_or_init(|| words.into_iter().collect());
}

/// Returns the command line after the program's name.
pub(crate) fn all() -> &'static [OsString] {
    WORDS.get().map_or(&[], Vec::as_slice)
}

/// Returns a command that starts this program again with these words after its name. An interpreter runs the same script.
#[cfg(feature = "lab")]
pub(crate) fn command_of_this_program(
    words: impl IntoIterator<Item = OsString>,
) -> std::io::Result<std::process::Command> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    let process: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Behind the name of a program comes its command line; an interpreter has words of its own before.
    command.args(process.strip_suffix(all()).unwrap_or_default()).args(words);
    Ok(command)
}

/// Options every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct Global {
    /// Print one JSON document on standard output and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Worker threads; 0 means one per core. Results do not depend on this
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Print only errors on standard error: no progress, no notes. Results are still printed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print changed settings, and at the end wall and CPU time; twice for every stage
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}
