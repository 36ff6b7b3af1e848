//! Device events of a step as a graph: the dependency that delayed the start of each.

use crate::attribute::gpu::DeviceSpan;
use crate::collect::Stream;
use crate::collect::id::StreamId;
use crate::collect::waits::{Waiter, Waits};
use std::collections::BTreeMap;

/// Events of one stream may overlap by this much in the profiler's clock although they ran one after the other.
const OVERLAP_NANOS: i64 = 2_000;
/// A start this long after the call and after the stream's last event has another cause.
const UNEXPLAINED_NANOS: i64 = 20_000;
/// An event of another stream that ended so shortly before such a start is that cause.
const RELEASED_NANOS: i64 = 10_000;
/// Events of other streams that are looked at for one start.
const MOST_CANDIDATES: usize = 256;

/// The reason why a device event did not start earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// It was launched at this time.
    Launch(i64),
    /// This event had to end first.
    After(usize),
    /// The trace has neither a launch nor an earlier event.
    Unknown,
}

/// Device events of a step by end.
pub(super) struct Devices<'a> {
    pub(super) by_end: Vec<DeviceSpan>,
    streams: &'a [Stream],
    /// Position of each event on its stream, and the events of each stream by end.
    position: Vec<usize>,
    by_stream: BTreeMap<Option<StreamId>, Vec<usize>>,
    /// Of each event, the one that a recorded stream wait made it wait for.
    recorded: BTreeMap<usize, usize>,
    /// Start of the call and index of each event that has a call.
    by_call: Vec<(i64, usize)>,
    /// Ends of long calls by their start: such a call is host time, and the launch is its end.
    long_calls: &'a BTreeMap<i64, i64>,
}

impl<'a> Devices<'a> {
    pub(super) fn new(
        spans: &[DeviceSpan],
        streams: &'a [Stream],
        waits: &Waits,
        long_calls: &'a BTreeMap<i64, i64>,
    ) -> Self {
        let mut by_end = spans.to_vec();
        by_end.sort_by_key(|span| (span.end, span.start, span.stream));
        let mut by_stream: BTreeMap<Option<StreamId>, Vec<usize>> = BTreeMap::new();
        let mut position = Vec::with_capacity(by_end.len());
        for (index, span) in by_end.iter().enumerate() {
            let stream = by_stream.entry(span.stream).or_default();
            position.push(stream.len());
            stream.push(index);
        }
        let calls = by_end.iter().enumerate().filter_map(|(index, span)| Some((span.call?, index)));
        let mut by_call: Vec<(i64, usize)> = calls.collect();
        by_call.sort_unstable();
        let mut devices =
            Self { by_end, streams, position, by_stream, recorded: BTreeMap::new(), by_call, long_calls };
        devices.recorded = devices.recorded_waits(waits);
        devices
    }

    pub(super) fn get(&self, index: usize) -> Option<&DeviceSpan> {
        self.by_end.get(index)
    }

    fn end(&self, index: usize) -> Option<i64> {
        self.get(index).map(|span| span.end)
    }

    /// Joins recorded stream waits with the next event that is launched on the waiting stream.
    fn recorded_waits(&self, waits: &Waits) -> BTreeMap<usize, usize> {
        let mut out: BTreeMap<usize, usize> = BTreeMap::new();
        if self.by_end.is_empty() {
            return out;
        }
        let mut by_call: BTreeMap<StreamId, Vec<(i64, usize)>> = BTreeMap::new();
        for &(call, index) in &self.by_call {
            if let Some(stream) = self.get(index).and_then(|span| span.stream) {
                by_call.entry(stream).or_default().push((call, index));
            }
        }
        for wait in waits.iter().filter(|wait| wait.waiter == Waiter::Stream) {
            let Some(other) = wait.on_stream.and_then(|number| self.sibling(wait.stream, number)) else {
                continue;
            };
            let (Some(own), Some(others)) = (by_call.get(&wait.stream), by_call.get(&other)) else {
                continue;
            };
            let recorded_at = waits.recorded_at(wait).unwrap_or(wait.start);
            let next = own.get(own.partition_point(|(call, _)| *call < wait.start));
            let last = others.partition_point(|(call, _)| *call <= recorded_at).checked_sub(1);
            let (Some(&(_, next)), Some(&(_, before))) = (next, last.and_then(|at| others.get(at))) else {
                continue;
            };
            let started = self.get(next).map_or(i64::MIN, |span| span.start);
            if before < next && self.end(before).is_some_and(|end| end <= started + OVERLAP_NANOS) {
                let have = out.entry(next).or_insert(before);
                *have = (*have).max(before);
            }
        }
        out
    }

    /// Returns the stream of the same device with a number.
    pub(super) fn sibling(&self, stream: StreamId, number: i64) -> Option<StreamId> {
        let device = self.streams.get(stream.index())?.device;
        let found = self.streams.iter().position(|other| other.device == device && other.number == number);
        found.map(StreamId::from_index)
    }

    /// Returns the event before another on its stream.
    fn before(&self, index: usize, start: i64) -> Option<usize> {
        let stream = self.by_stream.get(&self.get(index)?.stream)?;
        let earlier = stream.get(..*self.position.get(index)?)?;
        let ended = |other: &&usize| self.end(**other).is_some_and(|end| end <= start + OVERLAP_NANOS);
        earlier.iter().rev().take(MOST_CANDIDATES).find(ended).copied()
    }

    /// Returns why an event did not start earlier: the last of its call, the event before it on its stream, and an event of
    /// another stream that a recorded wait names. If all of these are long past, an event of another stream that ended just
    /// before the start was waited for: PyTorch's profiler does not record such waits by default.
    pub(super) fn cause(&self, index: usize) -> Cause {
        let Some(span) = self.get(index) else { return Cause::Unknown };
        let after = [self.before(index, span.start), self.recorded.get(&index).copied()];
        let last = after.into_iter().flatten().max();
        let last_end = last.and_then(|at| self.end(at)).map(|end| end.min(span.start));
        let known = span.call.max(last_end);
        if let Some(known) = known.filter(|known| span.start - known > UNEXPLAINED_NANOS) {
            let returned =
                span.call.and_then(|call| self.long_calls.get(&call)).map(|end| (*end).min(span.start));
            if let Some(returned) = returned.filter(|returned| *returned > known) {
                return Cause::Launch(returned);
            }
            if let Some(other) = self.released_by(index, span) {
                return Cause::After(other);
            }
        }
        match (span.call, last, last_end) {
            (Some(call), _, None) => Cause::Launch(call),
            (Some(call), _, Some(end)) if call > end => Cause::Launch(call),
            (_, Some(last), _) => Cause::After(last),
            (..) => Cause::Unknown,
        }
    }

    /// Returns the event of another stream that ended just before a start.
    fn released_by(&self, index: usize, span: &DeviceSpan) -> Option<usize> {
        let ended = self.by_end.partition_point(|other| other.end <= span.start).min(index);
        let recent = self.by_end.get(..ended)?.iter().enumerate().rev().take(MOST_CANDIDATES);
        let mut recent = recent.take_while(|(_, other)| span.start - other.end <= RELEASED_NANOS);
        recent.find(|(_, other)| other.stream != span.stream).map(|(at, _)| at)
    }

    /// Returns the event below `limit` that ended last in a stretch of time, of one stream or of all.
    pub(super) fn ended_in(
        &self,
        from: i64,
        to: i64,
        stream: Option<StreamId>,
        limit: usize,
    ) -> Option<usize> {
        let ended = self.by_end.partition_point(|span| span.end <= to).min(limit);
        let inside = self.by_end.get(..ended)?.iter().enumerate().rev();
        let mut inside = inside.take_while(|(_, span)| span.end > from);
        inside.find(|(_, span)| stream.is_none() || span.stream == stream).map(|(index, _)| index)
    }

    /// Returns the events that a call launched.
    pub(super) fn launched_at(&self, call: i64) -> impl Iterator<Item = usize> + '_ {
        let first = self.by_call.partition_point(|(have, _)| *have < call);
        let same = self.by_call.get(first..).unwrap_or_default().iter();
        same.take_while(move |(have, _)| *have == call).map(|(_, index)| *index)
    }

    /// Returns for how long a stream, or any stream, was busy in a stretch of time that ends with the event `last`.
    pub(super) fn busy_until(&self, last: usize, from: i64, stream: Option<StreamId>) -> i64 {
        let (mut busy, mut covered) = (0, i64::MAX);
        let earlier = self.by_end.get(..=last).unwrap_or_default().iter().rev();
        let inside = earlier.take_while(|span| span.end > from);
        for span in inside.filter(|span| stream.is_none() || span.stream == stream) {
            let (start, end) = (span.start.max(from), span.end.min(covered));
            busy += (end - start).max(0);
            covered = covered.min(start);
        }
        busy
    }
}
