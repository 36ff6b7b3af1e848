//! `knockout compare`: two measured runs or experiments beside each other, conditions first, and a gate for CI. Always compiled in: it
//! needs no model code.

use crate::exit::{DATA, INCOMPARABLE, REGRESSED};
use crate::failure::{Failure, FailureContext as _, Result, request_error};
use crate::output::{self, ForceArg, OutputKind, write_text};
use crate::ui::Ui;
use clap::Args;
use knockout_analyze::profile::experiment::{ExperimentComparison, StoredExperiment};
use knockout_analyze::profile::{RunComparison, RunProfile, RunRow};
use knockout_base::files::Folder;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The findings in a run's folder.
pub(crate) const FINDINGS: &str = "profile.json";
/// The findings in an experiment's folder.
const REPORT: &str = "report.json";
/// A document of findings is some megabytes at most; more is something else.
const MOST_BYTES: u64 = 256 << 20;
/// Fewer steps than this in either run are too few to judge.
const FEWEST_STEPS: usize = 3;

/// Compare two measured runs per sample and per iteration, if their conditions allow it; or two experiments, or two trained runs
///
/// Of two folders of `knockout experiment` it compares every model and mode that both measured, by their rounds.
///
/// Of two folders of `knockout train` it shows the settings that differ, the best validation figures and the time;
/// `knockout evaluate RUN_A RUN_B` has the paired difference on the test part.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout compare runs/before runs/after
  knockout compare runs/dango-yeast-0 runs/hetero-yeast-0
  knockout compare dango.json hetero.json --vary model,batch
  knockout compare runs/experiment-before runs/experiment-after --html change.html
  knockout compare main.json branch.json --fail-above 1.10

Runs that differ in more than the commit have no ratio (exit code 7) unless --vary names every difference. Ratios are
those of time per sample, with the bounds that the spread over steps allows; --fail-above tests the low bound.")]
pub(crate) struct CompareArgs {
    /// The run or experiment to compare with: its folder, or what `knockout profile --json` or `experiment --json` printed
    #[arg(value_name = "RUN_A")]
    a: PathBuf,
    /// The run to judge; ratios are b / a
    #[arg(value_name = "RUN_B")]
    b: PathBuf,
    /// Conditions that are meant to differ, such as model,batch
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    vary: Vec<String>,
    /// Also write the comparison as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
    /// Exit with code 5 if a sample of B takes more than RATIO times as long as one of A
    #[arg(long, value_name = "RATIO")]
    fail_above: Option<f64>,
}

pub(crate) fn run(args: &CompareArgs, ui: &Ui) -> Result<()> {
    if let Some(ratio) = args.fail_above.filter(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
        return Err(request_error(format!("--fail-above {ratio} is not a ratio; 1.10 allows ten per cent")));
    }
    if let Some(path) = &args.html {
        output::check(path, OutputKind::Page, &[&args.a, &args.b], args.force)?;
    }
    if let Some(path) = [&args.a, &args.b].into_iter().find(|path| !is_there(path)) {
        return Err(request_error(format!(
            "{} does not exist; name the folder that `knockout profile --out`, `experiment` or `train` wrote, or what their --json printed",
            path.display()
        )));
    }
    #[cfg(feature = "lab")]
    if is_trained(&args.a) != is_trained(&args.b) {
        let (trained, other) = if is_trained(&args.a) { (&args.a, &args.b) } else { (&args.b, &args.a) };
        return Err(request_error(format!(
            "{} was trained and {} was not: compare two trained runs, or two that `knockout profile --out` measured",
            trained.display(),
            other.display()
        )));
    }
    #[cfg(feature = "lab")]
    if is_trained(&args.a) {
        if args.fail_above.is_some() || !args.vary.is_empty() {
            return Err(request_error("--fail-above and --vary are about measured runs; these were trained"));
        }
        return super::runs::compare_trained(&args.a, &args.b, args.html.as_deref(), ui);
    }
    let (name_a, name_b) = (args.a.display().to_string(), args.b.display().to_string());
    let (a, b) = match (read_either(&args.a)?, read_either(&args.b)?) {
        (Measured::Run(a), Measured::Run(b)) => (a, b),
        (Measured::Experiment(a), Measured::Experiment(b)) => {
            return compare_experiments((&name_a, &a), (&name_b, &b), args, ui);
        }
        (a, _) => {
            let (experiment, run) =
                if matches!(a, Measured::Experiment(_)) { (name_a, name_b) } else { (name_b, name_a) };
            return Err(request_error(format!(
                "{experiment} is an experiment and {run} a run: compare two of a kind; an experiment's folder has a run for each model and mode"
            )));
        }
    };
    let comparison = RunComparison::of((&name_a, &a), (&name_b, &b), &args.vary).context("--vary")?;
    if let Some(path) = &args.html {
        write_text(path, &knockout_report::run_compare_html(&comparison), ui)?;
    }
    ui.result(
        || knockout_report::run_compare_text(&comparison),
        &knockout_report::run_compare_json(&comparison),
    )?;
    if !comparison.comparable {
        let message = format!(
            "not comparable: the runs differ in {}; measure alike, or name what is meant to differ with --vary",
            comparison.unlike.join(", ")
        );
        return Err(Failure::verdict(INCOMPARABLE, message));
    }
    let step = comparison.step().filter(|step| step.steps.0.min(step.steps.1) >= FEWEST_STEPS);
    args.fail_above.map_or(Ok(()), |ratio| gate(step, "steps", ratio))
}

/// Compares two experiments, cell by cell.
fn compare_experiments(
    a: (&str, &StoredExperiment),
    b: (&str, &StoredExperiment),
    args: &CompareArgs,
    ui: &Ui,
) -> Result<()> {
    let comparison = ExperimentComparison::of(a, b, &args.vary)?;
    if let Some(path) = &args.html {
        write_text(path, &knockout_report::experiment_compare_html(&comparison), ui)?;
    }
    ui.result(
        || knockout_report::experiment_compare_text(&comparison),
        &knockout_report::experiment_compare_json(&comparison),
    )?;
    if !comparison.comparable {
        let message = format!(
            "not comparable: cells of the same name differ in {}; measure alike, or name what is meant to differ with --vary",
            comparison.unlike.join(", ")
        );
        return Err(Failure::verdict(INCOMPARABLE, message));
    }
    let Some(allowed) = args.fail_above else { return Ok(()) };
    let slowest = comparison.slowest().filter(|row| row.steps.0.min(row.steps.1) >= FEWEST_STEPS);
    gate(slowest, "rounds", allowed).map_err(|failure| match slowest {
        Some(row) => failure.context(row.name.clone()),
        None => failure,
    })
}

/// Whether there is something to read; standard input always is.
fn is_there(path: &Path) -> bool {
    path == Path::new("-") || path.exists()
}

/// Whether this is the folder of a training run that was not measured.
#[cfg(feature = "lab")]
fn is_trained(path: &Path) -> bool {
    !path.join(FINDINGS).exists()
        && ["metrics.jsonl", "config.toml"].iter().all(|name| path.join(name).is_file())
}

/// Whether B may pass.
fn gate(row: Option<&RunRow>, what: &str, allowed: f64) -> Result<()> {
    let Some((ratio, low)) = row.and_then(|row| row.ratio.zip(row.low)) else {
        let message = format!(
            "not comparable: too few {what} for a spread; measure at least {FEWEST_STEPS} in both runs"
        );
        return Err(Failure::verdict(INCOMPARABLE, message));
    };
    if low <= allowed {
        return Ok(());
    }
    let message = format!("a sample takes {ratio:.3} times as long (at least {low:.3}, allowed {allowed})");
    Err(Failure::verdict(REGRESSED, message))
}

/// A document of measurements.
enum Measured {
    Run(Box<RunProfile>),
    Experiment(StoredExperiment),
}

/// The kind of a document.
#[derive(serde::Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// Reads a run or an experiment from its folder, a file, or standard input (`-`).
fn read_either(path: &Path) -> Result<Measured> {
    let folder = Folder::at(path);
    let is_experiment = path.is_dir() && !path.join(FINDINGS).exists() && path.join(REPORT).is_file();
    let (name, bytes) = if is_experiment {
        let name = path.join(REPORT).display().to_string();
        let file = folder.find_file(REPORT)?.ok_or_else(|| absent(path))?;
        let bytes = read_all(file, &name)?;
        (name, bytes)
    } else {
        read_bytes(path)?
    };
    let kind = serde_json::from_slice::<Kind>(&bytes).ok().and_then(|document| document.kind);
    if is_experiment || kind.as_deref() == Some("experiment") {
        return Ok(Measured::Experiment(StoredExperiment::from_json(&name, &bytes)?));
    }
    Ok(Measured::Run(Box::new(RunProfile::from_json(&name, &bytes)?)))
}

/// The findings of a run's folder, of a file, or of standard input (`-`).
#[cfg(feature = "lab")]
pub(crate) fn read(path: &Path) -> Result<RunProfile> {
    let (name, bytes) = read_bytes(path)?;
    Ok(RunProfile::from_json(&name, &bytes)?)
}

/// Returns the name and the bytes of a run's document.
fn read_bytes(path: &Path) -> Result<(String, Vec<u8>)> {
    let is_folder = path.is_dir();
    let name = if is_folder { path.join(FINDINGS) } else { path.to_owned() }.display().to_string();
    let source: Box<dyn io::Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else if is_folder {
        Box::new(Folder::at(path).find_file(FINDINGS)?.ok_or_else(|| absent(path))?)
    } else {
        match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(absent(path)),
            other => Box::new(other.with_context(|| format!("could not open {name}"))?),
        }
    };
    let bytes = read_all(source, &name)?;
    Ok((name, bytes))
}

fn read_all(source: impl io::Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST_BYTES).read_to_end(&mut bytes).with_context(|| format!("could not read {name}"))?;
    Ok(bytes)
}

/// Returns the error for a run that is missing or unfinished.
fn absent(path: &Path) -> Failure {
    if !path.is_dir() {
        return request_error(format!("{} does not exist", path.display()));
    }
    let signs = ["manifest.json", "config.toml", "metrics.jsonl", "log.txt"];
    if signs.iter().any(|name| path.join(name).exists()) {
        let message = format!(
            "{} is a run without {FINDINGS}: it did not finish, or was not measured; run it again with `knockout profile`",
            path.display()
        );
        return Failure::verdict(DATA, message);
    }
    request_error(format!(
        "{} is not the folder of a run or an experiment: there is no {FINDINGS} and no {REPORT} in it",
        path.display()
    ))
}
