//! `knockout profile`: where the time of a step goes, in one of four modes.

use super::compare;
use super::trace::analyze_recorded;
use super::train::{Choices, configure, on_workers_of};
use crate::choice;
use crate::failure::{FailureContext as _, Result, Unexpected as _, request_error};
use crate::output::{self, ForceArg, OutputKind, write_text};
use crate::presets::StartArgs;
use crate::ranks::RanksArg;
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_analyze::Analysis;
use knockout_analyze::profile::{RunComparison, RunProfile};
use knockout_base::files::{NewFolder, replace};
use knockout_bench::measure::{Profiling, ProfilingOutcome, Recording, Sampling, Subject};
use knockout_data::screen::Dataset;
use knockout_models::ModelEntry;
use knockout_ranks::Ranks;
use knockout_trace::meter::Schedule;
use knockout_train::config::Config;
use knockout_train::step::Mode;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Measure where the time of a step goes, phase by phase and layer by layer
///
/// Each mode runs exactly the phases it names: data (fetch, process, collate), forward (and the model and its loss), backward
/// (and gradients), full (and clipping and the optimiser). Nothing is validated inside a measurement.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout profile yeast --model dango --mode full --steps 10
  knockout profile yeast --model dango --mode forward --steps 20 --batch 64 --json > forward.json
  knockout profile yeast --model dango --steps 50 --wait 10 --warmup 5 --active 20 --out runs/window
  knockout profile yeast --model dango --steps 30 --html report.html --against runs/before
  knockout profile yeast --model dango --collapsed stacks.txt       # for inferno, speedscope, flamegraph.pl
  knockout profile yeast --model dango --perf --out runs/functions  # the functions of each phase and layer
  knockout trace analyze runs/window/trace.json.gz
  knockout profile yeast --model hetero --ranks 2 --out runs/ranks
  knockout trace analyze runs/ranks
  mpirun -n 4 knockout profile yeast --model hetero --mode data train.shards=4 --out runs/mpi")]
pub(crate) struct ProfileArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The model; a preset or a configuration may name it
    #[arg(long, value_name = "MODEL", value_parser = choice::trained_model())]
    model: Option<ModelEntry>,
    #[command(flatten)]
    start: StartArgs,
    /// How far a step goes
    #[arg(long, value_name = "MODE", default_value = "full", value_parser = choice::mode())]
    mode: Mode,
    /// Steps to measure, after two to warm up; with a window or --at-step: steps in all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    ranks: RanksArg,
    /// Steps before each window
    #[arg(long, value_name = "W", requires = "active")]
    wait: Option<u64>,
    /// Warm-up steps of each window
    #[arg(long, value_name = "U", requires = "active")]
    warmup: Option<u64>,
    /// Steps of each window that are measured
    #[arg(long, value_name = "A")]
    active: Option<u64>,
    /// Windows
    #[arg(long, value_name = "R", requires = "active")]
    repeat: Option<u64>,
    /// Measure this step alone, from 0
    #[arg(long, value_name = "N", conflicts_with = "active")]
    at_step: Option<u64>,
    /// Record no spans: phases only, no layers, no trace
    #[arg(long)]
    no_trace: bool,
    /// Sample the functions that each phase and layer takes its CPU time in, with Linux's perf; its perf.data stays in RUN
    #[arg(long, conflicts_with = "no_trace")]
    perf: bool,
    /// The event of perf that counts lines of 64 bytes read from memory, if not that of the processor
    #[arg(long, value_name = "EVENT", requires = "perf")]
    memory_event: Option<String>,
    /// Write profile.json, trace.json.gz and report.html into this new folder
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Write the findings as one self-contained HTML file; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the spans as collapsed stacks (self time in nanoseconds; with --perf, samples by function) for flame graph programs; - is
    /// standard output
    #[arg(long, value_name = "FILE", conflicts_with = "no_trace")]
    collapsed: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
    /// Compare with an earlier run: its folder, or the output of `knockout profile --json`
    #[arg(long, value_name = "RUN_A")]
    against: Option<PathBuf>,
    #[command(flatten)]
    overrides: super::overrides::Overrides,
}

/// Default number of warm-up steps.
const WARM_UP: u64 = 2;

pub(crate) fn run(args: &ProfileArgs, ui: &Ui) -> Result<()> {
    let (schedule, steps) = schedule(args)?;
    for (path, kind) in [(&args.html, OutputKind::Page), (&args.collapsed, OutputKind::Stacks)] {
        if let Some(path) = path {
            output::check(path, kind, &output::paths(&args.against), args.force)?;
        }
    }
    if args.html.is_some() && args.html == args.collapsed {
        return Err(request_error("--html and --collapsed name the same file; choose two"));
    }
    let ranks = crate::ranks::join(args.ranks, ui)?;
    // Standard input is that of the first rank.
    let against = args.against.as_deref().filter(|_| ranks.is_first());
    let against = against.map(|path| compare::read(path).map(|run| (path, run))).transpose()?;
    let made = args.out.as_deref().filter(|_| ranks.is_first()).map(NewFolder::create).transpose()?;
    // The folder exists before anything is written.
    ranks.start()?;
    // A page without a run's folder still needs the spans: they pass through a temporary file.
    let is_read = (args.html.is_some() || args.collapsed.is_some() || args.perf) && !args.no_trace;
    let passing = match &args.out {
        None if is_read => Some(tempfile::tempdir().context("could not make a folder for the trace")?),
        _ => None,
    };
    let folder = args.out.as_deref().or(passing.as_ref().map(tempfile::TempDir::path));
    let measured = on_workers_of(&ranks, ui, || measure(args, schedule, steps, folder, &ranks, ui))?;
    if !ranks.is_first() {
        return Ok(());
    }
    let recorded = measured.trace.as_deref().map(|trace| recorded(trace, ui)).transpose()?;
    let profile = &measured.profile;
    let comparison = against.as_ref().map(|(path, other)| {
        let (a, b) = (path.display().to_string(), "this run");
        RunComparison::of((&a, other), (b, profile), &[])
    });
    let comparison = comparison.transpose()?;
    let page = || knockout_report::run_html(profile, recorded.as_ref(), comparison.as_ref());
    if let Some(out) = &args.out {
        write_profile(out, profile)?;
        replace(&out.join("report.html"), |file| file.write_all(page().as_bytes()))?;
        made.into_iter().for_each(NewFolder::keep);
        ui.note(&format!("wrote {}", out.display()));
    }
    if args.out.is_none() && !args.no_trace {
        ui.note("the recorded trace is not saved; add --out FOLDER to keep it");
    }
    if let Some(path) = &args.html {
        write_text(path, &page(), ui)?;
    }
    if let (Some(path), Some(recorded)) = (&args.collapsed, &recorded) {
        let stacks = match &profile.functions {
            Some(functions) => knockout_report::collapsed_functions(functions),
            None => knockout_report::collapsed(recorded),
        };
        write_text(path, &stacks, ui)?;
    }
    if [&args.html, &args.collapsed].into_iter().flatten().any(|path| path.as_os_str() == "-") {
        return Ok(());
    }
    let text = || {
        let comparison = comparison.as_ref().map(knockout_report::run_compare_text);
        knockout_report::run_text(profile) + &comparison.map(|text| format!("\n{text}")).unwrap_or_default()
    };
    ui.result(text, &knockout_report::run_json(profile))
}

fn schedule(args: &ProfileArgs) -> Result<(Schedule, u64)> {
    let schedule = match (args.active, args.at_step) {
        (Some(active), _) => Schedule::Window {
            wait: args.wait.unwrap_or(0),
            warmup: args.warmup.unwrap_or(0),
            active,
            repeat: args.repeat.unwrap_or(1),
        },
        (None, Some(step)) => Schedule::AtStep(step),
        (None, None) => {
            let schedule = Schedule::Window { wait: 0, warmup: WARM_UP, active: args.steps, repeat: 1 };
            return Ok((schedule, args.steps + WARM_UP));
        }
    };
    schedule.check(args.steps)?;
    Ok((schedule, args.steps))
}

fn measure(
    args: &ProfileArgs,
    schedule: Schedule,
    steps: u64,
    folder: Option<&Path>,
    ranks: &Ranks,
    ui: &Ui,
) -> Result<ProfilingOutcome> {
    let dataset = super::data::open(&args.dir)?;
    let start = args.start.read(args.model, ui)?;
    let model = start.model(args.model)?;
    let mut keys = start.keys_for(&model);
    keys.extend(args.choices.keys());
    keys.extend(args.overrides.keys.iter().cloned());
    keys.extend(args.ranks.shards_key(&model, &keys, ui));
    let config = configure(&model, &dataset, &keys)?;
    config.notice().inspect(|notice| ui.note(notice));
    for key in &keys {
        ui.detail(&format!("  set {key}"));
    }
    let mut subject = subject(dataset, &config)?.on_ranks(ranks);
    subject.open_store(&config, &args.dir)?;
    let asked = config.batch as u64;
    let profiling = Profiling {
        config,
        mode: args.mode,
        schedule,
        steps,
        recording: if args.no_trace { Recording::Off } else { Recording::On },
        sampling: if args.perf {
            Sampling::Perf { memory_event: args.memory_event.clone() }
        } else {
            Sampling::Off
        },
        folder: folder.map(Path::to_owned),
    };
    let bar = ui.progress("measuring", steps, Unit::Items);
    let measured = profiling.run(&subject, || bar.inc(1));
    bar.finish_and_clear();
    let measured = measured?;
    let taken = measured.profile.conditions.batch;
    if taken < asked && ranks.is_first() {
        ui.note(&format!(
            "the training part has {} samples, so that is the batch that was measured, not {}",
            knockout_report::units::count(taken),
            knockout_report::units::count(asked)
        ));
    }
    Ok(measured)
}

/// Returns a dataset with the split of a configuration.
pub(super) fn subject(dataset: Arc<Dataset>, config: &Config) -> Result<Subject> {
    let split = config.split.apply(&dataset)?;
    Ok(Subject::new(dataset, Arc::new(split), env!("KNOCKOUT_COMMIT")))
}

/// Writes a profile into a run's folder.
pub(super) fn write_profile(folder: &Path, profile: &RunProfile) -> Result<()> {
    let text = serde_json::to_vec_pretty(&knockout_report::run_json(profile))
        .unexpected("could not write the findings as JSON")?;
    let path = folder.join(compare::FINDINGS);
    replace(&path, |file| file.write_all(&text))
        .with_context(|| format!("could not write {}", path.display()))
}

/// The analysis of a trace that was recorded: its spans as a page draws them.
pub(super) fn recorded(trace: &Path, ui: &Ui) -> Result<Analysis> {
    Ok(analyze_recorded(trace, ui)?.with_steps_added_up())
}
