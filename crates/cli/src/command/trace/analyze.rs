//! `knockout trace analyze`: where the time went.

use super::input::{self, DamageArgs};
use crate::ui::Ui;
use clap::Args;
use knockout_profile::reference::{Reference, ReferenceSink};
use std::path::PathBuf;

/// Show where the time of a trace went
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace analyze rank0.pt.trace.json.gz
  knockout trace analyze rank*.json.gz --html report.html
  knockout trace analyze huge.json --rules reference --json")]
pub(crate) struct AnalyzeArgs {
    /// Traces, plain or gzip, one per rank; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How events become categories: `default`, `reference` (substring rules, nested time counted again) or a TOML file
    #[arg(long, value_name = "RULES", default_value = "default")]
    rules: String,
    #[command(flatten)]
    damage: DamageArgs,
}

pub(crate) fn run(args: &AnalyzeArgs, ui: &Ui) -> anyhow::Result<()> {
    reference(args, ui)
}

fn reference(args: &AnalyzeArgs, ui: &Ui) -> anyhow::Result<()> {
    let mut reference = Reference::new();
    let mut rescued = Vec::new();
    for path in &args.files {
        let mut sink = ReferenceSink::default();
        let outcome = input::read(path, &args.damage, &mut sink, ui)?;
        reference.add(&path.display().to_string(), &sink, &outcome);
        if outcome.is_rescued() {
            rescued.push((path.clone(), input::damage_of(&outcome)));
        }
    }
    for file in &reference.files {
        for warning in &file.warnings {
            ui.note(&format!("warning: {}: {warning}", file.label));
        }
    }
    ui.result(|| knockout_report::reference_text(&reference), &knockout_report::reference_json(&reference))?;
    input::partial_verdict(&rescued)
}
