//! `knockout train`: a run from its first step, or from where it was left.

mod page;

use crate::command::data::SchemeArg;
use crate::exit::{self, Verdict};
use crate::experiments::ExperimentArg;
use crate::interrupt::Interrupt;
use crate::run_folder;
use crate::stores::Stores;
use crate::text::figure;
use crate::ui::{Ui, request_error};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use knockout_kernel::Isa;
use knockout_meter::{Meter, Schedule};
use knockout_screen::{Dataset, Part, Split};
use knockout_trace::Recorder;
use knockout_train::checkpoint::{Checkpoint, Checkpoints, Slot};
use knockout_train::config::{Config, ModelName};
use knockout_train::fit::{End, Fit, FitError, StepReport};
use knockout_train::keeper::{Companion, Keeper, MetricsLine};
use knockout_train::run::{Inputs, Manifest, Position, Run, Start};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Train a model, or go on with a run that was interrupted
///
/// Everything a run gives is in its folder: configuration, metrics, TensorBoard events, checkpoints. The same seed gives the
/// same weights for any number of threads and any sequence of interruptions.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout train yeast --model dango
  knockout train yeast --model dango --batch 4096 optimiser.learning_rate=0.003 --seed 7
  knockout train yeast --model dango --split gene-disjoint --max-time 30m
  knockout train yeast --model hetero --experiment 085 --epochs 10
  knockout train --resume runs/dango-yeast-0")]
pub(crate) struct TrainArgs {
    /// The dataset folder; not with --resume
    #[arg(value_name = "DIR", required_unless_present = "resume")]
    dir: Option<PathBuf>,
    /// The model
    #[arg(long, value_enum, required_unless_present = "resume")]
    model: Option<ModelArg>,
    #[command(flatten)]
    experiment: ExperimentArg,
    /// Go on with the run in this folder
    #[arg(long, value_name = "RUN", conflicts_with_all = ["model", "out", "batch", "seed", "split"])]
    resume: Option<PathBuf>,
    /// The run's folder; by default runs/MODEL-DATASET-SEED
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    choices: Choices,
    /// Epochs at most
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Steps at most, exactly; 0 means no limit
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Save and stop after this long, such as 30m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_time: Option<Duration>,
    #[command(flatten)]
    overrides: super::config::Overrides,
}

/// The keys of a run's configuration that have an option of their own.
#[derive(Debug, Default, Args)]
pub(crate) struct Choices {
    /// Samples in a batch
    #[arg(long, value_name = "B")]
    batch: Option<usize>,
    /// The seed of starting values and of the order of samples; the split has its own, split.seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// What is held out: records, query pairs or genes
    #[arg(long, value_enum)]
    split: Option<SchemeArg>,
}

impl Choices {
    /// What was chosen, as `key=value`.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = [
            self.batch.map(|batch| format!("batch={batch}")),
            self.seed.map(|seed| format!("seed={seed}")),
            self.split.map(|split| format!("split.scheme={}", split.scheme().name())),
        ];
        keys.into_iter().flatten().collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelArg {
    /// Embeddings from the STRING networks, a score for the deleted genes
    Dango,
    /// A graph network over all networks that sees the cell with the genes gone
    Hetero,
}

impl ModelArg {
    pub(crate) fn model(self) -> ModelName {
        match self {
            Self::Dango => ModelName::Dango,
            Self::Hetero => ModelName::Hetero,
        }
    }
}

#[derive(Serialize)]
struct Trained<'a> {
    schema: u32,
    run: &'a Path,
    ended: &'static str,
    #[serde(flatten)]
    last: Option<&'a MetricsLine>,
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit:?} is no unit of time; write 90s, 30m or 2h")),
    };
    let number: f64 =
        number.parse().map_err(|error| format!("{text:?} is no time ({error}); write 90s, 30m or 2h"))?;
    Duration::try_from_secs_f64(number * factor)
        .map_err(|error| format!("{text:?} is no time ({error}); write 90s, 30m or 2h"))
}

pub(crate) fn run(args: &TrainArgs, ui: &Ui) -> anyhow::Result<()> {
    on_workers(|| {
        let job = match &args.resume {
            Some(folder) => resumed(args, folder)?,
            None => new(args, ui)?,
        };
        train(args, job, ui)
    })
}

/// Runs on the threads that train: as many as the program was given, with the instructions it was told to use.
pub(crate) fn on_workers<T: Send>(work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    Isa::from_environment().map_err(|error| request_error(error.to_string()))?;
    let pool = knockout_train::workers(rayon::current_num_threads())
        .context("could not start the worker threads")?;
    pool.install(work)
}

/// Everything a run needs before its first step.
struct Job {
    config: Config,
    dataset: Dataset,
    split: Split,
    stores: Stores,
    origin: Origin,
}

/// Where a run begins.
enum Origin {
    /// In a folder that is made when the model has been built: one that cannot be leaves nothing behind.
    New { folder: PathBuf, overrides: Vec<String>, manifest: Box<Manifest> },
    /// Where it was left.
    Left { run: Run, checkpoint: Option<Box<Checkpoint>> },
}

fn new(args: &TrainArgs, ui: &Ui) -> anyhow::Result<Job> {
    let dir = args.dir.as_deref().ok_or_else(|| request_error("name the dataset folder"))?;
    let dataset = super::data::open(dir)?;
    let Some(model) = args.model else {
        return Err(request_error("name the model: --model dango or --model hetero"));
    };
    let mut keys = args.experiment.keys(model.model(), ui)?;
    keys.extend(args.choices.keys());
    keys.extend(length_keys(args));
    keys.extend(args.overrides.keys.iter().cloned());
    let config = run_folder::configure(model.model(), &dataset, &keys)?;
    config.notice().inspect(|notice| ui.note(notice));
    let split = run_folder::split(&dataset, &config)?;
    let stores = Stores::of_runs([&config], dir, &dataset, &split)?;
    let folder = args.out.clone().unwrap_or_else(|| {
        let name = std::path::absolute(dir)
            .ok()
            .and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
        Path::new("runs").join(format!(
            "{}-{}-{}",
            config.model.name(),
            name.unwrap_or_default(),
            config.seed
        ))
    });
    let manifest = Manifest {
        schema: 1,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
        seed: config.seed,
        host: run_folder::host(),
        inputs: inputs(&dataset),
        conditions: BTreeMap::from([
            ("dataset_folder".to_owned(), std::path::absolute(dir)?.display().to_string()),
            ("threads".to_owned(), rayon::current_num_threads().to_string()),
            ("instructions".to_owned(), Isa::current().name().to_owned()),
            ("precision".to_owned(), "f32".to_owned()),
        ]),
    };
    let origin = Origin::New { folder, overrides: keys, manifest: Box::new(manifest) };
    Ok(Job { config, dataset, split, stores, origin })
}

fn inputs(dataset: &Dataset) -> Inputs {
    Inputs {
        dataset: dataset.manifest.data_hash(),
        gene_table: dataset.cell.genes().hash().to_hex().to_string(),
        cell: dataset.cell.hash().to_hex().to_string(),
    }
}

fn length_keys(args: &TrainArgs) -> impl Iterator<Item = String> {
    let epochs = args.epochs.map(|epochs| format!("epochs={epochs}"));
    epochs.into_iter().chain(args.max_steps.map(|steps| format!("max_steps={steps}")))
}

fn resumed(args: &TrainArgs, folder: &Path) -> anyhow::Result<Job> {
    let run = Run::open(folder)?;
    let mut keys: Vec<String> = length_keys(args).collect();
    keys.extend(args.dir.iter().map(|key| key.display().to_string()));
    keys.extend(args.overrides.keys.iter().cloned());
    let described = run_folder::describe(folder, &keys)?;
    let (dataset, split) = run_folder::open(&described)?;
    let checkpoints = Checkpoints::at(&run.checkpoints());
    checkpoints.clean()?;
    let checkpoint = checkpoints.newest(Slot::Last)?.map(|(_, checkpoint)| Box::new(checkpoint));
    let stores = Stores::of_runs([&described.config], described.dataset_folder()?, &dataset, &split)?;
    Ok(Job { config: described.config, dataset, split, stores, origin: Origin::Left { run, checkpoint } })
}

fn train(args: &TrainArgs, job: Job, ui: &Ui) -> anyhow::Result<()> {
    let Job { config, dataset, split, stores, origin } = job;
    let fit = Fit::new(&config, &dataset, &split).map_err(class)?;
    let mut fit = fit.with_store(stores.of(config.processor()));
    let (mut from, mut after_step) = (Position::START, None);
    let run = match origin {
        Origin::New { folder, overrides, manifest } => {
            let text = toml::to_string(&config).context("could not write the configuration as TOML")?;
            let run =
                Run::create(&folder, Start { config: &text, overrides: &overrides, manifest: &manifest })?;
            split.save(&folder.join("split.parquet"), &dataset.manifest)?;
            run
        }
        Origin::Left { run, checkpoint } => {
            if let Some(checkpoint) = checkpoint {
                fit.restore(&checkpoint).map_err(class)?;
                (from, after_step) = (checkpoint.state.metrics, Some(checkpoint.state.place.step));
            }
            run
        }
    };
    let samples = split.rows(Part::Train).len();
    let mut console = Console::new(ui, &config, samples, args.max_time)?;
    let every = Duration::from_secs_f64(config.run.checkpoint_every * 60.0);
    let folder = run.folder().to_owned();
    ui.note(&format!(
        "{}: {} parameters, {} training samples, batch {}{}",
        folder.display(),
        crate::text::grouped(fit.model().parameters().element_count()),
        crate::text::grouped(samples),
        config.batch,
        after_step.map(|step| format!(", from step {step}")).unwrap_or_default(),
    ));
    let mut keeper = Keeper::new(&run, from, after_step, every, &mut console)?;
    let mut meter = Meter::new(&Recorder::default(), Schedule::AtStep(u64::MAX));
    let ended = fit.run(&mut meter, &mut keeper);
    let (line, saved) = (keeper.last_line.take(), keeper.last_saved.take());
    console.bar.finish_and_clear();
    let end = ended.map_err(|error| {
        let kept = saved
            .map(|saved| format!("; the last good state is {}", saved.path.display()))
            .unwrap_or_default();
        class(error).context(format!("training in {} stopped{kept}", folder.display()))
    })?;
    let line = line.or_else(|| run_folder::lines(&folder).pop());
    page::write(&folder, &config, (&dataset, &split), &fit, end)?;
    let trained = Trained { schema: 1, run: &folder, ended: word(end), last: line.as_ref() };
    ui.result(|| summary(&folder, end, line.as_ref()), &trained)?;
    match end {
        End::Stopped => Err(Verdict {
            code: exit::INTERRUPTED,
            message: format!(
                "interrupted and saved; go on with: knockout train --resume {}",
                folder.display()
            ),
        }
        .into()),
        _ => Ok(()),
    }
}

fn word(end: End) -> &'static str {
    match end {
        End::Epochs => "epochs",
        End::Steps => "steps",
        End::Patience => "patience",
        End::Stopped => "stopped",
    }
}

fn summary(folder: &Path, end: End, line: Option<&MetricsLine>) -> String {
    let why = match end {
        End::Epochs => "all epochs done",
        End::Steps => "all steps done",
        End::Patience => "no better validation Pearson for as long as run.patience allows",
        End::Stopped => "stopped",
    };
    let line = line.map_or_else(String::new, |line| {
        format!(
            "epoch {} step {}: train loss {:.4}, validation Pearson {}, Spearman {}, MSE {:.3e}\n",
            line.epoch,
            line.step,
            line.train_loss,
            figure(line.val.pearson),
            figure(line.val.spearman),
            line.val.mse.unwrap_or(f64::NAN),
        )
    });
    let folder = folder.display();
    format!("{why}\n{line}next: knockout evaluate {folder}\n")
}

/// The exit code of a failed run.
pub(crate) fn class(error: FitError) -> anyhow::Error {
    match error {
        FitError::Config(_)
        | FitError::EmptyPart { .. }
        | FitError::ConstantScores
        | FitError::Identity(_) => request_error(error.to_string()),
        FitError::Diverged { .. } => Verdict { code: exit::DIVERGED, message: error.to_string() }.into(),
        FitError::Keep(cause) => anyhow::anyhow!(cause),
        error => error.into(),
    }
}

/// The progress line, and who may stop the run: Ctrl-C, SIGTERM, the time limit.
struct Console<'a> {
    ui: &'a Ui,
    bar: ProgressBar,
    interrupted: Interrupt,
    deadline: Option<Instant>,
    epochs: u32,
}

impl<'a> Console<'a> {
    fn new(ui: &'a Ui, config: &Config, samples: usize, max_time: Option<Duration>) -> anyhow::Result<Self> {
        let interrupted = Interrupt::install()?;
        let all = samples.div_ceil(config.batch) as u64 * u64::from(config.epochs);
        let total = if config.max_steps > 0 { all.min(config.max_steps) } else { all };
        let bar = ui.progress("training", total, crate::ui::Unit::Items);
        let deadline = max_time.and_then(|time| Instant::now().checked_add(time));
        Ok(Self { ui, bar, interrupted, deadline, epochs: config.epochs })
    }
}

impl Companion for Console<'_> {
    fn step(&mut self, report: &StepReport<'_>) {
        self.bar.set_position(report.place.step);
        let seconds = report.times.wall_nanos as f64 / 1e9;
        let rate = if seconds > 0.0 { report.times.samples as f64 / seconds } else { 0.0 };
        self.bar.set_message(format!("{rate:.0} samples/s, loss {:.4}", report.outcome.loss));
    }

    fn epoch(&mut self, line: &MetricsLine) {
        let pearson = figure(line.val.pearson);
        self.bar.suspend(|| {
            self.ui.note(&format!(
                "epoch {}/{}: train loss {:.4}, validation Pearson {pearson}, MSE {:.3e}, learning rate {:.1e}",
                line.epoch + 1,
                self.epochs,
                line.train_loss,
                line.val.mse.unwrap_or(f64::NAN),
                line.learning_rate,
            ));
        });
    }

    fn stop_wanted(&mut self) -> bool {
        self.interrupted.is_asked() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
