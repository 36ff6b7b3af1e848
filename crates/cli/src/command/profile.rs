//! `knockout profile`: where the time of a step goes, in one of four modes.

use super::data::SchemeArg;
use super::train::{ModelArg, choice_keys, class, on_workers};
use crate::experiments::ExperimentArg;
use crate::memory;
use crate::run_folder;
use crate::ui::{Ui, Unit, request_error};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use knockout_durable::replace;
use knockout_kernel::Isa;
use knockout_profile::{Conditions, RunProfile};
use knockout_screen::Part;
use knockout_trace::{Meter, Recorder, RecorderOptions, Schedule, TraceFile};
use knockout_train::checkpoint::Contents;
use knockout_train::fit::{EpochReport, Fit, Kept, Occasion, StepReport, Watch, Wish};
use knockout_train::run::Position;
use knockout_train::step::Mode;
use std::collections::BTreeMap;
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
    /// Samples in a batch
    #[arg(long, value_name = "B")]
    batch: Option<usize>,
    /// The seed of everything random
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// What is held out
    #[arg(long, value_enum)]
    split: Option<SchemeArg>,
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
    /// Write profile.json and trace.json.gz into this new folder
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
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

pub(crate) fn run(args: &ProfileArgs, ui: &Ui) -> anyhow::Result<()> {
    let (schedule, steps) = schedule(args)?;
    if let Some(out) = args.out.as_deref() {
        std::fs::create_dir_all(out.parent().unwrap_or(Path::new("."))).ok();
        std::fs::create_dir(out).map_err(|error| {
            request_error(format!(
                "could not make {}: {error}; choose a folder that does not exist",
                out.display()
            ))
        })?;
    }
    let profile = on_workers(|| measure(args, schedule, steps, ui))?;
    if let Some(out) = &args.out {
        let text = serde_json::to_vec_pretty(&profile).context("could not write the findings as JSON")?;
        replace(&out.join("profile.json"), |file| file.write_all(&text))?;
        ui.note(&format!("wrote {}", out.display()));
    }
    ui.result(|| knockout_report::run_text(&profile), &profile)
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

fn measure(args: &ProfileArgs, schedule: Schedule, steps: u64, ui: &Ui) -> anyhow::Result<RunProfile> {
    let dataset = super::data::open(&args.dir)?;
    let mut keys = args.experiment.keys(args.model.model(), ui)?;
    keys.extend(choice_keys(args.batch, args.seed, args.split));
    keys.extend(args.overrides.keys.iter().cloned());
    let config = run_folder::configure(args.model.model(), &dataset, &keys)?;
    config.notice().inspect(|notice| ui.note(notice));
    let split = run_folder::split(&dataset, &config)?;
    let mut fit = Fit::new(&config, &dataset, &split).map_err(class)?;
    let conditions = Conditions {
        data: dataset.manifest.data_hash(),
        records: split.rows(Part::Train).len() as u64,
        batch: config.batch as u64,
        threads: rayon::current_num_threads() as u64,
        world: 1,
        precision: "f32".to_owned(),
        model: fit.model().name().to_owned(),
        mode: args.mode.mode().name().to_owned(),
        processor: fit.model().processor().name().to_owned(),
        profiler: !args.no_trace,
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
        machine: format!("{} ({})", run_folder::processor(), Isa::current().name()),
        settings: settings(&args.overrides.keys),
    };
    let recorder = if args.no_trace { Recorder::off() } else { Recorder::new(RecorderOptions::default()) };
    memory::reset_peak();
    let mut meter = Meter::new(&recorder, schedule).with_memory();
    if let Some(out) = args.out.as_deref().filter(|_| !args.no_trace) {
        let file = TraceFile::create(out, &recorder, conditions.to_map())?;
        meter = meter.with_trace(file);
    }
    let mut watch = Progress { bar: ui.progress("measuring", steps, Unit::Items) };
    meter.restart();
    let ended = fit.measure_steps(args.mode.mode(), steps, &mut meter, &mut watch);
    watch.bar.finish_and_clear();
    // A run that ends early still writes what it has.
    let (log, _) = meter.finish()?;
    ended.map_err(class)?;
    let profile = RunProfile::of(&log, conditions).map_err(|error| request_error(error.to_string()))?;
    Ok(profile.with_peak_rss(memory::peak_rss_bytes()))
}

fn settings(keys: &[String]) -> BTreeMap<String, String> {
    keys.iter()
        .filter_map(|key| key.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

struct Progress {
    bar: ProgressBar,
}

impl Watch for Progress {
    fn step(&mut self, _: &StepReport<'_>) -> Kept<Wish> {
        self.bar.inc(1);
        Ok(Wish::GoOn)
    }

    fn epoch(&mut self, _: &EpochReport<'_>) -> Kept<()> {
        Ok(())
    }

    fn position(&mut self) -> Kept<Position> {
        Ok(Position::START)
    }

    fn keep(&mut self, _: Occasion, _: &Contents<'_>) -> Kept<()> {
        Ok(())
    }
}
