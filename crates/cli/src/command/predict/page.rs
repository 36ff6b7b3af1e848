//! The page of hits: top and bottom, how predictions and measured scores are distributed, and how far to trust the list.

use crate::command::evaluate::table::{ceiling_sentence, prior_knowledge_sentence};
use crate::failure::Result;
use crate::output::write_text;
use crate::ui::Ui;
use knockout_data::cell::{Gene, GeneTable};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{Calibration, Folder, Hit, Summary};
use knockout_report::page::{Chart, Column, Fact, Figure, Page, Scatter, Section, Series, Table};
use knockout_report::units::{count, figure};
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
    let runs: Vec<String> =
        plan.runs.iter().map(|run| format!("{} (step {})", run.folder.display(), run.step)).collect();
    let scatter = Scatter {
        title: "Test part".to_owned(),
        caption: format!(
            "Pearson {}, {} samples",
            figure(calibration.metrics.pearson),
            count(calibration.measured.len())
        ),
        measured: calibration.measured.iter().map(|&value| value as f32).collect(),
        predicted: calibration.predicted.iter().map(|&value| value as f32).collect(),
    };
    let page = Page {
        title: format!("Predictions: {}", plan.candidates.what),
        subtitle: format!("{} on {}", runs.join(", "), opened.dataset.manifest.name),
        made_by: format!("{} --out {}", plan.command, folder.path().display()),
        facts: vec![
            Fact::new("predictions", count(summary.scored() as usize)),
            Fact::new("mean prediction", figure(summary.mean())),
            Fact::new("Pearson on the test part", figure(calibration.metrics.pearson)),
            Fact::new("RMSE on the test part", figure(calibration.metrics.rmse)),
        ],
        findings: notes(&calibration, opened),
        figures: vec![
            Figure::Chart(histogram(summary, opened)),
            Figure::Chart(groups(&calibration)),
            Figure::Scatter(scatter),
        ],
        sections: [("Highest", summary.extremes.top()), ("Lowest", summary.extremes.bottom())]
            .into_iter()
            .filter(|(_, hits)| !hits.is_empty())
            .map(|(title, hits)| Section::new(title.to_lowercase(), title).with(table(&hits, genes)))
            .collect(),
        ..Page::default()
    };
    write_text(path, &page.to_html(), ui)
}

fn notes(calibration: &Calibration, opened: &OpenRuns) -> Vec<String> {
    let mut notes = vec![format!(
        "On the {} samples of the test part, which no run was fitted to, predictions and measured scores correlate by {}.",
        count(calibration.measured.len()),
        figure(calibration.metrics.pearson)
    )];
    if let Some(((low, below), (high, above))) = calibration.groups.first().zip(calibration.groups.last()) {
        notes.push(format!(
            "The tenth of the test part with the lowest predictions (mean {low:.4}) was measured at {below:.4} on average, the \
             highest tenth (mean {high:.4}) at {above:.4}."
        ));
    }
    notes.extend(opened.dataset.manifest.synthetic.as_ref().map(|known| {
        format!(
            "The expected maximum of any model on this synthetic screen is {:.4}.",
            known.attainable_pearson
        )
    }));
    notes.extend(ceiling_sentence(&opened.dataset.manifest.bounds()).map(|mut sentence| {
        sentence[..1].make_ascii_uppercase();
        sentence + "."
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
        series: vec![series("predicted", summary.histogram()), series("measured", &measured)],
        ..Chart::default()
    }
}

fn groups(calibration: &Calibration) -> Chart {
    let diagonal = calibration.groups.iter().map(|&(predicted, _)| (predicted, predicted)).collect();
    Chart {
        title: "Test part by tenths of the prediction".to_owned(),
        across: "mean prediction".to_owned(),
        series: vec![
            Series { name: "measured".to_owned(), points: calibration.groups.clone() },
            Series { name: "where a prediction is right".to_owned(), points: diagonal },
        ],
        ..Chart::default()
    }
}

fn table(hits: &[Hit], genes: &GeneTable) -> Table {
    let has_sd = hits.iter().any(|hit| hit.sd.is_some());
    let mut columns = vec![
        Column::number("rank"),
        Column::text("genes"),
        Column::text("systematic"),
        Column::number("prediction"),
    ];
    columns.extend(has_sd.then(|| Column::number("sd")));
    let row = |(index, hit): (usize, &Hit)| {
        let names = || hit.genes.iter().map(|&gene| &genes.genes()[gene as usize]);
        let standard: Vec<&str> = names().map(Gene::name).collect();
        let systematic: Vec<&str> = names().map(|gene| &gene.systematic[..]).collect();
        let mut row = vec![
            (index + 1).to_string(),
            standard.join(" "),
            systematic.join(" "),
            format!("{:.4}", hit.prediction),
        ];
        row.extend(has_sd.then(|| figure(hit.sd)));
        row
    };
    Table::new(columns).limited(usize::MAX, 100).with_rows(hits.iter().enumerate().map(row))
}
