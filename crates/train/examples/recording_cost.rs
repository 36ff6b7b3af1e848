//! What recording costs a loader: bare calls, the loader with the recorder off, and with it on, one after the other
//! many times over, so that whatever else the machine does hits all alike. Processor time of this thread: on a shared
//! machine wall time measures the neighbours.
//!
//!     cargo run --release -p knockout-batch --example recording_cost
#![expect(clippy::print_stdout, reason = "printing is what an example is for")]

use knockout_data::batch::{Batch, Collation, Processor, ProcessorKind};
use knockout_data::screen::Dataset;
use knockout_sources::synth::{SynthConfig, synthesise};
use knockout_trace::meter::StepPhase;
use knockout_trace::{Recorder, RecorderOptions};
use knockout_train::loader::{Loader, LoaderOptions, LoaderPlan, Shards};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const BATCH: usize = 28;
const ROUNDS: usize = 31;

#[derive(Debug, Clone, Copy)]
enum Way {
    Bare,
    Off,
    On,
}

fn plan(kind: ProcessorKind) -> LoaderPlan {
    LoaderPlan {
        options: LoaderOptions { processor: kind, ..LoaderOptions::default() },
        batch_size: BATCH,
        drop_last: true,
        shuffle: false,
        seed: 0,
        shards: Shards::whole(),
    }
}

/// Nanoseconds per batch of one pass over the rows.
fn pass(
    data: &Arc<Dataset>,
    rows: &[u32],
    kind: ProcessorKind,
    way: Way,
    on: &Recorder,
) -> Result<f64, knockout_base::error::Error> {
    let off = Recorder::off();
    let recorder = if matches!(way, Way::On) { on } else { &off };
    let loader = Loader::new(data, rows, plan(kind)).with_recorder(recorder);
    let began = cpu_time();
    match way {
        Way::Bare => {
            let mut processor = Processor::new(&data.cell, kind, BATCH);
            let mut batch = Batch::default();
            for rows in loader.order(0).chunks_exact(BATCH) {
                batch.fetch(&data.samples, rows);
                for (slot, &row) in rows.iter().enumerate() {
                    processor.process(slot, row, &data.samples.deletion(row as usize))?;
                }
                batch.collate(&processor, Collation::Shared);
                black_box(&batch);
            }
        }
        Way::Off | Way::On => {
            let mut batches = loader.epoch(0, 0);
            while let Some(loaded) = batches.next_batch()? {
                black_box(loaded.batch());
            }
        }
    }
    let nanos = cpu_time().saturating_sub(began).as_nanos() as f64 / loader.batch_count() as f64;
    black_box(recorder.drain());
    Ok(nanos)
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Nanoseconds of one span, begun and ended.
fn span_nanos(recorder: &Recorder) -> f64 {
    const SPANS: u32 = 100_000;
    let began = cpu_time();
    for _ in 0..SPANS {
        black_box(recorder.span(black_box(StepPhase::Forward))).end();
    }
    let nanos = cpu_time().saturating_sub(began).as_nanos() as f64 / f64::from(SPANS);
    black_box(recorder.drain());
    nanos
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = SynthConfig::preset("small").ok_or("no preset small")?;
    let data = synthesise(&config, 0, "small", "example", &|_| {}).map_err(|error| error.to_string())?;
    let data = Arc::new(data);
    let rows: Vec<u32> = (0..data.samples.len() as u32).collect();
    let recorder = Recorder::new(RecorderOptions::default());
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        off.push(span_nanos(&Recorder::off()));
        on.push(span_nanos(&recorder));
    }
    println!("a span: off {:.1} ns, on {:.1} ns", median(off), median(on));
    for (name, kind) in [("perturbation", ProcessorKind::Perturbation), ("subgraph", ProcessorKind::Subgraph)]
    {
        let rows = rows.get(..if name == "subgraph" { 280 } else { 5600 }).unwrap_or(&rows);
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (way, list) in [Way::Bare, Way::Off, Way::On].into_iter().zip(&mut times) {
                list.push(pass(&data, rows, kind, way, &recorder)?);
            }
        }
        let [bare, off, on] = times.map(median);
        println!(
            "{name}: bare {bare:.0} ns per batch of {BATCH}; off {off:.0} ({:+.2} %); on {on:.0} ({:+.2} %)",
            100.0 * (off / bare - 1.0),
            100.0 * (on / bare - 1.0)
        );
    }
    Ok(())
}
