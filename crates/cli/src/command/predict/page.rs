//! The page of hits: top and bottom, how predictions and measured scores are distributed, and how far to trust the list.

use crate::command::evaluate::table::{ceiling_sentence, prior_knowledge_sentence};
use crate::failure::Result;
use crate::output::write_text;
use crate::text::{figure, grouped};
use crate::ui::Ui;
use knockout_data::cell::{Gene, GeneTable};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{Calibration, Folder, Hit, Summary};
use knockout_report::prediction::{PredictionPage, prediction_html};
use knockout_report::training::{Chart, Fact, Scale, Scatter, Series};
use knockout_report::{Column, PageTable};
use std::path::Path;

/// Writes the page.
pub(super) fn write(
    path: &Path,
    folder: &Folder,
    summary: &Summary,
    opened: &OpenRuns,
    ui: &Ui,
) -> Result<()> {
    let plan = folder.plan();
    let calibration = Calibration::of(opened)?;
    let genes = opened.dataset.cell.genes();
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let runs: Vec<String> =
        plan.runs.iter().map(|run| format!("{} (step {})", run.folder.display(), run.step)).collect();
    let page = PredictionPage {
        title: format!("Predictions: {}", plan.candidates.what),
        subtitle: format!("{} on {}", runs.join(", "), opened.dataset.manifest.name),
        made_by: format!("{} --out {}", plan.command, folder.path().display()),
        facts: vec![
            fact("predictions", grouped(summary.scored() as usize)),
            fact("mean prediction", figure(summary.mean())),
            fact("Pearson on the test part", figure(calibration.metrics.pearson)),
            fact("RMSE on the test part", figure(calibration.metrics.rmse)),
        ],
        notes: notes(&calibration, opened),
        charts: vec![histogram(summary, opened), groups(&calibration)],
        scatters: vec![Scatter {
            title: "Test part".to_owned(),
            caption: format!(
                "Pearson {}, {} samples",
                figure(calibration.metrics.pearson),
                grouped(calibration.measured.len())
            ),
            measured: calibration.measured.iter().map(|&value| value as f32).collect(),
            predicted: calibration.predicted.iter().map(|&value| value as f32).collect(),
        }],
        drawing: None,
        tables: [("Highest", summary.extremes.top()), ("Lowest", summary.extremes.bottom())]
            .into_iter()
            .filter(|(_, hits)| !hits.is_empty())
            .map(|(title, hits)| table(title, &hits, genes))
            .collect(),
    };
    write_text(path, &prediction_html(&page), ui)
}

fn notes(calibration: &Calibration, opened: &OpenRuns) -> Vec<String> {
    let mut notes = vec![format!(
        "On the {} samples of the test part, which no run was fitted to, predictions and measured scores correlate by {}.",
        grouped(calibration.measured.len()),
        figure(calibration.metrics.pearson)
    )];
    if let Some(((low, below), (high, above))) = calibration.groups.first().zip(calibration.groups.last()) {
        notes.push(format!(
            "The tenth of the test part with the lowest predictions (mean {low:.4}) was measured at {below:.4} on average, the \
             highest tenth (mean {high:.4}) at {above:.4}."
        ));
    }
    notes.extend(opened.dataset.manifest.synthetic.as_ref().map(|known| {
        format!("No model can expect more than {:.4} on this synthetic screen.", known.attainable_pearson)
    }));
    notes.extend(opened.dataset.manifest.ceiling().map(|ceiling| {
        let mut said = ceiling_sentence(&ceiling);
        said[..1].make_ascii_uppercase();
        said + "."
    }));
    for run in &opened.runs {
        let uses = run.prior_knowledge();
        if !uses.is_empty() {
            notes.push(format!("The run of {}: {}.", run.entry.model, prior_knowledge_sentence(&uses)));
        }
    }
    notes
}

/// Shares of predictions and of measured scores by bin.
fn histogram(summary: &Summary, opened: &OpenRuns) -> Chart {
    let scale = summary.scale;
    let measured = scale.count(opened.dataset.samples.scores().iter().copied());
    let series = |name: &str, counts: &[u64]| {
        let (sum, step) = (counts.iter().sum::<u64>().max(1), (scale.high - scale.low) / scale.bins as f64);
        let points = counts.iter().enumerate();
        let points = points
            .map(|(bin, &count)| (scale.low + (bin as f64 + 0.5) * step, 100.0 * count as f64 / sum as f64));
        Series { name: name.to_owned(), points: points.collect() }
    };
    Chart {
        title: "Predictions beside measured scores, per cent of each".to_owned(),
        across: "score".to_owned(),
        counts_whole: false,
        across_scale: Scale::Linear,
        scale: Scale::Linear,
        series: vec![series("predicted", summary.histogram()), series("measured", &measured)],
    }
}

fn groups(calibration: &Calibration) -> Chart {
    let diagonal = calibration.groups.iter().map(|&(predicted, _)| (predicted, predicted)).collect();
    Chart {
        title: "Test part by tenths of the prediction".to_owned(),
        across: "mean prediction".to_owned(),
        counts_whole: false,
        across_scale: Scale::Linear,
        scale: Scale::Linear,
        series: vec![
            Series { name: "measured".to_owned(), points: calibration.groups.clone() },
            Series { name: "where a prediction is right".to_owned(), points: diagonal },
        ],
    }
}

fn table(title: &str, hits: &[Hit], genes: &GeneTable) -> PageTable {
    let has_sd = hits.iter().any(|hit| hit.sd.is_some());
    let mut columns: Vec<Column> = ["rank", "genes", "systematic", "prediction"].map(Column::text).to_vec();
    columns.extend(has_sd.then(|| Column::text("sd")));
    let row = |(place, hit): (usize, &Hit)| {
        let names = || hit.genes.iter().map(|&gene| &genes.genes()[gene as usize]);
        let standard: Vec<&str> = names().map(Gene::name).collect();
        let systematic: Vec<&str> = names().map(|gene| &gene.systematic[..]).collect();
        let mut row = vec![
            (place + 1).to_string(),
            standard.join(" "),
            systematic.join(" "),
            format!("{:.4}", hit.prediction),
        ];
        row.extend(has_sd.then(|| figure(hit.sd)));
        row
    };
    PageTable { title: title.to_owned(), columns, rows: hits.iter().enumerate().map(row).collect() }
}
