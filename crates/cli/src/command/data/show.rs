//! `knockout data show`: a dataset at a glance.

use super::gene;
use crate::command::evaluate::table::ceiling_sentence;
use crate::failure::Result;
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_data::screen::{AnnotationSummary, Histogram, RepeatAlleles, SplitSummary, Summary};
use knockout_report::page::{Column, Table};
use knockout_report::units::count;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Show what is in a dataset: genes, networks, metabolism, annotations, scores, splits
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data show yeast
  knockout data show yeast --gene ARO4
  knockout data show yeast --json | jq .samples.score")]
pub(crate) struct ShowArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The seed of the splits whose sizes are shown
    #[arg(long, value_name = "S", default_value_t = knockout_data::screen::DEFAULT_SPLIT_SEED)]
    seed: u64,
    /// Show one gene instead, by systematic or standard name: its neighbours, its terms and its samples
    #[arg(long, value_name = "GENE", conflicts_with = "seed")]
    gene: Option<String>,
}

pub(crate) fn run(args: &ShowArgs, ui: &Ui) -> Result<()> {
    let dataset = super::open(&args.dir)?;
    if let Some(name) = &args.gene {
        let shown = gene::describe(&dataset, gene::find(&dataset, name)?)?;
        return ui.result(|| gene::text(&shown), &shown);
    }
    let summary = Versioned::new(Summary::of(&dataset, args.seed));
    ui.result(|| text(&summary.content), &summary)
}

/// The summary as a page of text.
pub(crate) fn text(summary: &Summary) -> String {
    let mut page = format!("{} (format {})\n", summary.name, summary.format);
    let mut line = |name: &str, value: String| {
        writeln!(page, "  {name:<12} {value}").ok();
    };
    line("made by", summary.command.clone());
    line("data hash", summary.data_hash.chars().take(16).collect());
    line(
        "genes",
        format!(
            "{} ({} with a standard name)",
            count(summary.genes),
            count(summary.genes_with_standard_name)
        ),
    );
    let metabolism = &summary.metabolism;
    if metabolism.reactions > 0 {
        line(
            "metabolism",
            format!(
                "{} reactions, {} metabolites, {} gene-reaction and {} reaction-metabolite entries, {} genes",
                count(metabolism.reactions),
                count(metabolism.metabolites),
                count(metabolism.gpr),
                count(metabolism.stoichiometry),
                count(metabolism.genes)
            ),
        );
    }
    if let Some(features) = &summary.features {
        let more = if features.columns > features.first.len() { ", …" } else { "" };
        line(
            "features",
            format!(
                "{} of {} genes: {}{more}",
                count(features.columns),
                count(features.genes),
                features.first.join(", ")
            ),
        );
    }
    page.push('\n');
    if !summary.networks.is_empty() {
        page.push_str(&networks(summary));
        page.push('\n');
    }
    if !summary.annotations.is_empty() {
        page.push_str(&annotations(&summary.annotations));
        page.push('\n');
    }
    page.push_str(&samples(summary));
    if !summary.splits.is_empty() {
        page.push('\n');
        page.push_str(&splits(&summary.splits));
    }
    if let Some(synthetic) = &summary.synthetic {
        let causes: Vec<String> =
            synthetic.variance.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
        write!(
            page,
            "\nattainable Pearson {:.3}: the expected maximum of any model (variance: {})\n",
            synthetic.attainable_pearson,
            causes.join(", ")
        )
        .ok();
    }
    page.push_str(&repeats(summary));
    page
}

/// How reproducible the scores are, a line for every two sources and for each that measured again.
fn repeats(summary: &Summary) -> String {
    let mut page = String::new();
    if summary.repeats.is_empty() {
        return page;
    }
    let mut table = Table::new([
        Column::text("measured by"),
        Column::text("and by"),
        Column::text("alleles"),
        Column::number("gene sets"),
        Column::number("Pearson"),
    ]);
    for repeats in &summary.repeats {
        let second = if repeats.first == repeats.second { "itself again" } else { &repeats.second };
        table.row(vec![
            repeats.first.clone(),
            second.to_owned(),
            match repeats.alleles {
                RepeatAlleles::Same => "same",
                RepeatAlleles::Unstated => "not stated",
                RepeatAlleles::Different => "different",
                RepeatAlleles::Unrecorded => "not recorded",
            }
            .to_owned(),
            count(repeats.sets),
            format!("{:.4}", repeats.pearson),
        ]);
    }
    page.push('\n');
    page.push_str(&table.to_text());
    if summary.samples_of_several_alleles > 0 {
        let samples = count(summary.samples_of_several_alleles);
        writeln!(page, "\n{samples} samples have the mean score of different alleles").ok();
    }
    if let Some(sentence) = ceiling_sentence(&summary.bounds) {
        writeln!(page, "\n{sentence}").ok();
    }
    page
}

fn networks(summary: &Summary) -> String {
    let mut table = Table::new([
        Column::text("network"),
        Column::number("nodes"),
        Column::number("edges"),
        Column::number("density"),
        Column::number("degree min"),
        Column::number("25 %"),
        Column::number("median"),
        Column::number("75 %"),
        Column::number("max"),
    ]);
    for network in &summary.networks {
        let degree = &network.degree;
        let mut row = vec![
            network.name.clone(),
            count(network.nodes),
            count(network.edges),
            format!("{:.3} %", 100.0 * network.density),
        ];
        row.extend([degree.min, degree.q25, degree.median, degree.q75, degree.max].map(count));
        table.row(row);
    }
    table.to_text()
}

fn annotations(sets: &[AnnotationSummary]) -> String {
    let mut table = Table::new([
        Column::text("annotations"),
        Column::number("terms"),
        Column::number("genes"),
        Column::number("pairs"),
    ]);
    for set in sets {
        let counts = [set.terms, set.genes, set.pairs].map(count);
        table.row([vec![set.name.clone()], counts.to_vec()].concat());
    }
    table.to_text()
}

fn samples(summary: &Summary) -> String {
    let samples = &summary.samples;
    let orders: Vec<String> =
        samples.orders.iter().map(|(order, number)| format!("{} of {order}", count(*number))).collect();
    let words = |counts: &std::collections::BTreeMap<String, usize>| {
        counts
            .iter()
            .map(|(word, number)| format!("{word} {}", count(*number)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut page = format!(
        "samples      {} ({} genes); {} distinct genes, {} queries\n",
        count(samples.count),
        orders.join(", "),
        count(samples.genes),
        count(samples.queries)
    );
    writeln!(page, "kinds        {}", words(&samples.kinds)).ok();
    writeln!(page, "sources      {}", words(&samples.sources)).ok();
    if !summary.networks.is_empty() {
        let reach: Vec<String> = summary.reach.iter().map(|genes| count(genes.round() as usize)).collect();
        writeln!(
            page,
            "reach        {} genes within 1 / 2 / 3 hops of the deleted ones, on average",
            reach.join(" / ")
        )
        .ok();
    }
    if let Some(score) = &samples.score {
        writeln!(
            page,
            "score        mean {:.4}, sd {:.4}, from {:.4} to {:.4}\n",
            score.mean, score.sd, score.min, score.max
        )
        .ok();
        page.push_str(&histogram(&score.histogram, score.min..=score.max));
    }
    page
}

/// Bins by their middles; the first and the last also hold the tails beyond them, and say so.
fn histogram(histogram: &Histogram, scores: RangeInclusive<f64>) -> String {
    let edge = |bin: usize| histogram.low + bin as f64 * histogram.width;
    let last = histogram.counts.len().saturating_sub(1);
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let mut page = String::new();
    for (bin, &samples) in histogram.counts.iter().enumerate() {
        let label = match bin {
            0 if *scores.start() < edge(0) => format!("<{:.3}", edge(1)),
            bin if bin == last && *scores.end() > edge(last + 1) => format!("≥{:.3}", edge(last)),
            bin => format!("{:.3}", edge(bin) + 0.5 * histogram.width),
        };
        let bar = knockout_report::units::bar(samples as f64 / most as f64, 40);
        writeln!(page, "  {label:>8} {bar:<40} {}", count(samples)).ok();
    }
    page
}

fn splits(splits: &[SplitSummary]) -> String {
    super::split_table(splits)
}
