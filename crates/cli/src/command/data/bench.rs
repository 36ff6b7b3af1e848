//! `knockout data bench`: what each way of representing a deletion costs.

use crate::choice;
use crate::failure::{Failure, Result, request_error};
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_bench::measure::{memory, peak_read_bytes_per_s};
use knockout_data::batch::{BenchPlan, Collation, ProcessorKind, Store, bench};
use knockout_data::screen::{Dataset, subset};
use knockout_report::page::{Column, Table};
use knockout_report::units::{bytes, count, counted};
use knockout_train::stores::{Stores, usual_folder};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Measure the cost of each representation of a deletion, per sample and phase
///
/// The same samples go through every processor. CPU time is measured, because wall time on a shared machine depends on other
/// processes. The first batch allocates memory and is not counted. The rate at which the threads read memory is measured first.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data bench yeast --processor all --batch 28 --threads 1
  knockout data bench yeast --processor mask --collate replicated --batch 28 --threads 1 --json
  knockout data precompute yeast --masks --samples 280 && knockout data bench yeast --processor saved-masks")]
pub(crate) struct BenchArgs {
    /// The dataset folder
    dir: PathBuf,
    /// The representation to measure
    #[arg(long, value_name = "PROCESSOR", default_value = "all", value_parser = choice::processor_or_all())]
    // Spelled out, or clap would take `None` for an absent option instead of for all.
    processor: std::option::Option<ProcessorKind>,
    /// Samples in a batch
    #[arg(long, value_name = "B", default_value_t = 28)]
    batch: usize,
    /// How graphs are collated: by reference, or copied once per sample as PyG does
    #[arg(long, value_name = "COLLATE", default_value = "shared", value_parser = choice::collation())]
    collate: Collation,
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

#[derive(Serialize)]
struct BenchDocument {
    schema: u32,
    data_hash: String,
    /// Rate at which the threads read blocks together that no cache holds.
    memory_read_bytes_per_s: f64,
    rows: Vec<BenchRow>,
}

#[derive(Serialize)]
struct BenchRow {
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

pub(crate) fn run(args: &BenchArgs, ui: &Ui) -> Result<()> {
    if args.batch == 0 || args.samples == 0 {
        return Err(request_error("--batch and --samples must be at least 1"));
    }
    let dataset = super::open(&args.dir)?;
    let count = args.samples.min(dataset.samples.len());
    let rows = subset(&dataset.samples, dataset.cell.genes(), args.seed, count)?;
    let collation = args.collate;
    let kinds = kinds_of(args);
    let stores = stores_of(args, &dataset, &kinds, &rows, ui)?;
    let kinds: Vec<ProcessorKind> =
        kinds.into_iter().filter(|&kind| !kind.is_stored() || stores.of(kind).is_some()).collect();
    let threads = rayon::current_num_threads().min(count).max(1);
    let bar = ui.progress("measuring", kinds.len() as u64, Unit::Items);
    let mut measured = BenchDocument {
        schema: 1,
        data_hash: dataset.manifest.data_hash(),
        memory_read_bytes_per_s: peak_read_bytes_per_s(),
        rows: Vec::new(),
    };
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
        let row = bench(&dataset, &plan_of(kind), stores.of(kind), threads)?;
        let us = |time| row.cpu_us_per_sample(time);
        measured.rows.push(BenchRow {
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
    ui.result(|| text(&measured), &measured)
}

fn kinds_of(args: &BenchArgs) -> Vec<ProcessorKind> {
    let with_hops = |kind| match kind {
        ProcessorKind::Neighborhood { .. } => ProcessorKind::Neighborhood { hops: args.hops },
        kind => kind,
    };
    match args.processor {
        Some(kind) => vec![with_hops(kind)],
        None => ProcessorKind::ALL.map(with_hops).to_vec(),
    }
}

/// The stores of the stored kinds. One named by the user must be usable; otherwise its row is left out of `all`,
/// with a hint how to make it.
fn stores_of(
    args: &BenchArgs,
    dataset: &Dataset,
    kinds: &[ProcessorKind],
    rows: &[u32],
    ui: &Ui,
) -> Result<Stores> {
    let mut stores = Stores::default();
    for folder in &args.store {
        stores.open(folder, dataset, rows)?;
    }
    for &kind in kinds {
        let Some(flag) = kind.store_flag().filter(|_| stores.of(kind).is_none()) else { continue };
        let folder = usual_folder(&args.dir, kind);
        match stores.open(&folder, dataset, rows) {
            Ok(_) => {}
            Err(error) if args.processor.is_none() => {
                let why = if Store::exists(&folder) {
                    Failure::from(error).to_string()
                } else {
                    "there is no store".to_owned()
                };
                ui.note(&format!(
                    "{} is left out: {why}; `knockout data precompute {} {flag} --samples {} --seed {}` stores what it takes",
                    kind.name(),
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

fn text(measured: &BenchDocument) -> String {
    let mut table = Table::new([
        Column::text("processor"),
        Column::text("collate"),
        Column::number("samples/s"),
        Column::number("CPU us/sample"),
        Column::number("fetch"),
        Column::number("process"),
        Column::number("collate"),
        Column::number("bytes/sample"),
        Column::number("peak memory"),
        Column::number("CPU, times the first"),
    ]);
    let rows = &measured.rows;
    let base = rows.first().map_or(1.0, |row| row.cpu_us_per_sample);
    for row in rows {
        table.row(vec![
            row.processor.to_owned(),
            row.collate.to_owned(),
            count(row.samples_per_s as usize),
            format!("{:.2}", row.cpu_us_per_sample),
            format!("{:.2}", row.fetch_us_per_sample),
            format!("{:.2}", row.process_us_per_sample),
            format!("{:.2}", row.collate_us_per_sample),
            count(row.bytes_per_sample as usize),
            row.peak_rss_bytes.map_or_else(|| "unknown".to_owned(), bytes),
            format!("{:.1}", row.cpu_us_per_sample / base),
        ]);
    }
    let threads = counted(rayon::current_num_threads() as u64, "thread");
    let gigabytes = measured.memory_read_bytes_per_s / 1e9;
    format!("{}\n{threads}, reading memory that no cache holds: {gigabytes:.1} GB/s\n", table.to_text())
}
