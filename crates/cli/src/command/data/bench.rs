//! `knockout data bench`: what each way of representing a deletion costs.

use crate::memory;
use crate::stores::{Stores, usual_folder};
use crate::text::{Align, Table, grouped, size};
use crate::ui::{Ui, Unit, request_error};
use clap::{Args, ValueEnum};
use knockout_batch::{BatchError, BenchPlan, BenchRow, Collation, ProcessorKind, Store, bench};
use knockout_screen::{Dataset, subset};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Measure what each way of representing a deletion costs, per sample and phase
///
/// The same samples go through every processor. CPU time is measured, because wall time on a shared machine measures the
/// neighbours; the first batch pays for memory and is not counted.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data bench yeast --processor all --batch 28 --threads 1
  knockout data bench yeast --processor mask --collate replicated --batch 28 --threads 1 --json
  knockout data precompute yeast --masks --samples 280 && knockout data bench yeast --processor saved-masks")]
pub(crate) struct BenchArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The representation to measure
    #[arg(long, value_enum, default_value_t = ProcessorArg::All)]
    processor: ProcessorArg,
    /// Samples in a batch
    #[arg(long, value_name = "B", default_value_t = 28)]
    batch: usize,
    /// How graphs are put together: by reference, or copied once per sample as PyG does
    #[arg(long, value_enum, default_value_t = CollateArg::Shared)]
    collate: CollateArg,
    /// Distinct samples to process
    #[arg(long, value_name = "N", default_value_t = 280)]
    samples: usize,
    /// The seed that chooses them
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Hops of the neighbourhood processor
    #[arg(long, value_name = "K", default_value_t = 2)]
    hops: usize,
    /// A folder of `data precompute --out`; may be repeated. DIR/saved-indices and DIR/saved-masks if not given
    #[arg(long, value_name = "FOLDER")]
    store: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProcessorArg {
    /// Gene indices only; the default for every model
    Perturbation,
    /// Bit masks over genes, edges and reactions
    Mask,
    /// The same masks, kept allocated: cleared, used, restored
    ResidentMask,
    /// Removed positions read from disk (`data precompute --indices`)
    SavedIndices,
    /// Masks read from disk (`data precompute --masks`)
    SavedMasks,
    /// Every network rebuilt without the genes
    Subgraph,
    /// Only the genes within some hops
    Neighborhood,
    /// All of them, side by side; stored ones where there is a store
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CollateArg {
    Shared,
    Replicated,
}

#[derive(Serialize)]
struct Measured {
    schema: u32,
    data_hash: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    processor: &'static str,
    collate: &'static str,
    batch: usize,
    threads: usize,
    samples: usize,
    samples_per_s: f64,
    cpu_us_per_sample: f64,
    fetch_us_per_sample: f64,
    process_us_per_sample: f64,
    collate_us_per_sample: f64,
    bytes_per_sample: f64,
    peak_rss_bytes: Option<u64>,
}

pub(crate) fn run(args: &BenchArgs, ui: &Ui) -> anyhow::Result<()> {
    if args.batch == 0 || args.samples == 0 {
        return Err(request_error("--batch and --samples must be at least 1"));
    }
    let dataset = super::open(&args.dir)?;
    let count = args.samples.min(dataset.samples.len());
    let rows = subset(&dataset.samples, dataset.cell.genes(), args.seed, count)
        .map_err(|e| request_error(e.to_string()))?;
    let collation = match args.collate {
        CollateArg::Shared => Collation::Shared,
        CollateArg::Replicated => Collation::Replicated,
    };
    let kinds = kinds_of(args);
    let stores = stores_of(args, &dataset, &kinds, &rows, ui)?;
    let kinds: Vec<ProcessorKind> =
        kinds.into_iter().filter(|&kind| !kind.is_stored() || stores.of(kind).is_some()).collect();
    let threads = rayon::current_num_threads().min(count);
    let bar = ui.progress("measuring", kinds.len() as u64, Unit::Items);
    let mut measured = Measured { schema: 1, data_hash: dataset.manifest.data_hash(), rows: Vec::new() };
    let plan_of = |kind| BenchPlan {
        kind,
        collation,
        batch_size: args.batch,
        rows: rows.clone(),
        least_cpu: Duration::from_millis(100),
    };
    for kind in kinds {
        bar.set_message(kind.name());
        memory::reset_peak();
        let row = measure(&dataset, stores.of(kind), &plan_of(kind), threads)?;
        let us = |time| row.cpu_us_per_sample(time);
        measured.rows.push(Row {
            processor: kind.name(),
            collate: collation.name(),
            batch: args.batch,
            threads,
            samples: row.samples,
            samples_per_s: row.samples_per_s(),
            cpu_us_per_sample: us(row.cpu.total()),
            fetch_us_per_sample: us(row.cpu.fetch),
            process_us_per_sample: us(row.cpu.process),
            collate_us_per_sample: us(row.cpu.collate),
            bytes_per_sample: row.bytes_per_sample(),
            peak_rss_bytes: memory::peak_rss_bytes(),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    ui.result(|| text(&measured.rows), &measured)
}

fn kinds_of(args: &BenchArgs) -> Vec<ProcessorKind> {
    let neighborhood = ProcessorKind::Neighborhood { hops: args.hops };
    match args.processor {
        ProcessorArg::Perturbation => vec![ProcessorKind::Perturbation],
        ProcessorArg::Mask => vec![ProcessorKind::Mask],
        ProcessorArg::ResidentMask => vec![ProcessorKind::ResidentMask],
        ProcessorArg::SavedIndices => vec![ProcessorKind::SavedIndices],
        ProcessorArg::SavedMasks => vec![ProcessorKind::SavedMasks],
        ProcessorArg::Subgraph => vec![ProcessorKind::Subgraph],
        ProcessorArg::Neighborhood => vec![neighborhood],
        ProcessorArg::All => {
            let is_neighborhood = |kind: &ProcessorKind| matches!(kind, ProcessorKind::Neighborhood { .. });
            ProcessorKind::ALL
                .into_iter()
                .filter(|kind| !is_neighborhood(kind))
                .chain([neighborhood])
                .collect()
        }
    }
}

/// The stores of the stored kinds. One that was asked for by name must be usable; otherwise its row is left out of `all`,
/// with a word on how to have it.
fn stores_of(
    args: &BenchArgs,
    dataset: &Dataset,
    kinds: &[ProcessorKind],
    rows: &[u32],
    ui: &Ui,
) -> anyhow::Result<Stores> {
    let mut stores = Stores::default();
    for folder in &args.store {
        stores.open(folder, dataset, rows)?;
    }
    for &kind in kinds {
        let Some(flag) = kind.store_flag().filter(|_| stores.of(kind).is_none()) else { continue };
        match stores.open(&usual_folder(&args.dir, kind), dataset, rows) {
            Ok(_) => {}
            Err(error) if args.processor == ProcessorArg::All => {
                ui.note(&format!(
                    "{} is left out: {:#}; `knockout data precompute {} {flag} --samples {} --seed {}` stores what it takes",
                    kind.name(),
                    anyhow::Error::new(error),
                    args.dir.display(),
                    rows.len(),
                    args.seed,
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(stores)
}

/// Divides the rows over threads, each with batches of its own.
fn measure(
    dataset: &Dataset,
    store: Option<&Store>,
    plan: &BenchPlan,
    threads: usize,
) -> anyhow::Result<BenchRow> {
    let parts = plan.rows.chunks(plan.rows.len().div_ceil(threads));
    let measured: Vec<Result<BenchRow, BatchError>> = std::thread::scope(|scope| {
        let workers: Vec<_> = parts
            .map(|rows| {
                let part = BenchPlan { rows: rows.to_vec(), ..plan.clone() };
                scope.spawn(move || bench(dataset, &part, store))
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    Ok(BenchRow::together(measured.into_iter().collect::<Result<Vec<_>, _>>()?))
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        ("processor", Align::Left),
        ("collate", Align::Left),
        ("samples/s", Align::Right),
        ("CPU us/sample", Align::Right),
        ("fetch", Align::Right),
        ("process", Align::Right),
        ("collate", Align::Right),
        ("bytes/sample", Align::Right),
        ("peak memory", Align::Right),
        ("CPU, times the first", Align::Right),
    ]);
    let base = rows.first().map_or(1.0, |row| row.cpu_us_per_sample);
    for row in rows {
        table.row(vec![
            row.processor.to_owned(),
            row.collate.to_owned(),
            grouped(row.samples_per_s as usize),
            format!("{:.2}", row.cpu_us_per_sample),
            format!("{:.2}", row.fetch_us_per_sample),
            format!("{:.2}", row.process_us_per_sample),
            format!("{:.2}", row.collate_us_per_sample),
            grouped(row.bytes_per_sample as usize),
            row.peak_rss_bytes.map_or_else(|| "unknown".to_owned(), size),
            format!("{:.1}", row.cpu_us_per_sample / base),
        ]);
    }
    table.to_text()
}
