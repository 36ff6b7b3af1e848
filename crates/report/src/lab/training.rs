//! The page of a run: curves over epochs or over the settings of a solver, predicted against measured.

use super::accuracy::{error, interval, scatter};
use crate::page::{Card, Chart, Column, Fact, Medium, Page, Plot, Scale, Section, Series, Table};
use crate::units::{count, counted, duration_of_seconds, figure, rate};
use knockout_base::error::Result;
use knockout_base::files::Folder;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{CeilingBasis, Dataset, Manifest, Part, Regime, Scheme, Split};
use knockout_models::Model;
use knockout_predict::baseline::Baseline;
use knockout_predict::scorer::OpenRun;
use knockout_predict::{TrainedGenes, ValidationPredictions};
use knockout_solve::{Choice, MIN_WEIGHT_RECORDS, TriedSetting};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::run::{End, EpochTimes, MetricsLine, Run, RunSummary};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

const FOOTNOTE: &str = "Metrics are over whole parts, never over a sample.";

/// Document of `train`.
#[derive(Debug, Clone, Serialize)]
pub struct TrainingDocument<'a> {
    /// Version of this document: 1; in `last` where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// Folder of the run.
    pub run: &'a Path,
    /// Why training ended.
    pub ended: &'static str,
    /// Settings that a solver chose.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<&'a str, f64>,
    /// Metrics of the last epoch.
    #[serde(flatten)]
    pub last: Option<&'a MetricsLine>,
}

/// Everything that the page of a run shows.
#[derive(Debug, Clone)]
pub struct TrainingReport {
    summary: RunSummary,
    dataset: String,
    samples: usize,
    attainable_pearson: Option<f64>,
    repeats: Option<Fact>,
    /// Parameters of the network, if the model is one.
    parameters: Option<usize>,
    batch: usize,
    batches_per_epoch: u64,
    end: Option<End>,
    choices: Vec<Choice>,
    tried: Vec<TriedSetting>,
    validation: Option<ValidationPredictions>,
    /// Validation records of which the weights of a stack were chosen: with known genes and query pairs, and others.
    validated: [usize; 2],
}

impl TrainingReport {
    /// Describes a run that has just ended, with the settings that its solver tried. A run that was stopped is not predicted with:
    /// that would take time.
    pub fn of(run: &Run, end: End, tried: &[TriedSetting], wants_stop: &dyn Fn() -> bool) -> Result<Self> {
        let network = run.fit().map(Fit::model);
        let predicted = if end == End::Stopped { None } else { run.predict_validation(wants_stop)? };
        let report = Self::new(run.folder(), run.config(), run.dataset(), run.split(), network, predicted)?;
        Ok(Self { end: Some(end), choices: run.choices().to_vec(), tried: tried.to_vec(), ..report })
    }

    /// Describes a finished run by the checkpoint that is open, which predicts the validation part.
    pub fn of_open(run: &OpenRun, dataset: &Dataset, split: &Split, on_batch: &dyn Fn()) -> Result<Self> {
        let (predictor, description) = (run.predictor(), run.description());
        let rows = split.rows(Part::Val).iter();
        let sets: GeneSets = rows.map(|&row| dataset.samples.genes(row as usize)).collect();
        let predicted = predictor.predict_with_progress(sets.view(), on_batch)?;
        let (folder, network) = (description.folder(), predictor.model());
        let report = Self::new(folder, &description.config, dataset, split, network, Some(predicted))?;
        Ok(Self { choices: predictor.choices(), ..report })
    }

    fn new(
        folder: &Path,
        config: &Config,
        dataset: &Dataset,
        split: &Split,
        network: Option<&dyn Model>,
        predicted: Option<Vec<f64>>,
    ) -> Result<Self> {
        let manifest = &dataset.manifest;
        let trained = TrainedGenes::of(&dataset.samples, dataset.cell.genes().len(), split);
        // Pair-disjoint parts share no query pair.
        let is_known = |row: &&u32| {
            split.spec().scheme != Scheme::PairDisjoint
                && trained.regime(dataset.samples.genes(**row as usize)) == Regime::Known
        };
        let known = split.rows(Part::Val).iter().filter(is_known).count();
        Ok(Self {
            validated: [known, split.rows(Part::Val).len() - known],
            summary: RunSummary::read(folder)?,
            dataset: manifest.name.clone(),
            samples: dataset.samples.len(),
            attainable_pearson: manifest.synthetic.as_ref().map(|known| known.attainable_pearson),
            repeats: repeats_fact(manifest),
            parameters: network.map(|model| model.parameters().element_count()),
            batch: config.batch,
            batches_per_epoch: split.rows(Part::Train).len().div_ceil(config.batch.max(1)).max(1) as u64,
            end: None,
            choices: Vec::new(),
            tried: Vec::new(),
            validation: predicted.map(|predicted| ValidationPredictions::of(dataset, split, predicted)),
        })
    }

    /// Writes `report.html` into the run's folder. A solver that was stopped has no page, and a model that was solved before keeps
    /// its page, which has the settings that were tried.
    pub fn write(&self) -> Result<()> {
        let folder = &self.summary.folder;
        let path = folder.join("report.html");
        let was_solved = self.end == Some(End::Solved) && self.tried.is_empty() && path.exists();
        let is_unsolved = self.end == Some(End::Stopped) && self.parameters.is_none();
        if was_solved || is_unsolved {
            return Ok(());
        }
        Folder::at(folder)
            .replace("report.html", |file| file.write_all(self.page().to_html().as_bytes()))
            .map_err(|error| error.while_doing(format!("could not write {}", path.display())))
    }

    /// Returns the page.
    pub fn page(&self) -> Page {
        let run = &self.summary;
        let folder = run.folder.display();
        let name = run.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let batch = self.parameters.map_or_else(String::new, |_| format!(" batch {},", count(self.batch)));
        let mut sections = Vec::new();
        if !self.choices.is_empty() {
            let section = Section::new("choices", "Chosen settings and figures");
            sections.push(section.only(Medium::Html).with(self.choices_table().limited(usize::MAX, 12)));
        }
        if !self.tried.is_empty() {
            sections.push(
                Section::new("tried", "Settings tried").only(Medium::Html).with(tried_table(&self.tried)),
            );
        }
        let validation = self.validation.as_ref().map(|validation| {
            let state = if self.parameters.is_some() && self.end.is_some() { ", last state" } else { "" };
            let title = format!("Validation part{state}");
            Plot::Scatter(scatter(title, &validation.measured, &validation.predicted))
        });
        let (mut picture, mut figures, mut panels) = (None, Vec::new(), Vec::new());
        if self.parameters.is_some() {
            let mut curves = self.epoch_charts().into_iter().map(Plot::Chart);
            picture = curves.next();
            figures.extend(validation.into_iter().chain(curves));
        } else {
            // Above the tables of settings.
            let tried = tried_chart(&self.tried).into_iter().map(Plot::Chart);
            panels.extend(validation.into_iter().chain(tried).map(Card::Plot));
        }
        let next = match self.end {
            Some(End::Stopped) => format!("`knockout train --resume {folder}`"),
            _ => format!(
                "`knockout evaluate {folder}` (the test part, beside the stack and the additive ridge)"
            ),
        };
        Page {
            title: name.unwrap_or_else(|| folder.to_string()),
            subtitle: format!(
                "{} on {} ({}),{batch} {} split, seed {}",
                run.model,
                self.dataset,
                counted(self.samples, "sample"),
                run.split.split(' ').next().unwrap_or_default(),
                run.seed
            ),
            made_by: "knockout train".to_owned(),
            footnote: FOOTNOTE.to_owned(),
            facts: self.facts(),
            findings: self.findings(),
            picture,
            panels,
            sections,
            figures,
            next: vec![next],
            ..Page::default()
        }
    }

    /// Returns the settings that a solver chose and its figures, by name.
    pub fn choices_table(&self) -> Table {
        let table = Table::new([Column::name("chosen setting or figure"), Column::number("value")]);
        table.with_rows(self.choices.iter().map(|choice| [choice.name.clone(), value_text(choice.value)]))
    }

    /// Returns the accuracy on sets with new genes, where the solver measured it on folds of genes.
    fn new_genes(&self) -> Option<String> {
        let value = |regime: Regime, name: &str| {
            let name = format!("regimes.{}.{name}", regime.name());
            self.choices.iter().find(|choice| choice.name == name).map(|choice| choice.value)
        };
        let regimes = [Regime::OneNew, Regime::SeveralNew].into_iter().filter_map(|regime| {
            let pearson = value(regime, "pearson")?;
            let bounds = interval(value(regime, "low"), value(regime, "high"));
            Some(format!("{} {pearson:.4} {bounds}", regime.title()))
        });
        let regimes: Vec<String> = regimes.collect();
        let regimes = regimes.join(", ");
        (!regimes.is_empty())
            .then(|| format!("held-out genes inside the training part: Pearson for {regimes}"))
    }

    fn findings(&self) -> Vec<String> {
        let lines = &self.summary.lines;
        let best =
            self.summary.best_epoch.and_then(|epoch| lines.iter().find(|line| line.epoch + 1 == epoch));
        let mut findings = Vec::new();
        if let Some(line) = best.or(lines.last()) {
            let ridge = self.validation.as_ref().and_then(|validation| validation.ridge_pearson);
            let ridge = ridge.map(|r| format!("; the additive ridge has {r:.4} on the same samples"));
            let epoch = self
                .parameters
                .map_or_else(String::new, |_| format!(" (epoch {}, the best)", line.epoch + 1));
            let (pearson, spearman) = (figure(line.val.pearson), figure(line.val.spearman));
            findings.push(format!(
                "validation Pearson {pearson}{epoch}, Spearman {spearman}, MSE {}{}",
                error(line.val.mse),
                ridge.unwrap_or_default()
            ));
        }
        findings.extend(self.new_genes());
        findings.extend(simple_answers(&self.choices, self.validated));
        findings.extend(self.end.as_ref().filter(|end| **end != End::Solved).map(|end| {
            let why = match end {
                End::Solved => "",
                End::Epochs => "all epochs done",
                End::Steps => "all steps done",
                End::Patience => "no better validation Pearson for as long as run.patience allows",
                End::Stopped => "stopped before its end",
            };
            let is_stopped = *end == End::Stopped;
            let why = if is_stopped && self.parameters.is_some() {
                format!("{why}, after step {}", count(self.summary.steps))
            } else {
                why.to_owned()
            };
            let validated = if is_stopped { "; last validated after " } else { ": " };
            match lines.last().filter(|_| self.parameters.is_some()) {
                Some(line) => format!(
                    "{why}{validated}epoch {} step {}, train loss {:.4}{}",
                    line.epoch + 1,
                    count(line.step),
                    line.train_loss,
                    loss_parts(line)
                ),
                None => why,
            }
        }));
        findings
    }

    fn facts(&self) -> Vec<Fact> {
        let run = &self.summary;
        let mut facts = Vec::new();
        if let Some(parameters) = self.parameters {
            facts.push(Fact::new("parameters", count(parameters)));
            facts.push(Fact::new("steps", count(run.steps)));
        }
        let times: Vec<EpochTimes> = run.lines.iter().filter_map(|line| line.times).collect();
        let validation = times.iter().map(|times| times.validation_seconds).sum();
        if let (Some(wall), Some(cpu)) = (run.wall_seconds, run.cpu_seconds) {
            facts.push(Fact::new("training, wall time", duration_of_seconds(wall - validation)));
            facts.push(Fact::new("CPU time", duration_of_seconds(cpu)));
        }
        if let Some(last) = times.last().filter(|_| self.parameters.is_some()) {
            facts.push(Fact::new("validation, wall time", duration_of_seconds(validation)));
            facts.push(Fact::new("samples per second, last", rate(last.samples_per_second)));
        }
        // Bounds of any model, behind the figures of this one.
        facts.extend(self.attainable_pearson.map(|r| Fact::new("attainable Pearson", format!("{r:.4}"))));
        facts.extend(self.repeats.clone());
        facts
    }

    /// Returns curves over epochs, counted from 1; the last may be a part of one.
    fn epoch_charts(&self) -> Vec<Chart> {
        let lines = &self.summary.lines;
        let batches = self.batches_per_epoch as f64;
        let at = |line: &MetricsLine| (line.step as f64 / batches).min(f64::from(line.epoch) + 1.0);
        let curve = |name: &str, value: &dyn Fn(&MetricsLine) -> Option<f64>| {
            Series::new(name, lines.iter().map(|line| (at(line), value(line).unwrap_or(f64::NAN))))
        };
        let chart = |title: &str, up: &str, scale: Scale, series: Vec<Series>| Chart {
            title: title.to_owned(),
            across: "epoch".to_owned(),
            up: up.to_owned(),
            counts_whole: true,
            scale,
            series,
            ..Chart::default()
        };
        let mut correlation = vec![curve(&self.summary.model, &|line| line.val.pearson)];
        let ridge = self.validation.as_ref().and_then(|validation| validation.ridge_pearson);
        correlation.extend(ridge.map(|ridge| curve(Baseline::AdditiveRidge.name(), &|_| Some(ridge))));
        let mut names: Vec<&String> = lines.iter().flat_map(|line| line.loss_parts.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut loss = vec![curve("training loss", &|line| Some(line.train_loss))];
        if names.len() > 1 {
            loss.extend(
                names.into_iter().map(|name| curve(name, &|line| line.loss_parts.get(name).copied())),
            );
        }
        let model = &self.summary.model;
        let mse = vec![curve(model, &|line| line.val.mse)];
        let learning_rate = vec![curve("learning rate", &|line| Some(line.learning_rate))];
        let mut charts = vec![
            chart("Accuracy", "validation Pearson", Scale::Linear, correlation),
            chart("Error", "validation MSE (squared score)", Scale::Linear, mse),
            chart("Loss and its parts", "loss on standardised scores", Scale::Linear, loss),
            chart("Learning rate", "learning rate", Scale::Log, learning_rate),
        ];
        if lines.iter().any(|line| line.times.is_some()) {
            let of = |value: fn(&EpochTimes) -> f64| move |line: &MetricsLine| line.times.as_ref().map(value);
            let seconds = vec![
                curve("training", &of(|times| times.train_seconds)),
                curve("validation", &of(|times| times.validation_seconds)),
            ];
            charts.push(chart("Time of an epoch", "wall time (s)", Scale::Linear, seconds));
        }
        charts
    }
}

/// Names the simple predictor that is the answer of a stack, where one is: of sets of known genes, and of others. `validated` are the
/// validation records of both. Nothing is stated of sets that neither the validation part nor folds of the training part have.
fn simple_answers(choices: &[Choice], validated: [usize; 2]) -> Vec<String> {
    let [known, new] = validated;
    // Where there are few, weights are chosen on all records.
    let (has_known, has_new) =
        (known >= MIN_WEIGHT_RECORDS || new == 0, new >= MIN_WEIGHT_RECORDS || known == 0);
    let has_folds = choices.iter().any(|choice| choice.name == "stack.trees.known");
    let (validation, folds) = (Some("the validation part"), Some("folds of the training part"));
    let of_known = if has_known { validation } else { folds.filter(|_| has_folds) };
    let of_new = if has_folds { folds } else { validation.filter(|_| has_new) };
    let answer = |(prefix, sets, source): (&str, &str, Option<&str>)| {
        let weight = |choice: &Choice| Some((choice.name.strip_prefix(prefix)?.to_owned(), choice.value));
        let weights = choices.iter().filter_map(weight).filter(|(name, _)| name != "intercept");
        let weights: Vec<(String, f64)> = weights.collect();
        let used: Vec<&str> =
            weights.iter().filter(|(_, weight)| *weight > 0.0).map(|(name, _)| &name[..]).collect();
        match (source, &used[..]) {
            _ if weights.is_empty() => None,
            (Some(source), []) => Some(format!(
                "{sets}: no signal found; nothing predicts {source} better than the mean training score"
            )),
            (Some(source), ["additive"]) => Some(format!(
                "{sets}: the additive ridge is the answer; no other part predicts {source} better"
            )),
            (None, _) if sets == KNOWN => Some(format!(
                "{sets}: not validated, as no {MIN_WEIGHT_RECORDS} validation records have them; a random split measures them"
            )),
            _ => None,
        }
    };
    let kinds =
        [("stack.weight.", KNOWN, of_known), ("stack.new_weight.", "new genes or query pairs", of_new)];
    kinds.into_iter().filter_map(answer).collect()
}

/// Sets that training has seen all genes of.
const KNOWN: &str = "known genes";

/// Returns how well repeated measurements agree, where the screen has some.
fn repeats_fact(manifest: &Manifest) -> Option<Fact> {
    let ceiling = manifest.bounds().ceiling?;
    let sets = match ceiling.basis {
        CeilingBasis::Repeats => "sets",
        CeilingBasis::StandardErrors => "standard errors",
    };
    let value = format!("{:.4} ({} {sets})", ceiling.repeat_pearson, count(ceiling.sets));
    Some(Fact::new("Pearson of measuring again", value))
}

/// Returns the name of the solver of a setting: the text before its first comma.
fn solver(setting: &TriedSetting) -> &str {
    setting.setting.split(',').next().unwrap_or_default()
}

/// Returns the validation Pearson of every setting, a curve for each solver in the order of its settings.
fn tried_chart(tried: &[TriedSetting]) -> Vec<Chart> {
    let mut series: Vec<Series> = Vec::new();
    for (setting, index) in tried.iter().zip(1_u32..) {
        let point = (f64::from(index), setting.validation_pearson.unwrap_or(f64::NAN));
        match series.iter_mut().find(|series| series.name == solver(setting)) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(solver(setting), [point])),
        }
    }
    if series.is_empty() {
        return Vec::new();
    }
    vec![Chart {
        title: "Accuracy of every setting that was tried; below, the best of each part".to_owned(),
        across: "setting, in the order tried".to_owned(),
        up: "validation Pearson".to_owned(),
        counts_whole: true,
        has_best: true,
        series,
        ..Chart::default()
    }]
}

fn tried_table(tried: &[TriedSetting]) -> Table {
    let rows = tried.iter().map(|tried| [tried.setting.clone(), figure(tried.validation_pearson)]);
    let table = Table::new([Column::text("setting"), Column::number("validation Pearson")]);
    table.with_rows(rows).limited(usize::MAX, 12)
}

/// Formats a value with four decimals, or with an exponent where those would hide it.
fn value_text(value: f64) -> String {
    if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) {
        format!("{value:.3e}")
    } else {
        ((value * 1e4).round() / 1e4).to_string()
    }
}

/// Formats the parts of a loss and their weights, where it has more than one: a total may rise by schedule.
pub fn loss_parts(line: &MetricsLine) -> String {
    if line.loss_parts.len() < 2 {
        return String::new();
    }
    let parts: Vec<String> =
        line.loss_parts.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    format!(" ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_named_only_for_sets_that_were_validated() {
        let ridge = |prefix: &str| {
            [("additive", 1.0), ("low_rank", 0.0), ("intercept", 0.1)]
                .map(|(name, weight)| Choice { name: format!("{prefix}.{name}"), value: weight })
        };
        let choices = [ridge("stack.weight"), ridge("stack.new_weight")].concat();
        let answers =
            |trees: &[Choice], validated| simple_answers(&[&choices[..], trees].concat(), validated);
        let of_known = "known genes: the additive ridge is the answer; no other part predicts the validation part better";
        // A random split validates known genes alone.
        assert_eq!(answers(&[], [500, 3]), [of_known]);
        // A gene-disjoint one validates new genes alone.
        let found = answers(&[], [0, 500]);
        assert!(found[0].starts_with("known genes: not validated"), "{found:?}");
        assert!(found[1].starts_with("new genes or query pairs: the additive ridge"), "{found:?}");
        // Trees are grown on folds of both.
        let found = answers(&[Choice { name: "stack.trees.known".to_owned(), value: 0.0 }], [0, 500]);
        assert!(
            found.iter().all(|answer| answer.ends_with("predicts folds of the training part better")),
            "{found:?}"
        );
        // Too few of both kinds: of each, weights come from all.
        assert_eq!(answers(&[], [3, 3]).len(), 1);
        // Few, but all of one kind.
        assert_eq!(answers(&[], [60, 0]), [of_known]);
    }
}
