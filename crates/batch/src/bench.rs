//! What each representation costs, per sample and phase.
//!
//! CPU time of the calling thread, because machines are shared and wall time measures the neighbours. Every phase is
//! timed around whole batches, so that the clock itself is no part of the figures.

use crate::{Batch, BatchError, Collation, Processor, ProcessorKind, Store};
use knockout_screen::Dataset;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The representation.
    pub kind: ProcessorKind,
    /// How batches are put together.
    pub collation: Collation,
    /// Samples in a batch; the last one may be smaller.
    pub batch_size: usize,
    /// The rows to process, in order.
    pub rows: Vec<u32>,
    /// Go over the rows again until this much CPU time is spent: a microsecond cannot be told from noise.
    pub least_cpu: Duration,
}

/// CPU time by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Copying the samples' columns into the batch.
    pub fetch: Duration,
    /// Making the graphs.
    pub process: Duration,
    /// Putting them together.
    pub collate: Duration,
}

impl Phases {
    /// All phases together.
    pub fn total(&self) -> Duration {
        self.fetch + self.process + self.collate
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BenchRow {
    /// Samples processed.
    pub samples: usize,
    /// CPU time by phase.
    pub cpu: Phases,
    /// Wall time of everything.
    pub wall: Duration,
    /// Bytes of all batches together.
    pub bytes: usize,
}

impl BenchRow {
    /// Microseconds of CPU time per sample.
    pub fn cpu_us_per_sample(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.samples.max(1) as f64
    }

    /// Samples per second of wall time.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    /// Bytes per sample.
    pub fn bytes_per_sample(&self) -> f64 {
        self.bytes as f64 / self.samples.max(1) as f64
    }

    /// Several threads' measurements as one: work adds up, the slowest decides the wall time.
    pub fn together(rows: impl IntoIterator<Item = Self>) -> Self {
        rows.into_iter().fold(Self::default(), |all, row| Self {
            samples: all.samples + row.samples,
            cpu: Phases {
                fetch: all.cpu.fetch + row.cpu.fetch,
                process: all.cpu.process + row.cpu.process,
                collate: all.cpu.collate + row.cpu.collate,
            },
            wall: all.wall.max(row.wall),
            bytes: all.bytes + row.bytes,
        })
    }
}

/// Runs the plan on the calling thread. The first batch is made once beforehand and not counted: it pays for memory.
///
/// The store is for representations that are read from one.
pub fn bench(dataset: &Dataset, plan: &BenchPlan, store: Option<&Store>) -> Result<BenchRow, BatchError> {
    let mut processor = Processor::new(&dataset.cell, plan.kind, plan.batch_size).with_store(store);
    let mut batch = Batch::default();
    let batches = || plan.rows.chunks(plan.batch_size.max(1));
    if let Some(rows) = batches().next() {
        step(dataset, plan, rows, &mut processor, &mut batch, &mut Phases::default())?;
    }
    let mut measured = BenchRow { samples: 0, cpu: Phases::default(), wall: Duration::ZERO, bytes: 0 };
    if plan.rows.is_empty() {
        return Ok(measured);
    }
    let started = Instant::now();
    while measured.samples == 0 || measured.cpu.total() < plan.least_cpu {
        for rows in batches() {
            step(dataset, plan, rows, &mut processor, &mut batch, &mut measured.cpu)?;
            measured.samples += rows.len();
            measured.bytes += batch.byte_count(&processor.graphs(rows.len()));
            black_box(&batch);
        }
    }
    measured.wall = started.elapsed();
    Ok(measured)
}

fn step(
    dataset: &Dataset,
    plan: &BenchPlan,
    rows: &[u32],
    processor: &mut Processor<'_>,
    batch: &mut Batch,
    cpu: &mut Phases,
) -> Result<(), BatchError> {
    let started = thread_cpu_time();
    batch.fetch(&dataset.samples, rows);
    let fetched = thread_cpu_time();
    // The indices are all a perturbation needs; only the others look at each deletion.
    if plan.kind != ProcessorKind::Perturbation {
        for (slot, &row) in rows.iter().enumerate() {
            processor.process(slot, row, &dataset.samples.deletion(row as usize))?;
        }
    }
    let processed = thread_cpu_time();
    batch.collate(processor, plan.collation);
    let collated = thread_cpu_time();
    cpu.fetch += fetched.saturating_sub(started);
    cpu.process += processed.saturating_sub(fetched);
    cpu.collate += collated.saturating_sub(processed);
    Ok(())
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}
