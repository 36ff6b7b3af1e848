//! Datasets: genes, networks, metabolism, annotations, scores and splits.

use super::accuracy::ceiling_sentence;
use super::evaluation::lines;
use crate::page::{Chart, Column, Fact, Medium, Page, Plot, Section, Series, Table};
use crate::units::{bar, count, counted, have};
use knockout_data::screen::{
    AnnotationSummary, DatasetSummary, Histogram, NetworkSummary, RepeatAlleles, ScoreSummary, SplitSummary,
};
use std::collections::BTreeMap;

/// Columns of the longest bar of a histogram.
const BAR_WIDTH: usize = 40;

/// Returns the page of a dataset.
pub fn dataset_page(summary: &DatasetSummary) -> Page {
    let mut sections = Vec::new();
    if !summary.networks.is_empty() {
        sections.push(Section::new("networks", "").with(networks(&summary.networks)));
    }
    if !summary.annotations.is_empty() {
        sections.push(Section::new("annotations", "").with(annotations(&summary.annotations)));
    }
    let score = summary.samples.score.as_ref();
    sections.extend(score.map(|score| {
        let section = Section::new("scores", "").only(Medium::Text);
        histogram_lines(score).into_iter().fold(section, Section::with)
    }));
    if !summary.splits.is_empty() {
        sections.push(Section::new("splits", "").with(splits(&summary.splits)));
    }
    sections.extend(lines("attainable", attainable(summary)));
    sections.extend(repeats(summary));
    Page {
        title: summary.name.clone(),
        subtitle: format!("made by {}", summary.command),
        made_by: "knockout data show".to_owned(),
        findings: vec![format!(
            "{} (format {}): {}, {}, {}",
            summary.name,
            summary.format,
            counted(summary.samples.count, "sample"),
            counted(summary.genes, "gene"),
            counted(summary.networks.len(), "network")
        )],
        facts: facts(summary),
        picture: score.map(|score| Plot::Chart(score_chart(&score.histogram))),
        sections,
        ..Page::default()
    }
}

fn facts(summary: &DatasetSummary) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("made by", &summary.command[..]),
        Fact::new("data hash", summary.data_hash.chars().take(16).collect::<String>()),
        Fact::new(
            "genes",
            format!(
                "{} ({} with a standard name)",
                count(summary.genes),
                count(summary.genes_with_standard_name)
            ),
        ),
    ];
    let metabolism = &summary.metabolism;
    if metabolism.reactions > 0 {
        let value = format!(
            "{}, {}, {} gene-reaction and {} reaction-metabolite entries, {}",
            counted(metabolism.reactions, "reaction"),
            counted(metabolism.metabolites, "metabolite"),
            count(metabolism.gpr),
            count(metabolism.stoichiometry),
            counted(metabolism.genes, "gene")
        );
        facts.push(Fact::new("metabolism", value));
    }
    if let Some(features) = &summary.features {
        let more = if features.columns > features.first.len() { ", …" } else { "" };
        let value = format!(
            "{} for {}: {}{more}",
            counted(features.columns, "column"),
            counted(features.genes, "gene"),
            features.first.join(", ")
        );
        facts.push(Fact::new("features", value));
    }
    if !summary.from_interactions.is_empty() {
        facts.push(Fact::new("from genetic interactions", summary.from_interactions.join(", ")));
    }
    facts.extend(sample_facts(summary));
    facts
}

fn sample_facts(summary: &DatasetSummary) -> Vec<Fact> {
    let samples = &summary.samples;
    let orders: Vec<String> =
        samples.orders.iter().map(|(order, number)| format!("{} of {order}", count(*number))).collect();
    let words = |counts: &BTreeMap<String, usize>| {
        let words: Vec<String> =
            counts.iter().map(|(word, number)| format!("{word} {}", count(*number))).collect();
        words.join(", ")
    };
    let mut facts = vec![
        Fact::new(
            "samples",
            format!(
                "{} ({} genes); {}, {}",
                count(samples.count),
                orders.join(", "),
                counted(samples.genes, "distinct gene"),
                counted(samples.queries, "query")
            ),
        ),
        Fact::new("kinds", words(&samples.kinds)),
        Fact::new("sources", words(&samples.sources)),
    ];
    facts.extend(samples.alleles.map(|alleles| {
        let (number, sets) = (count(alleles.count), counted(alleles.repeated_sets, "gene set"));
        let have = have(alleles.repeated_sets);
        Fact::new(
            "alleles",
            format!("{number}; {sets} {have} several samples, of different alleles or kinds"),
        )
    }));
    if !summary.networks.is_empty() {
        let reach: Vec<String> = summary.reach.iter().map(|genes| count(genes.round() as usize)).collect();
        let value =
            format!("{} genes within 1 / 2 / 3 hops of the deleted ones, on average", reach.join(" / "));
        facts.push(Fact::new("reach", value));
    }
    facts.extend(samples.score.as_ref().map(|score| {
        let ScoreSummary { mean, sd, min, max, .. } = score;
        Fact::new("score", format!("mean {mean:.4}, sd {sd:.4}, from {min:.4} to {max:.4}"))
    }));
    facts
}

fn attainable(summary: &DatasetSummary) -> Option<String> {
    let synthetic = summary.synthetic.as_ref()?;
    let causes: Vec<String> =
        synthetic.variance.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
    Some(format!(
        "attainable Pearson {:.3}: the expected maximum of any model (variance: {})",
        synthetic.attainable_pearson,
        causes.join(", ")
    ))
}

/// Returns how reproducible the scores are, a row for every two sources and for each that measured again.
fn repeats(summary: &DatasetSummary) -> Option<Section> {
    if summary.repeats.is_empty() {
        summary.bounds.ceiling?;
        return ceiling_sentence(&summary.bounds).map(|sentence| Section::new("ceiling", sentence));
    }
    let columns = [
        Column::text("measured by"),
        Column::text("and by"),
        Column::text("alleles"),
        Column::number("gene sets"),
        Column::number("Pearson"),
    ];
    let table = Table::new(columns).with_rows(summary.repeats.iter().map(|repeats| {
        let second = if repeats.first == repeats.second { "itself again" } else { &repeats.second };
        let alleles = match repeats.alleles {
            RepeatAlleles::Same => "same",
            RepeatAlleles::Unstated => "not stated",
            RepeatAlleles::Different => "different",
            RepeatAlleles::Unrecorded => "not recorded",
        };
        let (sets, pearson) = (count(repeats.sets), format!("{:.4}", repeats.pearson));
        [repeats.first.clone(), second.to_owned(), alleles.to_owned(), sets, pearson]
    }));
    let section = Section::new("repeats", "").with(table);
    let several = (summary.samples_of_several_alleles > 0).then(|| {
        let several = summary.samples_of_several_alleles;
        format!("{} {} the mean score of different alleles", counted(several, "sample"), have(several))
    });
    Some(several.into_iter().chain(ceiling_sentence(&summary.bounds)).fold(section, Section::with))
}

fn networks(networks: &[NetworkSummary]) -> Table {
    let table = Table::new([
        Column::text("network"),
        Column::number("nodes"),
        Column::number("edges"),
        Column::number("density"),
        Column::number("degree min").wide_only(),
        Column::number("25 %").wide_only(),
        Column::number("median"),
        Column::number("75 %").wide_only(),
        Column::number("max").wide_only(),
    ]);
    table.with_rows(networks.iter().map(|network| {
        let degree = &network.degree;
        let mut row = vec![
            network.name.clone(),
            count(network.nodes),
            count(network.edges),
            format!("{:.3} %", 100.0 * network.density),
        ];
        row.extend([degree.min, degree.q25, degree.median, degree.q75, degree.max].map(count));
        row
    }))
}

fn annotations(sets: &[AnnotationSummary]) -> Table {
    let table = Table::new([
        Column::text("annotations"),
        Column::number("terms"),
        Column::number("genes"),
        Column::number("pairs"),
    ]);
    table.with_rows(
        sets.iter().map(|set| [set.name.clone(), count(set.terms), count(set.genes), count(set.pairs)]),
    )
}

/// Returns a line for each bin by its middle; the first and the last also hold the tails beyond them, and are labelled so.
fn histogram_lines(score: &ScoreSummary) -> Vec<String> {
    let histogram = &score.histogram;
    let edge = |bin: usize| histogram.low + bin as f64 * histogram.width;
    let last = histogram.counts.len().saturating_sub(1);
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let line = |(bin, &samples): (usize, &usize)| {
        let label = match bin {
            0 if score.min < edge(0) => format!("<{:.3}", edge(1)),
            bin if bin == last && score.max > edge(last + 1) => format!("≥{:.3}", edge(last)),
            bin => format!("{:.3}", edge(bin) + 0.5 * histogram.width),
        };
        let bar = bar(samples as f64 / most as f64, BAR_WIDTH);
        format!("  {label:>8} {bar:<40} {}", count(samples))
    };
    histogram.counts.iter().enumerate().map(line).collect()
}

fn score_chart(histogram: &Histogram) -> Chart {
    let middle = |bin: usize| histogram.low + (bin as f64 + 0.5) * histogram.width;
    let points = histogram.counts.iter().enumerate().map(|(bin, &samples)| (middle(bin), samples as f64));
    Chart {
        title: "Distribution of the scores; the outer bins also hold the tails".to_owned(),
        across: "score".to_owned(),
        up: "samples".to_owned(),
        series: vec![Series::new("measured", points)],
        ..Chart::default()
    }
}

/// Returns the page of the sizes of splits.
pub fn splits_page(summaries: &[SplitSummary]) -> Page {
    Page {
        title: "Splits".to_owned(),
        made_by: "knockout data split".to_owned(),
        sections: vec![Section::new("splits", "").with(splits(summaries))],
        ..Page::default()
    }
}

fn splits(splits: &[SplitSummary]) -> Table {
    let table = Table::new([
        Column::text("split"),
        Column::number("seed"),
        Column::number("train"),
        Column::number("val"),
        Column::number("test"),
        Column::number("test with an unseen gene").wide_only(),
        Column::number("test with a seen query").wide_only(),
    ]);
    table.with_rows(splits.iter().map(|split| {
        let mut row = vec![split.scheme.to_owned(), split.seed.to_string()];
        row.extend(
            [split.train, split.val, split.test, split.test_with_unseen_gene, split.test_with_seen_query]
                .map(count),
        );
        row
    }))
}
