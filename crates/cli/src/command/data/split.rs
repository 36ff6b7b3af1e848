//! `knockout data split`: divide a dataset and keep the result as a file.

use crate::choice;
use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::Ui;
use clap::Args;
use knockout_data::screen::{Division, Scheme, Split, SplitSpec, SplitSummary};
use knockout_report::lab::splits_page;
use serde::Serialize;
use std::path::PathBuf;

/// Divide the samples into train, val and test, and keep the division as a file
///
/// A split is a pure function of the records, the scheme and the seed: the same on every machine, whatever the order of
/// the rows. Training makes its own in the same way; use this command to inspect a split or to export it.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data split yeast --split random --out random.parquet
  knockout data split yeast --split pair-disjoint --folds 5 --fold 0 --out fold0.parquet
  knockout data split yeast --split random --samples 10000 --out ten-thousand.parquet")]
pub(crate) struct SplitArgs {
    /// The dataset folder
    dir: PathBuf,
    /// Unit that no two parts share
    #[arg(long, value_name = "SPLIT", default_value = "random", value_parser = choice::scheme())]
    split: Scheme,
    /// The seed
    #[arg(long, value_name = "S", default_value_t = knockout_data::screen::DEFAULT_SPLIT_SEED)]
    seed: u64,
    /// Share of the validation part
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, conflicts_with = "folds")]
    val: f64,
    /// Share of the test part
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, conflicts_with = "folds")]
    test: f64,
    /// Divide into this many folds instead: one for testing, the next for validation
    #[arg(long, value_name = "K", requires = "fold")]
    folds: Option<u32>,
    /// The test fold, from 0
    #[arg(long, value_name = "I", requires = "folds")]
    fold: Option<u32>,
    /// Keep only this many samples, from each part in proportion
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// The Parquet file to write (columns sample, part); without it the sizes are shown and nothing is written
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct SplitDocument {
    schema: u32,
    #[serde(flatten)]
    summary: SplitSummary,
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &SplitArgs, ui: &Ui) -> Result<()> {
    // Before the work.
    if let Some(out) = &args.out {
        if out.extension().is_some_and(|kind| kind != "parquet") {
            return Err(request_error(format!(
                "{} would hold a Parquet file; name it {}",
                out.display(),
                out.with_extension("parquet").display()
            )));
        }
        if out.exists() {
            return Err(request_error(format!(
                "{} exists already; choose another name or remove it first",
                out.display()
            )));
        }
    }
    let dataset = super::open(&args.dir)?;
    let scheme = args.split;
    let division = match (args.folds, args.fold) {
        (Some(folds), Some(fold)) => Division::Fold { folds, fold },
        _ => Division::Shares { val: args.val, test: args.test },
    };
    let spec = SplitSpec { scheme, division, seed: args.seed, subset: args.samples, train_subset: None };
    let split = Split::new(&dataset.samples, dataset.cell.genes(), spec)
        .with_context(|| format!("cannot split {}", args.dir.display()))?;
    if let Some(out) = &args.out {
        split.save(out, &dataset.manifest)?;
    }
    let shown =
        SplitDocument { schema: 1, summary: SplitSummary::of(&dataset, &split), out: args.out.clone() };
    ui.page(|| splits_page(std::slice::from_ref(&shown.summary)), &shown)
}
