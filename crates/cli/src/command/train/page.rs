//! `report.html` of a run: curves over epochs, predicted against measured.

use crate::failure::{Context as _, Result};
use knockout_base::files::{inside, replace};
use knockout_data::screen::{Manifest, Part};
use knockout_report::page::{Chart, Fact, Figure, Page, Scale, Scatter, Series};
use knockout_report::units;
use knockout_report::units::{duration, figure};
use knockout_train::baseline::{Baseline, Ladder};
use knockout_train::fit::Fit;
use knockout_train::metrics::Metrics;
use knockout_train::run::{End, EpochTimes, MetricsLine, Run};
use std::time::Duration;

/// Sentence at the end of pages of training.
pub(super) const FOOTNOTE: &str = "Metrics are over whole parts, never over a sample.";

/// Writes the page beside the metrics it shows. A run that was stopped has nothing predicted for it: whoever stops it does not want
/// to wait.
pub(super) fn write(run: &Run, lines: &[MetricsLine], end: End, wants_stop: &dyn Fn() -> bool) -> Result<()> {
    let (folder, fit) = (run.folder(), run.fit());
    let (config, dataset) = (fit.config(), fit.dataset());
    let scatter = if end == End::Stopped { None } else { scatter(run, wants_stop) };
    let mut notes = vec![format!(
        "Validation figures only; `knockout evaluate {}` sets the test part beside the stack and the additive ridge.",
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
    let charts = charts(fit, lines, if scatter.is_some() { ridge(fit) } else { None });
    let page = Page {
        title: name,
        subtitle: format!(
            "{} on {} ({}), batch {}, {} split, seed {}",
            fit.model().name(),
            dataset.manifest.name,
            units::count(dataset.samples.len()) + " samples",
            config.batch,
            config.split.scheme.name(),
            config.seed
        ),
        facts: facts(fit, lines),
        findings: notes,
        made_by: "knockout train".to_owned(),
        footnote: FOOTNOTE.to_owned(),
        figures: charts.into_iter().map(Figure::Chart).chain(scatter.map(Figure::Scatter)).collect(),
        ..Page::default()
    };
    let path = inside(folder, "report.html")?;
    replace(&path, |file| file.write_all(page.to_html().as_bytes()))
        .with_context(|| format!("could not write {}", path.display()))
}

fn facts(fit: &Fit, lines: &[MetricsLine]) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact::new(name, value);
    let best = lines
        .iter()
        .filter_map(|line| Some((line.val.pearson?, line.epoch)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let mut facts = vec![
        fact("parameters", units::count(fit.model().parameters().element_count())),
        fact("steps", units::count(fit.position().step as usize)),
    ];
    facts.extend(best.map(|(pearson, epoch)| {
        fact("best validation Pearson", format!("{pearson:.4} (epoch {})", epoch + 1))
    }));
    let attainable = fit.dataset().manifest.synthetic.as_ref();
    facts.extend(attainable.map(|known| fact("attainable", format!("{:.4}", known.attainable_pearson))));
    facts.extend(ceiling_fact(&fit.dataset().manifest));
    let times: Vec<EpochTimes> = lines.iter().filter_map(|line| line.times).collect();
    if let Some(last) = times.last() {
        let sum = |of: fn(&EpochTimes) -> f64| times.iter().map(of).sum::<f64>();
        let time = |seconds: f64| duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        facts.push(fact("training, wall time", time(sum(|times| times.train_seconds))));
        facts.push(fact("validation, wall time", time(sum(|times| times.validation_seconds))));
        facts.push(fact("CPU time", time(sum(|times| times.cpu_seconds))));
        facts.push(fact("samples per second, last", units::rate(last.samples_per_second)));
    }
    facts
}

/// How well repeated measurements agree, where the screen has some.
pub(super) fn ceiling_fact(manifest: &Manifest) -> Option<Fact> {
    let ceiling = manifest.ceiling()?;
    let value = format!("{:.4} ({} sets)", ceiling.repeat_pearson, units::count(ceiling.sets));
    Some(Fact::new("measuring again", value))
}

/// Curves over epochs, counted from 1; the last may be a part of one.
fn charts(fit: &Fit, lines: &[MetricsLine], ridge: Option<f64>) -> Vec<Chart> {
    let batches = fit.batch_count().max(1) as f64;
    let at = |line: &MetricsLine| (line.step as f64 / batches).min(f64::from(line.epoch) + 1.0);
    let curve = |name: &str, value: &dyn Fn(&MetricsLine) -> Option<f64>| Series {
        name: name.to_owned(),
        points: lines.iter().map(|line| (at(line), value(line).unwrap_or(f64::NAN))).collect(),
    };
    let chart = |title: &str, scale: Scale, series: Vec<Series>| Chart {
        title: title.to_owned(),
        across: "epoch".to_owned(),
        counts_whole: true,
        scale,
        series,
        ..Chart::default()
    };
    let mut correlation = vec![curve("validation Pearson", &|line| line.val.pearson)];
    correlation.extend(ridge.map(|ridge| curve("additive ridge", &|_| Some(ridge))));
    let mut names: Vec<&String> = lines.iter().flat_map(|line| line.loss_parts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut loss = vec![curve("training loss", &|line| Some(line.train_loss))];
    if names.len() > 1 {
        loss.extend(names.into_iter().map(|name| curve(name, &|line| line.loss_parts.get(name).copied())));
    }
    let mut charts = vec![
        chart("Correlation", Scale::Linear, correlation),
        chart("Error", Scale::Linear, vec![curve("validation MSE", &|line| line.val.mse)]),
        chart("Loss and its parts", Scale::Linear, loss),
        chart("Learning rate", Scale::Log, vec![curve("learning rate", &|line| Some(line.learning_rate))]),
    ];
    if lines.iter().any(|line| line.times.is_some()) {
        let of = |value: fn(&EpochTimes) -> f64| move |line: &MetricsLine| line.times.as_ref().map(value);
        let seconds = vec![
            curve("training, s", &of(|times| times.train_seconds)),
            curve("validation, s", &of(|times| times.validation_seconds)),
        ];
        charts.push(chart("Time of an epoch", Scale::Linear, seconds));
        let rate = vec![curve("samples per second", &of(|times| times.samples_per_second))];
        charts.push(chart("Rate", Scale::Linear, rate));
    }
    charts
}

/// The validation Pearson of the additive ridge, which knows genes by identity alone.
fn ridge(fit: &Fit) -> Option<f64> {
    let (dataset, split) = (fit.dataset(), fit.split());
    let ladder = Ladder::new(&dataset.samples, dataset.cell.genes().len(), split).ok()?;
    let rows = split.rows(Part::Val);
    let fitted = ladder.fit(Baseline::AdditiveRidge, rows, 0, &|_| ()).ok()?;
    Metrics::of(&fitted.predictions, &measured(fit)).pearson
}

fn measured(fit: &Fit) -> Vec<f64> {
    let rows = fit.split().rows(Part::Val).iter();
    rows.map(|&row| fit.dataset().samples.scores()[row as usize]).collect()
}

/// Predicted against measured; what the last validation predicted is not predicted again.
fn scatter(run: &Run, wants_stop: &dyn Fn() -> bool) -> Option<Scatter> {
    let measured = measured(run.fit());
    let predicted = match run.validation_predictions() {
        Some(predicted) => predicted.to_vec(),
        None => run.fit().predict_unless(Part::Val, wants_stop)?,
    };
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
