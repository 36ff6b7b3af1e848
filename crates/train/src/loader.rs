//! Batches of an epoch, in order: prepared on demand, or ahead of time by background threads.
//!
//! The order of samples is a pure function of (seed, epoch) and batches arrive in it whatever the number of threads.
//! Memory is bounded: a fixed number of batches circulates between the workers and the consumer, and workers wait when
//! the consumer is slow.

mod background;
mod order;
mod shards;

pub use order::RowOrder;
pub use shards::{ShardPosition, Shards};

use background::Background;
use knockout_base::error::Error;
use knockout_base::random::Rng;
use knockout_data::batch::{Batch, Collation, Graphs, ProcessorKind, Store};
use knockout_data::batch::{PhaseObserver, PreparePhase, Prepared};
use knockout_data::screen::Dataset;
use knockout_trace::meter::{LoadTimes, StepPhase};
use knockout_trace::{BACKGROUND, FOREGROUND, Recorder, SpanGuard};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Settings of the loader: the keys `loader.*` of a run's configuration.
///
/// Only `order` and `queries` change results: models read gene indices or an equivalent, and batches arrive in the same order for
/// any number of threads. The other keys change the time of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderOptions {
    /// Representation of a deletion.
    pub processor: ProcessorKind,
    /// Folder of a stored representation; empty for its usual location in the dataset's folder.
    #[serde(default)]
    pub store: String,
    /// How the representations of a batch are combined.
    pub collate: Collation,
    /// Background threads; 0 makes batches on the consumer's own thread.
    pub threads: usize,
    /// Batches that may exist at once; at least one more than there are threads.
    pub depth: usize,
    /// Order of an epoch's samples.
    #[serde(default)]
    pub order: RowOrder,
    /// Approximate number of queries in a batch if the order is by query.
    #[serde(default = "default_queries")]
    pub queries: usize,
}

/// Few, so that samples share most of a batch's work. More than one, because the samples of one query represent the screen
/// badly.
fn default_queries() -> usize {
    4
}

impl Default for LoaderOptions {
    /// A batch of gene indices costs microseconds: handing it between threads would cost more.
    fn default() -> Self {
        Self {
            processor: ProcessorKind::Perturbation,
            store: String::new(),
            collate: Collation::Shared,
            threads: 0,
            depth: 1,
            order: RowOrder::Shuffled,
            queries: default_queries(),
        }
    }
}

/// Options of a loader.
#[derive(Debug, Clone)]
pub struct LoaderPlan {
    /// How batches are made.
    pub options: LoaderOptions,
    /// Samples in a batch.
    pub batch_size: usize,
    /// Whether a last, smaller batch is left out.
    pub drop_last: bool,
    /// Whether each epoch shuffles the rows; otherwise they keep the given order.
    pub shuffle: bool,
    /// The seed of the order.
    pub seed: u64,
    /// Shards of every batch that this process loads, one after the other.
    pub shards: Shards,
}

/// Loads some rows of a dataset, epoch by epoch.
#[derive(Debug, Clone)]
pub struct Loader {
    dataset: Arc<Dataset>,
    rows: Arc<[u32]>,
    plan: LoaderPlan,
    store: Option<Arc<Store>>,
    recorder: Recorder,
}

/// One batch of an epoch, or a shard of one.
#[derive(Debug)]
pub struct LoadedBatch {
    prepared: Prepared,
    /// Index among the batches that this loader prepares in an epoch.
    item: usize,
    index: usize,
    position: ShardPosition,
    times: LoadTimes,
}

impl LoadedBatch {
    /// The samples.
    pub fn batch(&self) -> &Batch {
        self.prepared.batch()
    }

    /// The representations of their deletions.
    pub fn graphs(&self) -> Graphs<'_> {
        self.prepared.graphs()
    }

    /// Zero-based position of the batch in the epoch.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the shard and its position in the batch.
    pub fn position(&self) -> ShardPosition {
        self.position
    }

    /// Returns the times of its preparation by phase and thread, and the consumer's wait time.
    pub fn times(&self) -> LoadTimes {
        self.times
    }
}

impl Loader {
    /// Creates a loader over some rows of a dataset. A count of 0 in the plan means 1 where at least 1 is needed.
    pub fn new(dataset: &Arc<Dataset>, rows: &[u32], mut plan: LoaderPlan) -> Self {
        plan.batch_size = plan.batch_size.max(1);
        plan.options.depth = plan.options.depth.max(plan.options.threads + 1);
        Self { dataset: Arc::clone(dataset), rows: rows.into(), plan, store: None, recorder: Recorder::off() }
    }

    /// Reads a stored representation from this store.
    #[must_use]
    pub fn with_store(mut self, store: Option<&Arc<Store>>) -> Self {
        self.store = store.cloned();
        self
    }

    /// Records fetching, processing and collating in the threads that do it, waiting on the consumer's thread, and the
    /// number of ready batches.
    #[must_use]
    pub fn with_recorder(mut self, recorder: &Recorder) -> Self {
        self.recorder = recorder.clone();
        self
    }

    /// Returns the rows of an epoch in order: a pure function of (rows, seed, epoch).
    pub fn order(&self, epoch: u64) -> Vec<u32> {
        let mut rows = self.rows.to_vec();
        if self.plan.shuffle {
            let mut rng = Rng::new(self.plan.seed, &format!("order of epoch {epoch}"));
            rng.shuffle(&mut rows);
            if self.plan.options.order == RowOrder::ByQuery {
                let run = self.plan.batch_size.div_ceil(self.plan.options.queries.max(1));
                rows = order::by_query(&self.dataset.samples, &rows, run, &mut rng);
            }
        }
        rows
    }

    /// Batches of an epoch.
    pub fn batch_count(&self) -> usize {
        let (rows, size) = (self.rows.len(), self.plan.batch_size);
        if self.plan.drop_last { rows / size } else { rows.div_ceil(size) }
    }

    /// Returns the number of batches, or of shards, that this loader prepares in an epoch.
    fn item_count(&self) -> usize {
        self.batch_count() * self.plan.shards.owned().len()
    }

    /// Starts an epoch at batch `start`. Background threads begin at once and end with the value.
    pub fn epoch(&self, epoch: u64, start: usize) -> EpochBatches {
        let start = start.saturating_mul(self.plan.shards.owned().len());
        let order = {
            let _span = self.recorder.span(StepPhase::Fetch.part("order"));
            self.order(epoch)
        };
        let source = if self.plan.options.threads == 0 {
            BatchSource::Foreground(self.empty())
        } else {
            BatchSource::Background(Background::start(self, order.clone(), start))
        };
        EpochBatches { loader: self.clone(), order, next: start, source }
    }

    fn empty(&self) -> LoadedBatch {
        let LoaderOptions { processor, collate, .. } = self.plan.options;
        let size = self.plan.batch_size.div_ceil(self.plan.shards.count());
        let prepared = Prepared::new(&self.dataset, processor, collate, size, self.store.as_ref());
        LoadedBatch {
            prepared,
            item: 0,
            index: 0,
            position: ShardPosition::default(),
            times: LoadTimes::default(),
        }
    }

    fn prepare(&self, order: &[u32], item: usize, loaded: &mut LoadedBatch) -> Result<(), Error> {
        let owned = self.plan.shards.owned();
        let (index, shard) = (item / owned.len(), owned.start + item % owned.len());
        let begin = index * self.plan.batch_size;
        let batch = &order[begin..(begin + self.plan.batch_size).min(order.len())];
        let rows = &batch[self.plan.shards.rows(batch.len(), shard)];
        let is_background = self.plan.options.threads > 0;
        let mut timer = WallTimer {
            recorder: &self.recorder,
            category: if is_background { BACKGROUND } else { FOREGROUND },
            times: LoadTimes { is_background, ..LoadTimes::default() },
            under_way: None,
        };
        (loaded.item, loaded.index) = (item, index);
        loaded.position = self.plan.shards.position(&self.dataset.samples, batch, shard);
        loaded.prepared.prepare(rows, &mut timer)?;
        loaded.times = timer.times;
        Ok(())
    }
}

/// Wall time and a span of each phase.
struct WallTimer<'r> {
    recorder: &'r Recorder,
    category: &'static str,
    times: LoadTimes,
    under_way: Option<(SpanGuard, Instant)>,
}

impl PhaseObserver for WallTimer<'_> {
    fn begin(&mut self, phase: PreparePhase) {
        let name = match phase {
            PreparePhase::Fetch => StepPhase::Fetch,
            PreparePhase::Process => StepPhase::Process,
            PreparePhase::Collate => StepPhase::Collate,
        };
        self.under_way = Some((self.recorder.span_in(self.category, name), Instant::now()));
    }

    fn end(&mut self, phase: PreparePhase) {
        let Some((span, began)) = self.under_way.take() else { return };
        span.end();
        let time = match phase {
            PreparePhase::Fetch => &mut self.times.fetch,
            PreparePhase::Process => &mut self.times.process,
            PreparePhase::Collate => &mut self.times.collate,
        };
        *time = began.elapsed();
    }
}

/// The batches of one epoch, in order. Not an `Iterator`: each batch is borrowed, and its memory is reused.
#[derive(Debug)]
pub struct EpochBatches {
    loader: Loader,
    order: Vec<u32>,
    next: usize,
    source: BatchSource,
}

#[derive(Debug)]
enum BatchSource {
    Foreground(LoadedBatch),
    Background(Background),
}

impl EpochBatches {
    /// Returns the next batch, or the next shard of one; `None` after the last. After an error the epoch has no further
    /// batches.
    pub fn next_batch(&mut self) -> Result<Option<&LoadedBatch>, Error> {
        if self.next >= self.loader.item_count() {
            return Ok(None);
        }
        let (asked, index) = (Instant::now(), self.next);
        // Past the end, so that nothing follows an error.
        self.next = usize::MAX;
        let loaded = match &mut self.source {
            BatchSource::Foreground(loaded) => {
                self.loader.prepare(&self.order, index, loaded)?;
                loaded
            }
            BatchSource::Background(background) => background.take(index, &self.loader.recorder)?,
        };
        self.next = index + 1;
        loaded.times.waited = asked.elapsed();
        Ok(Some(loaded))
    }
}
