//! Sorting more records than memory should hold.
//!
//! A writer collects records, sorts them a buffer at a time and stores each buffer as compact segments, one per
//! group; beyond a memory budget segments go to an unnamed temporary file. Reading merges the segments of one
//! group. The order of the records is total, so the result does not depend on threads.

mod merge;
mod segment;
mod store;
mod varint;
mod writer;

pub(crate) use merge::Merge;
pub(crate) use segment::Segment;
pub(crate) use store::SegmentStore;
pub(crate) use varint::{put, put_signed, take, take_signed};
pub(crate) use writer::{Helper, Writer};

use knockout_base::error::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// The most bytes one encoded record may take; a reader of a file refills its window below this.
pub(crate) const MAX_ENCODED: usize = 160;

/// A record that can be sorted, stored compactly and read back.
pub(crate) trait SortRecord: Copy + Send {
    /// The record that the first one of a segment is encoded against.
    const ZERO: Self;
    /// Records of different groups are never compared.
    fn group(&self) -> u32;
    /// A total order within a group: equal only for records that are the same event.
    fn order(&self, other: &Self) -> Ordering;
    /// Appends at most [`MAX_ENCODED`] bytes; the group is not stored.
    fn encode(&self, previous: &Self, out: &mut Vec<u8>);
    /// Reads what `encode` wrote; `None` if the bytes are not a record.
    fn decode(previous: &Self, group: u32, input: &mut &[u8]) -> Option<Self>;
}

/// All segments of one group, ready to be read in order.
pub(crate) fn merge<R: SortRecord>(store: &Arc<SegmentStore>, segments: Vec<Segment<R>>) -> Result<Merge<R>> {
    Merge::new(store, segments)
}

#[cfg(test)]
mod tests;
