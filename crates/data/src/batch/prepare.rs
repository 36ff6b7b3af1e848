//! Preparing one batch: fetch, process, collate. The loader and the benchmark run this same code, so a published figure is of
//! what trains.

use crate::batch::{Batch, Collation, Graphs, Processor, ProcessorKind, Store};
use crate::screen::Dataset;
use knockout_base::error::Result;
use std::sync::Arc;

/// The phases of preparing a batch, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparePhase {
    /// Copying the samples' columns into the batch.
    Fetch,
    /// Making the representation of each deletion.
    Process,
    /// Combining the representations of the batch.
    Collate,
}

/// Observer of the phases of [`Prepared::prepare`].
pub trait PhaseObserver {
    /// A phase begins now.
    fn begin(&mut self, phase: PreparePhase);
    /// The phase that began last ends now.
    fn end(&mut self, phase: PreparePhase);
}

/// A batch with its graphs, and the memory both are prepared in: it is reused from batch to batch.
#[derive(Debug)]
pub struct Prepared {
    dataset: Arc<Dataset>,
    batch: Batch,
    processor: Processor,
    collation: Collation,
}

impl Prepared {
    /// Allocates for batches of up to `batch_size` samples. The store is for representations that are read from one.
    pub fn new(
        dataset: &Arc<Dataset>,
        kind: ProcessorKind,
        collation: Collation,
        batch_size: usize,
        store: Option<&Arc<Store>>,
    ) -> Self {
        Self {
            dataset: Arc::clone(dataset),
            batch: Batch::default(),
            processor: Processor::new(&dataset.cell, kind, batch_size).with_store(store),
            collation,
        }
    }

    /// Fetches, processes and collates rows of the dataset.
    pub fn prepare(&mut self, rows: &[u32], observer: &mut impl PhaseObserver) -> Result<()> {
        observer.begin(PreparePhase::Fetch);
        self.batch.fetch(&self.dataset.samples, rows);
        observer.end(PreparePhase::Fetch);
        observer.begin(PreparePhase::Process);
        for (slot, &row) in rows.iter().enumerate() {
            self.processor.process(slot, row, &self.dataset.samples.deletion(row as usize))?;
        }
        observer.end(PreparePhase::Process);
        observer.begin(PreparePhase::Collate);
        self.batch.collate(&self.processor, self.collation);
        observer.end(PreparePhase::Collate);
        Ok(())
    }

    /// The samples.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The representations of their deletions.
    pub fn graphs(&self) -> Graphs<'_> {
        self.processor.graphs(self.batch.len())
    }
}
