//! Self time: the innermost span at each instant of a lane.
//!
//! Spans come by start, longer first. One that lies inside the innermost open span is its child; one that begins
//! inside it but ends after it is clipped: it is counted from the end of the span it overlaps, then placed again by
//! the same rule. So no instant is counted twice, and the pieces of a lane add up to the union of its spans.
//! Memory is the depth of the nesting plus the deferred spans.
//!
//! Steps are different: a profiler ends one in the middle of what the program does. An annotation that begins in a step and ends after it,
//! and any span that ends in a step that began inside it, is divided at the step's boundary, so that each part has its own step around it.

use crate::collect::id::NodeId;
use crate::collect::record::Span;
use crate::sort::SortRecord as _;
use knockout_base::error::Result;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Receives the spans and pieces of one lane, in order of time.
pub(crate) trait Visitor {
    /// Opens `part` of a span inside `parent` and returns its node.
    fn opened(&mut self, parent: Option<NodeId>, span: &Span, part: SpanPart) -> NodeId;
    /// Adds the time from `from` to `to`, in which the span of `node` is innermost.
    fn innermost(&mut self, node: NodeId, from: i64, to: i64);
    /// Shortens the span of `node` by `nanos`; the rest is placed again.
    fn shortened(&mut self, node: NodeId, nanos: i64);
    /// Whether a span is a step.
    fn is_step(&self, span: &Span) -> bool;
    /// Whether a span is an annotation.
    fn is_annotation(&self, span: &Span) -> bool;
}

/// The part of a span that is placed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanPart {
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// An earlier part of the span was placed before.
    pub(crate) is_continued: bool,
}

/// The times of a lane.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneTime {
    /// Spans placed.
    pub(crate) spans: u64,
    /// Length of the union of the spans.
    pub(crate) busy_nanos: i64,
    /// Spans that had to be clipped.
    pub(crate) clipped: u64,
    /// First start and last end.
    pub(crate) window: Option<(i64, i64)>,
}

/// A span to be placed again later, the earliest on top of the heap.
#[derive(Debug, PartialEq, Eq)]
struct Deferred {
    from: i64,
    span: Span,
    is_continued: bool,
}

impl Deferred {
    fn order(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.from, std::cmp::Reverse(it.span.end()), it.span.order);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Deferred {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deferred {
    fn cmp(&self, other: &Self) -> Ordering {
        other.order(self).then_with(|| other.span.order(&self.span))
    }
}

/// Sweeps over one lane's spans of positive duration, in order.
pub(crate) fn sweep<V: Visitor>(
    mut next: impl FnMut(&mut V) -> Result<Option<Span>>,
    visitor: &mut V,
) -> Result<LaneTime> {
    let mut time = LaneTime::default();
    let mut stack: Vec<Placed> = Vec::new();
    let mut deferred: BinaryHeap<Deferred> = BinaryHeap::new();
    let mut incoming = next(visitor)?;
    // Up to here every instant is accounted for.
    let mut now = i64::MIN;
    let mut covered = i64::MIN;
    loop {
        let candidate = match (&incoming, deferred.peek()) {
            (Some(span), Some(again)) => {
                let fresh = Deferred { from: span.start, span: *span, is_continued: false };
                if fresh.order(again) == Ordering::Less {
                    take_fresh(&mut incoming, &mut next, visitor)?
                } else {
                    deferred.pop().map(|again| (again, true))
                }
            }
            (Some(_), None) => take_fresh(&mut incoming, &mut next, visitor)?,
            (None, _) => deferred.pop().map(|again| (again, true)),
        };
        let Some((Deferred { from, span, is_continued }, again)) = candidate else { break };
        if !again {
            // The union, from the spans as they are and not from the pieces, so that one can check the other.
            let (start, end) = (span.start, span.end());
            if start > covered {
                time.busy_nanos += end - start;
                covered = end;
            } else if end > covered {
                time.busy_nanos += end - covered;
                covered = end;
            }
            time.window =
                Some(time.window.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
        while let Some(&Placed { end, node, .. }) = stack.last() {
            if end > from {
                break;
            }
            if end > now {
                visitor.innermost(node, now, end);
                now = end;
            }
            stack.pop();
        }
        let mut to = span.end();
        if let Some(&Placed { end, node, .. }) = stack.last() {
            if from > now {
                visitor.innermost(node, now, from);
            }
            if span.end() > end {
                time.clipped += u64::from(!again);
                now = from;
                // Ends only grow towards the outermost.
                let inside = stack.partition_point(|placed| placed.end >= span.end());
                let overlapped = stack.get(inside..).unwrap_or_default();
                if visitor.is_step(&span) {
                    // What is divided already has its next part deferred.
                    for placed in stack.drain(inside..).filter(|placed| !placed.is_step && !placed.is_divided)
                    {
                        visitor.shortened(placed.node, placed.end - from);
                        deferred.push(Deferred { from, span: placed.span, is_continued: true });
                    }
                } else if visitor.is_annotation(&span)
                    && overlapped.iter().all(|placed| placed.is_step || placed.is_divided)
                {
                    to = end;
                    deferred.push(Deferred { from: end, span, is_continued: true });
                } else {
                    // It cannot be placed before the last one that it overlaps has ended. Trying at every end between would cost
                    // the square of the depth.
                    let until = overlapped.first().map_or(end, |placed| placed.end);
                    deferred.push(Deferred { from: until, span, is_continued });
                    continue;
                }
            }
        }
        now = from;
        let parent = stack.last().map(|placed| placed.node);
        let node = visitor.opened(parent, &span, SpanPart { from, to, is_continued });
        time.spans += u64::from(!is_continued);
        stack.push(Placed {
            end: to,
            node,
            span,
            is_step: visitor.is_step(&span),
            is_divided: to < span.end(),
        });
    }
    while let Some(Placed { end, node, .. }) = stack.pop() {
        if end > now {
            visitor.innermost(node, now, end);
            now = end;
        }
    }
    Ok(time)
}

/// A span that is open.
struct Placed {
    end: i64,
    node: NodeId,
    span: Span,
    is_step: bool,
    /// It ends with the step around it, and another part follows.
    is_divided: bool,
}

/// Takes the next span, with whether it was tried before.
#[inline]
fn take_fresh<V>(
    incoming: &mut Option<Span>,
    next: &mut impl FnMut(&mut V) -> Result<Option<Span>>,
    visitor: &mut V,
) -> Result<Option<(Deferred, bool)>> {
    let Some(span) = *incoming else { return Ok(None) };
    *incoming = next(visitor)?;
    Ok(Some((Deferred { from: span.start, span, is_continued: false }, false)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::id::KindId;
    use knockout_trace::LaneId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Sum {
        selfs: BTreeMap<u64, i64>,
        opened: Vec<u64>,
        ran_to: i64,
        pieces: usize,
        /// The first so many spans are steps.
        steps: u64,
    }

    impl Visitor for Sum {
        fn opened(&mut self, parent: Option<NodeId>, span: &Span, part: SpanPart) -> NodeId {
            assert!(part.from < part.to && part.to <= span.end());
            assert!(parent.is_none_or(|parent| parent.index() < self.opened.len()));
            self.opened.push(span.order);
            NodeId::from_index(self.opened.len() - 1)
        }

        fn innermost(&mut self, node: NodeId, from: i64, to: i64) {
            assert!(from < to && from >= self.ran_to, "pieces go forward in time");
            self.ran_to = to;
            self.pieces += 1;
            *self.selfs.entry(self.opened[node.index()]).or_default() += to - from;
        }

        fn shortened(&mut self, node: NodeId, nanos: i64) {
            assert!(node.index() < self.opened.len() && nanos > 0);
        }

        fn is_step(&self, span: &Span) -> bool {
            span.order < self.steps
        }

        fn is_annotation(&self, span: &Span) -> bool {
            !span.order.is_multiple_of(5)
        }
    }

    fn spans(list: &[(i64, i64)]) -> Vec<Span> {
        list.iter()
            .enumerate()
            .map(|(order, &(start, duration))| Span {
                lane: LaneId::from_index(0),
                start,
                duration,
                kind: KindId::from_index(0),
                order: order as u64,
                flags: 1,
                ..Span::ZERO
            })
            .collect()
    }

    fn run(list: &[(i64, i64)]) -> (Sum, LaneTime) {
        run_with_steps(list, 0)
    }

    fn run_with_steps(list: &[(i64, i64)], steps: u64) -> (Sum, LaneTime) {
        let mut sorted = spans(list);
        sorted.sort_by(Span::order);
        let mut iter = sorted.into_iter();
        let mut sum = Sum { steps, ..Sum::default() };
        let time = sweep(|_| Ok(iter.next()), &mut sum).unwrap();
        (sum, time)
    }

    /// The definition, word for word, on a list that is searched again and again.
    fn by_definition(list: &[(i64, i64)]) -> BTreeMap<u64, i64> {
        let mut todo: Vec<(i64, i64, u64)> = list
            .iter()
            .enumerate()
            .map(|(order, &(start, dur))| (start, start + dur, order as u64))
            .collect();
        let mut selfs = BTreeMap::new();
        let mut open: Vec<(i64, u64)> = Vec::new();
        while let Some(at) = (0..todo.len()).min_by_key(|&i| (todo[i].0, -todo[i].1, todo[i].2)) {
            let (start, end, order) = todo.swap_remove(at);
            open.retain(|&(open_end, _)| open_end > start);
            if let Some(&(open_end, parent)) = open.last() {
                if end > open_end {
                    todo.push((open_end, end, order));
                    continue;
                }
                *selfs.entry(parent).or_insert(0) -= end - start;
            }
            *selfs.entry(order).or_insert(0) += end - start;
            open.push((end, order));
        }
        selfs.retain(|_, time| *time != 0);
        selfs
    }

    fn union(list: &[(i64, i64)]) -> i64 {
        (0..200).filter(|t| list.iter().any(|&(start, dur)| start <= *t && *t < start + dur)).count() as i64
    }

    #[test]
    fn an_overlap_is_clipped_to_the_earlier_end() {
        let (sum, time) = run(&[(0, 3776), (3000, 5000)]);
        assert_eq!(sum.selfs, BTreeMap::from([(0, 3776), (1, 4224)]));
        assert_eq!((time.busy_nanos, time.clipped, time.spans), (8000, 1, 2));
    }

    #[test]
    fn a_span_is_divided_where_a_step_ends_or_begins() {
        // Two steps, and a span of 40 to 160 with one of 60 to 150 inside it.
        let (sum, time) = run_with_steps(&[(0, 100), (105, 95), (40, 120), (60, 90)], 2);
        assert_eq!(sum.selfs, BTreeMap::from([(0, 40), (1, 40), (2, 20 + 10), (3, 90)]));
        assert_eq!(sum.opened, [0, 2, 3, 2, 3, 1, 2, 3]);
        assert_eq!((time.busy_nanos, time.spans), (200, 4));
    }

    /// Trying every end of the spans around it would make pieces in the square of their number.
    #[test]
    fn overlaps_with_deep_nesting_cost_no_more_than_their_number() {
        let deep = 2_000;
        let nested = (0..deep).map(|place| (place, 2 * deep - 2 * place));
        // Begin inside of all of them and end outside.
        let long = (0..deep).map(|place| (deep - 1, 2 * deep + place));
        let list: Vec<(i64, i64)> = nested.chain(long).collect();
        let (sum, time) = run(&list);
        assert_eq!(time.spans, list.len() as u64);
        assert!(sum.pieces <= 4 * list.len(), "{} pieces of {} spans", sum.pieces, list.len());
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_union_and_follow_the_definition(
            list in proptest::collection::vec((0_i64..100, 1_i64..60), 0..24)
        ) {
            let (sum, time) = run(&list);
            prop_assert_eq!(sum.selfs.values().sum::<i64>(), union(&list));
            prop_assert_eq!(time.busy_nanos, union(&list));
            prop_assert_eq!(time.spans, list.len() as u64);
            prop_assert_eq!(sum.selfs, by_definition(&list));
        }

        #[test]
        fn time_in_steps_is_counted_once(
            list in proptest::collection::vec((0_i64..100, 1_i64..60), 0..24), steps in 0_u64..8
        ) {
            let (sum, time) = run_with_steps(&list, steps);
            prop_assert_eq!(sum.selfs.values().sum::<i64>(), union(&list));
            prop_assert_eq!(time.spans, list.len() as u64);
        }
    }
}
