//! `knockout data delete`: what deleting some genes does to the cell.

use super::gene::{find, name};
use crate::failure::{Result, request_error};
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_data::cell::{Deletion, Reach};
use knockout_data::screen::Dataset;
use knockout_report::page::{Column, Table};
use knockout_report::units::count;
use serde::Serialize;
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

/// Effect of deleting genes.
#[derive(Serialize)]
pub(crate) struct Deleted {
    genes: Vec<String>,
    /// Score of a sample that was used to show it; `None` where genes were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    edges: Vec<(String, usize, usize)>,
    reactions_stopped: usize,
    reach: [usize; 3],
    /// Scores of the samples with exactly these genes deleted, where genes were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Vec<f64>>,
}

pub(crate) fn run(args: &DeleteArgs, ui: &Ui) -> Result<()> {
    let dataset = super::open(&args.dir)?;
    let genes = args.genes.iter().map(|name| find(&dataset, name)).collect::<Result<Vec<_>>>()?;
    let deletion = Deletion::new(&genes).map_err(|error| {
        let twice = genes.iter().enumerate().find(|(index, gene)| genes[..*index].contains(gene));
        let why = match twice {
            Some((_, &gene)) => format!("{} is named twice", name(&dataset, gene)),
            None => error.to_string(),
        };
        request_error(format!("cannot delete {}: {why}", args.genes.join(", ")))
    })?;
    let mut deleted = describe(&dataset, &deletion, None);
    let samples = &dataset.samples;
    let rows = (0..samples.len()).filter(|&row| samples.deletion(row).genes() == deletion.genes());
    deleted.measured = Some(rows.map(|row| samples.scores()[row]).collect());
    let shown = Versioned::new(deleted);
    ui.result(|| text(&shown.content), &shown)
}

/// Returns the effect of a sample's deletion.
pub(crate) fn of_sample(dataset: &Dataset, row: usize) -> Deleted {
    describe(dataset, &dataset.samples.deletion(row), Some(dataset.samples.scores()[row]))
}

fn describe(dataset: &Dataset, deletion: &Deletion, score: Option<f64>) -> Deleted {
    let networks = dataset.cell.networks().iter();
    Deleted {
        genes: deletion.genes().iter().map(|&gene| name(dataset, gene)).collect(),
        score,
        edges: networks
            .map(|network| {
                (network.name().to_owned(), deletion.removed_edges(network).len(), network.edge_count())
            })
            .collect(),
        reactions_stopped: dataset.cell.metabolism().map_or(0, |m| deletion.stopped_reactions(m).len()),
        reach: Reach::new(&dataset.cell).within(deletion),
        measured: None,
    }
}

/// As a sentence and a table.
pub(crate) fn text(deleted: &Deleted) -> String {
    let mut table =
        Table::new([Column::text("network"), Column::number("edges removed"), Column::number("of")]);
    for (name, removed, all) in &deleted.edges {
        table.row(vec![name.clone(), count(*removed), count(*all)]);
    }
    let score = deleted.score.map(|score| format!(" (score {score:.4})")).unwrap_or_default();
    let measured = match deleted.measured.as_deref() {
        None => String::new(),
        Some([]) => "\nno sample has exactly these genes deleted\n".to_owned(),
        Some(scores) => {
            let scores: Vec<String> = scores.iter().map(|score| format!("{score:.4}")).collect();
            format!("\nmeasured: {}\n", scores.join(", "))
        }
    };
    format!(
        "deleting {}{score} stops {} reactions and changes {} / {} / {} genes in 1 / 2 / 3 message passes:\n{}{measured}",
        deleted.genes.join(", "),
        deleted.reactions_stopped,
        count(deleted.reach[0]),
        count(deleted.reach[1]),
        count(deleted.reach[2]),
        table.to_text()
    )
}
