//! Several threads over one source: each takes the next block, guesses an event in it and scans from there; in file
//! order the guess is checked and the work taken over, or done again. Knows nothing of JSON beyond where an event may
//! begin.
//!
//! Nobody waits for a turn: a scanned block is laid down, and whoever comes by when the block before it is through
//! takes it over. Where threads slept until their turn, an 8-million-event trace made two of them sleep some eight
//! thousand times; now they do so a few hundred times.

use crate::format::damage::ReadError;
use crate::format::event::{ArgSet, Phase};
use crate::read::block::Block;
use crate::read::deliver::Dictionary;
use crate::read::feed::{Feeder, SourceEnd};
use crate::read::scan::{Place, Run, RunEnd, Scanner};
use crate::read::source::Source;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Braces tried before a block is left to be scanned in order.
const MAX_GUESSES: usize = 64;

struct Tap<R: Read> {
    source: Source<R>,
    next_block: u64,
    is_dry: bool,
}

/// A block and everything that scanning it needs; goes from thread to thread.
struct Desk {
    block: Block,
    scanner: Scanner,
    dictionary: Dictionary,
}

/// A desk with a block that was read and scanned.
struct Scanned {
    desk: Desk,
    number: u64,
    /// How much of the block is text.
    filled: io::Result<usize>,
    guess: Option<(usize, Run)>,
}

/// What the threads agree on. Never locked while anything is read, scanned or delivered.
struct Order<'f, 's> {
    /// Absent while a thread takes over a block.
    feeder: Option<&'f mut Feeder<'s>>,
    /// The block whose turn it is.
    turn: u64,
    /// Blocks laid down until their turn comes.
    ready: Vec<Scanned>,
    /// The one used last on top: its tables are still in the cache.
    free: Vec<Desk>,
    /// Desks that nobody has made yet.
    unmade: usize,
    /// Blocks being read or scanned.
    under_way: usize,
    /// Nothing more will be read.
    is_dry: bool,
    error: Option<ReadError>,
    /// Nothing more will be delivered: all is said, or a thread panicked.
    is_over: bool,
}

struct Shared<'f, 's, R: Read> {
    tap: Mutex<Tap<R>>,
    order: Mutex<Order<'f, 's>>,
    changed: Condvar,
    block_bytes: usize,
    wants: ArgSet,
}

/// What a thread does next.
enum Task<'f, 's> {
    Scan(Desk),
    TakeOver(&'f mut Feeder<'s>, Scanned),
    GoHome,
}

/// Feeds the whole source, with `threads` threads.
pub(crate) fn feed_together<R: Read + Send>(
    source: Source<R>,
    block_bytes: usize,
    threads: NonZeroUsize,
    wants: ArgSet,
    feeder: &mut Feeder<'_>,
) -> Result<SourceEnd, ReadError> {
    let shared = Shared {
        tap: Mutex::new(Tap { source, next_block: 0, is_dry: false }),
        order: Mutex::new(Order {
            feeder: Some(feeder),
            turn: 0,
            ready: Vec::new(),
            free: Vec::new(),
            // One to scan and one laid down for each thread, and two more for when the system stops one of them for a
            // moment and the others go on.
            unmade: 2 * threads.get() + 2,
            under_way: 0,
            is_dry: false,
            error: None,
            is_over: false,
        }),
        changed: Condvar::new(),
        block_bytes,
        wants,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| work(&shared));
        }
        work(&shared);
    });
    let order = shared.order.into_inner().unwrap_or_else(PoisonError::into_inner);
    match order.error {
        Some(error) => Err(error),
        None => Ok(shared.tap.into_inner().unwrap_or_else(PoisonError::into_inner).source.end()),
    }
}

fn work<R: Read>(shared: &Shared<'_, '_, R>) {
    let _alarm = Alarm { shared };
    loop {
        match next_task(shared) {
            Task::Scan(desk) => scan(shared, desk),
            Task::TakeOver(feeder, scanned) => take_over(shared, feeder, scanned),
            Task::GoHome => return,
        }
    }
}

/// Taking over comes first, so that memory stays small; a thread sleeps only when all desks are in use.
fn next_task<'f, 's, R: Read>(shared: &Shared<'f, 's, R>) -> Task<'f, 's> {
    let mut order = lock(&shared.order);
    loop {
        if order.is_over {
            return Task::GoHome;
        }
        let turn = order.turn;
        if let Some(at) = order.ready.iter().position(|scanned| scanned.number == turn)
            && let Some(feeder) = order.feeder.take()
        {
            return Task::TakeOver(feeder, order.ready.swap_remove(at));
        }
        if !order.is_dry {
            let desk = order.free.pop().or_else(|| {
                order.unmade = order.unmade.checked_sub(1)?;
                Some(Desk {
                    block: Block::new(shared.block_bytes),
                    scanner: Scanner::new(shared.wants),
                    dictionary: Dictionary::default(),
                })
            });
            if let Some(desk) = desk {
                order.under_way += 1;
                return Task::Scan(desk);
            }
        } else if order.under_way == 0 && order.ready.is_empty() {
            // Whoever delivers the last block needs no help.
            return Task::GoHome;
        }
        order = shared.changed.wait(order).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Reads the next block, scans it and lays it down.
fn scan<R: Read>(shared: &Shared<'_, '_, R>, mut desk: Desk) {
    let (number, filled, is_dry) = {
        let mut tap = lock(&shared.tap);
        if tap.is_dry {
            (None, Ok(0), true)
        } else {
            let number = tap.next_block;
            tap.next_block += 1;
            let filled = tap.source.fill(desk.block.bytes_mut());
            tap.is_dry = filled.as_ref().map_or(true, |len| *len < shared.block_bytes);
            (Some(number), filled, tap.is_dry)
        }
    };
    let text = filled.as_ref().map_or(&[][..], |len| &desk.block.bytes()[..*len]);
    let guess = number.and_then(|_| guess(&mut desk.scanner, text));
    let mut order = lock(&shared.order);
    order.is_dry |= is_dry;
    order.under_way -= 1;
    if let Some(number) = number {
        order.ready.push(Scanned { desk, number, filled, guess });
    }
    drop(order);
    shared.changed.notify_all();
}

/// Delivers the block whose turn it is and makes its desk free.
fn take_over<'f, 's, R: Read>(shared: &Shared<'f, 's, R>, feeder: &'f mut Feeder<'s>, scanned: Scanned) {
    let Scanned { mut desk, filled, guess, .. } = scanned;
    let error = match filled {
        Ok(len) => {
            let text = &desk.block.bytes()[..len];
            take(feeder, text, guess, &mut desk.scanner, &mut desk.dictionary);
            None
        }
        Err(error) => Some(error.into()),
    };
    let is_over = feeder.is_stopped() || error.is_some();
    let mut order = lock(&shared.order);
    order.feeder = Some(feeder);
    order.turn += 1;
    order.is_over |= is_over;
    order.error = order.error.take().or(error);
    order.free.push(desk);
    drop(order);
    shared.changed.notify_all();
}

/// Takes over the run of a block if its guess is right, or scans the block in order.
fn take(
    feeder: &mut Feeder<'_>,
    text: &[u8],
    guess: Option<(usize, Run)>,
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

/// A place in the block where an event seems to begin, and the run from there; its places count from that one.
fn guess(scanner: &mut Scanner, text: &[u8]) -> Option<(usize, Run)> {
    let candidates = memchr::memchr_iter(b'{', text).filter(|at| follows_comma_or_bracket(&text[..*at]));
    for at in candidates.take(MAX_GUESSES) {
        scanner.batch.clear();
        // An event says its phase; what else looks like one lies inside another.
        if scanner.event(&text[at..], 0).is_ok()
            && scanner.batch.records.first().is_some_and(|record| record.phase != Phase::MISSING)
        {
            scanner.batch.clear();
            let run = scanner.run(&text[at..], 0, Place::AfterComma);
            debug_assert!(run.end != RunEnd::More || run.at <= text.len() - at);
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the other threads home when this one panics, so that they do not wait for what it had.
struct Alarm<'a, 'f, 's, R: Read> {
    shared: &'a Shared<'f, 's, R>,
}

impl<R: Read> Drop for Alarm<'_, '_, '_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.shared.order).is_over = true;
            self.shared.changed.notify_all();
        }
    }
}
