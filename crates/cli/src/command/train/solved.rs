//! `knockout train` with a model that is solved: every setting that was tried is a line, and the run's folder is as any other's.

use super::page::{FOOTNOTE, ceiling_fact, scatter_of};
use crate::failure::{Context as _, Result};
use crate::ui::Ui;
use indicatif::ProgressBar;
use knockout_base::files::{inside, replace};
use knockout_data::cell::GeneSets;
use knockout_data::screen::Part;
use knockout_report::page::{Chart, Fact, Figure, Page, Series};
use knockout_report::units::{count, figure};
use knockout_solve::{Choice, TriedSetting};
use knockout_train::predictor::Predictor;
use knockout_train::run::{MetricsLine, SolveProgress, Solved, SolvedRun};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Serialize)]
struct Shown<'a> {
    schema: u32,
    run: &'a Path,
    ended: &'static str,
    choices: BTreeMap<&'a str, f64>,
    #[serde(flatten)]
    line: &'a MetricsLine,
}

pub(super) fn solve(run: &SolvedRun, ui: &Ui) -> Result<()> {
    let folder = run.folder();
    let samples = count(run.split().rows(Part::Train).len());
    ui.note(&format!("{}: {}, {samples} training samples", folder.display(), run.config().model.name()));
    let mut console = Console { ui, bar: ui.steps("solve"), stages: Vec::new() };
    let solved = run.solve(&mut console)?;
    console.bar.finish_and_clear();
    let stages = console.stages;
    page(run, &solved, &stages)?;
    let choices = solved.choices.iter().map(|choice| (&choice.name[..], choice.value)).collect();
    let shown = Shown { schema: 1, run: folder, ended: "solved", choices, line: &solved.line };
    ui.result(|| text(folder, &solved), &shown)
}

/// Settings become lines, steps a bar.
struct Console<'a> {
    ui: &'a Ui,
    bar: ProgressBar,
    stages: Vec<TriedSetting>,
}

impl SolveProgress for Console<'_> {
    fn stage(&mut self, stage: TriedSetting) {
        let said = format!("{}: validation Pearson {}", stage.setting, figure(stage.validation_pearson));
        self.bar.suspend(|| self.ui.note(&said));
        self.stages.push(stage);
    }

    fn step(&mut self, what: &str, step: usize) {
        self.bar.set_message(format!("{what}, step {step}"));
        self.bar.inc(1);
    }
}

fn text(folder: &Path, solved: &Solved) -> String {
    let val = &solved.line.val;
    let mut text = format!(
        "solved: validation Pearson {}, Spearman {}, MSE {:.3e}\n",
        figure(val.pearson),
        figure(val.spearman),
        val.mse.unwrap_or(f64::NAN),
    );
    for choice in &solved.choices {
        writeln!(text, "  {}", said(choice)).ok();
    }
    writeln!(text, "next: knockout evaluate {}", folder.display()).ok();
    text
}

fn said(choice: &Choice) -> String {
    let Choice { name, value } = choice;
    if *value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) {
        format!("{name} {value:.3e}")
    } else {
        format!("{name} {}", (value * 1e4).round() / 1e4)
    }
}

/// Writes `report.html`; a run that had been solved before keeps the one it has.
fn page(run: &SolvedRun, solved: &Solved, stages: &[TriedSetting]) -> Result<()> {
    if stages.is_empty() && run.folder().join("report.html").exists() {
        return Ok(());
    }
    let path = inside(run.folder(), "report.html")?;
    let (config, dataset) = (run.config(), run.dataset());
    let rows = run.split().rows(Part::Val);
    let measured: Vec<f64> = rows.iter().map(|&row| dataset.samples.scores()[row as usize]).collect();
    let predicted = if let Some(predicted) = &solved.validation {
        predicted.clone()
    } else {
        // Killed before its page was written.
        let sets: GeneSets = rows.iter().map(|&row| dataset.samples.genes(row as usize)).collect();
        Predictor::open(&solved.saved.path, &dataset.cell)?.predict(sets.view())?
    };
    let name = run.folder().file_name().map(|name| name.to_string_lossy().into_owned());
    let points = stages.iter().enumerate();
    let points = points.map(|(index, stage)| (index as f64, stage.validation_pearson.unwrap_or(f64::NAN)));
    let page = Page {
        title: name.unwrap_or_else(|| run.folder().display().to_string()),
        subtitle: format!(
            "{} on {} ({} samples), {} split, seed {}",
            config.model.name(),
            dataset.manifest.name,
            count(dataset.samples.len()),
            config.split.scheme.name(),
            config.seed
        ),
        facts: solved
            .choices
            .iter()
            .map(|choice| {
                let said = said(choice);
                let (name, value) = said.split_once(' ').unwrap_or((&said, ""));
                Fact::new(name, value)
            })
            .chain(ceiling_fact(&dataset.manifest))
            .collect(),
        findings: vec![
            format!(
                "Validation figures only; `knockout evaluate {}` sets the test part beside the stack and the additive ridge.",
                run.folder().display()
            ),
            format!(
                "Settings tried, in order: {}.",
                stages.iter().map(|stage| stage.setting.as_str()).collect::<Vec<_>>().join("; ")
            ),
        ],
        figures: vec![
            Figure::Chart(Chart {
                title: "Validation Pearson of every setting that was tried".to_owned(),
                across: "setting".to_owned(),
                counts_whole: true,
                series: vec![Series { name: "validation Pearson".to_owned(), points: points.collect() }],
                ..Chart::default()
            }),
            Figure::Scatter(scatter_of("Validation part", &measured, &predicted)),
        ],
        made_by: "knockout train".to_owned(),
        footnote: FOOTNOTE.to_owned(),
        ..Page::default()
    };
    replace(&path, |file| file.write_all(page.to_html().as_bytes()))
        .with_context(|| format!("could not write {}", path.display()))
}
