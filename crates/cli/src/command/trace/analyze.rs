//! `knockout trace analyze`: where the time went.

use super::findings::{self, Rescued};
use super::input::{self, DamageArgs};
use super::operators;
use crate::failure::{Result, request_error};
use crate::output::{self, ForceArg, OutputKind, write_text};
use crate::ui::Ui;
use clap::Args;
use knockout_analyze::reference::{Reference, ReferenceSink};
use knockout_analyze::{Analysis, FileFindings, jobs};
use knockout_report::Overview;
use std::path::{Path, PathBuf};

/// Show where the time of a trace went
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace analyze rank0.pt.trace.json.gz
  knockout trace analyze rank*.json.gz --html report.html
  knockout trace analyze traces/
  knockout trace analyze rank0.json.gz --peak-flops 312T --peak-bandwidth 2.04T
  knockout trace analyze fit-profile_0.txt
  knockout trace analyze huge.json --rules reference --json")]
pub(crate) struct AnalyzeArgs {
    /// Traces, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input. Ranks of one job are shown together, other traces and folders with a line each. Or one table that `key_averages().table()` printed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How events become categories: `default`, `reference` (substring rules, nested time counted again) or a TOML file
    #[arg(long, value_name = "RULES", default_value = "default")]
    rules: String,
    /// Also write the findings as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write collapsed stacks (self time in nanoseconds) for flame graph programs; - is standard output
    #[arg(long, value_name = "FILE")]
    collapsed: Option<PathBuf>,
    /// Floating-point operations per second that the device can do, for shares and the roofline: 312T, 9.8e13. Common GPUs are known by name
    #[arg(long, value_name = "RATE", value_parser = rate)]
    peak_flops: Option<f64>,
    /// Bytes per second of the device's memory: 2.04T, 900G
    #[arg(long, value_name = "RATE", value_parser = rate)]
    peak_bandwidth: Option<f64>,
    #[command(flatten)]
    force: ForceArg,
    #[command(flatten)]
    damage: DamageArgs,
}

pub(crate) fn run(args: &AnalyzeArgs, ui: &Ui) -> Result<()> {
    if args.rules == "reference" { reference(args, ui) } else { by_self_time(args, ui) }
}

/// Analyses with self time, categories by enclosing events, and device figures.
fn by_self_time(args: &AnalyzeArgs, ui: &Ui) -> Result<()> {
    let rules = findings::rules(&args.rules)?;
    let mut inputs = output::paths(&args.files);
    inputs.push(Path::new(&args.rules));
    for (path, kind) in [(&args.html, OutputKind::Page), (&args.collapsed, OutputKind::Stacks)] {
        if let Some(path) = path {
            output::check(path, kind, &inputs, args.force)?;
        }
    }
    if args.html.is_some() && args.html == args.collapsed {
        return Err(request_error("--html and --collapsed name the same file; choose two"));
    }
    if let Some(tables) = operators::tables(&args.files)? {
        if args.collapsed.is_some() {
            return Err(request_error("a table of operations has no stacks; leave out --collapsed"));
        }
        return operators::analyze(&tables, args.html.as_deref(), ui);
    }
    let mut rescued = Rescued::default();
    let (files, has_folder) = input::expand(&args.files)?;
    // A folder is read whole, so that all its damaged traces are named, and are not taken for other files.
    let damage = DamageArgs { strict: args.damage.strict && !has_folder };
    let mut found = Vec::new();
    let mut left_out = 0_u64;
    for path in &files {
        match findings::analyze_one(path, &rules, &damage, &mut rescued, ui) {
            Ok(one) => found.push(one),
            // Not every JSON file in a folder is a trace.
            Err(error) if has_folder => {
                left_out += 1;
                ui.detail(&format!("left out {}: {error}", path.display()));
            }
            Err(error) => return Err(error),
        }
    }
    if left_out > 0 {
        let files = if left_out == 1 { "file is not a trace" } else { "files are not traces" };
        let hint = if ui.says_details() { "" } else { "; -v explains why" };
        ui.note(&format!("{left_out} JSON {files} and left out{hint}"));
    }
    if args.damage.strict {
        input::refuse_damaged(&rescued.files)?;
    }
    if found.is_empty() {
        return Err(request_error("there is no trace among these files"));
    }
    if jobs(&found).len() > 1 {
        return overview(args, &found, &rescued, ui);
    }
    let mut analysis = Analysis::of(found);
    if args.peak_flops.is_some() || args.peak_bandwidth.is_some() {
        let known = analysis.shapes.peaks.take().unwrap_or_default();
        analysis.shapes.set_peaks(known.given(args.peak_flops, args.peak_bandwidth));
    }
    findings::say_warnings(&analysis, ui);
    if let Some(path) = &args.html {
        write_text(path, &knockout_report::analysis_html(&analysis), ui)?;
    }
    if let Some(path) = &args.collapsed {
        write_text(path, &knockout_report::collapsed(&analysis), ui)?;
    }
    let stacks_on_stdout = args.collapsed.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if !stacks_on_stdout {
        ui.result(|| knockout_report::analysis_text(&analysis), &knockout_report::analysis_json(&analysis))?;
    }
    input::partial_verdict(&rescued.files)
}

/// Reads a rate with a prefix: `312T`, `2.04e12`.
fn rate(text: &str) -> std::result::Result<f64, String> {
    const PREFIXES: [(char, f64); 5] = [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15)];
    let text = text.trim();
    let prefix = PREFIXES.into_iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, size)));
    let (number, size) = prefix.unwrap_or((text, 1.0));
    let value = number.trim().parse::<f64>().ok().map(|number| number * size);
    value
        .filter(|value| value.is_finite() && *value > 0.0)
        .ok_or_else(|| "expected a number above zero, perhaps with k, M, G, T or P: 312T, 9.8e13".to_owned())
}

/// One line per trace: traces that do not belong together are never summed.
fn overview(args: &AnalyzeArgs, found: &[FileFindings], rescued: &Rescued, ui: &Ui) -> Result<()> {
    if args.html.is_some() || args.collapsed.is_some() {
        return Err(request_error(format!(
            "--html and --collapsed show one trace or the ranks of one job, and these are several; {}",
            commands(found)
        )));
    }
    let overview = Overview::of(found);
    ui.result(|| knockout_report::overview_text(&overview), &overview)?;
    input::partial_verdict(&rescued.files)
}

/// Jobs whose command is spelt out.
const MOST_COMMANDS: usize = 5;

/// Returns the command for each job.
fn commands(found: &[FileFindings]) -> String {
    let groups = jobs(found);
    let command = |(index, group): (usize, &Vec<usize>)| {
        let files = group.iter().filter_map(|file| found.get(*file)).map(|file| file.file.as_str());
        let files: Vec<&str> = files.collect();
        format!("`knockout trace analyze {} --html {}.html`", files.join(" "), index + 1)
    };
    let commands: Vec<String> = groups.iter().enumerate().take(MOST_COMMANDS).map(command).collect();
    let more = groups.len().saturating_sub(MOST_COMMANDS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("name the files that belong together: {}{more}", commands.join(", "))
}

/// The reference's substring rules and naive sums.
fn reference(args: &AnalyzeArgs, ui: &Ui) -> Result<()> {
    if args.html.is_some() || args.collapsed.is_some() {
        return Err(request_error(
            "--html and --collapsed show self time, which --rules reference does not compute; leave one of them out",
        ));
    }
    let mut reference = Reference::new();
    let mut rescued = Rescued::default();
    for path in &input::expand(&args.files)?.0 {
        let mut sink = ReferenceSink::default();
        let outcome = input::read(path, &args.damage, &mut sink, ui)?;
        reference.add(&path.display().to_string(), &sink, &outcome);
        rescued.note(path, &outcome);
    }
    for file in &reference.files {
        for warning in &file.warnings {
            ui.note(&format!("warning: {}: {}", file.label, knockout_report::trace_warning(warning)));
        }
    }
    ui.result(|| knockout_report::reference_text(&reference), &knockout_report::reference_json(&reference))?;
    input::partial_verdict(&rescued.files)
}
