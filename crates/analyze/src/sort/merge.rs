//! Merges the segments of one group.
//!
//! Segments that do not overlap are chained end to end first, so that a file written in order merges a few
//! chains instead of hundreds of segments.

use super::segment::Cursor;
use super::{Segment, SegmentStore, SortRecord};
use knockout_base::error::Result;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// The records of one group in order.
#[derive(Debug)]
pub(crate) struct Merge<R: SortRecord> {
    /// The chain being read; its next record is in front of every other chain's.
    current: Option<ChainHead<R>>,
    others: BinaryHeap<ChainHead<R>>,
}

#[derive(Debug)]
struct Chain<R: SortRecord> {
    store: Arc<SegmentStore>,
    open: Option<Cursor<R>>,
    rest: VecDeque<Segment<R>>,
}

/// A chain and its next record; the heap has the smallest record on top.
#[derive(Debug)]
struct ChainHead<R: SortRecord> {
    next: R,
    chain: Chain<R>,
}

impl<R: SortRecord> Merge<R> {
    pub(crate) fn new(store: &Arc<SegmentStore>, mut segments: Vec<Segment<R>>) -> Result<Self> {
        segments.sort_by(|a, b| a.first.order(&b.first));
        let mut chains: Vec<(R, VecDeque<Segment<R>>)> = Vec::new();
        for segment in segments {
            let fits = chains.iter_mut().find(|(last, _)| last.order(&segment.first) != Ordering::Greater);
            if let Some((last, chain)) = fits {
                *last = segment.last;
                chain.push_back(segment);
            } else {
                chains.push((segment.last, VecDeque::from([segment])));
            }
        }
        let mut others = BinaryHeap::with_capacity(chains.len());
        for (_, rest) in chains {
            let mut chain = Chain { store: Arc::clone(store), open: None, rest };
            if let Some(next) = chain.next()? {
                others.push(ChainHead { next, chain });
            }
        }
        Ok(Self { current: others.pop(), others })
    }

    /// The next record in order; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<R>> {
        let Some(head) = self.current.as_mut() else { return Ok(None) };
        let out = head.next;
        if let Some(next) = head.chain.next()? {
            head.next = next;
            if let Some(mut other) = self.others.peek_mut()
                && other.next.order(&head.next) == Ordering::Less
            {
                std::mem::swap(&mut *other, head);
            }
        } else {
            self.current = self.others.pop();
        }
        Ok(Some(out))
    }
}

impl<R: SortRecord> Chain<R> {
    #[inline]
    fn next(&mut self) -> Result<Option<R>> {
        loop {
            if let Some(open) = self.open.as_mut() {
                if let Some(record) = open.next()? {
                    return Ok(Some(record));
                }
                self.open = None;
            }
            let Some(segment) = self.rest.pop_front() else { return Ok(None) };
            self.open = Some(Cursor::new(&self.store, segment));
        }
    }
}

impl<R: SortRecord> PartialEq for ChainHead<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<R: SortRecord> Eq for ChainHead<R> {}

impl<R: SortRecord> PartialOrd for ChainHead<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: SortRecord> Ord for ChainHead<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.next.order(&self.next)
    }
}
