//! `knockout demo`: what exists so far, on a small synthetic yeast.

use crate::command::{config::Overrides, data};
use crate::text::{Align, Table, grouped};
use crate::ui::Ui;
use clap::Args;
use knockout_cell::Reach;
use knockout_screen::{Dataset, Summary};
use serde::Serialize;
use std::path::PathBuf;

/// See it all on a small synthetic yeast: make it, look at it, delete three genes
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout demo
  knockout demo --out /tmp/demo")]
pub(crate) struct DemoArgs {
    /// The folder to make; it must not exist
    #[arg(long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
}

#[derive(Serialize)]
struct Shown {
    schema: u32,
    dataset: PathBuf,
    summary: Summary,
    deletion: Deleted,
}

/// What deleting one sample's genes does.
#[derive(Serialize)]
struct Deleted {
    genes: Vec<String>,
    score: f64,
    edges: Vec<(String, usize, usize)>,
    reactions_stopped: usize,
    reach: [usize; 3],
}

pub(crate) fn run(args: &DemoArgs, ui: &Ui) -> anyhow::Result<()> {
    let overrides = Overrides { keys: Vec::new() };
    let config = overrides.resolve("small")?.synth;
    ui.note(&format!("1. making a small synthetic yeast in {}", args.out.display()));
    data::make_synthetic(&args.out, "small", &config, 0, &overrides.keys, ui)?;
    ui.note("2. opening it again, every checksum verified");
    let dataset = data::open(&args.out)?;
    let shown = Shown {
        schema: 1,
        dataset: args.out.clone(),
        summary: Summary::of(&dataset, 42),
        deletion: delete(&dataset, dataset.samples.len() / 2),
    };
    ui.note("3. what is in it, and what one deletion does\n");
    ui.result(
        || {
            format!(
                "{}\n{}\nthe dataset is in {out}; next: `knockout data show {out}`, `knockout data split {out}`\n",
                data::show_text(&shown.summary),
                deletion_text(&shown.deletion),
                out = args.out.display()
            )
        },
        &shown,
    )
}

fn delete(dataset: &Dataset, row: usize) -> Deleted {
    let deletion = dataset.samples.deletion(row);
    let name = |gene: &knockout_cell::GeneId| {
        let gene = &dataset.cell.genes().genes()[gene.index()];
        gene.standard.clone().unwrap_or_else(|| gene.systematic.clone())
    };
    let networks = dataset.cell.networks().iter();
    Deleted {
        genes: deletion.genes().iter().map(name).collect(),
        score: dataset.samples.scores()[row],
        edges: networks
            .map(|network| {
                (network.name().to_owned(), deletion.removed_edges(network).len(), network.edge_count())
            })
            .collect(),
        reactions_stopped: dataset.cell.metabolism().map_or(0, |m| deletion.stopped_reactions(m).len()),
        reach: Reach::new(&dataset.cell).within(&deletion),
    }
}

fn deletion_text(deleted: &Deleted) -> String {
    let mut table =
        Table::new(&[("network", Align::Left), ("edges removed", Align::Right), ("of", Align::Right)]);
    for (name, removed, all) in &deleted.edges {
        table.row(vec![name.clone(), grouped(*removed), grouped(*all)]);
    }
    format!(
        "deleting {} (score {:.4}) stops {} reactions and changes {} / {} / {} genes in 1 / 2 / 3 message passes:\n{}",
        deleted.genes.join(", "),
        deleted.score,
        deleted.reactions_stopped,
        grouped(deleted.reach[0]),
        grouped(deleted.reach[1]),
        grouped(deleted.reach[2]),
        table.to_text()
    )
}
