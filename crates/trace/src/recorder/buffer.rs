//! Records that are not written yet: chunks with one writing thread each, readable by any thread at any time.
//!
//! A slot is written once, by the thread that owns the chunk, and read after that; no lock is taken except when a
//! thread needs a new chunk. Chunks are in the shared list from their creation, so nothing is moved when a
//! thread ends.

use super::name::SpanName;
use crate::lock::lock;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Slots of a thread's first chunk; each next one is twice as large, up to the largest.
const SMALLEST: usize = 64;
const LARGEST: usize = 2048;
/// Largest chunk as a part of the capacity, so that one thread cannot exhaust it.
const PART: usize = 64;

/// A recorded span or counter value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The thread's number in this recorder, from 0 in order of appearance.
    pub thread: u32,
    /// Start by the recorder's clock.
    pub start_nanos: u64,
    /// The span or the counter.
    pub event: RecordedEvent,
}

impl Record {
    /// Returns the duration; 0 for a counter.
    pub fn duration_nanos(&self) -> u64 {
        match self.event {
            RecordedEvent::Span { duration_nanos, .. } => duration_nanos,
            RecordedEvent::Counter { .. } => 0,
        }
    }
}

/// A recorded span or counter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordedEvent {
    /// A span.
    Span {
        /// Name of the span.
        name: SpanName,
        /// Category: the `cat` of the trace.
        category: &'static str,
        /// Duration in nanoseconds.
        duration_nanos: u64,
        /// Sizes, where they were given.
        sizes: Option<Box<Sizes>>,
    },
    /// A counter.
    Counter {
        /// Name of the quantity.
        name: &'static str,
        /// Value at that time.
        value: u64,
    },
}

/// Sizes of a span's inputs and output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes read or written.
    pub bytes: Option<u64>,
    /// Shapes of the inputs.
    pub shapes: Vec<Vec<usize>>,
    /// Shape of the output; empty if it was not given.
    pub output: Vec<usize>,
}

/// Whether draining gives a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    Keep,
    /// Recorded while warming up.
    Discard,
}

#[derive(Debug)]
struct StoredRecord {
    start_nanos: u64,
    event: RecordedEvent,
    retention: Retention,
}

#[derive(Debug)]
struct Chunk {
    thread: u32,
    slots: Box<[OnceLock<StoredRecord>]>,
}

/// Records of all threads that are not drained yet.
#[derive(Debug)]
pub(super) struct Buffers {
    pending: Mutex<Vec<Pending>>,
    threads: Mutex<Vec<Thread>>,
    /// Threads by the operating system's number, with theirs here; those that ended included.
    os_threads: Mutex<Vec<(u32, u32)>>,
    /// Slots in chunks that are not drained yet, and their limit.
    slots: AtomicUsize,
    most_slots: usize,
    dropped: AtomicU64,
}

#[derive(Debug)]
struct Pending {
    chunk: Arc<Chunk>,
    read: usize,
}

#[derive(Debug)]
struct Thread {
    name: String,
    /// Dead once the thread is: its number goes to the next thread of that name.
    alive: Weak<()>,
}

/// Position of one thread in the buffers of one recorder.
struct ThreadWriter {
    buffers: Weak<Buffers>,
    thread: u32,
    _alive: Arc<()>,
    chunk: Option<Arc<Chunk>>,
    next: usize,
    last_size: usize,
}

thread_local! {
    /// This thread's writers, one per recorder it has used: nearly always one.
    static WRITERS: RefCell<Vec<ThreadWriter>> = const { RefCell::new(Vec::new()) };
}

impl Buffers {
    pub(super) fn new(most_records: usize) -> Self {
        Self {
            pending: Mutex::new(Vec::new()),
            threads: Mutex::new(Vec::new()),
            os_threads: Mutex::new(Vec::new()),
            slots: AtomicUsize::new(0),
            most_slots: most_records,
            dropped: AtomicU64::new(0),
        }
    }

    /// Records something on the calling thread.
    pub(super) fn push(self: &Arc<Self>, start_nanos: u64, event: RecordedEvent, retention: Retention) {
        let slot = StoredRecord { start_nanos, event, retention };
        // A thread that is ending has no writers any more; neither has a span inside the recorder itself.
        let kept = WRITERS.try_with(|writers| {
            writers.try_borrow_mut().is_ok_and(|mut writers| {
                self.writer(&mut writers).is_some_and(|writer| writer.push(self, slot))
            })
        });
        if kept != Ok(true) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The calling thread's number.
    pub(super) fn thread(self: &Arc<Self>) -> Option<u32> {
        let number = |writers: &RefCell<Vec<ThreadWriter>>| {
            let mut writers = writers.try_borrow_mut().ok()?;
            self.writer(&mut writers).map(|writer| writer.thread)
        };
        WRITERS.try_with(number).ok()?
    }

    fn writer<'w>(self: &Arc<Self>, writers: &'w mut Vec<ThreadWriter>) -> Option<&'w mut ThreadWriter> {
        let own = Arc::as_ptr(self);
        // A weak reference keeps the allocation, so no other recorder can have the same address.
        let found = writers.iter().position(|writer| writer.buffers.as_ptr() == own);
        let at = found.unwrap_or_else(|| {
            writers.retain(|writer| writer.buffers.strong_count() > 0);
            writers.push(self.register());
            writers.len() - 1
        });
        writers.get_mut(at)
    }

    #[cold]
    fn register(self: &Arc<Self>) -> ThreadWriter {
        let current = std::thread::current();
        let alive = Arc::new(());
        let mut threads = lock(&self.threads);
        let name = current.name().map_or_else(|| format!("thread {}", threads.len()), str::to_owned);
        let entry = Thread { name, alive: Arc::downgrade(&alive) };
        let free = threads.iter().position(|old| old.name == entry.name && old.alive.strong_count() == 0);
        let at = free.unwrap_or(threads.len());
        match threads.get_mut(at) {
            Some(old) => *old = entry,
            None => threads.push(entry),
        }
        let thread = at as u32;
        lock(&self.os_threads).extend(os_thread().map(|number| (number, thread)));
        ThreadWriter {
            buffers: Arc::downgrade(self),
            thread,
            _alive: alive,
            chunk: None,
            next: 0,
            last_size: SMALLEST / 2,
        }
    }

    #[cold]
    fn new_chunk(&self, thread: u32, wanted: usize) -> Option<Arc<Chunk>> {
        let room = |used: usize| wanted.min(self.most_slots.saturating_sub(used));
        let take = |used: usize| Some(used + room(used)).filter(|after| *after > used);
        let used = self.slots.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let slots = (0..room(used)).map(|_| OnceLock::new()).collect();
        let chunk = Arc::new(Chunk { thread, slots });
        lock(&self.pending).push(Pending { chunk: Arc::clone(&chunk), read: 0 });
        Some(chunk)
    }

    /// Takes everything recorded so far, each thread's records in the order in which they ended.
    pub(super) fn drain(&self) -> Vec<Record> {
        let mut out = Vec::new();
        let mut freed = 0;
        lock(&self.pending).retain_mut(|pending| {
            // Read before the slots: an owner that is gone has written all its records.
            let abandoned = Arc::strong_count(&pending.chunk) == 1;
            // The count alone has no ordering: this makes the owner's writes visible.
            fence(Ordering::Acquire);
            while let Some(slot) = pending.chunk.slots.get(pending.read).and_then(OnceLock::get) {
                pending.read += 1;
                if slot.retention == Retention::Keep {
                    let (thread, start_nanos) = (pending.chunk.thread, slot.start_nanos);
                    out.push(Record { thread, start_nanos, event: slot.event.clone() });
                }
            }
            let done = abandoned || pending.read == pending.chunk.slots.len();
            freed += if done { pending.chunk.slots.len() } else { 0 };
            !done
        });
        self.slots.fetch_sub(freed, Ordering::Relaxed);
        out
    }

    /// Returns whether draining is due: more than half of the capacity is used.
    pub(super) fn is_half_full(&self) -> bool {
        self.slots.load(Ordering::Relaxed) > self.most_slots / 2
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Threads by the operating system's number, with theirs here.
    pub(super) fn os_threads(&self) -> Vec<(u32, u32)> {
        lock(&self.os_threads).clone()
    }

    /// Names of the threads, by number.
    pub(super) fn thread_names(&self) -> Vec<String> {
        lock(&self.threads).iter().map(|thread| thread.name.clone()).collect()
    }
}

/// The operating system's number of the calling thread, where it gives one: on Linux.
fn os_thread() -> Option<u32> {
    let path = std::fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok()
}

impl ThreadWriter {
    /// Returns whether there was room.
    fn push(&mut self, buffers: &Buffers, slot: StoredRecord) -> bool {
        if self.chunk.as_ref().is_none_or(|chunk| self.next == chunk.slots.len()) {
            self.chunk = None;
            let size = (self.last_size * 2).min((buffers.most_slots / PART).clamp(SMALLEST / 4, LARGEST));
            let Some(chunk) = buffers.new_chunk(self.thread, size) else { return false };
            (self.chunk, self.next, self.last_size) = (Some(chunk), 0, size);
        }
        let place = self.chunk.as_ref().and_then(|chunk| chunk.slots.get(self.next));
        self.next += 1;
        place.is_some_and(|place| place.set(slot).is_ok())
    }
}
