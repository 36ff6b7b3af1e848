//! Follows the path from the end of a step back to its start.

use super::devices::{Cause, Devices};
use crate::attribute::lane::Piece;
use crate::collect::id::KindId;
use crate::collect::record::Side;
use crate::collect::waits::Waits;
use std::collections::BTreeMap;

/// A call that takes longer than this may wait for the device; launches take about a tenth of it.
const BLOCKING_NANOS: i64 = 50_000;
/// A call that waits returns this shortly after the device event it waited for, or within a tenth of its length.
const RETURN_NANOS: i64 = 100_000;
/// The stream of a launch that blocks is busy for this many per mille of the call.
const BUSY_PER_MILLE: i64 = 900;
/// Pieces of other threads that are looked at for one instant.
const MOST_THREADS: usize = 64;

/// Kind of a stretch of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Host(Piece),
    Device(KindId),
    /// From the launch call to the start on the device.
    Launch,
    /// Between two events of the device.
    Gap,
    Nothing,
}

/// State of a host thread during one interval of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Work,
    /// An annotation with nothing inside: another thread may work meanwhile.
    Annotation,
    /// A call that waits for the device.
    Wait,
    /// A call into the driver, which may wait for the device.
    DriverCall,
}

/// The input of a walk.
pub(super) struct Walk<'a> {
    pub(super) start: i64,
    /// Pieces of the step's thread, by time, not overlapping.
    pub(super) main: &'a [Piece],
    /// Pieces of the other host threads, by end.
    pub(super) others: &'a [Piece],
    pub(super) devices: Devices<'a>,
    pub(super) waits: &'a Waits,
    pub(super) doing: &'a dyn Fn(&Piece) -> Doing,
    pub(super) is_copy: &'a dyn Fn(KindId) -> bool,
}

/// Returns the ends of long calls into the driver, by their start.
pub(super) fn long_calls<'p>(
    pieces: impl Iterator<Item = &'p Piece>,
    doing: &dyn Fn(&Piece) -> Doing,
) -> BTreeMap<i64, i64> {
    let is_long =
        |piece: &&Piece| piece.to - piece.from >= BLOCKING_NANOS && doing(piece) == Doing::DriverCall;
    pieces.filter(is_long).map(|piece| (piece.from, piece.to)).collect()
}

/// The end of the path that is still to be followed.
struct PathEnd<Tell> {
    start: i64,
    now: i64,
    side: Side,
    /// Index of the device event, where `side` is the device. Events from here on were left behind: the path never walks in circles.
    device: usize,
    tell: Tell,
}

impl<Tell: FnMut(On, i64)> PathEnd<Tell> {
    /// Goes back to a time and reports the stretch.
    fn back_to(&mut self, time: i64, on: On) {
        let time = time.clamp(self.start, self.now);
        if time < self.now {
            (self.tell)(on, self.now - time);
        }
        self.now = time;
    }

    fn enter(&mut self, device: usize) {
        (self.side, self.device) = (Side::Device, device);
    }
}

impl Walk<'_> {
    /// Reports every stretch of the path, last first; they sum to the step's length.
    pub(super) fn run(&self, end: i64, tell: impl FnMut(On, i64)) {
        let device = self.devices.by_end.len();
        let mut position =
            PathEnd { start: self.start, now: end.max(self.start), side: Side::Host, device, tell };
        while position.now > self.start {
            match position.side {
                Side::Host => self.on_host(&mut position),
                Side::Device => self.on_device(&mut position),
            }
        }
    }

    fn on_host<Tell: FnMut(On, i64)>(&self, position: &mut PathEnd<Tell>) {
        let now = position.now;
        let index = self.main.partition_point(|piece| piece.from < now);
        let Some(piece) = index.checked_sub(1).and_then(|at| self.main.get(at)).copied() else {
            return position.back_to(self.start, On::Nothing);
        };
        if piece.to < now {
            return position.back_to(piece.to, On::Nothing);
        }
        let mut active = piece;
        if (self.doing)(&piece) == Doing::Annotation {
            let after = self.others.partition_point(|other| other.to < now);
            let still = self.others.get(after..).unwrap_or_default().iter().take(MOST_THREADS);
            let ended = after.checked_sub(1).and_then(|at| self.others.get(at));
            if let Some(running) = still.into_iter().find(|other| other.from < now) {
                active = *running;
            } else if let Some(ended) = ended.filter(|other| other.to > piece.from) {
                return position.back_to(ended.to, On::Host(piece));
            }
        }
        match self.waited_for(&active, now, position.device) {
            Some(device) => {
                let end = self.devices.get(device).map_or(now, |span| span.end);
                position.back_to(end.max(active.from), On::Host(active));
                position.enter(device);
            }
            None => position.back_to(active.from.max(piece.from), On::Host(active)),
        }
    }

    /// Returns the device event that a host thread waited for at the end of a piece, if it did.
    fn waited_for(&self, piece: &Piece, now: i64, limit: usize) -> Option<usize> {
        match (self.doing)(piece) {
            Doing::Wait => {
                let wait = self.waits.of_host(piece.from, piece.to);
                let stream = wait.and_then(|wait| match wait.on_stream {
                    Some(number) => self.devices.sibling(wait.stream, number),
                    None => Some(wait.stream),
                });
                let known =
                    stream.and_then(|stream| self.devices.ended_in(piece.from, now, Some(stream), limit));
                known.or_else(|| self.devices.ended_in(piece.from, now, None, limit))
            }
            Doing::DriverCall if piece.to - piece.from >= BLOCKING_NANOS => {
                self.blocked_by(piece, now, limit)
            }
            Doing::Work | Doing::Annotation | Doing::DriverCall => None,
        }
    }

    /// Returns the device event that a call into the driver waited for: its own copy, or work before it on its stream.
    fn blocked_by(&self, piece: &Piece, now: i64, limit: usize) -> Option<usize> {
        let slack = RETURN_NANOS.max((piece.to - piece.from) / 10);
        let own = || self.devices.launched_at(piece.from).filter(|index| *index < limit);
        let copy = own().filter(|index| {
            let span = self.devices.get(*index);
            span.is_some_and(|span| {
                (self.is_copy)(span.kind) && span.start < now && (piece.to - span.end).abs() <= slack
            })
        });
        if let Some(copy) = copy.max() {
            return Some(copy);
        }
        let stream =
            self.devices.launched_at(piece.from).next().and_then(|index| self.devices.get(index)?.stream);
        let last = self.devices.ended_in(piece.from, now, stream, limit)?;
        let end = self.devices.get(last)?.end;
        let busy = self.devices.busy_until(last, piece.from, stream);
        let is_busy = busy * 1000 >= BUSY_PER_MILLE * (end - piece.from);
        (piece.to - end <= slack && is_busy).then_some(last)
    }

    fn on_device<Tell: FnMut(On, i64)>(&self, position: &mut PathEnd<Tell>) {
        let Some(span) = self.devices.get(position.device) else {
            position.side = Side::Host;
            return;
        };
        position.back_to(span.start, On::Device(span.kind));
        match self.devices.cause(position.device) {
            Cause::After(before) => {
                let end = self.devices.get(before).map_or(position.now, |span| span.end);
                position.back_to(end, On::Gap);
                position.enter(before);
            }
            Cause::Launch(call) => {
                position.back_to(call, On::Launch);
                position.side = Side::Host;
            }
            Cause::Unknown => position.side = Side::Host,
        }
    }
}
