//! `knockout benchmark`: every model on every split, and one table of it.

use crate::choice;
use crate::command::evaluate::BootstrapArgs;
use crate::command::train::{on_workers, parse_time};
use crate::exit::INTERRUPTED;
use crate::failure::{Failure, Result, request_error};
use crate::interrupt::Interrupt;
use crate::output::write_in;
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_bench::trials::Stop;
use knockout_bench::trials::benchmark::{self, BenchmarkModel, BenchmarkProgress, BenchmarkRequest};
use knockout_data::screen::Scheme;
use knockout_report::lab::{BenchmarkDocument, benchmark_page};
use knockout_report::units::{duration_of_seconds as time, figure};
use knockout_train::run::dataset_word;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Train every model on every split and compare them
///
/// Baselines and solved models take what they need; each network may use --budget of CPU time on each split. Everything is kept in
/// the folder OUT: runs as `train` makes them, predictions, figures. The same command resumes where it was interrupted and does nothing
/// twice; a larger budget trains the networks further. The figures are of the test part, with what bounds them. docs/benchmark.md explains
/// the table.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout benchmark yeast
  knockout benchmark yeast collins --splits 5 --budget 20m --out runs/benchmark
  knockout benchmark yeast --models stack,gene-mlp --split random --json
  knockout benchmark yeast --set dango:optimiser.learning_rate=0.003 --out runs/tuned")]
pub(crate) struct BenchmarkArgs {
    /// The dataset folders
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Units that are held out, separated by commas; schemes that do not apply to a dataset are left out
    #[arg(long, value_name = "SPLIT", default_value = "random,gene-disjoint", value_delimiter = ',', value_parser = choice::scheme())]
    split: Vec<Scheme>,
    /// Splits of each kind, with seeds S, S+1, …, which are those of the models too
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    splits: u32,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = knockout_data::screen::DEFAULT_SPLIT_SEED)]
    seed: u64,
    /// Models and baselines, with commas; by default all models, the additive ridge and the gene MLP
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    models: Vec<String>,
    /// CPU time of each network on each split, such as 90s, 10m or 2h; 0 for no limit but its epochs
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    budget: Duration,
    /// Change a setting of a model: MODEL:key=value
    #[arg(long = "set", value_name = "MODEL:KEY=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
    /// The folder of runs, figures, table and page; by default runs/benchmark-DATASETS
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    bootstrap: BootstrapArgs,
}

/// Time between lines about epochs.
const LINE_EVERY: Duration = Duration::from_secs(10);

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((model, key)) if key.contains('=') => Ok((model.to_owned(), key.to_owned())),
        _ => Err("write MODEL:key=value, such as dango:batch=256".to_owned()),
    }
}

pub(crate) fn run(args: &BenchmarkArgs, ui: &Ui) -> Result<()> {
    let models = if args.models.is_empty() {
        BenchmarkModel::usual()
    } else {
        args.models.iter().map(|name| BenchmarkModel::find(name)).collect::<Result<_, _>>()?
    };
    if let Some((model, _)) =
        args.settings.iter().find(|(name, _)| !models.iter().any(|model| model.name() == name))
    {
        return Err(request_error(format!("--set {model}:…: {model} does not take part; see --models")));
    }
    let out = args.out.clone().unwrap_or_else(|| {
        let words: Vec<String> = args.dirs.iter().map(|dir| dataset_word(dir)).collect();
        Path::new("runs").join(format!("benchmark-{}", words.join("-")))
    });
    let request = BenchmarkRequest {
        datasets: args.dirs.clone(),
        schemes: args.split.clone(),
        seeds: (0..u64::from(args.splits)).map(|i| args.seed.wrapping_add(i)).collect(),
        models,
        settings: args.settings.clone(),
        budget: (!args.budget.is_zero()).then_some(args.budget),
        out,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
        bootstrap: args.bootstrap.bootstrap(),
    };
    let interrupt = Interrupt::install()?;
    let stop: Stop = Arc::new(move || interrupt.is_asked());
    let outcome = on_workers(|| compare(&request, &stop, ui))?;
    let shown = BenchmarkDocument {
        schema: 1,
        out: &request.out,
        budget_seconds: request.budget.map(|budget| budget.as_secs_f64()),
        resamples: request.bootstrap.resamples,
        complete: !outcome.is_stopped,
        boards: &outcome.boards,
    };
    let page = benchmark_page(&shown);
    write_in(&request.out, "table.md", &page.to_markdown())?;
    write_in(&request.out, "report.html", &page.to_html())?;
    let json = serde_json::to_string_pretty(&shown).unwrap_or_default() + "\n";
    write_in(&request.out, "table.json", &json)?;
    ui.page(|| page, &shown)?;
    if outcome.is_stopped {
        let message = "interrupted and saved; run the same command again to resume";
        return Err(Failure::verdict(INTERRUPTED, message));
    }
    Ok(())
}

fn compare(request: &BenchmarkRequest, stop: &Stop, ui: &Ui) -> Result<benchmark::BenchmarkOutcome> {
    let bar = ui.bar("cells", 0, Unit::Items);
    let mut last = Instant::now();
    let outcome = benchmark::run(request, stop, &mut |progress| match progress {
        BenchmarkProgress::Cell { name, done, of } => {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            bar.set_message(name.to_owned());
            if !ui.is_on_terminal() {
                ui.note(&format!("{}/{of} {name}", done + 1));
            }
        }
        BenchmarkProgress::Run(report) => {
            let of = report.budget_seconds.map_or_else(String::new, |budget| format!(" of {}", time(budget)));
            let spent = format!("{}: {}{of} CPU", report.what, time(report.cpu_seconds));
            bar.set_message(spent.clone());
            if let Some(line) = report.line.filter(|_| last.elapsed() > LINE_EVERY) {
                last = Instant::now();
                let pearson = figure(line.val.pearson);
                bar.suspend(|| {
                    ui.note(&format!("{spent}, epoch {}, validation Pearson {pearson}", line.epoch + 1));
                });
            }
        }
    })?;
    bar.finish_and_clear();
    Ok(outcome)
}
