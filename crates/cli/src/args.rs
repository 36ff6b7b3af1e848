//! Options that all commands share. The arguments of a command are next to it.

use clap::Args;

pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("KNOCKOUT_COMMIT"), ")");

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
