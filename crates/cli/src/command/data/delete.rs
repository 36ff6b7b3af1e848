//! `knockout data delete`: what deleting some genes does to the cell.

use super::find_gene;
use crate::failure::{Result, request_error};
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_data::cell::Deletion;
use knockout_report::lab::{DeletionDocument, deletion_page};
use std::path::PathBuf;

/// Show the effect of deleting genes: edges removed, reactions stopped, genes reached, and measured scores
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data delete yeast ZAL001C
  knockout data delete yeast ARO4 TFC3 YBL023C --json")]
pub(crate) struct DeleteArgs {
    /// The dataset folder; it stays as it is
    dir: PathBuf,
    /// The genes, by systematic or standard name
    #[arg(value_name = "GENE", required = true)]
    genes: Vec<String>,
}

pub(crate) fn run(args: &DeleteArgs, ui: &Ui) -> Result<()> {
    let dataset = super::open(&args.dir)?;
    let genes = args.genes.iter().map(|name| find_gene(&dataset, name)).collect::<Result<Vec<_>>>()?;
    let deletion = Deletion::new(&genes).map_err(|error| {
        let twice = genes.iter().enumerate().find(|(index, gene)| genes[..*index].contains(gene));
        let why = match twice {
            Some((_, gene)) => {
                format!("{} is named twice", dataset.cell.genes().genes()[gene.index()].name())
            }
            None => error.to_string(),
        };
        request_error(format!("cannot delete {}: {why}", args.genes.join(", ")))
    })?;
    let shown = Versioned::new(DeletionDocument::of(&dataset, &deletion));
    ui.page(|| deletion_page(&shown.content), &shown)
}
