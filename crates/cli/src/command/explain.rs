//! `knockout explain`: contributions to one prediction.

use crate::choice;
use crate::command::predict::note_orders;
use crate::command::train::on_workers;
use crate::failure::{Result, request_error};
use crate::output::{self, ForceArg, OutputKind};
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_predict::RegimeAccuracy;
use knockout_predict::explain::{Detail, Explanation};
use knockout_predict::scorer::OpenRuns;
use knockout_report::lab::explanation_page;
use knockout_sources::lists;
use knockout_train::checkpoint::Slot;
use std::path::{Path, PathBuf};

/// Explain one prediction: networks, neighbours, genes, and measurements nearby
///
/// Networks and neighbours are left out one at a time, with the same weights. Of a stack the parts are listed instead, with the
/// networks of its kernel and the most similar profiles. Single genes and pairs are predicted alone; their contributions and
/// that of the whole set sum to the prediction.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout explain runs/dango-yeast-0 ZIR010W ZML134W ZAL043C
  knockout explain runs/dango-yeast-0 ZIR010W ZML134W --html why.html --neighbours 20")]
pub(crate) struct ExplainArgs {
    /// The run's folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The genes, by systematic or standard names
    #[arg(value_name = "GENE", required = true, num_args = 1..=6)]
    genes: Vec<String>,
    /// State of the run; by default the best Pearson, or the last where no epoch has ended
    #[arg(long, value_name = "STATE", value_parser = choice::slot())]
    state: Option<Slot>,
    /// The dataset folder, if it is no longer where the run was trained; its contents must be the same
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Neighbours to leave out in turn, each with a forward pass of its own; of a stack, similar profiles to list
    #[arg(long, value_name = "N", default_value_t = 8)]
    neighbours: usize,
    /// Nearest measured samples to list
    #[arg(long, value_name = "N", default_value_t = 8)]
    nearest: usize,
    /// Write a page with a drawing of the neighbourhood
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
}

pub(crate) fn run(args: &ExplainArgs, ui: &Ui) -> Result<()> {
    if let Some(path) = &args.html {
        output::check(path, OutputKind::Page, &[], args.force)?;
    }
    let explanation = explanation(args, ui)?;
    let page = || explanation_page(&explanation, &run_name(&args.run));
    if let Some(path) = &args.html {
        output::write_text(path, &page().to_html(), ui)?;
        ui.note(&format!("page: {}", path.display()));
    }
    ui.page(page, &explanation)
}

/// Explains the prediction of a request.
pub(crate) fn explanation(args: &ExplainArgs, ui: &Ui) -> Result<Explanation> {
    on_workers(|| explain(args, ui))
}

fn explain(args: &ExplainArgs, ui: &Ui) -> Result<Explanation> {
    let opened = OpenRuns::open(std::slice::from_ref(&args.run), args.state, args.data.as_deref())?;
    let genes = lists::find_genes(
        args.genes.iter().flat_map(|names| names.split(',')),
        opened.dataset.cell.genes(),
        "the set",
    )?;
    note_orders(&[genes.len()], &opened, ui);
    let run = opened.runs.first().ok_or_else(|| request_error("name a run"))?;
    let bar = ui.progress(
        "explaining",
        (opened.dataset.cell.networks().len() + args.neighbours) as u64,
        Unit::Items,
    );
    let detail = Detail { neighbours: args.neighbours, nearest: args.nearest };
    let explanation = run.explain(&genes, &opened.dataset, &opened.split, detail, &|| bar.inc(1));
    bar.finish_and_clear();
    Ok(explanation?.with_accuracy(&RegimeAccuracy::of(&opened, &[genes.len()])?))
}

fn run_name(run: &Path) -> String {
    run.file_name().map_or_else(|| run.display().to_string(), |name| name.to_string_lossy().into_owned())
}
