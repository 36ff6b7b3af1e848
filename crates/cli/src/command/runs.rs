//! `knockout runs`: the runs in a folder side by side, in a table and as curves laid over each other.

use crate::exit::INCOMPARABLE;
use crate::failure::{Failure, Result, request_error};
use crate::output::{self, ForceArg, OutputKind, write_text};
use crate::ui::Ui;
use clap::{Args, ValueEnum};
use knockout_report::lab::{RunsDocument, TrainedComparison, Unreadable, runs_page, trained_comparison_page};
use knockout_train::run::{RunList, RunSummary};
use std::path::{Path, PathBuf};

/// List the runs in a folder: model, data, split, best validation, CPU time, state
///
/// Folders are searched three levels deep; runs of any model are listed, also while they are being trained. With --html,
/// their curves are laid over each other.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout runs
  knockout runs runs --sort best --html runs.html
  knockout runs runs --json | jq '.runs[] | {folder, best_pearson}'
  knockout compare runs/dango-yeast-0 runs/dango-yeast-1")]
pub(crate) struct RunsArgs {
    /// The folder to search, or the folder of one run
    #[arg(value_name = "DIR", default_value = "runs")]
    dir: PathBuf,
    /// Order of the runs
    #[arg(long, value_name = "BY", default_value = "name")]
    sort: Sort,
    /// Also write a page with curves laid over each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
}

/// Order of a list of runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    /// Folders by name
    Name,
    /// The best validation Pearson
    Best,
    /// The most CPU time
    Cpu,
    /// Models by name, then the best
    Model,
    /// Runs in training, then done, unfinished and empty ones
    State,
}

pub(crate) fn run(args: &RunsArgs, ui: &Ui) -> Result<()> {
    if !args.dir.is_dir() {
        return Err(request_error(format!(
            "{} is not a folder; name the folder of your runs",
            args.dir.display()
        )));
    }
    if let Some(path) = &args.html {
        output::check(path, OutputKind::Page, &[], args.force)?;
    }
    let RunList { mut runs, unreadable } = RunList::find(&args.dir)?;
    sort(&mut runs, args.sort);
    let unreadable: Vec<Unreadable> = unreadable
        .into_iter()
        .map(|(folder, error)| Unreadable { folder, why: Failure::from(error).to_string() })
        .collect();
    for one in &unreadable {
        ui.note(&format!("left out {}: {}", one.folder.display(), one.why));
    }
    if let Some(path) = &args.html {
        write_text(path, &runs_page(&args.dir, &runs).to_html(), ui)?;
    }
    let shown = RunsDocument { schema: 1, runs, unreadable };
    ui.page(|| runs_page(&args.dir, &shown.runs), &shown)
}

fn sort(runs: &mut [RunSummary], by: Sort) {
    // Undefined figures come last.
    let best = |run: &RunSummary| -run.best_pearson.unwrap_or(f64::NEG_INFINITY);
    match by {
        Sort::Name => (),
        Sort::Best => runs.sort_by(|a, b| best(a).total_cmp(&best(b))),
        Sort::Cpu => {
            let cpu = |run: &RunSummary| -run.cpu_seconds.unwrap_or(f64::NEG_INFINITY);
            runs.sort_by(|a, b| cpu(a).total_cmp(&cpu(b)));
        }
        Sort::Model => {
            runs.sort_by(|a, b| a.model.cmp(&b.model).then_with(|| best(a).total_cmp(&best(b))));
        }
        Sort::State => runs.sort_by_key(|run| run.state),
    }
}

/// Compares two trained runs: their settings and their validation metrics.
pub(crate) fn compare_trained(a: &Path, b: &Path, html: Option<&Path>, ui: &Ui) -> Result<()> {
    let compared = TrainedComparison::of(RunSummary::read(a)?, RunSummary::read(b)?);
    if let Some(path) = html {
        write_text(path, &trained_comparison_page(&compared).to_html(), ui)?;
    }
    ui.page(|| trained_comparison_page(&compared), &compared)?;
    if compared.comparable {
        return Ok(());
    }
    let message = "not comparable: the runs have different datasets or splits, so they are validated on different records";
    Err(Failure::verdict(INCOMPARABLE, message))
}
