//! `knockout experiment`: models, modes and switches measured alternately on the same batches, and one comparable report.

mod ranks;

use super::profile::{recorded, subject, write_profile};
use super::train::{Choices, configure, on_workers_of, parse_time};
use crate::choice;
use crate::exit::INTERRUPTED;
use crate::failure::{Failure, FailureContext as _, Result, Unexpected as _, request_error};
use crate::interrupt::Interrupt;
use crate::presets::StartArgs;
use crate::ranks::RanksArg;
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_analyze::Analysis;
use knockout_analyze::profile::RunProfile;
use knockout_analyze::profile::experiment::{Experiment, ExperimentPlan};
use knockout_base::files::{NewFolder, replace};
use knockout_bench::measure::{AblationScope, ExperimentOutcome, ExperimentRequest, Subject};
use knockout_data::batch::ProcessorKind;
use knockout_models::{MODELS, ModelEntry};
use knockout_report::units::duration;
use knockout_report::{experiment_html, experiment_markdown, experiment_text};
use knockout_train::config::Config;
use knockout_train::run::dataset_word;
use knockout_train::step::Mode;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Measure models in every mode, alternately and on the same batches, and compare them
///
/// Every round measures each cell (a model in a mode) once, so that disturbances affect all alike. All use one batch size:
/// that of --batch, otherwise the smallest default of the models. Without --batch, full steps of models with a larger default are
/// measured with that too. The report estimates the parts of a step in two ways, by
/// phases and by differences of modes, and shows where they disagree.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout experiment yeast
  knockout experiment yeast --models dango --ablate --out runs/switches
  knockout experiment yeast --preset 086 --modes data,full
  knockout experiment yeast --processors perturbation,mask --rounds 9 --json > report.json
  knockout compare runs/experiment-yeast runs/switches
  knockout compare runs/switches/dango-forward runs/switches/dango-full --vary mode
  knockout experiment yeast --modes data --ranks 1,2,4
  mpirun -n 4 knockout experiment yeast train.shards=4

The folder gets report.html, report.txt, summary.md, report.json, and a run's folder for each cell.")]
pub(crate) struct ExperimentArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The models; by default the one that --preset or --config is for, else all there are
    #[arg(long, value_parser = choice::trained_model(), value_delimiter = ',', value_name = "MODEL")]
    models: Vec<ModelEntry>,
    #[command(flatten)]
    start: StartArgs,
    /// The modes; by default all four. Parts of a step are compared where all are measured
    #[arg(long, value_parser = choice::mode(), value_delimiter = ',', value_name = "MODE")]
    modes: Vec<Mode>,
    /// Representations of a deletion, by default loader.processor; the others are compared with the first
    #[arg(long, value_delimiter = ',', value_name = "PROCESSOR", value_parser = choice::processor())]
    processors: Vec<ProcessorKind>,
    /// Also measure the switches that could make training faster, and rank them
    #[arg(long)]
    ablate: bool,
    /// Measure on each of these numbers of ranks, alternately; the others are compared with the first. They are processes of this
    /// machine, or started by --launcher
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "ablate", value_parser = clap::value_parser!(u64).range(1..=4096))]
    ranks: Vec<u64>,
    /// Launcher of ranks on several machines, such as mpirun, with its options; -n and their number are added
    #[arg(long, value_name = "COMMAND", requires = "ranks")]
    launcher: Option<String>,
    /// One round of an experiment over ranks, as the program starts itself
    #[arg(long, hide = true, requires = "ranks", requires = "round_out", value_name = "N")]
    round: Option<u64>,
    /// Where that round goes
    #[arg(long, hide = true, requires = "round", value_name = "DIR")]
    round_out: Option<PathBuf>,
    /// Ranks of that round, if no launcher starts them
    #[arg(long, hide = true, requires = "round", value_name = "N")]
    round_ranks: Option<u64>,
    /// Rounds; each measures every cell once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// End after this time, such as 5m, with the rounds that are complete by then
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_time: Option<Duration>,
    /// Measured steps of a cell per round; a multiple of 4 is fair to accumulated gradients
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Warm-up steps before them
    #[arg(long, value_name = "N", default_value_t = 2)]
    warmup: u64,
    #[command(flatten)]
    choices: Choices,
    /// The folder to make; by default runs/experiment-DATASET
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    overrides: super::overrides::Overrides,
}

/// A finished experiment.
pub(crate) struct Finished {
    pub(crate) experiment: Experiment,
    pub(crate) folder: PathBuf,
    /// Whether a stop was requested before the last round.
    is_interrupted: bool,
}

pub(crate) fn run(args: &ExperimentArgs, ui: &Ui) -> Result<()> {
    if let Some((round, out)) = args.round.zip(args.round_out.as_deref()) {
        return ranks::measure_round(args, round, out, ui);
    }
    let finished = if args.ranks.is_empty() { measure(args, ui)? } else { ranks::measure(args, ui)? };
    let files = files(&finished.folder);
    ui.result(
        || experiment_text(&finished.experiment, &files),
        &knockout_report::experiment_json(&finished.experiment),
    )?;
    if finished.is_interrupted {
        let message = "interrupted: the report is of the rounds that were taken until then";
        return Err(Failure::verdict(INTERRUPTED, message));
    }
    Ok(())
}

/// Measures everything and writes the folder.
pub(crate) fn measure(args: &ExperimentArgs, ui: &Ui) -> Result<Finished> {
    let ranks = crate::ranks::join(RanksArg::default(), ui)?;
    let (mut subject, request) = prepare(args, None, ui)?;
    subject = subject.on_ranks(&ranks);
    let folder = request.out.clone();
    let interrupt = Interrupt::install_on(&ranks)?;
    let experiment = on_workers_of(&ranks, ui, || {
        let ExperimentOutcome { findings, profiles, traces, folder: made } =
            take_rounds(&request, &mut subject, &interrupt, ui)?;
        // The other ranks measured the same, and the first one writes it.
        if ranks.is_first() {
            write_profiles(&folder, &profiles)?;
            let recorded = traces
                .iter()
                .map(|(model, trace)| Ok((model.clone(), recorded(trace, ui)?)))
                .collect::<Result<Vec<(String, Analysis)>>>()?;
            write(&folder, &findings, &recorded)?;
            made.into_iter().for_each(NewFolder::keep);
        }
        Ok(findings)
    })?;
    ui.note(&format!("wrote {}; open report.html in a browser", folder.display()));
    Ok(Finished { experiment, folder, is_interrupted: interrupt.is_asked() })
}

/// Opens the dataset and checks the request; `only_round` is the round to take and the folder it goes to.
fn prepare(
    args: &ExperimentArgs,
    only_round: Option<(u64, &Path)>,
    ui: &Ui,
) -> Result<(Subject, ExperimentRequest)> {
    let dataset = super::data::open(&args.dir)?;
    let asked = match args.models[..] {
        [one] => Some(one),
        _ => None,
    };
    let start = args.start.read(asked, ui)?;
    let trained: Vec<ModelEntry> = MODELS.iter().copied().filter(ModelEntry::has_epochs).collect();
    let named = start.models();
    let models = match (&args.models[..], &named[..]) {
        ([], []) => &trained[..],
        ([], named) => named,
        (asked, _) => asked,
    };
    let configs = models.iter().map(|model| {
        let mut keys = start.keys_for(model);
        if start.model.is_some_and(|own| own.name != model.name) {
            // Cells share all settings but those of their models, and no time depends on the rate.
            keys.retain(|key| !key.starts_with("optimiser.learning_rate="));
        }
        keys.extend(args.choices.keys());
        keys.extend(args.overrides.keys.iter().cloned());
        for key in &keys {
            ui.detail(&format!("  {}: set {key}", model.name));
        }
        let config = configure(model, &dataset, &keys)?;
        ranks::with_shards(config, &args.ranks)
    });
    let configs = configs.collect::<Result<Vec<Config>>>()?;
    let Some(first) = configs.first() else { return Err(request_error("name a model")) };
    let subject = subject(Arc::clone(&dataset), first)?;
    let request = ExperimentRequest {
        configs,
        processors: args.processors.clone(),
        modes: args.modes.clone(),
        time_limit: args.max_time.filter(|_| only_round.is_none()),
        plan: ExperimentPlan {
            dataset: dataset.manifest.name.clone(),
            rounds: args.rounds,
            steps: args.steps,
            warmup: args.warmup,
            ..ExperimentPlan::default()
        },
        only_round: only_round.map(|(round, _)| round),
        ablation: if args.ablate { AblationScope::All } else { AblationScope::Off },
        dataset_folder: args.dir.clone(),
        out: match (only_round, &args.out) {
            (Some((_, out)), _) => out.to_owned(),
            (None, Some(out)) => out.clone(),
            (None, None) => Path::new("runs").join(format!("experiment-{}", dataset_word(&args.dir))),
        },
    };
    Ok((subject, request))
}

/// Takes the rounds of a request, with a bar.
fn take_rounds(
    request: &ExperimentRequest,
    subject: &mut Subject,
    interrupt: &Interrupt,
    ui: &Ui,
) -> Result<ExperimentOutcome> {
    let experiment = knockout_bench::measure::ExperimentRunner::new(request, subject)?;
    // The number of steps that fit into a time is unknown, so a bar to the end of all rounds would mislead.
    let bar = match request.time_limit {
        None => ui.progress("measuring", experiment.step_count(), Unit::Items),
        Some(limit) => {
            ui.note(&format!("as many rounds as fit into {}", duration(limit)));
            ui.steps("measuring")
        }
    };
    let mut on_step = || {
        bar.inc(1);
        if interrupt.is_asked() {
            bar.set_message("stopping; Ctrl-C again ends it at once, without a report");
        }
    };
    let outcome = experiment.run(&mut on_step, &|| interrupt.is_asked());
    bar.finish_and_clear();
    match outcome {
        Err(error) if interrupt.is_asked() => {
            Err(Failure::verdict(INTERRUPTED, format!("interrupted: {error}")))
        }
        other => Ok(other?),
    }
}

/// Writes each cell as a run.
fn write_profiles(folder: &Path, profiles: &[(String, RunProfile)]) -> Result<()> {
    profiles.iter().try_for_each(|(name, profile)| write_profile(&folder.join(name), profile))
}

/// The documents of an experiment, and what they are called; report.json comes last and marks a complete experiment.
fn files(folder: &Path) -> Vec<(String, String)> {
    [("page", "report.html"), ("text", "report.txt"), ("summary", "summary.md"), ("figures", "report.json")]
        .map(|(what, name)| (what.to_owned(), folder.join(name).display().to_string()))
        .to_vec()
}

fn write(folder: &Path, experiment: &Experiment, recorded: &[(String, Analysis)]) -> Result<()> {
    let json = serde_json::to_string_pretty(&knockout_report::experiment_json(experiment))
        .unexpected("could not write the report as JSON")?;
    let documents = [
        ("report.html", experiment_html(experiment, recorded)),
        ("report.txt", experiment_text(experiment, &files(folder))),
        ("summary.md", experiment_markdown(experiment)),
        ("report.json", json),
    ];
    for (name, text) in documents {
        let path = folder.join(name);
        replace(&path, |file| file.write_all(text.as_bytes()))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}
