//! `knockout predict merge`: parts into one folder.

use super::Trust;
use crate::failure::Result;
use crate::ui::Ui;
use clap::Args;
use knockout_data::screen::Dataset;
use knockout_models::MODELS;
use knockout_predict::{KeptPredictions, PredictionSummary};
use knockout_report::lab::prediction_page;
use knockout_train::run::RunDescription;
use std::path::PathBuf;

/// Join the parts of a prediction, and check that none is missing
///
/// The folder has the bytes that one run over everything would have written.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout predict merge whole part-1 part-2 part-3")]
pub(super) struct MergeArgs {
    /// The folder to make
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Folders that `knockout predict --part` made
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,
    /// The K highest predictions into top.csv; by default as many as the parts kept
    #[arg(long, value_name = "K")]
    top: Option<usize>,
    /// The K lowest predictions into bottom.csv; by default as many as the parts kept
    #[arg(long, value_name = "K")]
    bottom: Option<usize>,
    /// Write predictions.csv besides the Parquet blocks
    #[arg(long)]
    csv: bool,
}

pub(super) fn run(args: &MergeArgs, ui: &Ui) -> Result<()> {
    let folder = knockout_predict::merge(&args.out, &args.parts)?;
    let (top, bottom) = match folder.plan().keep {
        KeptPredictions::All => (0, 0),
        KeptPredictions::Extremes { top, bottom } => (top, bottom),
    };
    let summary = PredictionSummary::read(&folder, args.top.unwrap_or(top), args.bottom.unwrap_or(bottom))?;
    let dataset = Dataset::open(&folder.plan().dataset.folder)?;
    // The run may be elsewhere by now; regimes are unknown then.
    let run = folder.plan().runs.first().map(|run| RunDescription::read(&run.folder, &[] as &[&str], MODELS));
    let split = run.and_then(std::result::Result::ok).and_then(|run| run.split_of(&dataset).ok());
    let trust = Trust { dataset: &dataset, split: split.as_ref(), accuracy: &[] };
    let document = super::finish(&folder, &summary, &trust, args.csv)?;
    ui.page(|| prediction_page(&document), &document)
}
