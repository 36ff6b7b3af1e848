//! `knockout completions`: shell completions from the same definitions as the help.

use super::Cli;
use crate::failure::Result;
use crate::ui::Ui;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Print completions for your shell
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout completions bash > ~/.local/share/bash-completion/completions/knockout
  knockout completions zsh > \"${fpath[1]}/_knockout\"
  knockout completions fish > ~/.config/fish/completions/knockout.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, ui: &Ui) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "knockout", &mut script);
    ui.raw(&String::from_utf8_lossy(&script))
}
