//! `knockout data show`: a dataset at a glance.

use crate::failure::Result;
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_data::screen::DatasetSummary;
use knockout_report::lab::{GeneDocument, dataset_page, gene_page};
use std::path::PathBuf;

/// Show what is in a dataset: genes, networks, metabolism, annotations, scores, splits
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data show yeast
  knockout data show yeast --gene ARO4
  knockout data show yeast --json | jq .samples.score")]
pub(crate) struct DataShowArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The seed of the splits whose sizes are shown
    #[arg(long, value_name = "S", default_value_t = knockout_data::screen::DEFAULT_SPLIT_SEED)]
    seed: u64,
    /// Show one gene instead, by systematic or standard name: its neighbours, its terms and its samples
    #[arg(long, value_name = "GENE", conflicts_with = "seed")]
    gene: Option<String>,
}

pub(crate) fn run(args: &DataShowArgs, ui: &Ui) -> Result<()> {
    let dataset = super::open(&args.dir)?;
    if let Some(name) = &args.gene {
        let shown = GeneDocument::of(&dataset, super::find_gene(&dataset, name)?)?;
        return ui.page(|| gene_page(&shown), &shown);
    }
    let summary = Versioned::new(DatasetSummary::of(&dataset, args.seed));
    ui.page(|| dataset_page(&summary.content), &summary)
}
