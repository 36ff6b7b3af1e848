//! `knockout explain`: contributions to one prediction.

use crate::choice;
use crate::command::predict::note_orders;
use crate::command::train::on_workers;
use crate::failure::{Result, request_error};
use crate::output::{self, ForceArg, Kind};
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_predict::explain::{Detail, Explanation, NotLeftOut, Reliability};
use knockout_predict::scorer::OpenRuns;
use knockout_report::page::{Column, Diagram, DiagramNode, Fact, Page, Section, Table};
use knockout_report::units::{count, figure};
use knockout_sources::lists;
use knockout_train::checkpoint::Slot;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Explain one prediction: networks, neighbours, genes, and measurements nearby
///
/// Networks and neighbours are left out one at a time, with the same weights. Single genes and pairs are predicted alone;
/// their contributions and that of the whole set sum to the prediction.
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
    /// Which state of the run; by default the best Pearson, or the last where no epoch has ended
    #[arg(long, value_name = "STATE", value_parser = choice::slot())]
    state: Option<Slot>,
    /// The dataset folder, if it is no longer where the run was trained; its contents must be the same
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Neighbours to leave out in turn; each takes a forward pass of its own
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
        output::check(path, Kind::Page, &[], args.force)?;
    }
    let explanation = on_workers(|| explain(args, ui))?;
    if let Some(path) = &args.html {
        output::write_text(path, &page(&explanation, args).to_html(), ui)?;
        ui.note(&format!("page: {}", path.display()));
    }
    ui.result(|| text(&explanation), &explanation)
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
    Ok(explanation?)
}

fn names(explanation: &Explanation) -> String {
    explanation.genes.iter().map(|gene| &gene.name[..]).collect::<Vec<_>>().join(" ")
}

/// The sections of an explanation, with a table each.
fn sections(explanation: &Explanation) -> Vec<Section> {
    let section = |title: &str, columns: &[&str], rows: Vec<Vec<String>>| {
        let column = |(index, name): (usize, &&str)| {
            if index == 0 || index > 3 { Column::text(*name) } else { Column::number(*name) }
        };
        let table = Table::new(columns.iter().enumerate().map(column)).with_rows(rows);
        let words = title.split([' ', ',', ':']).take(2).collect::<Vec<_>>();
        Section::new(words.join("-").to_lowercase(), title).with(table)
    };
    // A value that rounds to zero has no sign.
    let signed = |value: f64| if value.abs() < 5e-5 { "0.0000".to_owned() } else { format!("{value:+.4}") };
    let plain = |value: f64| format!("{value:.4}");
    let parts = explanation.parts.iter().map(|term| {
        let what = if term.genes.is_empty() { "mean of training".to_owned() } else { term.genes.join(" ") };
        vec![what, plain(term.predicted), signed(term.contribution)]
    });
    let networks = explanation.networks.iter().map(|network| {
        vec![network.network.clone(), signed(network.effect), plain(network.without), count(network.edges)]
    });
    let neighbours = explanation.neighbours.iter().map(|neighbour| {
        let networks = neighbour.networks.join(", ");
        vec![neighbour.gene.name.clone(), signed(neighbour.effect), plain(neighbour.without), networks]
    });
    let nearest = explanation.nearest.iter().map(|near| {
        let part = near.part.unwrap_or("–").to_owned();
        vec![near.genes.join(" "), near.shared.to_string(), plain(near.score), plain(near.prediction), part]
    });
    let mut sections =
        vec![section("Contributions of genes", &["genes", "predicted alone", "adds"], parts.collect())];
    if explanation.not_left_out.is_none() {
        sections.push(section(
            "Networks, left out one at a time",
            &["network", "effect", "without it", "edges of the set"],
            networks.collect(),
        ));
        sections.push(section(
            "Neighbours, cut off one at a time",
            &["neighbour", "effect", "without it", "next to the set in"],
            neighbours.collect(),
        ));
    }
    let title = if explanation.nearest.is_empty() {
        "Nearest measured samples: none has a gene of the set"
    } else {
        "Nearest measured samples"
    };
    sections.push(section(title, &["genes", "shared", "measured", "predicted", "part"], nearest.collect()));
    sections
}

fn trust(name: &str, found: &Reliability) -> String {
    let same = found.same_side.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{name}: {} samples, Pearson {}, RMSE {}, on the right side of the mean {same}",
        count(found.metrics.count),
        figure(found.metrics.pearson),
        figure(found.metrics.rmse)
    )
}

/// Why networks and neighbours are not left out, where they are not; then how far to trust the model.
fn remarks(explanation: &Explanation) -> Vec<String> {
    let reason = explanation.not_left_out.map(|reason| match reason {
        NotLeftOut::Solved => {
            "networks and neighbours are not left out: a solved model has them in its weights; to leave one out, solve it again \
             without it (model.networks of network-kernel)"
        }
        NotLeftOut::NoNetworks => "the dataset has no networks to leave out",
    });
    let trusted = [
        trust("test samples that share a gene with the set", &explanation.nearby),
        trust("the whole test part", &explanation.overall),
    ];
    reason.map(str::to_owned).into_iter().chain(trusted).collect()
}

fn measured(explanation: &Explanation) -> Option<String> {
    let measured = explanation.measured?;
    Some(format!("{:.4} ({} part)", measured.score, measured.part.unwrap_or("no")))
}

fn text(explanation: &Explanation) -> String {
    let mut text = format!("{}: predicted {:.4}", names(explanation), explanation.prediction);
    if let Some(measured) = measured(explanation) {
        write!(text, ", measured {measured}").ok();
    }
    text.push('\n');
    text += &Page { sections: sections(explanation), ..Page::default() }.sections_to_text();
    for line in remarks(explanation) {
        write!(text, "\n{line}").ok();
    }
    text.push('\n');
    text
}

fn page(explanation: &Explanation, args: &ExplainArgs) -> Page {
    let mut facts = vec![Fact::new("predicted", format!("{:.4}", explanation.prediction))];
    facts.extend(measured(explanation).map(|value| Fact::new("measured", value)));
    let around = explanation.neighbours.iter().map(|neighbour| &neighbour.gene);
    let drawn: Vec<_> = explanation.genes.iter().chain(around).collect();
    let position = |gene: u32| drawn.iter().position(|drawn| drawn.index == gene);
    let edges = explanation.edges.iter();
    let node = |(at, gene): (usize, &&knockout_predict::explain::GeneName)| DiagramNode {
        name: gene.name.clone(),
        is_deleted: at < explanation.genes.len(),
    };
    let diagram = Diagram {
        nodes: drawn.iter().enumerate().map(node).collect(),
        edges: edges
            .filter_map(|edge| Some((position(edge.source)?, position(edge.target)?, edge.networks)))
            .collect(),
    };
    let mut sections = sections(explanation);
    sections.insert(0, Section::new("neighbourhood", "The set and its neighbours").with(diagram));
    Page {
        title: names(explanation),
        subtitle: run_name(&args.run),
        made_by: "knockout explain".to_owned(),
        facts,
        findings: remarks(explanation),
        sections,
        ..Page::default()
    }
}

fn run_name(run: &Path) -> String {
    run.file_name().map_or_else(|| run.display().to_string(), |name| name.to_string_lossy().into_owned())
}
