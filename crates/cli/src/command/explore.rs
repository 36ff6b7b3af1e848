//! `knockout explore`: runs, predictions and traces in the browser.

use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_explore::{Explorer, Server};
use serde::Serialize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Look at genes, predictions, runs and traces in the browser
///
/// A local server shows what is in a folder: measured and predicted interactions of a gene, explanations, hits with an
/// estimate of how many are false, curves of runs (live while they are trained) and reports of traces. It changes nothing,
/// answers only to this machine, and ends with Ctrl-C. The address has a token, which gives access to the pages.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout explore
  knockout explore runs
  knockout explore runs/stack-yeast-0 --data /data/yeast
  knockout explore . --no-open --port 8080        # on a server, with ssh -L 8080:127.0.0.1:8080")]
pub(crate) struct ExploreArgs {
    /// Folders of runs, datasets and traces, or single ones
    #[arg(value_name = "DIR|RUN", default_value = ".")]
    folders: Vec<PathBuf>,
    /// The dataset folder, if it is no longer where the runs were trained; its contents must be the same
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Port on 127.0.0.1; by default a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
}

/// Document of `explore`.
#[derive(Serialize)]
struct Listening {
    url: String,
    port: u16,
}

pub(crate) fn run(args: &ExploreArgs, ui: &Ui) -> Result<()> {
    let interrupt = Interrupt::install()?;
    let explorer = Explorer::open(&args.folders, args.data.as_deref())?;
    let server = Server::bind(args.port)?;
    ui.note(&format!("{}; Ctrl-C ends", explorer.summary()));
    let url = server.url();
    ui.result(|| format!("{url}\n"), &Versioned::new(Listening { url: url.clone(), port: server.port() }))?;
    if !args.no_open && !open(&url) {
        ui.note("no browser was opened; open the address above");
    }
    Ok(server.run(&explorer, &|| interrupt.is_asked())?)
}

/// Opens the address in the user's browser, where there is a desktop.
fn open(url: &str) -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else if has("DISPLAY") || has("WAYLAND_DISPLAY") {
        "xdg-open"
    } else {
        return false;
    };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
