//! `report.html` of a run: curves over epochs, predicted against measured.

use crate::failure::{Context as _, Result};
use crate::text::figure;
use knockout_durable::replace;
use knockout_report::training::{Chart, Fact, Scale, Scatter, Series, TrainingPage, training_html};
use knockout_screen::Part;
use knockout_train::fit::Fit;
use knockout_train::metrics::Metrics;
use knockout_train::run::{End, MetricsLine, Run};

/// Writes the page beside the metrics it shows. A run that was stopped has nothing predicted for it: whoever stops it does not want
/// to wait.
pub(super) fn write(run: &Run, lines: &[MetricsLine], end: End, wants_stop: &dyn Fn() -> bool) -> Result<()> {
    let (folder, fit) = (run.folder(), run.fit());
    let (config, dataset) = (fit.config(), fit.dataset());
    let scatter = if end == End::Stopped { None } else { scatter(fit, wants_stop) };
    let mut notes = vec![format!(
        "Validation figures only; `knockout evaluate {}` sets the test part beside the additive ridge.",
        folder.display()
    )];
    if scatter.is_none() {
        notes.push(
            "Stopped before its end: predictions are set beside measurements when it has ended.".to_owned(),
        );
    }
    let name = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let page = TrainingPage {
        title: name,
        subtitle: format!(
            "{} on {} ({}), batch {}, {} split, seed {}",
            fit.model().name(),
            dataset.manifest.name,
            crate::text::grouped(dataset.samples.len()) + " samples",
            config.batch,
            config.split.scheme.name(),
            config.seed
        ),
        facts: facts(fit, lines),
        notes,
        charts: charts(lines),
        scatters: scatter.into_iter().collect(),
    };
    let path = folder.join("report.html");
    replace(&path, |file| file.write_all(training_html(&page).as_bytes()))
        .with_context(|| format!("could not write {}", path.display()))
}

fn facts(fit: &Fit, lines: &[MetricsLine]) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let best = lines
        .iter()
        .filter_map(|line| Some((line.val.pearson?, line.epoch)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let mut facts = vec![
        fact("parameters", crate::text::grouped(fit.model().parameters().element_count())),
        fact("steps", crate::text::grouped(fit.position().step as usize)),
    ];
    facts.extend(
        best.map(|(pearson, epoch)| fact("best validation Pearson", format!("{pearson:.4} (epoch {epoch})"))),
    );
    facts.extend(
        fit.dataset()
            .manifest
            .synthetic
            .as_ref()
            .map(|known| fact("attainable", format!("{:.4}", known.attainable_pearson))),
    );
    facts
}

fn charts(lines: &[MetricsLine]) -> Vec<Chart> {
    let chart = |title: &str, scale: Scale, name: &str, value: &dyn Fn(&MetricsLine) -> Option<f64>| Chart {
        title: title.to_owned(),
        across: "epoch".to_owned(),
        scale,
        series: vec![Series {
            name: name.to_owned(),
            points: lines
                .iter()
                .map(|line| (f64::from(line.epoch), value(line).unwrap_or(f64::NAN)))
                .collect(),
        }],
    };
    vec![
        chart("Correlation", Scale::Linear, "validation Pearson", &|line| line.val.pearson),
        chart("Error", Scale::Linear, "validation MSE", &|line| line.val.mse),
        chart("Loss", Scale::Linear, "training loss", &|line| Some(line.train_loss)),
        chart("Learning rate", Scale::Log, "learning rate", &|line| Some(line.learning_rate)),
    ]
}

fn scatter(fit: &Fit, wants_stop: &dyn Fn() -> bool) -> Option<Scatter> {
    let rows = fit.split().rows(Part::Val);
    let measured: Vec<f64> = rows.iter().map(|&row| fit.dataset().samples.scores()[row as usize]).collect();
    let predicted = fit.predict_unless(Part::Val, wants_stop)?;
    Some(scatter_of("Validation part, last state", &measured, &predicted))
}

/// Predicted against measured.
pub(super) fn scatter_of(title: &str, measured: &[f64], predicted: &[f64]) -> Scatter {
    let metrics = Metrics::of(predicted, measured);
    Scatter {
        title: title.to_owned(),
        caption: format!(
            "Pearson {}, Spearman {}, {} samples",
            figure(metrics.pearson),
            figure(metrics.spearman),
            metrics.count
        ),
        measured: measured.iter().map(|&value| value as f32).collect(),
        predicted: predicted.iter().map(|&value| value as f32).collect(),
    }
}
