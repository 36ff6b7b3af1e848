//! Threads that prepare batches ahead of the consumer.

use super::{LoadedBatch, Loader};
use knockout_base::error::Error;
use knockout_data::batch::batch_panicked;
use knockout_trace::Recorder;
use knockout_trace::meter::{Gauge, StepPhase};
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

type Made = Result<LoadedBatch, (usize, Error)>;

/// The consumer's side; dropping it ends the threads.
#[derive(Debug)]
pub(super) struct Background {
    shared: Arc<LoaderState>,
    workers: Vec<JoinHandle<()>>,
    /// Batches whose memory can be used again; `None` once the threads are to end.
    to_workers: Option<Sender<LoadedBatch>>,
    ready: Receiver<Made>,
    /// Batches that arrived before their turn.
    early: BTreeMap<usize, Result<LoadedBatch, Error>>,
    /// The batch that is lent to the consumer.
    lent: Option<LoadedBatch>,
}

/// The state that the workers share.
#[derive(Debug)]
struct LoaderState {
    loader: Loader,
    order: Vec<u32>,
    /// Index of the next batch to prepare.
    next: AtomicUsize,
    /// Batches that wait for the consumer.
    waiting: AtomicUsize,
    free: Mutex<Receiver<LoadedBatch>>,
}

impl Background {
    pub(super) fn start(loader: &Loader, order: Vec<u32>, start: usize) -> Self {
        let (to_workers, free) = mpsc::channel();
        let (to_consumer, ready) = mpsc::channel();
        let shared = Arc::new(LoaderState {
            loader: loader.clone(),
            order,
            next: AtomicUsize::new(start),
            waiting: AtomicUsize::new(0),
            free: Mutex::new(free),
        });
        for _ in 0..loader.plan.options.depth {
            // The receiver is in `shared`.
            to_workers.send(loader.empty()).ok();
        }
        let spawn = |number: usize| {
            let (shared, to_consumer) = (Arc::clone(&shared), to_consumer.clone());
            // Traces distinguish threads by their names. Without this thread the others make its batches; without any,
            // the first batch is an error.
            let thread = std::thread::Builder::new().name(format!("loader {number}"));
            thread.spawn(move || shared.work(&to_consumer)).ok()
        };
        let workers = (0..loader.plan.options.threads).filter_map(spawn).collect();
        Self { shared, workers, to_workers: Some(to_workers), ready, early: BTreeMap::new(), lent: None }
    }

    /// Waits for a batch, and returns the memory of the previous one to the workers.
    pub(super) fn take(&mut self, wanted: usize, recorder: &Recorder) -> Result<&mut LoadedBatch, Error> {
        if let (Some(lent), Some(to_workers)) = (self.lent.take(), &self.to_workers) {
            to_workers.send(lent).ok();
        }
        recorder.counter(Gauge::QueueDepth.name(), self.shared.waiting.load(Ordering::Relaxed) as u64);
        let wait = recorder.span(StepPhase::Wait);
        let made = loop {
            if let Some(made) = self.early.remove(&wanted) {
                break made;
            }
            match self.ready.recv() {
                Ok(Ok(loaded)) => self.early.insert(loaded.item, Ok(loaded)),
                Ok(Err((index, error))) => self.early.insert(index, Err(error)),
                // Workers outlive the epoch's batches. Without any, this batch would never arrive.
                Err(mpsc::RecvError) => return Err(batch_panicked(wanted)),
            };
        };
        wait.end();
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        Ok(self.lent.insert(made?))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Workers end when no batch is left. Not the largest number, which would overflow to the start of the epoch.
        self.shared.next.store(self.shared.loader.item_count(), Ordering::Relaxed);
        self.to_workers = None;
        for worker in self.workers.drain(..) {
            // A panic was reported as the error of its batch.
            worker.join().ok();
        }
    }
}

impl LoaderState {
    fn work(&self, to_consumer: &Sender<Made>) {
        loop {
            // The lock orders the taking: the worker that gets a free batch also gets the next index, so the batch that the
            // consumer needs next is always in preparation, which rules out a deadlock.
            let taken = self.free.lock().ok().and_then(|free| {
                let loaded = free.recv().ok()?;
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                (index < self.loader.item_count()).then_some((loaded, index))
            });
            let Some((mut loaded, index)) = taken else { return };
            // A panic must reach the consumer as an error, otherwise it would wait for this batch forever.
            let prepare = || self.loader.prepare(&self.order, index, &mut loaded);
            let made = panic::catch_unwind(AssertUnwindSafe(prepare))
                .unwrap_or_else(|_| Err(batch_panicked(index)))
                .map(|()| loaded)
                .map_err(|error| (index, error));
            self.waiting.fetch_add(1, Ordering::Relaxed);
            if to_consumer.send(made).is_err() {
                return;
            }
        }
    }
}
