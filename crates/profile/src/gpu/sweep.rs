//! Goes over device events and launch calls by time, once, for both rules.

use super::queue::Queue;
use crate::ProfileError;
use crate::collect::Stream;
use crate::hta::Hta;
use crate::interval::{Overlap, Union};
use crate::kind::{Kind, Work};
use crate::record::{Device, Point, What};
use crate::sort::Merge;
use std::collections::BTreeMap;

/// Gaps below this that the host did not cause are the device's own.
const KERNEL_DELAY_NANOS: i64 = 30_000;

/// Everything the sweep finds, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) whole: Busy,
    pub(crate) hta: Busy,
    /// By [`Work`]: number and sum.
    pub(crate) by_type: [(u64, i128); 4],
    /// Exact figures by stream.
    pub(crate) streams: BTreeMap<u32, StreamTime>,
    /// HTA's figures by stream number.
    pub(crate) hta_streams: BTreeMap<i64, StreamTime>,
    pub(crate) hta_rows: u64,
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
    fn add(&mut self, work: Work, start: i64, end: i64) {
        self.all.add(start, end);
        match work {
            Work::Computation => self.overlap.add(&mut self.compute, &self.communication, start, end),
            Work::Communication => self.overlap.add(&mut self.communication, &self.compute, start, end),
            Work::Memory => {
                self.memory.add(start, end);
            }
            Work::Other => {}
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
    pub(crate) queue: Queue,
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

/// A device event as others want to see it: start, end, kind, stream and start of its call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceSpan {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) kind: u32,
    pub(crate) stream: u32,
    pub(crate) call: Option<i64>,
}

struct Sweep<'a> {
    kinds: &'a [Kind],
    streams: &'a [Stream],
    hta: &'a Hta,
    out: Swept,
    /// What happens at the instant being collected, by the exact clock and by HTA's.
    now: Option<i64>,
    at_once: Vec<(u32, u64, u64)>,
    now_hta: Option<i64>,
    rows: Vec<HtaRow>,
    calls_hta: BTreeMap<i64, (u64, u64)>,
}

struct HtaRow {
    order: (bool, u64),
    end: i64,
    work: Work,
    idle: bool,
    stream: i64,
    kept: u32,
    call: Option<i64>,
}

/// Goes over all points; every exact device event is also shown to `see`.
pub(crate) fn sweep(
    mut points: Merge<Point>,
    kinds: &[Kind],
    streams: &[Stream],
    hta: &Hta,
    mut see: impl FnMut(&DeviceSpan),
) -> Result<Swept, ProfileError> {
    let mut sweep = Sweep {
        kinds,
        streams,
        hta,
        out: Swept::default(),
        now: None,
        at_once: Vec::new(),
        now_hta: None,
        rows: Vec::new(),
        calls_hta: BTreeMap::new(),
    };
    while let Some(point) = points.next()? {
        if sweep.now != Some(point.time) {
            sweep.close();
            sweep.now = Some(point.time);
            let rounded = hta.start(point.time);
            if sweep.now_hta != Some(rounded) {
                sweep.close_hta();
                sweep.now_hta = Some(rounded);
            }
        }
        match point.what {
            What::Calls { whole, hta } => sweep.calls(&point, whole, hta),
            What::Device(device) => {
                sweep.device(&point, &device);
                if device.flags & Device::WHOLE != 0 {
                    see(&DeviceSpan {
                        start: point.time,
                        end: point.time.saturating_add(device.duration),
                        kind: device.kind,
                        stream: point.stream,
                        call: device.call,
                    });
                }
            }
        }
    }
    sweep.close();
    sweep.close_hta();
    Ok(sweep.out)
}

impl Sweep<'_> {
    fn number(&self, stream: u32) -> i64 {
        (stream as usize).checked_sub(1).and_then(|at| self.streams.get(at)).map_or(-1, |s| s.number)
    }

    fn count(&mut self, stream: u32, calls: u64, starts: u64) {
        match self.at_once.iter_mut().find(|(have, ..)| *have == stream) {
            Some(entry) => {
                entry.1 += calls;
                entry.2 += starts;
            }
            None => self.at_once.push((stream, calls, starts)),
        }
    }

    fn calls(&mut self, point: &Point, whole: u32, hta: u32) {
        if whole > 0 {
            self.count(point.stream, u64::from(whole), 0);
        }
        if hta > 0 {
            let number = self.number(point.stream);
            self.calls_hta.entry(number).or_default().0 += u64::from(hta);
        }
    }

    fn device(&mut self, point: &Point, device: &Device) {
        let Some(kind) = self.kinds.get(device.kind as usize) else { return };
        let (start, end) = (point.time, point.time.saturating_add(device.duration));
        if device.flags & Device::WHOLE != 0 {
            self.out.whole.add(kind.work, start, end);
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
        if device.kept > 0 {
            let number = self.number(point.stream);
            if device.starts_hta > 0 {
                self.calls_hta.entry(number).or_default().1 += u64::from(device.starts_hta);
            }
            self.rows.push(HtaRow {
                order: (false, point.order),
                end: self.hta.end(start, device.duration),
                work: kind.work,
                idle: kind.is(Kind::HTA_IDLE),
                stream: number,
                kept: device.kept,
                call: device.call_hta.map(|call| self.hta.start(call)),
            });
        }
    }

    /// Ends an instant of the exact clock.
    fn close(&mut self) {
        let Some(now) = self.now else { return };
        for &(stream, calls, starts) in &self.at_once {
            self.out.streams.entry(stream).or_default().queue.at(now, calls, starts);
        }
        self.at_once.clear();
    }

    /// Ends an instant of HTA's clock.
    fn close_hta(&mut self) {
        let Some(now) = self.now_hta else { return };
        for (stream, (calls, starts)) in std::mem::take(&mut self.calls_hta) {
            self.out.hta_streams.entry(stream).or_default().queue.at(now, calls, starts);
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by_key(|row| (row.end, row.order));
        for row in &rows {
            self.out.hta_rows += u64::from(row.kept);
            // Copies add nothing to a union, except where rounding made the length negative.
            let times = if row.end < now { row.kept } else { 1 };
            for _ in 0..times {
                self.out.hta.add(row.work, now, row.end);
            }
        }
        rows.sort_by_key(|row| row.order);
        for row in rows.iter().filter(|row| row.idle) {
            let stream = self.out.hta_streams.entry(row.stream).or_default();
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
        rows.clear();
        self.rows = rows;
    }
}
