//! Several threads over one source: each takes the next block, guesses an event in it and scans from there; in file
//! order the guess is checked and its events delivered, or the block is scanned again. Independent of JSON beyond
//! where an event may begin.
//!
//! No thread waits for its own block: a scanned block is queued, and any thread that is free once the block before it
//! has been delivered delivers it. Where threads slept until their turn, an 8-million-event trace made two of them
//! sleep some eight thousand times; now they do so a few hundred times.

use crate::format::damage::ReadError;
use crate::format::event::{ArgSet, EventType};
use crate::lock::lock;
use crate::read::block::TextBlock;
use crate::read::deliver::Dictionary;
use crate::read::feed::Feeder;
use crate::read::scan::{ListState, ScanEnd, ScanProgress, Scanner};
use crate::read::source::TraceSource;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

/// Braces tried before a block is left to be scanned in order.
const MAX_GUESSES: usize = 64;

/// Reads the blocks of the source, with their numbers.
struct BlockReader<'a> {
    source: TraceSource<'a>,
    next_number: u64,
    at_end: bool,
}

/// A block and the buffers for its scan; passed from thread to thread.
struct ScanBuffers {
    block: TextBlock,
    scanner: Scanner,
    dictionary: Dictionary,
}

/// Buffers with a block that was read and scanned.
struct ScannedBlock {
    buffers: ScanBuffers,
    number: u64,
    /// Bytes of text in the block.
    filled: io::Result<usize>,
    guess: Option<(usize, ScanProgress)>,
}

/// State of all threads. Never locked while anything is read, scanned or delivered.
struct Queue<'f, 's> {
    /// Absent while a thread delivers a block.
    feeder: Option<&'f mut Feeder<'s>>,
    /// Number of the block to deliver next.
    next_delivery: u64,
    /// Scanned blocks that wait for the ones before them.
    scanned: Vec<ScannedBlock>,
    /// Buffers not in use, the ones used last on top: their tables are still in the cache.
    free: Vec<ScanBuffers>,
    /// Number of further buffers that may be allocated.
    not_allocated: usize,
    /// Blocks being read or scanned.
    in_progress: usize,
    /// Nothing more will be read.
    at_end: bool,
    error: Option<ReadError>,
    /// Nothing more will be delivered: the sink stopped, reading failed or a thread panicked.
    is_stopped: bool,
}

struct ParallelReader<'a, 'f, 's> {
    reader: Mutex<BlockReader<'a>>,
    queue: Mutex<Queue<'f, 's>>,
    changed: Condvar,
    block_bytes: usize,
    wants: ArgSet,
}

/// A thread's next task.
enum Task<'f, 's> {
    Scan(ScanBuffers),
    Deliver(&'f mut Feeder<'s>, ScannedBlock),
    Exit,
}

/// Feeds the whole source, with `threads` threads, and returns it.
pub(crate) fn feed_together<'a>(
    source: TraceSource<'a>,
    block_bytes: usize,
    threads: NonZeroUsize,
    wants: ArgSet,
    feeder: &mut Feeder<'_>,
) -> Result<TraceSource<'a>, ReadError> {
    let shared = ParallelReader {
        reader: Mutex::new(BlockReader { source, next_number: 0, at_end: false }),
        queue: Mutex::new(Queue {
            feeder: Some(feeder),
            next_delivery: 0,
            scanned: Vec::new(),
            free: Vec::new(),
            // One to scan and one queued for each thread, and two more for when the system stops one of them for a
            // moment and the others continue.
            not_allocated: 2 * threads.get() + 2,
            in_progress: 0,
            at_end: false,
            error: None,
            is_stopped: false,
        }),
        changed: Condvar::new(),
        block_bytes,
        wants,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| run_worker(&shared));
        }
        run_worker(&shared);
    });
    let queue = shared.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    match queue.error {
        Some(error) => Err(error),
        None => Ok(shared.reader.into_inner().unwrap_or_else(PoisonError::into_inner).source),
    }
}

fn run_worker(shared: &ParallelReader<'_, '_, '_>) {
    let _guard = PanicGuard { shared };
    loop {
        match next_task(shared) {
            Task::Scan(buffers) => scan_next(shared, buffers),
            Task::Deliver(feeder, block) => deliver(shared, feeder, block),
            Task::Exit => return,
        }
    }
}

/// Delivering comes first, so that memory stays small; a thread sleeps only when all buffers are in use.
fn next_task<'f, 's>(shared: &ParallelReader<'_, 'f, 's>) -> Task<'f, 's> {
    let mut queue = lock(&shared.queue);
    loop {
        if queue.is_stopped {
            return Task::Exit;
        }
        let next = queue.next_delivery;
        if let Some(at) = queue.scanned.iter().position(|block| block.number == next)
            && let Some(feeder) = queue.feeder.take()
        {
            return Task::Deliver(feeder, queue.scanned.swap_remove(at));
        }
        if !queue.at_end {
            let buffers = queue.free.pop().or_else(|| {
                queue.not_allocated = queue.not_allocated.checked_sub(1)?;
                Some(ScanBuffers {
                    block: TextBlock::new(shared.block_bytes),
                    scanner: Scanner::new(shared.wants),
                    dictionary: Dictionary::default(),
                })
            });
            if let Some(buffers) = buffers {
                queue.in_progress += 1;
                return Task::Scan(buffers);
            }
        } else if queue.in_progress == 0 && queue.scanned.is_empty() {
            // The thread that delivers the last block needs no other.
            return Task::Exit;
        }
        queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Reads the next block, scans it and queues it.
fn scan_next(shared: &ParallelReader<'_, '_, '_>, mut buffers: ScanBuffers) {
    let (number, filled, at_end) = {
        let mut reader = lock(&shared.reader);
        if reader.at_end {
            (None, Ok(0), true)
        } else {
            let number = reader.next_number;
            reader.next_number += 1;
            let filled = reader.source.fill(buffers.block.bytes_mut());
            reader.at_end = filled.as_ref().map_or(true, |len| *len < shared.block_bytes);
            (Some(number), filled, reader.at_end)
        }
    };
    let text = filled.as_ref().map_or(&[][..], |len| &buffers.block.bytes()[..*len]);
    let guess = number.and_then(|_| guess(&mut buffers.scanner, text));
    let mut queue = lock(&shared.queue);
    queue.at_end |= at_end;
    queue.in_progress -= 1;
    if let Some(number) = number {
        queue.scanned.push(ScannedBlock { buffers, number, filled, guess });
    }
    drop(queue);
    shared.changed.notify_all();
}

/// Delivers the next block and makes its buffers free.
fn deliver<'f, 's>(shared: &ParallelReader<'_, 'f, 's>, feeder: &'f mut Feeder<'s>, block: ScannedBlock) {
    let ScannedBlock { mut buffers, filled, guess, .. } = block;
    let error = match filled {
        Ok(len) => {
            let text = &buffers.block.bytes()[..len];
            feed_block(feeder, text, guess, &mut buffers.scanner, &mut buffers.dictionary);
            None
        }
        Err(error) => Some(error.into()),
    };
    let is_stopped = feeder.is_stopped() || error.is_some();
    let mut queue = lock(&shared.queue);
    queue.feeder = Some(feeder);
    queue.next_delivery += 1;
    queue.is_stopped |= is_stopped;
    queue.error = queue.error.take().or(error);
    queue.free.push(buffers);
    drop(queue);
    shared.changed.notify_all();
}

/// Delivers the run of a block if its guess is right, or scans the block in order.
fn feed_block(
    feeder: &mut Feeder<'_>,
    text: &[u8],
    guess: Option<(usize, ScanProgress)>,
    scanner: &mut Scanner,
    dictionary: &mut Dictionary,
) {
    let head = guess.map_or(text.len(), |(start, _)| start);
    feeder.feed(&text[..head]);
    if let Some((start, run)) = guess {
        if feeder.is_at_event() {
            feeder.adopt(&text[start..], run, scanner, dictionary);
        } else {
            feeder.feed(&text[start..]);
        }
    }
    scanner.batch.clear();
}

/// An offset in the block where an event seems to begin, and the run from there; its offsets count from that one.
fn guess(scanner: &mut Scanner, text: &[u8]) -> Option<(usize, ScanProgress)> {
    let candidates = memchr::memchr_iter(b'{', text).filter(|at| follows_comma_or_bracket(&text[..*at]));
    for at in candidates.take(MAX_GUESSES) {
        scanner.batch.clear();
        // An event has a `ph`; an object without one lies inside an event.
        if scanner.event(&text[at..], 0).is_ok()
            && scanner.batch.records.first().is_some_and(|record| record.event_type != EventType::MISSING)
        {
            scanner.batch.clear();
            let run = scanner.run(&text[at..], 0, ListState::AfterComma);
            debug_assert!(run.end != ScanEnd::More || run.at <= text.len() - at);
            return Some((at, run));
        }
    }
    scanner.batch.clear();
    None
}

fn follows_comma_or_bracket(before: &[u8]) -> bool {
    let last = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    matches!(last, Some(b',' | b'['))
}

/// Stops the other threads when this one panics, so that they do not wait for the block or feeder it had.
struct PanicGuard<'r, 'a, 'f, 's> {
    shared: &'r ParallelReader<'a, 'f, 's>,
}

impl Drop for PanicGuard<'_, '_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.shared.queue).is_stopped = true;
            self.shared.changed.notify_all();
        }
    }
}
