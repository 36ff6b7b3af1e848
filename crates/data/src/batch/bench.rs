//! Cost of each representation, per sample and phase.
//!
//! CPU time of the calling thread, because wall time on a shared machine includes other processes. Every phase is timed around
//! whole batches, so that the figures do not include the clock.

use crate::batch::{Collation, PhaseObserver, PreparePhase, Prepared, ProcessorKind, Store};
use crate::screen::Dataset;
use knockout_base::error::{Error, Result};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A measurement to make.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// Representation of a deletion to measure.
    pub kind: ProcessorKind,
    /// How batches are put together.
    pub collation: Collation,
    /// Samples in a batch; the last one may be smaller.
    pub batch_size: usize,
    /// The rows to process, in order.
    pub rows: Vec<u32>,
    /// Minimum CPU time: the rows are processed repeatedly until it is spent.
    pub least_cpu: Duration,
}

/// CPU time by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    /// Copying the samples' columns into the batch.
    pub fetch: Duration,
    /// Making the graphs.
    pub process: Duration,
    /// Putting them together.
    pub collate: Duration,
}

impl PhaseTimes {
    /// All phases together.
    pub fn total(&self) -> Duration {
        self.fetch + self.process + self.collate
    }
}

/// Times of preparing batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrepareTimes {
    /// Samples processed.
    pub samples: usize,
    /// CPU time by phase.
    pub cpu: PhaseTimes,
    /// Wall time of everything.
    pub wall: Duration,
    /// Bytes of all batches together.
    pub bytes: usize,
}

impl PrepareTimes {
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

    /// Combines the measurements of several threads: the sum of their work and the longest wall time.
    pub fn together(rows: impl IntoIterator<Item = Self>) -> Self {
        rows.into_iter().fold(Self::default(), |all, row| Self {
            samples: all.samples + row.samples,
            cpu: PhaseTimes {
                fetch: all.cpu.fetch + row.cpu.fetch,
                process: all.cpu.process + row.cpu.process,
                collate: all.cpu.collate + row.cpu.collate,
            },
            wall: all.wall.max(row.wall),
            bytes: all.bytes + row.bytes,
        })
    }
}

/// Runs the plan on `threads` threads, each with a contiguous share of the rows and batches of its own.
///
/// Each thread makes its first batch once beforehand and does not count it: it pays for memory. The store is for
/// representations that are read from one.
pub fn bench(
    dataset: &Arc<Dataset>,
    plan: &BenchPlan,
    store: Option<&Arc<Store>>,
    threads: usize,
) -> Result<PrepareTimes> {
    let share = plan.rows.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = plan
            .rows
            .chunks(share)
            .map(|rows| scope.spawn(move || bench_rows(dataset, plan, rows, store)))
            .collect();
        let rows = workers
            .into_iter()
            .enumerate()
            .map(|(index, worker)| worker.join().unwrap_or_else(|_| Err(batch_panicked(index))));
        Ok(PrepareTimes::together(rows.collect::<Result<Vec<_>>>()?))
    })
}

fn bench_rows(
    dataset: &Arc<Dataset>,
    plan: &BenchPlan,
    rows: &[u32],
    store: Option<&Arc<Store>>,
) -> Result<PrepareTimes> {
    let mut prepared = Prepared::new(dataset, plan.kind, plan.collation, plan.batch_size, store);
    let batches = || rows.chunks(plan.batch_size.max(1));
    if let Some(rows) = batches().next() {
        prepared.prepare(rows, &mut CpuTimer::default())?;
    }
    let mut measured = PrepareTimes::default();
    let mut timer = CpuTimer::default();
    let started = Instant::now();
    while measured.samples == 0 || timer.times.total() < plan.least_cpu {
        for rows in batches() {
            prepared.prepare(rows, &mut timer)?;
            measured.samples += rows.len();
            measured.bytes += prepared.batch().byte_count(&prepared.graphs());
            black_box(&prepared);
        }
    }
    Ok(PrepareTimes { cpu: timer.times, wall: started.elapsed(), ..measured })
}

/// The error of a batch that a panic in a background thread prevented.
pub fn batch_panicked(index: usize) -> Error {
    Error::failure(format!("making batch {index} failed inside the program; please report it"))
}

/// CPU time of the calling thread in each phase.
#[derive(Default)]
struct CpuTimer {
    times: PhaseTimes,
    began: Duration,
}

impl PhaseObserver for CpuTimer {
    fn begin(&mut self, _: PreparePhase) {
        self.began = thread_cpu_time();
    }

    fn end(&mut self, phase: PreparePhase) {
        let time = match phase {
            PreparePhase::Fetch => &mut self.times.fetch,
            PreparePhase::Process => &mut self.times.process,
            PreparePhase::Collate => &mut self.times.collate,
        };
        *time += thread_cpu_time().saturating_sub(self.began);
    }
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}
