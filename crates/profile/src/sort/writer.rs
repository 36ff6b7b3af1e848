//! Takes records in any order and turns full buffers into sorted segments.

use super::{Record, Renumber, Segment, Store, store::Place};
use crate::ProfileError;
use std::sync::Arc;

/// Records a buffer holds before it is sorted: small enough for a core's own cache, large enough that a
/// million events make few segments.
const BUFFER_RECORDS: usize = 1 << 15;

/// One thread's way into a sort.
#[derive(Debug)]
pub(crate) struct Writer<R> {
    store: Arc<Store>,
    buffer: Vec<R>,
    limit: usize,
    pieces: Vec<Piece<R>>,
    encoded: Vec<u8>,
}

/// A segment whose numbers are still the writer's own.
#[derive(Debug)]
struct Piece<R> {
    group: u32,
    first: R,
    last: R,
    records: u64,
    place: Place,
}

impl<R: Record> Writer<R> {
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        Self::with_buffer(store, BUFFER_RECORDS)
    }

    /// A writer with a buffer of `limit` records.
    pub(crate) fn with_buffer(store: &Arc<Store>, limit: usize) -> Self {
        Self {
            store: Arc::clone(store),
            buffer: Vec::new(),
            limit: limit.max(1),
            pieces: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// Adds one record.
    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<(), ProfileError> {
        self.buffer.push(record);
        if self.buffer.len() >= self.limit { self.flush() } else { Ok(()) }
    }

    /// Sorts and stores what the buffer holds.
    fn flush(&mut self) -> Result<(), ProfileError> {
        // Stable, because events come nearly sorted and that algorithm notices.
        self.buffer.sort_by(|a, b| a.group().cmp(&b.group()).then_with(|| a.order(b)));
        for same in self.buffer.chunk_by(|a, b| a.group() == b.group()) {
            let ([first, ..], [.., last]) = (same, same) else { continue };
            self.encoded.clear();
            let mut previous = R::ZERO;
            for record in same {
                record.encode(&previous, &mut self.encoded);
                previous = *record;
            }
            self.pieces.push(Piece {
                group: first.group(),
                first: *first,
                last: *last,
                records: same.len() as u64,
                place: self.store.keep(&self.encoded)?,
            });
        }
        self.buffer.clear();
        Ok(())
    }

    /// Ends the writer: its segments under shared numbers; `group` maps the writer's own groups.
    pub(crate) fn finish(
        mut self,
        numbers: &Arc<Renumber>,
        group: impl Fn(u32) -> u32,
    ) -> Result<Vec<Segment<R>>, ProfileError> {
        self.flush()?;
        let share = |mut record: R| {
            record.renumber(numbers);
            record
        };
        Ok(self
            .pieces
            .into_iter()
            .map(|piece| Segment {
                group: group(piece.group),
                first: share(piece.first),
                last: share(piece.last),
                records: piece.records,
                place: piece.place,
                numbers: Arc::clone(numbers),
            })
            .collect())
    }
}
