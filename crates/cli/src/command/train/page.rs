//! `report.html` of a run: curves over epochs or over the settings of a solver, predicted against measured.

use super::choice_text;
use crate::failure::{Context as _, Result};
use knockout_base::files::Folder;
use knockout_data::screen::{Dataset, Manifest, Part, Split};
use knockout_predict::baseline::{Baseline, Baselines};
use knockout_report::page::{Chart, Fact, Figure, Page, Scale, Scatter, Series};
use knockout_report::units;
use knockout_report::units::{duration, figure};
use knockout_solve::{Choice, TriedSetting};
use knockout_train::fit::Fit;
use knockout_train::metrics::Metrics;
use knockout_train::run::{End, EpochTimes, MetricsLine, Run};
use std::time::Duration;

/// Sentence at the end of pages of training.
const FOOTNOTE: &str = "Metrics are over whole parts, never over a sample.";

/// Writes the page beside the metrics it shows. A run that was stopped is not predicted with: that would take time. A model that was
/// solved before keeps its page, and a solver that was stopped has nothing to show.
pub(super) fn write(
    run: &Run,
    lines: &[MetricsLine],
    end: End,
    tried: &[TriedSetting],
    wants_stop: &dyn Fn() -> bool,
) -> Result<()> {
    let folder = run.folder();
    let was_solved = end == End::Solved && tried.is_empty() && folder.join("report.html").exists();
    if was_solved || (end == End::Stopped && run.fit().is_none()) {
        return Ok(());
    }
    let (config, dataset) = (run.config(), run.dataset());
    let scatter = if end == End::Stopped { None } else { scatter(run, end, wants_stop)? };
    let mut notes = vec![format!(
        "Validation figures only; `knockout evaluate {}` compares it with the stack and the additive ridge on the test part.",
        folder.display()
    )];
    if scatter.is_none() {
        notes.push(
            "Stopped before its end: predictions are compared with measurements when it has ended."
                .to_owned(),
        );
    }
    if !tried.is_empty() {
        let settings: Vec<&str> = tried.iter().map(|tried| tried.setting.as_str()).collect();
        notes.push(format!("Settings tried, in order: {}.", settings.join("; ")));
    }
    let batch = run.fit().map_or_else(String::new, |_| format!(" batch {},", config.batch));
    let mut facts = run.fit().map_or_else(|| chosen(run.choices()), |fit| facts(fit, lines));
    facts.extend(ceiling_fact(&dataset.manifest));
    facts.extend(time_facts(run, lines));
    let mut charts = Vec::new();
    if let Some(fit) = run.fit() {
        charts = self::charts(fit, lines, if scatter.is_some() { ridge(fit) } else { None });
    } else if !tried.is_empty() {
        charts.push(tried_chart(tried));
    }
    let name = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let page = Page {
        title: name,
        subtitle: format!(
            "{} on {} ({} samples),{batch} {} split, seed {}",
            config.model.name(),
            dataset.manifest.name,
            units::count(dataset.samples.len()),
            config.split.scheme.name(),
            config.seed
        ),
        facts,
        findings: notes,
        made_by: "knockout train".to_owned(),
        footnote: FOOTNOTE.to_owned(),
        figures: charts.into_iter().map(Figure::Chart).chain(scatter.map(Figure::Scatter)).collect(),
        ..Page::default()
    };
    let written = Folder::at(folder).replace("report.html", |file| file.write_all(page.to_html().as_bytes()));
    written.with_context(|| format!("could not write {}", folder.join("report.html").display()))
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
    facts
}

/// Times of training; a solver has none to show.
fn time_facts(run: &Run, lines: &[MetricsLine]) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let mut facts = Vec::new();
    let lines = if run.fit().is_some() { lines } else { &[] };
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
fn ceiling_fact(manifest: &Manifest) -> Option<Fact> {
    let ceiling = manifest.bounds().ceiling?;
    let value = format!("{:.4} ({} sets)", ceiling.repeat_pearson, units::count(ceiling.sets));
    Some(Fact::new("measuring again", value))
}

/// Settings that a solver chose, and the accuracy of its solution.
fn chosen(choices: &[Choice]) -> Vec<Fact> {
    let fact = |choice: &Choice| {
        let text = choice_text(choice);
        let (name, value) = text.split_once(' ').unwrap_or((&text, ""));
        Fact::new(name, value)
    };
    choices.iter().map(fact).collect()
}

/// The validation Pearson of every setting that a solver tried.
fn tried_chart(tried: &[TriedSetting]) -> Chart {
    let points = tried.iter().enumerate();
    let points = points.map(|(index, tried)| (index as f64, tried.validation_pearson.unwrap_or(f64::NAN)));
    Chart {
        title: "Validation Pearson of every setting that was tried".to_owned(),
        across: "setting".to_owned(),
        counts_whole: true,
        across_scale: Scale::Linear,
        scale: Scale::Linear,
        series: vec![Series { name: "validation Pearson".to_owned(), points: points.collect() }],
    }
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
    let baselines = Baselines::new(&dataset.samples, dataset.cell.genes().len(), split).ok()?;
    let rows = split.rows(Part::Val);
    let fitted = baselines.fit(Baseline::AdditiveRidge, rows, 0, &|_| ()).ok()?;
    Metrics::of(&fitted.predictions, &measured(dataset, split)).pearson
}

fn measured(dataset: &Dataset, split: &Split) -> Vec<f64> {
    split.rows(Part::Val).iter().map(|&row| dataset.samples.scores()[row as usize]).collect()
}

/// Predicted against measured.
fn scatter(run: &Run, end: End, wants_stop: &dyn Fn() -> bool) -> Result<Option<Scatter>> {
    let measured = measured(run.dataset(), run.split());
    let Some(predicted) = run.predict_validation(wants_stop)? else { return Ok(None) };
    let metrics = Metrics::of(&predicted, &measured);
    let state = if end == End::Solved { "" } else { ", last state" };
    Ok(Some(Scatter {
        title: format!("Validation part{state}"),
        caption: format!(
            "Pearson {}, Spearman {}, {} samples",
            figure(metrics.pearson),
            figure(metrics.spearman),
            metrics.count
        ),
        measured: measured.iter().map(|&value| value as f32).collect(),
        predicted: predicted.iter().map(|&value| value as f32).collect(),
    }))
}
