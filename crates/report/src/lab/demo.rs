//! The demonstration: accuracy, hits and the time of training, in four panels.

use super::EvaluationDocument;
use super::accuracy::{BarScale, correlation, dash, interval, scatter};
use super::prediction::{HitDocument, PredictionDocument};
use crate::page::{
    Bar, BarSegment, Card, Column, Medium, Page, Plot, Section, SectionItem, Table, TableCell, colour,
};
use crate::units::{count, counted, percent, time};
use knockout_analyze::profile::experiment::Breakdown;
use knockout_data::screen::DatasetSummary;
use knockout_predict::explain::Explanation;
use knockout_predict::predictions::Predictions;
use serde::Serialize;
use std::path::PathBuf;

/// Document of `demo`.
#[derive(Debug, Clone, Serialize)]
pub struct DemoDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Folder of the dataset.
    pub dataset: PathBuf,
    /// Summary of the dataset.
    pub summary: DatasetSummary,
    /// Accuracy of the models on the test part.
    pub evaluation: EvaluationDocument,
    /// Lowest predictions of sets that were not measured.
    pub hits: PredictionDocument,
    /// Explanation of the first of them.
    pub explanation: Explanation,
    /// Parts of a training step of each network.
    pub breakdown: Vec<Breakdown>,
    /// Page of the demonstration.
    pub report: PathBuf,
    /// Pages with the details: name, and path relative to the page.
    pub details: Vec<(String, String)>,
    /// Commands that the demonstration consists of.
    pub commands: Vec<String>,
}

/// Name of the bound of synthetic data in the table of accuracies.
const ATTAINABLE: &str = "attainable";

/// Returns the page of a demonstration; `predictions` are those of the first model for the test part.
pub fn demo_page(document: &DemoDocument, predictions: &Predictions) -> Page {
    let dataset = &document.summary;
    let title = "Predicted and measured, test part";
    Page {
        title: "knockout demo".to_owned(),
        subtitle: format!(
            "{}: {}, {}, {}",
            dataset.name,
            counted(dataset.genes, "gene"),
            counted(dataset.networks.len(), "network"),
            counted(dataset.samples.count, "sample")
        ),
        made_by: "knockout demo".to_owned(),
        footnote: "This is an engineering test: the yeast is synthetic, and its accuracies do not carry over to real screens. Times are of this machine.".to_owned(),
        findings: findings(document),
        panels: vec![
            Card::Section(accuracy(document)),
            Card::Plot(Plot::Scatter(scatter(title, &predictions.scores, &predictions.predictions))),
            Card::Section(hits(document)),
            Card::Section(times(&document.breakdown)),
        ],
        sections: vec![
            Section::new("details", "Details").with(SectionItem::Links(document.details.clone())),
            Section::new("commands", "Commands of this page").only(Medium::Html).with(
                document.commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>(),
            ),
        ],
        next: vec!["`knockout data import mine --screen mine.tsv` (your own screen), then `knockout train mine`".to_owned()],
        ..Page::default()
    }
}

fn findings(document: &DemoDocument) -> Vec<String> {
    let rows = &document.evaluation.rows;
    let bound = document.evaluation.bounds.attainable_pearson;
    let bound = bound.map_or_else(String::new, |bound| format!("; at most {bound:.2} is attainable"));
    let others: Vec<String> =
        rows.iter().skip(1).map(|row| format!("{} {}", row.name, correlation(row.metrics.pearson))).collect();
    let accuracy = rows.first().map(|row| {
        let pearson = correlation(row.metrics.pearson);
        let samples = count(row.metrics.count);
        format!(
            "{} predicts {samples} held-out scores with Pearson {pearson} ({}){bound}.",
            row.name,
            others.join(", ")
        )
    });
    let hit = document.hits.bottom.first().map(|hit| {
        format!(
            "Strongest of {} predictions without a measurement: {}, score {}.",
            count(document.hits.scored as usize),
            hit.names.join(" "),
            prediction(hit)
        )
    });
    let step = document.breakdown.iter().filter_map(|model| {
        let whole = model.rows.first()?;
        let largest = model.rows.iter().filter(|row| row.depth == 2);
        let largest = largest.max_by(|a, b| a.share.total_cmp(&b.share))?;
        let (each, share) = (time(1e6 * whole.s_per_sample), percent(largest.share));
        Some(format!("{} takes {each} per sample ({} {share})", model.name, largest.name))
    });
    let step = step.collect::<Vec<_>>().join(", ");
    let step = (!step.is_empty()).then(|| format!("Training: {step}."));
    accuracy.into_iter().chain(hit).chain(step).collect()
}

/// Formats a prediction with its standard deviation.
fn prediction(hit: &HitDocument) -> String {
    let sd = hit.sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    format!("{:.3}{sd}", hit.prediction)
}

fn accuracy(document: &DemoDocument) -> Section {
    let (rows, bound) = (&document.evaluation.rows, document.evaluation.bounds.attainable_pearson);
    let scale = BarScale::around(rows.iter().map(|row| row.metrics.pearson).chain([bound]));
    let columns = [
        Column::text("model"),
        Column::number("Pearson"),
        Column::text("95 % interval").wide_only(),
        scale.column("Pearson"),
    ];
    let models = rows.iter().map(|row| {
        let bounds = row.low.zip(row.high);
        [
            TableCell::from(&row.name[..]),
            TableCell::from(correlation(row.metrics.pearson)),
            TableCell::from(interval(row.low, row.high)),
            scale.cell(&row.name, row.metrics.pearson, bounds),
        ]
    });
    let bound = bound.map(|bound| {
        let bar = scale.cell(ATTAINABLE, Some(bound), None);
        [ATTAINABLE.into(), correlation(Some(bound)).into(), dash().into(), bar]
    });
    Section::new("accuracy", "How good are the models?")
        .note("Correlation with held-out scores. No model can do better than attainable, because scores are noisy.")
        .with(Table::new(columns).with_rows(models.chain(bound)))
}

fn hits(document: &DemoDocument) -> Section {
    let columns =
        [Column::text("genes"), Column::number("prediction ± sd"), Column::text("genes in training")];
    let rows = document.hits.bottom.iter().map(|hit| {
        let regime = hit.regime.map_or("unknown", knockout_data::screen::Regime::title);
        [hit.names.join(" "), prediction(hit), regime.to_owned()]
    });
    let explanation = &document.explanation;
    let largest = explanation.parts.iter().filter(|term| !term.genes.is_empty());
    let largest = largest.max_by(|a, b| a.contribution.abs().total_cmp(&b.contribution.abs()));
    let why = largest.map(|term| {
        let genes: Vec<&str> = explanation.genes.iter().map(|gene| &gene.name[..]).collect();
        let from = match term.genes.len() {
            1 => format!("{} alone", term.genes[0]),
            some if some < genes.len() => format!("{} together", term.genes.join(" and ")),
            _ => "all of them together, beyond single genes and pairs".to_owned(),
        };
        let (whole, part) = (explanation.prediction, term.contribution);
        format!("{}: of {whole:.3}, {part:+.3} comes from {from}.", genes.join(" "))
    });
    let section = Section::new("hits", "Which interactions to measure next?")
        .note("Lowest predicted scores among sets without a measurement: the sickest combinations.")
        .with(Table::new(columns).with_rows(rows));
    why.into_iter().fold(section, Section::with)
}

/// Groups of phases in the panel of times, and the phases of each.
const GROUPS: [(&str, &[&str]); 4] = [
    ("data", &["fetch", "process", "collate", "wait"]),
    ("forward", &["forward", "loss"]),
    ("backward", &["backward"]),
    ("update", &["clip", "optimiser"]),
];
/// Group of the remaining phases.
const REST: &str = "rest";
/// Smallest share of a step that is listed.
const SMALLEST: f64 = 0.01;

fn times(breakdown: &[Breakdown]) -> Section {
    let columns = [
        Column::text("network"),
        Column::number("per sample"),
        Column::text("parts of a step"),
        Column { name: "share of a step".to_owned(), ..Column::bar() },
    ];
    let rows = breakdown.iter().map(|model| {
        let phases = || model.rows.iter().filter(|row| row.depth == 2);
        let share = |group: &[&str]| {
            phases().filter(|row| group.contains(&&row.name[..])).map(|row| row.share).sum::<f64>()
        };
        let mut parts: Vec<(&str, f64)> = GROUPS.iter().map(|(name, group)| (*name, share(group))).collect();
        parts.push((REST, (1.0 - parts.iter().map(|(_, share)| share).sum::<f64>()).max(0.0)));
        let described = parts.iter().filter(|(_, share)| *share >= SMALLEST);
        let described: Vec<String> =
            described.map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
        let segment = |&(name, share): &(&str, f64)| BarSegment {
            length: share,
            colour: colour(name).to_owned(),
            title: format!("{name} {}", percent(share)),
        };
        let bar = Bar { segments: parts.iter().map(segment).collect(), ..Bar::default() };
        let per_sample = model.rows.first().map_or_else(dash, |row| time(1e6 * row.s_per_sample));
        [
            TableCell::from(&model.name[..]),
            TableCell::from(per_sample),
            described.join(", ").into(),
            bar.into(),
        ]
    });
    Section::new("times", "Where does the time of training go?")
        .note("Full training steps, measured alternately on the same batches.")
        .with(Table::new(columns).with_rows(rows))
}
