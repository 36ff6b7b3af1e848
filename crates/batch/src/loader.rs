//! Batches in the background.
//!
//! The order of samples is a pure function of (seed, epoch) and batches arrive in it whatever the number of threads.
//! Memory is bounded: a fixed number of batches circulates between the workers and the consumer, and workers wait when
//! the consumer is slow.

use crate::{Batch, BatchError, Collation, Graphs, Processor, ProcessorKind, Store};
use knockout_meter::{Gauge, LoadTimes, StepPhase};
use knockout_random::Rng;
use knockout_screen::Dataset;
use knockout_trace::{BACKGROUND, FOREGROUND, Recorder};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// What to load, and how.
#[derive(Debug, Clone)]
pub struct LoaderPlan {
    /// The representation.
    pub kind: ProcessorKind,
    /// How batches are put together.
    pub collation: Collation,
    /// Samples in a batch.
    pub batch_size: usize,
    /// Whether a last, smaller batch is left out.
    pub drop_last: bool,
    /// Whether each epoch has an order of its own; else rows come as given.
    pub shuffle: bool,
    /// The seed of the order.
    pub seed: u64,
    /// Which of the processes this is, from 0.
    pub rank: usize,
    /// How many processes share the samples. Each epoch, `rows mod world` samples are left out, so that all take the
    /// same number of steps.
    pub world: usize,
    /// Background threads; 0 makes batches on the consumer's own thread.
    pub threads: usize,
    /// Batches that may exist at once; at least one more than there are threads.
    pub depth: usize,
}

/// A batch with its graphs.
#[derive(Debug)]
pub struct Prepared<'a> {
    batch: Batch,
    processor: Processor<'a>,
    index: usize,
    times: LoadTimes,
}

impl Prepared<'_> {
    /// The samples.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Their graphs.
    pub fn graphs(&self) -> Graphs<'_> {
        self.processor.graphs(self.batch.len())
    }

    /// The batch's place in its epoch, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How long the consumer waited for it.
    pub fn waited(&self) -> Duration {
        self.times.waited
    }

    /// How long it took to make, phase by phase, and where.
    pub fn times(&self) -> LoadTimes {
        self.times
    }
}

/// Loads the rows of one part of a dataset, epoch by epoch.
#[derive(Debug)]
pub struct Loader<'a> {
    dataset: &'a Dataset,
    rows: &'a [u32],
    plan: LoaderPlan,
    store: Option<&'a Store>,
    recorder: Recorder,
}

impl<'a> Loader<'a> {
    /// A loader over some rows of a dataset. Zeros in the plan where there must be at least one count as one.
    pub fn new(dataset: &'a Dataset, rows: &'a [u32], mut plan: LoaderPlan) -> Self {
        plan.batch_size = plan.batch_size.max(1);
        plan.world = plan.world.max(1);
        plan.depth = plan.depth.max(plan.threads + 1);
        Self { dataset, rows, plan, store: None, recorder: Recorder::off() }
    }

    /// Gives it the store of a representation that is read from one.
    #[must_use]
    pub fn with_store(mut self, store: &'a Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Records fetching, processing and collating where they happen, waiting where it hurts, and how many batches are
    /// ready.
    #[must_use]
    pub fn with_recorder(mut self, recorder: &Recorder) -> Self {
        self.recorder = recorder.clone();
        self
    }

    /// This process's rows of an epoch, in order: a pure function of (rows, seed, epoch, rank, world).
    pub fn order(&self, epoch: u64) -> Vec<u32> {
        let mut rows = self.rows.to_vec();
        if self.plan.shuffle {
            Rng::new(self.plan.seed, &format!("order of epoch {epoch}")).shuffle(&mut rows);
        }
        let share = rows.len() / self.plan.world;
        rows.into_iter().skip(self.plan.rank).step_by(self.plan.world).take(share).collect()
    }

    /// Batches of an epoch.
    pub fn batch_count(&self) -> usize {
        let share = self.rows.len() / self.plan.world;
        if self.plan.drop_last { share / self.plan.batch_size } else { share.div_ceil(self.plan.batch_size) }
    }

    /// Hands every batch of an epoch to `consume`, in order, from batch `start` on; `Break` ends the epoch early.
    ///
    /// On an error in a sample, the batches before it have been consumed.
    pub fn epoch(
        &self,
        epoch: u64,
        start: usize,
        mut consume: impl FnMut(&Prepared<'a>) -> ControlFlow<()>,
    ) -> Result<(), BatchError> {
        let order = {
            let _span = self.recorder.span(StepPhase::Fetch.part("order"));
            self.order(epoch)
        };
        if self.plan.threads == 0 {
            let mut prepared = self.empty();
            for index in start..self.batch_count() {
                let asked = Instant::now();
                self.prepare(&order, index, &mut prepared)?;
                prepared.times.waited = asked.elapsed();
                if consume(&prepared).is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let next = AtomicUsize::new(start);
        let waiting = AtomicUsize::new(0);
        let (to_workers, free) = mpsc::channel();
        let (to_consumer, ready) = mpsc::channel();
        for _ in 0..self.plan.depth {
            // The receiver lives to the end of this function.
            to_workers.send(self.empty()).ok();
        }
        let free = Mutex::new(free);
        std::thread::scope(|scope| {
            for number in 0..self.plan.threads {
                let to_consumer = to_consumer.clone();
                let (order, next, free, waiting) = (&order, &next, &free, &waiting);
                let work = move || self.work(order, next, free, waiting, &to_consumer);
                // The name is how a trace tells threads apart. Without this thread the others make its batches; without
                // any, the first batch is an error.
                std::thread::Builder::new().name(format!("loader {number}")).spawn_scoped(scope, work).ok();
            }
            drop(to_consumer);
            let outcome = self.deliver(start, &ready, &waiting, &to_workers, &mut consume);
            // Workers end when there is nothing left to make. Not the largest number: counting on from there would begin
            // the epoch again.
            next.store(self.batch_count(), Ordering::Relaxed);
            drop(to_workers);
            outcome
        })
    }

    fn work(
        &self,
        order: &[u32],
        next: &AtomicUsize,
        free: &Mutex<Receiver<Prepared<'a>>>,
        waiting: &AtomicUsize,
        to_consumer: &Sender<Result<Prepared<'a>, (usize, BatchError)>>,
    ) {
        loop {
            // The lock orders the taking: whoever gets a free batch also gets the next index, so the batch that the
            // consumer needs next is always being made and waiting cannot become for ever.
            let taken = free.lock().ok().and_then(|free| {
                let prepared = free.recv().ok()?;
                let index = next.fetch_add(1, Ordering::Relaxed);
                (index < self.batch_count()).then_some((prepared, index))
            });
            let Some((mut prepared, index)) = taken else { return };
            // A panic must reach the consumer as an error: it would wait for this batch for ever.
            let made = panic::catch_unwind(AssertUnwindSafe(|| self.prepare(order, index, &mut prepared)))
                .unwrap_or(Err(BatchError::Panicked { index }))
                .map(|()| prepared)
                .map_err(|error| (index, error));
            waiting.fetch_add(1, Ordering::Relaxed);
            if to_consumer.send(made).is_err() {
                return;
            }
        }
    }

    fn deliver(
        &self,
        start: usize,
        ready: &Receiver<Result<Prepared<'a>, (usize, BatchError)>>,
        waiting: &AtomicUsize,
        to_workers: &Sender<Prepared<'a>>,
        consume: &mut impl FnMut(&Prepared<'a>) -> ControlFlow<()>,
    ) -> Result<(), BatchError> {
        let mut early = BTreeMap::new();
        for wanted in start..self.batch_count() {
            let asked = Instant::now();
            self.recorder.counter(Gauge::QueueDepth.name(), waiting.load(Ordering::Relaxed) as u64);
            let wait = self.recorder.span(StepPhase::Wait);
            let made = loop {
                if let Some(made) = early.remove(&wanted) {
                    break made;
                }
                match ready.recv() {
                    Ok(Ok(prepared)) => early.insert(prepared.index, Ok(prepared)),
                    Ok(Err((index, error))) => early.insert(index, Err(error)),
                    // Workers outlive the epoch's batches; were they all gone, this batch would never come.
                    Err(mpsc::RecvError) => return Err(BatchError::Panicked { index: wanted }),
                };
            };
            wait.end();
            waiting.fetch_sub(1, Ordering::Relaxed);
            let mut prepared = made?;
            prepared.times.waited = asked.elapsed();
            if consume(&prepared).is_break() {
                break;
            }
            to_workers.send(prepared).ok();
        }
        Ok(())
    }

    fn prepare(&self, order: &[u32], index: usize, prepared: &mut Prepared<'a>) -> Result<(), BatchError> {
        let begin = index * self.plan.batch_size;
        let rows = &order[begin..(begin + self.plan.batch_size).min(order.len())];
        prepared.index = index;
        let is_background = self.plan.threads > 0;
        let category = if is_background { BACKGROUND } else { FOREGROUND };
        let span = |phase: StepPhase| self.recorder.span_in(category, phase);
        let began = Instant::now();
        let fetching = span(StepPhase::Fetch);
        prepared.batch.fetch(&self.dataset.samples, rows);
        fetching.end();
        let fetched = Instant::now();
        let processing = span(StepPhase::Process);
        for (slot, &row) in rows.iter().enumerate() {
            prepared.processor.process(slot, row, &self.dataset.samples.deletion(row as usize))?;
        }
        processing.end();
        let processed = Instant::now();
        let collating = span(StepPhase::Collate);
        prepared.batch.collate(&prepared.processor, self.plan.collation);
        collating.end();
        prepared.times = LoadTimes {
            waited: Duration::ZERO,
            fetch: fetched - began,
            process: processed - fetched,
            collate: processed.elapsed(),
            is_background,
        };
        Ok(())
    }

    fn empty(&self) -> Prepared<'a> {
        Prepared {
            batch: Batch::default(),
            processor: Processor::new(&self.dataset.cell, self.plan.kind, self.plan.batch_size)
                .with_store(self.store),
            index: 0,
            times: LoadTimes::default(),
        }
    }
}
