//! Sweeps device events and launch calls in time order, once for both rules.

use super::queue::StreamQueue;
use crate::attribute::hta::Hta;
use crate::attribute::interval::{Overlap, Union};
use crate::collect::Stream;
use crate::collect::id::{KindId, StreamId};
use crate::collect::kind::{DeviceWork, Kind};
use crate::collect::record::{Device, StreamPoint, What};
use crate::sort::Merge;
use knockout_base::error::Result;
use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

/// Gaps below this that the host did not cause are the device's own.
const KERNEL_DELAY_NANOS: i64 = 30_000;

/// The result of the sweep, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Swept {
    pub(crate) exact: ExactTime,
    pub(crate) hta: HtaTime,
}

/// Over the whole trace, exactly.
#[derive(Debug, Default)]
pub(crate) struct ExactTime {
    pub(crate) busy: Busy,
    /// By [`DeviceWork`]: number and sum.
    pub(crate) by_type: [(u64, i128); 4],
    pub(crate) streams: BTreeMap<Option<StreamId>, StreamTime>,
}

/// By HTA's rule; streams by their number.
#[derive(Debug, Default)]
pub(crate) struct HtaTime {
    pub(crate) busy: Busy,
    pub(crate) streams: BTreeMap<i64, StreamTime>,
    pub(crate) rows: u64,
}

/// Unions of device work.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) all: Union,
    pub(crate) compute: Union,
    pub(crate) communication: Union,
    pub(crate) memory: Union,
    pub(crate) overlap: Overlap,
}

impl Busy {
    fn add(&mut self, work: DeviceWork, start: i64, end: i64) {
        self.all.add(start, end);
        match work {
            DeviceWork::Computation => self.overlap.add(&mut self.compute, &self.communication, start, end),
            DeviceWork::Communication => self.overlap.add(&mut self.communication, &self.compute, start, end),
            DeviceWork::Memory => {
                self.memory.add(start, end);
            }
            DeviceWork::Other => {}
        }
    }
}

/// One stream's gaps and queue.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StreamTime {
    pub(crate) events: u64,
    end: Option<i64>,
    start: Option<i64>,
    /// Nanoseconds by cause: host, kernel, other.
    pub(crate) idle: [i128; 3],
    pub(crate) gaps: [u64; 3],
    pub(crate) equal_starts: u64,
    pub(crate) queue: StreamQueue,
}

impl StreamTime {
    fn gap(&mut self, gap: i64, call: Option<i64>, end: i64, times: u64) {
        let cause = if call.is_some_and(|call| call > end) {
            0
        } else if gap < KERNEL_DELAY_NANOS {
            1
        } else {
            2
        };
        if let (Some(idle), Some(gaps)) = (self.idle.get_mut(cause), self.gaps.get_mut(cause)) {
            *idle += i128::from(gap) * i128::from(times);
            *gaps += times;
        }
    }
}

/// A device event for other modules: start, end, kind, stream and start of its call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceSpan {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) kind: KindId,
    pub(crate) stream: Option<StreamId>,
    pub(crate) call: Option<i64>,
}

/// The input of the sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweepInput<'a> {
    pub(crate) kinds: &'a [Kind],
    pub(crate) streams: &'a [Stream],
    pub(crate) hta: &'a Hta,
}

/// Points handed from thread to thread at a time, and how many such lots may wait.
const LOT: usize = 4096;
const LOTS_WAITING: usize = 4;

impl SweepInput<'_> {
    /// Goes over all points; every exact device event is also shown to `see`. The two rules are independent of each
    /// other, so a second thread takes HTA's.
    pub(crate) fn run(
        &self,
        points: Merge<StreamPoint>,
        threads: usize,
        see: impl FnMut(&DeviceSpan),
    ) -> Result<Swept> {
        let mut exact = Exact { sweep: *self, out: ExactTime::default(), now: None, at_once: Vec::new() };
        let mut rounded = Rounded::new(*self);
        if threads < 2 {
            exact.go_over(points, see, |point| rounded.point(point))?;
            return Ok(Swept { exact: exact.out, hta: rounded.finish() });
        }
        std::thread::scope(|scope| {
            let (full, lots) = sync_channel::<Vec<StreamPoint>>(LOTS_WAITING);
            let other = scope.spawn(move || {
                lots.iter().flatten().for_each(|point| rounded.point(&point));
                rounded.finish()
            });
            let mut lot = Vec::with_capacity(LOT);
            let gone = exact.go_over(points, see, |point| {
                lot.push(*point);
                if lot.len() == LOT {
                    // The receiver is gone only after a panic, which `join` resumes.
                    full.send(std::mem::replace(&mut lot, Vec::with_capacity(LOT))).unwrap_or_default();
                }
            });
            full.send(lot).unwrap_or_default();
            drop(full);
            let hta = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            gone.map(|()| Swept { exact: exact.out, hta })
        })
    }
}

/// The exact rule.
struct Exact<'a> {
    sweep: SweepInput<'a>,
    out: ExactTime,
    /// The instant being collected, with its calls and starts by stream.
    now: Option<i64>,
    at_once: Vec<(Option<StreamId>, u64, u64)>,
}

impl Exact<'_> {
    /// Goes over all points; those that matter to HTA's rule are handed on.
    fn go_over(
        &mut self,
        mut points: Merge<StreamPoint>,
        mut see: impl FnMut(&DeviceSpan),
        mut hand_on: impl FnMut(&StreamPoint),
    ) -> Result<()> {
        while let Some(point) = points.next()? {
            if self.now != Some(point.time) {
                self.close();
                self.now = Some(point.time);
            }
            let matters = match point.what {
                What::Calls { whole, hta } => {
                    if whole > 0 {
                        self.count(point.stream, u64::from(whole), 0);
                    }
                    hta > 0
                }
                What::Device(device) => {
                    if device.flags & Device::WHOLE != 0 {
                        self.device(&point, &device);
                        see(&DeviceSpan {
                            start: point.time,
                            end: point.time.saturating_add(device.duration),
                            kind: device.kind,
                            stream: point.stream,
                            call: device.call,
                        });
                    }
                    device.kept > 0
                }
            };
            if matters {
                hand_on(&point);
            }
        }
        self.close();
        Ok(())
    }

    fn count(&mut self, stream: Option<StreamId>, calls: u64, starts: u64) {
        match self.at_once.iter_mut().find(|(have, ..)| *have == stream) {
            Some(entry) => {
                entry.1 += calls;
                entry.2 += starts;
            }
            None => self.at_once.push((stream, calls, starts)),
        }
    }

    fn device(&mut self, point: &StreamPoint, device: &Device) {
        let Some(kind) = self.sweep.kinds.get(device.kind.index()) else { return };
        let (start, end) = (point.time, point.time.saturating_add(device.duration));
        self.out.busy.add(kind.work, start, end);
        if let Some((events, sum)) = self.out.by_type.get_mut(kind.work as usize) {
            *events += 1;
            *sum += i128::from(device.duration);
        }
        let stream = self.out.streams.entry(point.stream).or_default();
        stream.events += 1;
        let before = *stream.end.get_or_insert(end);
        if stream.events > 1 && start > before {
            stream.gap(start - before, device.call, before, 1);
        }
        stream.end = Some(before.max(end));
        if device.flags & Device::QUEUED != 0 {
            self.count(point.stream, 0, 1);
        }
    }

    /// Ends an instant.
    fn close(&mut self) {
        let Some(now) = self.now else { return };
        for &(stream, calls, starts) in &self.at_once {
            self.out.streams.entry(stream).or_default().queue.at(now, calls, starts);
        }
        self.at_once.clear();
    }
}

/// HTA's rule, by HTA's clock.
struct Rounded<'a> {
    sweep: SweepInput<'a>,
    out: HtaTime,
    /// The instant being collected.
    now: Option<i64>,
    rows: Vec<HtaRow>,
    /// Calls and starts by stream.
    at_once: BTreeMap<i64, (u64, u64)>,
}

struct HtaRow {
    order: u64,
    end: i64,
    work: DeviceWork,
    idle: bool,
    stream: i64,
    kept: u32,
    call: Option<i64>,
}

impl<'a> Rounded<'a> {
    fn new(sweep: SweepInput<'a>) -> Self {
        Self { sweep, out: HtaTime::default(), now: None, rows: Vec::new(), at_once: BTreeMap::new() }
    }

    fn point(&mut self, point: &StreamPoint) {
        let now = self.sweep.hta.start(point.time);
        if self.now != Some(now) {
            self.close();
            self.now = Some(now);
        }
        let stream = point.stream.and_then(|id| self.sweep.streams.get(id.index()));
        let number = stream.map_or(-1, |stream| stream.number);
        match point.what {
            What::Calls { hta, .. } => self.at_once.entry(number).or_default().0 += u64::from(hta),
            What::Device(device) => self.device(point, &device, number),
        }
    }

    fn device(&mut self, point: &StreamPoint, device: &Device, stream: i64) {
        let Some(kind) = self.sweep.kinds.get(device.kind.index()) else { return };
        if device.starts_hta > 0 {
            self.at_once.entry(stream).or_default().1 += u64::from(device.starts_hta);
        }
        self.rows.push(HtaRow {
            order: point.order,
            end: self.sweep.hta.end(point.time, device.duration),
            work: kind.work_hta,
            idle: kind.is(Kind::HTA_IDLE),
            stream,
            kept: device.kept,
            call: device.call_hta.map(|call| self.sweep.hta.start(call)),
        });
    }

    fn finish(mut self) -> HtaTime {
        self.close();
        self.out
    }

    /// Ends an instant.
    fn close(&mut self) {
        let Some(now) = self.now else { return };
        while let Some((stream, (calls, starts))) = self.at_once.pop_first() {
            self.out.streams.entry(stream).or_default().queue.at(now, calls, starts);
        }
        self.rows.sort_by_key(|row| (row.end, row.order));
        for row in &self.rows {
            self.out.rows += u64::from(row.kept);
            // Copies add nothing to a union, except where rounding made the length negative.
            let times = if row.end < now { row.kept } else { 1 };
            for _ in 0..times {
                self.out.busy.add(row.work, now, row.end);
            }
        }
        self.rows.sort_by_key(|row| row.order);
        for row in self.rows.drain(..).filter(|row| row.idle) {
            let stream = self.out.streams.entry(row.stream).or_default();
            if let (Some(end), Some(start)) = (stream.end, stream.start) {
                stream.gap(now - end, row.call, end, 1);
                stream.equal_starts += u64::from(start == now);
            }
            if row.kept > 1 {
                let copies = u64::from(row.kept) - 1;
                stream.gap(now - row.end, row.call, row.end, copies);
                stream.equal_starts += copies;
            }
            stream.events += u64::from(row.kept);
            stream.end = Some(row.end);
            stream.start = Some(now);
        }
    }
}
