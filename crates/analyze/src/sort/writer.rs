//! Takes records in any order and turns full buffers into sorted segments, on a thread of its own if allowed.

use super::{Segment, SegmentStore, SortRecord};
use knockout_base::error::Result;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Records a buffer holds before it is sorted: small enough to sort in cache, large enough that a million
/// events make few segments.
const BUFFER_RECORDS: usize = 1 << 14;

/// The input of a sort.
#[derive(Debug)]
pub(crate) struct Writer<R> {
    buffer: Vec<R>,
    limit: usize,
    work: Sorting<R>,
}

/// Thread that sorts.
#[derive(Debug)]
enum Sorting<R> {
    Here(Sorter<R>),
    Elsewhere { full: SyncSender<Vec<R>>, empty: Receiver<Vec<R>>, thread: JoinHandle<Result<Sorter<R>>> },
}

#[derive(Debug)]
struct Sorter<R> {
    store: Arc<SegmentStore>,
    segments: Vec<Segment<R>>,
    encoded: Vec<u8>,
    apart: Apart<R>,
}

/// Partitions the records of a buffer by group, keeping their order.
#[derive(Debug)]
struct Apart<R> {
    /// By group: how many records, then where the next one goes. All zero between buffers.
    places: Vec<u32>,
    groups: Vec<u32>,
    records: Vec<R>,
}

impl<R: SortRecord> Apart<R> {
    fn take(&mut self, buffer: &[R]) -> &mut [R] {
        self.groups.clear();
        for record in buffer {
            let group = record.group();
            if self.places.len() <= group as usize {
                self.places.resize(group as usize + 1, 0);
            }
            if let Some(place) = self.places.get_mut(group as usize) {
                if *place == 0 {
                    self.groups.push(group);
                }
                *place += 1;
            }
        }
        self.groups.sort_unstable();
        let mut next = 0;
        for &group in &self.groups {
            if let Some(place) = self.places.get_mut(group as usize) {
                next += std::mem::replace(place, next);
            }
        }
        self.records.clear();
        self.records.resize(buffer.len(), R::ZERO);
        for record in buffer {
            if let Some(place) = self.places.get_mut(record.group() as usize)
                && let Some(slot) = self.records.get_mut(*place as usize)
            {
                *slot = *record;
                *place += 1;
            }
        }
        for &group in &self.groups {
            if let Some(place) = self.places.get_mut(group as usize) {
                *place = 0;
            }
        }
        &mut self.records
    }
}

/// Whether a writer may use a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    /// Sort on the caller's thread.
    None,
    /// Sort beside the caller.
    Thread,
}

impl<R: SortRecord + 'static> Writer<R> {
    pub(crate) fn new(store: &Arc<SegmentStore>, helper: Helper) -> Self {
        Self::with_buffer(store, BUFFER_RECORDS, helper)
    }

    /// A writer with a buffer of `limit` records.
    pub(crate) fn with_buffer(store: &Arc<SegmentStore>, limit: usize, helper: Helper) -> Self {
        let sorter = || Sorter {
            store: Arc::clone(store),
            segments: Vec::new(),
            encoded: Vec::new(),
            apart: Apart { places: Vec::new(), groups: Vec::new(), records: Vec::new() },
        };
        let work = match helper {
            Helper::None => Sorting::Here(sorter()),
            Helper::Thread => Sorting::beside(sorter).unwrap_or_else(|| Sorting::Here(sorter())),
        };
        Self { buffer: Vec::new(), limit: limit.max(1), work }
    }

    /// Adds one record.
    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        self.buffer.push(record);
        if self.buffer.len() >= self.limit { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self) -> Result<()> {
        match &mut self.work {
            Sorting::Here(sorter) => sorter.take(&mut self.buffer),
            Sorting::Elsewhere { full, empty, .. } => {
                let next = empty.try_recv().unwrap_or_default();
                // A helper that stopped has failed; `finish` returns its error.
                full.send(std::mem::replace(&mut self.buffer, next)).unwrap_or_default();
                Ok(())
            }
        }
    }

    /// Ends the writer and returns its segments.
    pub(crate) fn finish(mut self) -> Result<Vec<Segment<R>>> {
        self.flush()?;
        match self.work {
            Sorting::Here(sorter) => Ok(sorter.segments),
            Sorting::Elsewhere { full, thread, .. } => {
                drop(full);
                match thread.join() {
                    Ok(sorter) => Ok(sorter?.segments),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
    }
}

impl<R: SortRecord + 'static> Sorting<R> {
    /// `None` when the system gives no thread.
    fn beside(sorter: impl FnOnce() -> Sorter<R>) -> Option<Self> {
        let (full, incoming) = sync_channel::<Vec<R>>(2);
        let (outgoing, empty) = channel();
        let sorter = sorter();
        let thread = std::thread::Builder::new()
            .name("sort".to_owned())
            .spawn(move || sorter.serve(&incoming, &outgoing))
            .ok()?;
        Some(Self::Elsewhere { full, empty, thread })
    }
}

impl<R: SortRecord> Sorter<R> {
    fn serve(mut self, full: &Receiver<Vec<R>>, empty: &Sender<Vec<R>>) -> Result<Self> {
        while let Ok(mut buffer) = full.recv() {
            self.take(&mut buffer)?;
            empty.send(buffer).unwrap_or_default();
        }
        Ok(self)
    }

    /// Sorts a buffer, keeps it as segments and leaves it empty.
    fn take(&mut self, buffer: &mut Vec<R>) -> Result<()> {
        for same in self.apart.take(buffer).chunk_by_mut(|a, b| a.group() == b.group()) {
            // Stable, because the events of one group come nearly sorted, which a stable sort exploits.
            same.sort_by(R::order);
            let ([first, ..], [.., last]) = (&*same, &*same) else { continue };
            self.encoded.clear();
            let mut previous = R::ZERO;
            for record in same.iter() {
                record.encode(&previous, &mut self.encoded);
                previous = *record;
            }
            self.segments.push(Segment {
                group: first.group(),
                first: *first,
                last: *last,
                records: same.len() as u64,
                place: self.store.keep(&self.encoded)?,
            });
        }
        buffer.clear();
        Ok(())
    }
}
