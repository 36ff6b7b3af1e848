//! One sorted, encoded piece of one group, and a cursor over it.

use super::store::Place;
use super::{MAX_ENCODED, SegmentStore, SortRecord};
use knockout_base::error::{Error, Result};
use std::sync::Arc;

const DAMAGED: &str =
    "the temporary file does not contain the bytes that were written to it; check the disk and try again";

/// How much of a spilled segment is in memory at a time.
const WINDOW_BYTES: u64 = 64 << 10;

/// Sorted records of one group from one buffer of one writer.
#[derive(Debug)]
pub(crate) struct Segment<R> {
    pub(crate) group: u32,
    pub(crate) first: R,
    pub(crate) last: R,
    pub(crate) records: u64,
    pub(crate) place: Place,
}

/// Reads a segment from front to back.
#[derive(Debug)]
pub(crate) struct Cursor<R> {
    store: Arc<SegmentStore>,
    group: u32,
    left: u64,
    previous: R,
    bytes: Vec<u8>,
    at: usize,
    /// Rest of the segment in the file: offset and length; empty for segments in memory.
    beyond: (u64, u64),
    held_bytes: usize,
}

impl<R: SortRecord> Cursor<R> {
    pub(crate) fn new(store: &Arc<SegmentStore>, segment: Segment<R>) -> Self {
        let (bytes, beyond) = match segment.place {
            Place::Held(bytes) => (bytes, (0, 0)),
            Place::Spilled { offset, bytes } => (Vec::new(), (offset, bytes)),
        };
        Self {
            store: Arc::clone(store),
            group: segment.group,
            left: segment.records,
            previous: R::ZERO,
            held_bytes: bytes.len(),
            bytes,
            at: 0,
            beyond,
        }
    }

    /// The next record in order; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<R>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.beyond.1 > 0 && self.bytes.len() - self.at < MAX_ENCODED {
            self.refill()?;
        }
        let mut input = self.bytes.get(self.at..).unwrap_or_default();
        let Some(record) = R::decode(&self.previous, self.group, &mut input) else {
            return Err(Error::failure(DAMAGED));
        };
        self.at = self.bytes.len() - input.len();
        self.left -= 1;
        self.previous = record;
        Ok(Some(record))
    }

    fn refill(&mut self) -> Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let take = self.beyond.1.min(WINDOW_BYTES);
        self.store.read(self.beyond.0, take, &mut self.bytes)?;
        self.beyond = (self.beyond.0 + take, self.beyond.1 - take);
        Ok(())
    }
}

impl<R> Drop for Cursor<R> {
    fn drop(&mut self) {
        self.store.release(self.held_bytes);
    }
}
