//! `knockout sweep`: settings of a model, searched on the validation part within a budget.

use crate::choice;
use crate::command::train::{on_workers, parse_time};
use crate::exit::INTERRUPTED;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::write_in;
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_bench::trials::Stop;
use knockout_bench::trials::sweep::{self, Axis, SweepOutcome, SweepProgress, SweepRequest};
use knockout_models::ModelEntry;
use knockout_report::lab::{SweepDocument, sweep_page};
use knockout_report::units::{counted, duration_of_seconds as time, figure};
use knockout_train::run::dataset_word;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Search settings of a model by successive halving, on the validation part
///
/// Every combination of the values is trained for a share of the CPU time; the best one in --keep of each rung
/// continues to the next. The test part is never used. Runs are as `train` makes them; run the same command again to resume.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout sweep yeast --model dango optimiser.learning_rate=0.01,0.003,0.001 batch=64,256 --budget 30m
  knockout sweep yeast --model hetero model.layers=1,2,3 model.norm=node split.scheme=gene-disjoint --budget 2h
  knockout sweep yeast --model dango model.width=32,64,128 --budget 10m --out runs/widths --json")]
pub(crate) struct SweepArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The model, one that is trained step by step
    #[arg(long, value_name = "MODEL", value_parser = choice::trained_model())]
    model: ModelEntry,
    /// CPU time of all runs together, such as 30m or 2h
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_time)]
    budget: Duration,
    /// Keep one in this many settings for the next rung
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    keep: u32,
    /// The folder of the runs; by default runs/sweep-MODEL-DATASET
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Settings: key=value, or key=a,b,c to try each
    #[arg(value_name = "KEY=VALUES")]
    settings: Vec<String>,
}

pub(crate) fn run(args: &SweepArgs, ui: &Ui) -> Result<()> {
    let axes = args.settings.iter().map(|text| text.parse::<Axis>()).collect::<Result<Vec<_>, _>>()?;
    let out = args.out.clone().unwrap_or_else(|| {
        Path::new("runs").join(format!("sweep-{}-{}", args.model.name, dataset_word(&args.dir)))
    });
    let request = SweepRequest {
        dataset: args.dir.clone(),
        model: args.model,
        axes,
        budget: args.budget,
        keep_one_of: args.keep,
        out,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
    };
    let interrupt = Interrupt::install()?;
    let stop: Stop = Arc::new(move || interrupt.is_asked());
    let outcome = on_workers(|| search(&request, &stop, ui))?;
    let page = || sweep_page(&outcome, &request.dataset, &request.out);
    write_in(&request.out, "report.html", &page().to_html())?;
    let shown = SweepDocument {
        sweep: &outcome.sweep,
        out: &request.out,
        complete: !outcome.is_stopped,
        ranking: &outcome.ranking,
    };
    ui.page(page, &shown)?;
    if outcome.is_stopped {
        let message = "interrupted and saved; run the same command again to resume";
        return Err(Failure::verdict(INTERRUPTED, message));
    }
    Ok(())
}

fn search(request: &SweepRequest, stop: &Stop, ui: &Ui) -> Result<SweepOutcome> {
    let bar = ui.progress("CPU seconds", request.budget.as_secs(), Unit::Items);
    let mut spent: BTreeMap<String, f64> = BTreeMap::new();
    let mut last = Instant::now();
    let outcome = sweep::run(request, stop, &mut |progress| match progress {
        SweepProgress::Rung { number, of, rung } => {
            let until = time(rung.cpu_seconds);
            let settings = counted(rung.settings, "setting");
            bar.suspend(|| {
                ui.note(&format!("rung {number}/{of}: {settings}, each up to {until} of CPU time"));
            });
        }
        SweepProgress::Run(report) => {
            spent.insert(report.what.to_owned(), report.cpu_seconds);
            bar.set_position(spent.values().sum::<f64>() as u64);
            bar.set_message(report.what.to_owned());
            if let Some(line) = report.line.filter(|_| last.elapsed() > LINE_EVERY) {
                last = Instant::now();
                let (pearson, used) = (figure(line.val.pearson), time(report.cpu_seconds));
                // Of a sweep without axes, the one setting has no name.
                let what = if report.what.is_empty() { "the defaults" } else { report.what };
                bar.suspend(|| {
                    ui.note(&format!(
                        "{what}: {used} CPU, epoch {}, validation Pearson {pearson}",
                        line.epoch + 1
                    ));
                });
            }
        }
    })?;
    bar.finish_and_clear();
    Ok(outcome)
}

/// Time between lines about epochs.
const LINE_EVERY: Duration = Duration::from_secs(10);
