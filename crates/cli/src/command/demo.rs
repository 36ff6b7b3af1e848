//! `knockout demo`: the whole story on a small synthetic yeast, from its making to the report of an experiment.

use crate::command::experiment::{self, ExperimentArgs};
use crate::command::{data, overrides::Overrides};
use crate::failure::Result;
use crate::ui::Ui;
use clap::Args;
use knockout_base::files::create_folder;
use knockout_data::screen::Summary;
use knockout_report::lab::{DeletionDocument, dataset_page, deletion_page};
use knockout_sources::synth;
use serde::Serialize;
use std::path::PathBuf;

/// See it all on a small synthetic yeast: make it, look at it, delete three genes, measure training and open the report
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout demo
  knockout demo --out /tmp/demo")]
pub(crate) struct DemoArgs {
    /// The folder to make; it must not exist
    #[arg(long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
    /// The synthetic yeast
    #[arg(long, default_value = "small", value_parser = clap::builder::PossibleValuesParser::new(synth::PRESETS))]
    preset: String,
}

#[derive(Serialize)]
struct DemoDocument {
    schema: u32,
    dataset: PathBuf,
    summary: Summary,
    deletion: DeletionDocument,
    /// The experiment's page.
    report: PathBuf,
    insights: Vec<String>,
    next_steps: Vec<String>,
}

pub(crate) fn run(args: &DemoArgs, ui: &Ui) -> Result<()> {
    let overrides = Overrides { keys: Vec::new() };
    let config = overrides.resolve(&args.preset)?.synth;
    create_folder(&args.out)?;
    let (yeast, measured) = (args.out.join("yeast"), args.out.join("experiment"));
    ui.note(&format!("1. making a {} synthetic yeast in {}", args.preset, yeast.display()));
    data::make_synthetic(&yeast, &args.preset, &config, 0, &overrides.keys, ui)?;
    ui.note("2. opening it again, every checksum verified");
    let dataset = data::open(&yeast)?;
    ui.note(
        "3. measuring every model in every mode, and the switches that could make it faster, interleaved",
    );
    let finished = experiment::measure(&ExperimentArgs::of_demo(&yeast, &measured), ui)?;
    let shown = DemoDocument {
        schema: 1,
        dataset: yeast,
        summary: Summary::of(&dataset, knockout_data::screen::DEFAULT_SPLIT_SEED),
        deletion: DeletionDocument::of_sample(&dataset, dataset.samples.len() / 2),
        report: finished.folder.join("report.html"),
        insights: knockout_report::insight_texts(&finished.experiment),
        next_steps: knockout_report::next_step_texts(&finished.experiment),
    };
    ui.note("4. what is in it, what one deletion does, and where the time of training goes\n");
    ui.result(|| text(&shown), &shown)
}

fn text(shown: &DemoDocument) -> String {
    let list = |texts: &[String]| {
        let lines: Vec<String> = texts.iter().map(|text| format!("- {text}\n")).collect();
        lines.concat()
    };
    format!(
        "{}\n{}\nwhat the experiment found:\n{}\nwhat to do next:\n{}\n\
         the dataset is in {yeast}; next: `knockout train {yeast}` (the stack, in seconds), `knockout data show {yeast}`\n\
         the report is in {report}; open it in a browser\n",
        dataset_page(&shown.summary).to_text(),
        deletion_page(&shown.deletion).to_text(),
        list(&shown.insights),
        list(&shown.next_steps),
        yeast = shown.dataset.display(),
        report = shown.report.display()
    )
}
