//! `knockout train`: a run from its first step, or from where it was left.

mod console;
mod trackers;

use crate::choice;
use crate::exit;
use crate::failure::{Failure, FailureContext as _, Result, Unexpected as _, request_error};
use crate::presets::StartArgs;
use crate::ranks::RanksArg;
use crate::ui::Ui;
use clap::Args;
use console::TrainConsole;
use knockout_data::screen::{Dataset, Part, Scheme};
use knockout_engine::kernel::Isa;
use knockout_models::{MODELS, ModelEntry};
use knockout_ranks::Ranks;
use knockout_report::lab::{TrainingDocument, TrainingReport, prior_knowledge_sentence};
use knockout_report::units::{count, counted};
use knockout_train::config::Config;
use knockout_train::run::{End, Event, Run, RunContext, RunDescription, default_folder, read_metrics};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Train a model, or resume a run that was interrupted
///
/// Everything a run produces is in its folder: configuration, metrics, TensorBoard events, checkpoints. Equal seeds give
/// equal weights, for any number of threads and any sequence of interruptions.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout train yeast
  knockout train yeast --fast
  knockout train yeast --model dango
  knockout train yeast --model dango --batch 4096 optimiser.learning_rate=0.003 --seed 7
  knockout train yeast --model dango --split gene-disjoint --max-time 30m
  knockout train yeast --model dango --ensemble 3
  knockout train yeast --preset 085 --epochs 10
  knockout train yeast --config runs/dango-yeast-0/config.toml --seed 1
  knockout train yeast --model dango split.file=split.parquet
  knockout train yeast --model dango split.fold=0/5
  knockout train yeast --model dango --on-residuals-of runs/stack-yeast-0
  knockout train yeast --model dango model.start=runs/low-rank-yeast-0
  knockout train yeast --model stack --with runs/dango-yeast-0
  knockout train --resume runs/dango-yeast-0
  knockout train --resume runs/dango-yeast-0 --data /elsewhere/yeast
  knockout train yeast --model hetero --out runs/hetero --resume-or-start
  knockout train yeast --model hetero --ranks 2
  mpirun -n 4 knockout train yeast --model hetero train.shards=4")]
pub(crate) struct TrainArgs {
    /// The dataset folder; not with --resume
    #[arg(value_name = "DIR", required_unless_present = "resume")]
    dir: Option<PathBuf>,
    /// The model; by default that of the preset or configuration, otherwise the stack of the solved models
    #[arg(long, value_name = "MODEL", value_parser = choice::model())]
    model: Option<ModelEntry>,
    #[command(flatten)]
    start: StartArgs,
    /// Resume the run in this folder
    #[arg(long, value_name = "RUN", conflicts_with_all = ["model", "preset", "config", "out", "batch", "seed", "split"])]
    resume: Option<PathBuf>,
    /// Resume the run if it exists, otherwise start it (for requeued jobs)
    #[arg(long, conflicts_with = "resume")]
    resume_or_start: bool,
    /// With --resume: the dataset folder, if it has moved; its contents are checked
    #[arg(long, value_name = "DIR", requires = "resume")]
    data: Option<PathBuf>,
    /// The run's folder; by default runs/MODEL-DATASET-SEED, with a split that is not the default before the seed. With --ensemble,
    /// RUN-SEED
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Train on the residuals of this run; its predictions are added when predicting. It must have the same dataset and split
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    on_residuals_of: Option<PathBuf>,
    /// Stack this run with the solved model, weighted on the validation part; may be given several times
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    with: Vec<PathBuf>,
    /// Train N runs one after the other that differ in their seed, from --seed on; evaluate and predict take them together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1000), conflicts_with_all = ["resume", "max_time"])]
    ensemble: Option<u64>,
    /// Solve the stack without its boosted trees: about a fifth of the time, slightly less accurate
    #[arg(long, conflicts_with = "resume")]
    fast: bool,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    ranks: RanksArg,
    /// Epochs at most
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Train on at most this many batches; 0 means no limit
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Save and stop after this long, such as 30m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_time: Option<Duration>,
    #[command(flatten)]
    overrides: super::overrides::Overrides,
}

/// The keys of a run's configuration that have an option of their own.
#[derive(Debug, Default, Args)]
pub(crate) struct Choices {
    /// Samples in a batch
    #[arg(long, value_name = "B")]
    batch: Option<usize>,
    /// The seed of the initial weights and of the order of samples; the split has its own, split.seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Unit that is held out: records, query pairs or genes
    #[arg(long, value_name = "SPLIT", value_parser = choice::scheme())]
    split: Option<Scheme>,
}

impl Choices {
    /// Settings as `key=value`.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = [
            self.batch.map(|batch| format!("batch={batch}")),
            self.seed.map(|seed| format!("seed={seed}")),
            self.split.map(|split| format!("split.scheme={}", split.name())),
        ];
        keys.into_iter().flatten().collect()
    }
}

/// Reads a time such as `90s`, `30m` or `1h 30m`; a number without a unit is in seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let with_unit = if text.ends_with(|c: char| c.is_ascii_digit()) { &format!("{text}s") } else { text };
    humantime::parse_duration(with_unit).map_err(|error| match error {
        humantime::DurationError::UnknownUnit { unit, .. } => {
            format!("unknown time unit {unit:?}; use s, m, h or d")
        }
        error => format!("{text:?} is not a time ({error}); write 90s, 30m or 2h"),
    })
}

pub(crate) fn run(args: &TrainArgs, ui: &Ui) -> Result<()> {
    let ranks = crate::ranks::join(args.ranks, ui)?;
    on_workers_of(&ranks, ui, || {
        if let Some(folder) = &args.resume {
            let (keys, data) = (resume_keys(args)?, args.data.as_deref());
            return train(args, Run::resume_on(&ranks, folder, &keys, data, MODELS)?, ui);
        }
        let run = plan(args, &ranks, ui)?;
        match args.ensemble {
            None => start(args, run, ui),
            Some(count) => train_ensemble(args, members(args, run, count)?, ui),
        }
    })
}

/// Returns the runs of an ensemble: a planned run with seeds that count up from its own.
fn members(args: &TrainArgs, planned: NewRun, count: u64) -> Result<Vec<NewRun>> {
    let NewRun { dataset, config, context, .. } = planned;
    let model = config.model.entry();
    if model.is_solved {
        let message = format!("{} does not depend on the seed; leave --ensemble out", model.name);
        return Err(request_error(message));
    }
    let member = |number: u64| {
        let seed = format!("seed={}", config.seed.saturating_add(number));
        let config = config.with(&[&seed])?;
        let folder = folder_of(args, &context.dataset_folder, &config);
        let mut context = context.clone();
        context.overrides.push(seed);
        Ok(NewRun { folder, dataset: Arc::clone(&dataset), config, context })
    };
    (0..count).map(member).collect()
}

/// Trains the runs of an ensemble one after the other. A folder that exists is refused before the first of them.
fn train_ensemble(args: &TrainArgs, runs: Vec<NewRun>, ui: &Ui) -> Result<()> {
    for NewRun { folder, context, .. } in &runs {
        if !args.resume_or_start && exists_already(folder, &context.ranks)? {
            let message = format!(
                "{} exists already; choose another --out, or continue with --resume-or-start",
                folder.display()
            );
            return Err(request_error(message));
        }
    }
    let folders: Vec<PathBuf> = runs.iter().map(|run| run.folder.clone()).collect();
    for (run, number) in runs.into_iter().zip(1..) {
        let of_all = format!("run {number} of {}", folders.len());
        ui.note(&format!("{of_all}: {}", run.folder.display()));
        start(args, run, &ui.part()).with_context(|| {
            format!("{of_all} (continue all with the same command and --resume-or-start)")
        })?;
    }
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let next = || format!("next: knockout evaluate {} (each run, and their ensemble)\n", names.join(" "));
    ui.result(next, &EnsembleDocument { schema: 1, runs: &folders })
}

/// Document of `train --ensemble`.
#[derive(Serialize)]
struct EnsembleDocument<'a> {
    /// Version of this document: 1.
    schema: u32,
    /// Folders of the runs.
    runs: &'a [PathBuf],
}

/// Creates and trains a run; with `--resume-or-start`, resumes one that exists.
fn start(args: &TrainArgs, run: NewRun, ui: &Ui) -> Result<()> {
    let NewRun { folder, dataset, config, context } = run;
    let ranks = &context.ranks;
    if args.resume_or_start && exists_already(&folder.join("manifest.json"), ranks)? {
        let existing = RunDescription::read(&folder, &[] as &[&str], MODELS)?.config.model.name();
        if existing != config.model.name() {
            let message =
                format!("{} is a run of {existing}, not of {}", folder.display(), config.model.name());
            return Err(request_error(message));
        }
        let (keys, data) = (&context.overrides, args.dir.as_deref());
        return train(args, Run::resume_on(ranks, &folder, keys, data, MODELS)?, ui);
    }
    note_fitted(&config, ui)?;
    train(args, Run::create(&folder, dataset, config, &context)?, ui)
}

/// Prints a notice if a network would learn from residuals of records that the other run was fitted to.
fn note_fitted(config: &Config, ui: &Ui) -> Result<()> {
    let run = &config.from.residuals_of;
    if run.is_empty() {
        return Ok(());
    }
    let other = RunDescription::read(Path::new(run), &[] as &[&str], MODELS)?.config;
    if other.has_fitted_residuals() {
        ui.note(&format!(
            "note: {run} was fitted to the records whose residuals are trained on, which leaves little to learn from; solve it with \
             residuals.folds=5"
        ));
    }
    Ok(())
}

/// Returns whether a file or folder exists; the first rank looks, before any of them could make it.
fn exists_already(path: &Path, ranks: &Ranks) -> Result<bool> {
    let mut exists_already = [u8::from(path.exists())];
    ranks.broadcast(&mut exists_already)?;
    Ok(exists_already == [1])
}

/// Runs on the threads that train: as many as the program was given, with the instructions it was told to use.
pub(crate) fn on_workers<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    on_threads(rayon::current_num_threads(), work)
}

/// Runs on the threads of one of several ranks, which share the machine.
pub(crate) fn on_workers_of<T: Send>(
    ranks: &Ranks,
    ui: &Ui,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    on_threads(crate::ranks::threads(ranks, ui), work)
}

/// Runs on a number of threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    Isa::from_environment()?;
    let pool = knockout_train::workers(threads).unexpected("could not start the worker threads")?;
    pool.install(work)
}

/// A model's configuration on a dataset, with overrides.
pub(crate) fn configure(model: &ModelEntry, dataset: &Dataset, keys: &[String]) -> Result<Config> {
    let config = Config::defaults(model, &dataset.cell)?.with(keys)?;
    config.check(&dataset.cell)?;
    Ok(config)
}

/// A run to be created.
struct NewRun {
    folder: PathBuf,
    dataset: Arc<Dataset>,
    config: Config,
    context: RunContext,
}

fn plan(args: &TrainArgs, ranks: &Ranks, ui: &Ui) -> Result<NewRun> {
    let dir = args.dir.as_deref().ok_or_else(|| request_error("name the dataset folder"))?;
    let dataset = super::data::open(dir)?;
    let start = args.start.read(args.model, ui)?;
    let model = match (args.model, start.model) {
        (None, None) => MODELS[0],
        _ => start.model(args.model)?,
    };
    let mut keys = start.keys_for(&model);
    if args.fast {
        let fast =
            model.fast.ok_or_else(|| request_error(format!("{} has no --fast; leave it out", model.name)))?;
        keys.push(fast.to_owned());
    }
    keys.extend(args.choices.keys());
    keys.extend(length_keys(args));
    keys.extend(from_keys(args)?);
    keys.extend(args.overrides.keys.iter().cloned());
    keys.extend(args.ranks.shards_key(&model, &keys, ui));
    trackers::check(&keys, dir, model.name, args.out.as_deref())?;
    let config = configure(&model, &dataset, &keys)?;
    config.notice().inspect(|notice| ui.note(notice));
    let uses: BTreeSet<String> = config.model.prior_knowledge(&dataset.cell).into_iter().collect();
    if !uses.is_empty() {
        ui.note(&format!("{}: {}", config.model.name(), prior_knowledge_sentence(&uses)));
    }
    for key in &keys {
        ui.detail(&format!("  set {key}"));
    }
    let folder = folder_of(args, dir, &config);
    let context = RunContext {
        dataset_folder: dir.to_owned(),
        overrides: keys,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
        ranks: ranks.clone(),
        adopted: None,
    };
    Ok(NewRun { folder, dataset, config, context })
}

/// Returns the folder of a new run; that of a run of an ensemble ends with its seed.
fn folder_of(args: &TrainArgs, dir: &Path, config: &Config) -> PathBuf {
    let out = args.out.clone().map(|out| match (args.ensemble, out.file_name()) {
        (Some(_), Some(name)) => out.with_file_name(format!("{}-{}", name.to_string_lossy(), config.seed)),
        _ => out,
    });
    out.unwrap_or_else(|| {
        let suffix = match (config.from.residuals_of.is_empty(), config.from.with.is_empty()) {
            (false, _) => "-residuals",
            (_, false) => "-with",
            _ => "",
        };
        default_folder(&format!("{}{suffix}", config.model.name()), dir, &config.split, config.seed)
    })
}

/// Other runs that the run builds on.
fn from_keys(args: &TrainArgs) -> Result<Vec<String>> {
    let text = |run: &PathBuf| {
        let text = run.to_str().map(str::to_owned);
        text.ok_or_else(|| request_error(format!("the path {} is not UTF-8; rename the run", run.display())))
    };
    let mut keys = Vec::new();
    if let Some(run) = &args.on_residuals_of {
        keys.push(format!("from.residuals_of={}", text(run)?));
    }
    if !args.with.is_empty() {
        let runs = args.with.iter().map(text).collect::<Result<Vec<_>>>()?;
        keys.push(format!("from.with={runs:?}"));
    }
    Ok(keys)
}

fn length_keys(args: &TrainArgs) -> impl Iterator<Item = String> {
    let epochs = args.epochs.map(|epochs| format!("epochs={epochs}"));
    epochs.into_iter().chain(args.max_steps.map(|steps| format!("max_steps={steps}")))
}

fn resume_keys(args: &TrainArgs) -> Result<Vec<String>> {
    let mut keys: Vec<String> = length_keys(args).collect();
    // A first word that is not a folder is an override, such as `train --resume RUN epochs=20`.
    if let Some(word) = &args.dir {
        if word.is_dir() {
            let dir = word.display();
            return Err(request_error(format!(
                "a run knows its dataset: leave {dir} out, or write --data {dir} if that is where it has moved to"
            )));
        }
        keys.push(word.display().to_string());
    }
    keys.extend(args.overrides.keys.iter().cloned());
    Ok(keys)
}

fn train(args: &TrainArgs, mut run: Run, ui: &Ui) -> Result<()> {
    let folder = run.folder().to_owned();
    note_start(&run, ui);
    let console = TrainConsole::new(ui, &run, args.max_time)?;
    run.stop_when(console.wants_stop());
    let (mut last, mut end, mut tried) = (None, End::Epochs, Vec::new());
    while let Some(event) = run.next() {
        let event = event.map_err(|error| {
            console.bar.finish_and_clear();
            let saved =
                run.last_saved().map(|saved| format!("; the last good state is {}", saved.path.display()));
            let context = format!("training in {} stopped{}", folder.display(), saved.unwrap_or_default());
            Failure::from(error).context(context)
        })?;
        match event {
            Event::Step(report) => {
                console.step(&report);
                crate::ranks::panic_if_asked(&run.ranks(), report.position.step);
            }
            Event::Tried(setting) => {
                console.tried(&setting);
                tried.push(setting);
            }
            Event::Solving { what, step } => console.solving(&what, step),
            Event::Validation { done, total } => console.validation(done, total),
            Event::Epoch(line) => {
                console.epoch(&line);
                last = Some(line);
            }
            Event::End(why) => end = why,
        }
    }
    console.bar.finish_and_clear();
    if !run.ranks().is_first() {
        return ended(end, &folder);
    }
    let lines = read_metrics(&folder)?;
    let report = TrainingReport::of(&run, end, &tried, &console.wants_stop())?;
    report.write()?;
    let last = last.as_ref().or(lines.last());
    let choices = run.choices().iter().map(|choice| (&choice.name[..], choice.value)).collect();
    let schema = last.is_none().then_some(1);
    let trained = TrainingDocument { schema, run: &folder, ended: end.name(), choices, last };
    ui.page(|| report.page(), &trained)?;
    if ui.says_details() && !run.choices().is_empty() {
        ui.detail(&report.choices_table().to_text());
    }
    ended(end, &folder)
}

/// Notes the size of a run, and what is unusual about it.
fn note_start(run: &Run, ui: &Ui) {
    let (folder, samples) = (run.folder(), run.split().rows(Part::Train).len());
    let samples_text = counted(samples, "training sample");
    let Some(fit) = run.fit() else {
        ui.note(&format!("{}: {}, {samples_text}", folder.display(), run.config().model.name()));
        return;
    };
    let batch = run.config().batch;
    ui.note(&format!(
        "{}: {} parameters, {samples_text}, batch {batch}{}",
        folder.display(),
        count(fit.model().parameters().element_count()),
        run.resumed_from().map(|step| format!(", from step {step}")).unwrap_or_default(),
    ));
    if batch >= samples && samples > 1 {
        ui.note(&format!(
            "note: the batch holds the whole training part, so an epoch is one step; batch={} would take about ten",
            samples.div_ceil(10)
        ));
    }
    let missing = run.resumed_metrics().missing_lines;
    if missing > 0 {
        ui.note(&format!(
            "warning: {} lacks {missing} lines that existed at the checkpoint; the curves start later",
            folder.join("metrics.jsonl").display()
        ));
    }
    if let Some(started) = run.other_instructions() {
        ui.note(&format!(
            "warning: the run was started with the instruction set {started}, which this CPU lacks; the numbers will differ in their last bits"
        ));
    }
}

/// The verdict on how a run ended.
fn ended(end: End, folder: &Path) -> Result<()> {
    match end {
        End::Stopped => Err(Failure::verdict(
            exit::INTERRUPTED,
            format!("interrupted and saved; resume with: knockout train --resume {}", folder.display()),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_a_bare_number_is_in_seconds() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("30m", 1800.0),
            ("2min", 120.0),
            ("1.5h", 5400.0),
            ("1h 30m", 5400.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        assert_eq!(parse_time("3x").unwrap_err(), "unknown time unit \"x\"; use s, m, h or d");
        for text in ["", "-3s", "h", "1e9s"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
