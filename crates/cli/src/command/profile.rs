//! `knockout profile`: where the time of a step goes, in one of four modes.

use super::compare;
use super::trace::write_text;
use super::train::{Choices, ModelArg, class, on_workers};
use crate::experiments::ExperimentArg;
use crate::measuring::{self, Passing, Recording};
use crate::memory;
use crate::run_folder;
use crate::stores::Stores;
use crate::ui::{Ui, Unit, request_error};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use knockout_analyze::Analysis;
use knockout_durable::replace;
use knockout_meter::{Meter, Schedule};
use knockout_profile::{RunComparison, RunProfile};
use knockout_trace::{Recorder, RecorderOptions, TraceFile};
use knockout_train::fit::Fit;
use knockout_train::step::Mode;
use std::path::{Path, PathBuf};

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
  knockout trace analyze runs/window/trace.json.gz")]
pub(crate) struct ProfileArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The model
    #[arg(long, value_enum)]
    model: ModelArg,
    #[command(flatten)]
    experiment: ExperimentArg,
    /// How far a step goes
    #[arg(long, value_enum, default_value_t = ModeArg::Full)]
    mode: ModeArg,
    /// Steps to measure, after two to warm up; with a window or --at-step: steps in all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    #[command(flatten)]
    choices: Choices,
    /// Steps before each window
    #[arg(long, value_name = "W", requires = "active")]
    wait: Option<u64>,
    /// Steps of each window that are thrown away
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
    /// Write profile.json, trace.json.gz and report.html into this new folder
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Write the findings as one self-contained HTML file; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Set an earlier run beside this one: its folder, or what `knockout profile --json` printed
    #[arg(long, value_name = "RUN_A")]
    against: Option<PathBuf>,
    #[command(flatten)]
    overrides: super::config::Overrides,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    /// Fetching, processing and collating
    Data,
    /// That, the model and its loss
    Forward,
    /// That, and gradients
    Backward,
    /// That, clipping and the optimiser
    Full,
}

impl ModeArg {
    fn mode(self) -> Mode {
        match self {
            Self::Data => Mode::Data,
            Self::Forward => Mode::Forward,
            Self::Backward => Mode::Backward,
            Self::Full => Mode::Full,
        }
    }
}

/// Steps that are thrown away when nothing else is said.
const WARM_UP: u64 = 2;

/// What a measurement left behind.
struct Measured {
    profile: RunProfile,
    /// The trace, analysed, where a page will show it.
    recorded: Option<Analysis>,
}

pub(crate) fn run(args: &ProfileArgs, ui: &Ui) -> anyhow::Result<()> {
    let (schedule, steps) = schedule(args)?;
    let against =
        args.against.as_deref().map(|path| compare::read(path).map(|run| (path, run))).transpose()?;
    if let Some(out) = args.out.as_deref() {
        run_folder::create(out)?;
    }
    // A page without a run's folder still needs the spans: they pass through a file that nobody keeps.
    let passing = match (&args.out, &args.html) {
        (None, Some(_)) if !args.no_trace => Some(Scratch::create()?),
        _ => None,
    };
    let folder = args.out.as_deref().or(passing.as_ref().map(|scratch| scratch.path.as_path()));
    let measured = on_workers(|| measure(args, schedule, steps, folder, ui))?;
    let profile = &measured.profile;
    let comparison = against.as_ref().map(|(path, other)| {
        let (a, b) = (path.display().to_string(), "this run");
        RunComparison::of((&a, other), (b, profile), &[])
    });
    let comparison = comparison.transpose().map_err(|error| request_error(error.to_string()))?;
    let page = || knockout_report::run_html(profile, measured.recorded.as_ref(), comparison.as_ref());
    if let Some(out) = &args.out {
        let text = serde_json::to_vec_pretty(&knockout_report::run_json(profile))
            .context("could not write the findings as JSON")?;
        replace(&out.join(compare::FINDINGS), |file| file.write_all(&text))?;
        replace(&out.join("report.html"), |file| file.write_all(page().as_bytes()))?;
        ui.note(&format!("wrote {}", out.display()));
    }
    if let Some(path) = &args.html {
        write_text(path, &page(), ui)?;
    }
    if args.html.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Ok(());
    }
    let text = || {
        let comparison = comparison.as_ref().map(knockout_report::run_compare_text);
        knockout_report::run_text(profile) + &comparison.map(|text| format!("\n{text}")).unwrap_or_default()
    };
    ui.result(text, &knockout_report::run_json(profile))
}

fn schedule(args: &ProfileArgs) -> anyhow::Result<(Schedule, u64)> {
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
    schedule.check(args.steps).map_err(|error| request_error(error.to_string()))?;
    Ok((schedule, args.steps))
}

fn measure(
    args: &ProfileArgs,
    schedule: Schedule,
    steps: u64,
    folder: Option<&Path>,
    ui: &Ui,
) -> anyhow::Result<Measured> {
    let dataset = super::data::open(&args.dir)?;
    let mut keys = args.experiment.keys(args.model.model(), ui)?;
    keys.extend(args.choices.keys());
    keys.extend(args.overrides.keys.iter().cloned());
    let config = run_folder::configure(args.model.model(), &dataset, &keys)?;
    config.notice().inspect(|notice| ui.note(notice));
    let split = run_folder::split(&dataset, &config)?;
    let stores = Stores::of_runs([&config], &args.dir, &dataset, &split)?;
    let fit = Fit::new(&config, &dataset, &split).map_err(class)?;
    let mut fit = fit.with_store(stores.of(config.processor()));
    let recording = if args.no_trace { Recording::Off } else { Recording::On };
    let mode = args.mode.mode();
    let conditions = measuring::conditions(&dataset, &split, &config, mode, recording, &args.overrides.keys);
    let recorder = match recording {
        Recording::Off => Recorder::off(),
        Recording::On => Recorder::new(RecorderOptions::default()),
    };
    memory::reset_peak();
    let mut meter = measuring::delayed(Meter::new(&recorder, schedule).with_memory());
    if let Some(folder) = folder.filter(|_| recording == Recording::On) {
        meter = meter.with_trace(TraceFile::create(folder, &recorder, conditions.to_map())?);
    }
    let bar = ui.progress("measuring", steps, Unit::Items);
    meter.restart();
    let ended = fit.measure_steps(mode, steps, &mut meter, &mut Passing { bar: &bar });
    bar.finish_and_clear();
    let peak = memory::peak_rss_bytes();
    // A run that ends early still writes what it has.
    let (log, written) = meter.finish()?;
    ended.map_err(class)?;
    let profile = RunProfile::of(&log, conditions).map_err(|error| request_error(error.to_string()))?;
    let recorded = written.map(|trace| measuring::recorded(&trace.path, ui)).transpose()?;
    Ok(Measured { profile: profile.with_peak_rss(peak), recorded })
}

/// A folder that goes away with this value.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("knockout-profile-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("could not make {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.path).ok();
    }
}
