//! From the files on the command line to an analysis; `analyze` and `compare` share it.

use super::input::{self, DamageArgs};
use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::Ui;
use knockout_analyze::{Analysis, Collector, FileFindings, Options, Rules};
use knockout_trace::ReadOutcome;
use std::path::{Path, PathBuf};

/// Files of which only a part could be read.
#[derive(Debug, Default)]
pub(crate) struct Rescued {
    pub(crate) files: Vec<(PathBuf, String)>,
}

impl Rescued {
    pub(crate) fn note(&mut self, path: &Path, outcome: &ReadOutcome) {
        if outcome.is_rescued() {
            self.files.push((path.to_owned(), input::damage_of(outcome)));
        }
    }
}

/// The rules of `--rules`: `default`, or a TOML file.
pub(crate) fn rules(name: &str) -> Result<Rules> {
    if name == "default" {
        return Rules::default_rules().context("could not read the built-in rules");
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        request_error(format!(
            "could not read the rules {name}: {error}; name `default`, `reference` or a TOML file"
        ))
    })?;
    Ok(Rules::from_toml(name, &text)?)
}

/// Analyses files, the ranks of one run.
pub(crate) fn analyze(
    files: &[PathBuf],
    rules: &Rules,
    damage: &DamageArgs,
    rescued: &mut Rescued,
    ui: &Ui,
) -> Result<Analysis> {
    let ranks = files.iter().map(|path| analyze_one(path, rules, damage, rescued, ui));
    let analysis = Analysis::of(ranks.collect::<Result<Vec<_>>>()?);
    say_warnings(&analysis, ui);
    Ok(analysis)
}

/// Analyses one file.
pub(crate) fn analyze_one(
    path: &Path,
    rules: &Rules,
    damage: &DamageArgs,
    rescued: &mut Rescued,
    ui: &Ui,
) -> Result<FileFindings> {
    let options = Options { threads: rayon::current_num_threads(), ..Options::default() };
    let mut collector = Collector::new(rules, &options);
    let outcome = input::read(path, damage, &mut collector, ui)?;
    let label = path.display().to_string();
    let findings =
        collector.finish(&label, &outcome).with_context(|| format!("could not analyse the trace {label}"))?;
    rescued.note(path, &outcome);
    Ok(findings)
}

/// Warnings go to standard error too.
pub(crate) fn say_warnings(analysis: &Analysis, ui: &Ui) {
    for warning in knockout_report::trace_warnings(analysis) {
        ui.note(&format!("warning: {warning}"));
    }
}

/// Analyses a trace that this program has just written.
#[cfg(feature = "lab")]
pub(crate) fn analyze_recorded(file: &Path, ui: &Ui) -> Result<Analysis> {
    let strict = DamageArgs { strict: true };
    analyze(&[file.to_owned()], &rules("default")?, &strict, &mut Rescued::default(), ui)
}
