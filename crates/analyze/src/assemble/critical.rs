//! The critical path of the slowest step: from its end back to its start, always to what had to finish first.
//!
//! On the host the path follows the thread that holds the step. Where that thread waits for the device, the path
//! goes over to the device event that ended last; from a device event to the one before it on its stream, or to
//! its launch call if that came later. Where the thread sits in an annotation with nothing of its own inside (as in
//! `backward()`), another host thread that works meanwhile is followed instead.

use crate::attribute::Attributed;
use crate::attribute::gpu::DeviceSpan;
use crate::attribute::lane::Piece;
use crate::collect::id::{CategoryId, KindId, StreamId};
use crate::collect::record::Side;
use crate::collect::rules::{Category, Role};
use crate::findings::{CriticalPath, shares};
use knockout_base::stats::us;
use std::collections::BTreeMap;

/// Gives the path of the longest step; `None` without steps.
pub(crate) fn path(parts: &Attributed<'_>) -> Option<CriticalPath> {
    let step =
        parts.steps.steps.iter().max_by_key(|step| (step.end - step.start, std::cmp::Reverse(step.start)))?;
    let main = parts.lanes.iter().find(|lane| lane.lane == step.lane)?;
    let mut others: Vec<Piece> = parts
        .lanes
        .iter()
        .filter(|lane| lane.lane != step.lane && lane.side == Side::Host)
        .flat_map(|lane| lane.pieces.iter().copied())
        // No path should follow a thread that does nothing.
        .filter(|piece| !matches!(parts.rules.role(piece.category), Role::DeviceWait | Role::Sleep))
        .collect();
    others.sort_by_key(|piece| (piece.to, piece.from, piece.kind));
    let is_annotation = |kind: KindId| {
        parts
            .kinds
            .get(kind.index())
            .is_some_and(|kind| matches!(parts.text(kind.category), "user_annotation" | ""))
    };
    let walk = Walk {
        start: step.start,
        main: &main.pieces,
        others: &others,
        device: Devices::new(&parts.device_spans),
        is_annotation: &is_annotation,
        is_waiting: &|category| parts.rules.role(category) == Role::DeviceWait,
    };
    let is_unattributed = |category: &&Category| category.role == Role::Unattributed;
    let unattributed = parts.rules.categories().iter().find(is_unattributed);
    let unattributed = unattributed.map_or("unattributed", |category| category.name.as_str());
    let mut by_category: BTreeMap<String, i64> = BTreeMap::new();
    let mut by_operation: BTreeMap<String, i64> = BTreeMap::new();
    walk.run(step.end, |what, nanos| {
        let (category, operation) = match what {
            On::Host(piece) => (parts.category_name(piece.category), parts.kind_name(piece.kind)),
            On::Device(kind) => {
                let claim = parts.kinds.get(kind.index()).map(|kind| &kind.claim);
                let category = claim.map(|claim| claim.itself.unwrap_or(claim.otherwise));
                (category.map_or("", |category| parts.category_name(category)), parts.kind_name(kind))
            }
            On::Launch => ("from launch to device", "from launch to device"),
            On::Gap => ("between device events", "between device events"),
            On::Nothing => (unattributed, unattributed),
        };
        *by_category.entry(category.to_owned()).or_default() += nanos;
        *by_operation.entry(operation.to_owned()).or_default() += nanos;
    });
    let whole = us(step.end - step.start);
    let rows =
        |sums: BTreeMap<String, i64>| sums.into_iter().map(|(name, nanos)| (name, us(nanos))).collect();
    let mut operations = shares(rows(by_operation), whole);
    operations.truncate(20);
    Some(CriticalPath {
        step: parts.kind_name(step.kind).to_owned(),
        us: whole,
        parts: shares(rows(by_category), whole),
        operations,
    })
}

/// Kind of a stretch of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Host(Piece),
    Device(KindId),
    Launch,
    Gap,
    Nothing,
}

struct Walk<'a> {
    start: i64,
    /// Pieces of the step's thread, by time, not overlapping.
    main: &'a [Piece],
    /// Pieces of the other host threads, by end.
    others: &'a [Piece],
    device: Devices,
    is_annotation: &'a dyn Fn(KindId) -> bool,
    is_waiting: &'a dyn Fn(CategoryId) -> bool,
}

/// Device events by end, each with the one before it on its stream.
struct Devices {
    by_end: Vec<(DeviceSpan, Option<usize>)>,
}

impl Devices {
    fn new(spans: &[DeviceSpan]) -> Self {
        let mut by_end: Vec<(DeviceSpan, Option<usize>)> = spans.iter().map(|span| (*span, None)).collect();
        by_end.sort_by_key(|(span, _)| (span.end, span.start, span.stream));
        let mut last: BTreeMap<Option<StreamId>, usize> = BTreeMap::new();
        for (index, (span, before)) in by_end.iter_mut().enumerate() {
            *before = last.insert(span.stream, index);
        }
        Self { by_end }
    }

    /// The event that ended last at or before `time`.
    fn ending_by(&self, time: i64) -> Option<usize> {
        self.by_end.partition_point(|(span, _)| span.end <= time).checked_sub(1)
    }
}

impl Walk<'_> {
    /// Tells every stretch of the path, last first; they sum to the step's length.
    fn run(&self, end: i64, mut tell: impl FnMut(On, i64)) {
        let mut now = end;
        let mut device: Option<usize> = None;
        while now > self.start {
            let (on, from, next) = match device {
                Some(index) => self.on_device(index, now, &mut tell),
                None => self.on_host(now, &mut tell),
            };
            // What was told on the way may have moved the end of this stretch.
            let until = from.1;
            let from = from.0.max(self.start);
            if until > from {
                tell(on, until - from);
            }
            if from >= now && next == device {
                // No way back from here: never walk in circles.
                tell(On::Nothing, now - self.start);
                return;
            }
            now = from.min(now);
            device = next;
        }
    }

    /// Returns one stretch on the host up to `now`: its kind, its start and end, and where the path continues.
    fn on_host(&self, now: i64, tell: &mut impl FnMut(On, i64)) -> (On, (i64, i64), Option<usize>) {
        let index = self.main.partition_point(|piece| piece.from < now);
        let Some(piece) = index.checked_sub(1).and_then(|at| self.main.get(at)).copied() else {
            return (On::Nothing, (self.start, now), None);
        };
        if piece.to < now {
            return (On::Nothing, (piece.to, now), None);
        }
        if (self.is_waiting)(piece.category)
            && let Some(at) = self.device.ending_by(now)
            && let Some((span, _)) = self.device.by_end.get(at)
            && span.end > piece.from
        {
            return (On::Host(piece), (span.end, now), Some(at));
        }
        if (self.is_annotation)(piece.kind) {
            let after = self.others.partition_point(|other| other.to < now);
            // The piece that still runs at `now`, else the one that ended last before it.
            let running =
                self.others.get(after..).unwrap_or_default().iter().take(64).find(|other| other.from < now);
            if let Some(other) = running {
                return (On::Host(*other), (other.from.max(piece.from), now), None);
            }
            let before = after.checked_sub(1).and_then(|at| self.others.get(at));
            if let Some(other) = before.filter(|other| other.to > piece.from) {
                tell(On::Host(piece), now - other.to);
                return (On::Host(*other), (other.from.max(piece.from), other.to), None);
            }
        }
        (On::Host(piece), (piece.from, now), None)
    }

    fn on_device(
        &self,
        index: usize,
        now: i64,
        tell: &mut impl FnMut(On, i64),
    ) -> (On, (i64, i64), Option<usize>) {
        let Some((span, before)) = self.device.by_end.get(index) else {
            return (On::Nothing, (now, now), None);
        };
        let begin = span.start.max(self.start);
        tell(On::Device(span.kind), (now - begin).max(0));
        let begin = begin.min(now);
        let earlier = before.and_then(|at| self.device.by_end.get(at).map(|(span, _)| (at, span.end)));
        match (span.call, earlier) {
            (Some(call), Some((_, end))) if call > end => (On::Launch, (call.min(begin), begin), None),
            (_, Some((at, end))) => (On::Gap, (end.min(begin), begin), Some(at)),
            (Some(call), None) => (On::Launch, (call.min(begin), begin), None),
            (None, None) => (On::Nothing, (begin, begin), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: i64, to: i64, kind: usize, category: usize) -> Piece {
        Piece { from, to, kind: KindId::from_index(kind), category: CategoryId::from_index(category) }
    }

    #[test]
    fn a_wait_leads_to_the_device_and_back_to_the_launch() {
        // host: work 0-10 (launches at 4), then waits 10-100; device: 20-50 after the call at 4, 50-90.
        let main = [piece(0, 10, 1, 0), piece(10, 100, 2, 7)];
        let span = |start, end, call| DeviceSpan {
            start,
            end,
            kind: KindId::from_index(9),
            stream: StreamId::unpack(1),
            call: Some(call),
        };
        let spans = [span(20, 50, 4), span(50, 90, 6)];
        let walk = Walk {
            start: 0,
            main: &main,
            others: &[],
            device: Devices::new(&spans),
            is_annotation: &|_| false,
            is_waiting: &|category| category.index() == 7,
        };
        let mut told = Vec::new();
        walk.run(100, |on, nanos| told.push((on, nanos)));
        assert_eq!(told.iter().map(|(_, nanos)| nanos).sum::<i64>(), 100);
        let device: i64 =
            told.iter().filter(|(on, _)| *on == On::Device(KindId::from_index(9))).map(|(_, n)| n).sum();
        assert_eq!(device, 70);
        assert!(told.contains(&(On::Host(main[1]), 10)), "{told:?}");
        assert!(told.contains(&(On::Launch, 16)), "{told:?}");
        assert!(told.contains(&(On::Host(main[0]), 4)), "{told:?}");
    }

    #[test]
    fn an_empty_annotation_leads_to_the_thread_that_works() {
        let main = [piece(0, 100, 5, 1)];
        let others = [piece(20, 60, 6, 2)];
        let walk = Walk {
            start: 0,
            main: &main,
            others: &others,
            device: Devices::new(&[]),
            is_annotation: &|kind| kind.index() == 5,
            is_waiting: &|_| false,
        };
        let mut told = Vec::new();
        walk.run(100, |on, nanos| told.push((on, nanos)));
        assert_eq!(told.iter().map(|(_, nanos)| nanos).sum::<i64>(), 100);
        assert!(told.contains(&(On::Host(others[0]), 40)), "{told:?}");
    }
}
