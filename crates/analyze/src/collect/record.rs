//! The three compact records the analysis sorts: spans by lane and time, rows by correlation, device points by
//! time. Defines how they are packed and ordered.

use crate::collect::id::{CategoryId, KindId, ScopeId, ShapeId, StepId, StreamId};
use crate::sort::{SortRecord, put, put_signed, take, take_signed};
use knockout_trace::LaneId;
use std::cmp::{Ordering, Reverse};

/// HTA's number for "no correlation".
pub(crate) const NO_CORRELATION: i64 = -1;

/// Side of the machine that a lane or step belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Host,
    Device,
}

/// One event with a start and a duration, on its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) lane: LaneId,
    pub(crate) start: i64,
    /// May be zero or negative; such events are in no sum, but HTA's rule counts them as rows.
    pub(crate) duration: i64,
    pub(crate) kind: KindId,
    /// Position in the file.
    pub(crate) order: u64,
    pub(crate) correlation: i64,
    /// Low bits of the autograd sequence number, if [`Span::SEQUENCED`].
    pub(crate) sequence: u32,
    /// Shape of its inputs, of an operator.
    pub(crate) shape: Option<ShapeId>,
    pub(crate) flags: u8,
}

impl Span {
    /// A complete (`X`) event; others with a duration are only rows for HTA's rule.
    pub(crate) const COMPLETE: u8 = 1;
    /// The event names a stream, so it was also stored as a [`Link`] when it was read.
    pub(crate) const ON_STREAM: u8 = 2;
    /// The event has an autograd sequence number.
    pub(crate) const SEQUENCED: u8 = 4;
    const CORRELATED: u8 = 8;
    const SHAPED: u8 = 16;

    pub(crate) fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }

    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl SortRecord for Span {
    const ZERO: Self = Self {
        lane: LaneId::from_index(0),
        start: 0,
        duration: 0,
        kind: KindId::from_index(0),
        order: 0,
        correlation: NO_CORRELATION,
        sequence: 0,
        shape: None,
        flags: 0,
    };

    #[inline]
    fn group(&self) -> u32 {
        self.lane.index() as u32
    }

    /// By start, of equal starts the longer first, of equal spans the one earlier in the file.
    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        self.start
            .cmp(&other.start)
            .then_with(|| other.duration.cmp(&self.duration))
            .then_with(|| self.order.cmp(&other.order))
    }

    #[inline]
    fn encode(&self, previous: &Self, out: &mut Vec<u8>) {
        let correlated = self.correlation != NO_CORRELATION;
        let shaped = if self.shape.is_some() { Self::SHAPED } else { 0 };
        out.push(self.flags | shaped | if correlated { Self::CORRELATED } else { 0 });
        put(out, self.start.wrapping_sub(previous.start) as u64);
        put_signed(out, self.duration);
        put(out, self.kind.index() as u64);
        put_signed(out, self.order.wrapping_sub(previous.order) as i64);
        if correlated {
            put_signed(out, self.correlation);
        }
        if self.is(Self::SEQUENCED) {
            put(out, u64::from(self.sequence));
        }
        if shaped != 0 {
            put(out, u64::from(ShapeId::pack(self.shape)));
        }
    }

    #[inline]
    fn decode(previous: &Self, group: u32, input: &mut &[u8]) -> Option<Self> {
        let (&flags, rest) = input.split_first()?;
        *input = rest;
        let start = previous.start.wrapping_add(take(input)? as i64);
        let duration = take_signed(input)?;
        let kind = take_kind(input)?;
        let order = previous.order.wrapping_add(take_signed(input)? as u64);
        let correlation = if flags & Self::CORRELATED == 0 { NO_CORRELATION } else { take_signed(input)? };
        let mut small = || u32::try_from(take(input)?).ok();
        let sequence = if flags & Self::SEQUENCED == 0 { 0 } else { small()? };
        let shape = if flags & Self::SHAPED == 0 { 0 } else { small()? };
        Some(Self {
            lane: LaneId::from_index(group as usize),
            start,
            duration,
            kind,
            order,
            correlation,
            sequence,
            shape: ShapeId::unpack(shape),
            flags: flags & !(Self::CORRELATED | Self::SHAPED),
        })
    }
}

fn take_kind(input: &mut &[u8]) -> Option<KindId> {
    u32::try_from(take(input)?).ok().map(|kind| KindId::from_index(kind as usize))
}

/// A device event, a launch call or anything else that carries a correlation or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) correlation: i64,
    pub(crate) order: u64,
    pub(crate) start: i64,
    pub(crate) duration: i64,
    pub(crate) kind: KindId,
    /// `None` for host rows.
    pub(crate) stream: Option<StreamId>,
    /// Phase of the step in which a call was made.
    pub(crate) phase: Option<CategoryId>,
    /// Step in which a call was made.
    pub(crate) step: Option<StepId>,
    /// Lane and innermost module or annotation in which a call was made.
    pub(crate) lane: LaneId,
    pub(crate) scope: Option<ScopeId>,
    /// Sequence number of the function of autograd in which a call was made, if [`Span::SEQUENCED`].
    pub(crate) sequence: u32,
    /// Operator, with the shape of its inputs, that the call belongs to.
    pub(crate) shape: Option<ShapeId>,
    pub(crate) flags: u8,
}

impl SortRecord for Link {
    const ZERO: Self = Self {
        correlation: 0,
        order: 0,
        start: 0,
        duration: 0,
        kind: KindId::from_index(0),
        stream: None,
        phase: None,
        step: None,
        lane: LaneId::from_index(0),
        scope: None,
        sequence: 0,
        shape: None,
        flags: 0,
    };

    /// Correlations apart in a few groups, so that several threads can join them. Neighbours stay together: they
    /// come together in the file and pack better.
    #[inline]
    fn group(&self) -> u32 {
        (((self.correlation >> 10) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as u32
    }

    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        (self.correlation, self.order).cmp(&(other.correlation, other.order))
    }

    #[inline]
    fn encode(&self, previous: &Self, out: &mut Vec<u8>) {
        let shaped = if self.shape.is_some() { Self::SHAPED } else { 0 };
        out.push(self.flags | shaped);
        put(out, self.correlation.wrapping_sub(previous.correlation) as u64);
        put_signed(out, self.order.wrapping_sub(previous.order) as i64);
        put_signed(out, self.start.wrapping_sub(previous.start));
        put_signed(out, self.duration);
        put(out, self.kind.index() as u64);
        put(out, u64::from(StreamId::pack(self.stream)));
        out.push(CategoryId::pack(self.phase));
        put(out, u64::from(StepId::pack(self.step)));
        if self.is(Self::SCOPED) {
            put(out, self.lane.index() as u64);
            put(out, u64::from(ScopeId::pack(self.scope)));
        }
        if self.is(Span::SEQUENCED) {
            put(out, u64::from(self.sequence));
        }
        if shaped != 0 {
            put(out, u64::from(ShapeId::pack(self.shape)));
        }
    }

    #[inline]
    fn decode(previous: &Self, _: u32, input: &mut &[u8]) -> Option<Self> {
        let (&flags, rest) = input.split_first()?;
        *input = rest;
        let correlation = previous.correlation.wrapping_add(take(input)? as i64);
        let order = previous.order.wrapping_add(take_signed(input)? as u64);
        let start = previous.start.wrapping_add(take_signed(input)?);
        let duration = take_signed(input)?;
        let kind = take_kind(input)?;
        let stream = StreamId::unpack(u32::try_from(take(input)?).ok()?);
        let (&phase, rest) = input.split_first()?;
        *input = rest;
        let phase = CategoryId::unpack(phase);
        let mut small = || u32::try_from(take(input)?).ok();
        let step = StepId::unpack(small()?);
        let (lane, scope) = if flags & Self::SCOPED == 0 { (0, 0) } else { (small()?, small()?) };
        let sequence = if flags & Span::SEQUENCED == 0 { 0 } else { small()? };
        let shape = ShapeId::unpack(if flags & Self::SHAPED == 0 { 0 } else { small()? });
        let (lane, scope) = (LaneId::from_index(lane as usize), ScopeId::unpack(scope));
        Some(Self {
            correlation,
            order,
            start,
            duration,
            kind,
            stream,
            phase,
            step,
            lane,
            scope,
            sequence,
            shape,
            flags: flags & !Self::SHAPED,
        })
    }
}

impl Link {
    /// The call has a lane that its module or annotation, or its function of autograd, refers to.
    pub(crate) const SCOPED: u8 = 16;
    /// The call was made in a function of autograd's.
    pub(crate) const FUNCTION: u8 = 32;
    const SHAPED: u8 = 64;

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.flags & Span::COMPLETE != 0
    }
}

/// Something that happens on a stream at a time: a device event starts, or a call for one was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPoint {
    pub(crate) time: i64,
    pub(crate) stream: Option<StreamId>,
    pub(crate) order: u64,
    pub(crate) what: What,
}

/// Kind of a [`StreamPoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Calls made, by either rule.
    Calls { whole: u32, hta: u32 },
    /// A device event.
    Device(Device),
}

/// One device event with what is known of its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) duration: i64,
    pub(crate) kind: KindId,
    pub(crate) flags: u8,
    /// How often HTA's rule keeps it.
    pub(crate) kept: u32,
    /// Start of its launch call, for the exact rule.
    pub(crate) call: Option<i64>,
    /// Start of its launch call by HTA's rule, if that call is kept.
    pub(crate) call_hta: Option<i64>,
    /// How often the queue shrinks when it starts, by HTA's rule.
    pub(crate) starts_hta: u32,
}

impl Device {
    /// Counts in the exact figures.
    pub(crate) const WHOLE: u8 = 1;
    /// Shrinks the queue of the exact figures.
    pub(crate) const QUEUED: u8 = 2;
    const CALL: u8 = 4;
    const CALL_HTA: u8 = 8;
    const SAME_CALL: u8 = 16;
    const IS_DEVICE: u8 = 32;
}

impl SortRecord for StreamPoint {
    const ZERO: Self = Self { time: 0, stream: None, order: 0, what: What::Calls { whole: 0, hta: 0 } };

    /// Calls and device events apart: each of them comes nearly sorted, both together do not.
    fn group(&self) -> u32 {
        match self.what {
            What::Calls { .. } => 0,
            What::Device(_) => 1,
        }
    }

    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        let rank = |point: &Self| match point.what {
            What::Calls { .. } => (0, Reverse(0)),
            // The longer one later: the exact rule sorts equal starts by end.
            What::Device(device) => (1, Reverse(-device.duration)),
        };
        (self.time, rank(self), self.order).cmp(&(other.time, rank(other), other.order))
    }

    fn encode(&self, previous: &Self, out: &mut Vec<u8>) {
        match self.what {
            What::Calls { .. } => out.push(0),
            What::Device(device) => {
                let same = device.call.is_some() && device.call == device.call_hta;
                let mut flags = device.flags | Device::IS_DEVICE;
                flags |= if device.call.is_some() { Device::CALL } else { 0 };
                flags |= if device.call_hta.is_some() && !same { Device::CALL_HTA } else { 0 };
                flags |= if same { Device::SAME_CALL } else { 0 };
                out.push(flags);
            }
        }
        put(out, self.time.wrapping_sub(previous.time) as u64);
        put(out, u64::from(StreamId::pack(self.stream)));
        put_signed(out, self.order.wrapping_sub(previous.order) as i64);
        match self.what {
            What::Calls { whole, hta } => {
                put(out, u64::from(whole));
                put(out, u64::from(hta));
            }
            What::Device(device) => {
                put_signed(out, device.duration);
                put(out, device.kind.index() as u64);
                put(out, u64::from(device.kept));
                put(out, u64::from(device.starts_hta));
                if let Some(call) = device.call {
                    put_signed(out, self.time.wrapping_sub(call));
                }
                if let Some(call) = device.call_hta.filter(|_| device.call_hta != device.call) {
                    put_signed(out, self.time.wrapping_sub(call));
                }
            }
        }
    }

    fn decode(previous: &Self, _: u32, input: &mut &[u8]) -> Option<Self> {
        let (&flags, rest) = input.split_first()?;
        *input = rest;
        let time = previous.time.wrapping_add(take(input)? as i64);
        let stream = StreamId::unpack(u32::try_from(take(input)?).ok()?);
        let order = previous.order.wrapping_add(take_signed(input)? as u64);
        let small = |input: &mut &[u8]| u32::try_from(take(input)?).ok();
        let what = if flags & Device::IS_DEVICE == 0 {
            What::Calls { whole: small(input)?, hta: small(input)? }
        } else {
            let duration = take_signed(input)?;
            let kind = take_kind(input)?;
            let kept = small(input)?;
            let starts_hta = small(input)?;
            let call =
                if flags & Device::CALL == 0 { None } else { Some(time.wrapping_sub(take_signed(input)?)) };
            let call_hta = match flags & (Device::CALL_HTA | Device::SAME_CALL) {
                0 => None,
                Device::SAME_CALL => call,
                _ => Some(time.wrapping_sub(take_signed(input)?)),
            };
            let flags = flags & (Device::WHOLE | Device::QUEUED);
            What::Device(Device { duration, kind, flags, kept, call, call_hta, starts_hta })
        };
        Some(Self { time, stream, order, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_and_links_survive_packing(
            before in any::<(i64, u64)>(), now in any::<(i64, i64, u16, u64, i64)>(),
            flags in 0_u8..8, small in any::<(u32, u8, u32)>(), numbers in any::<(u16, u32, u32)>(),
        ) {
            let (start, duration, kind, order, correlation) = now;
            let kind = KindId::from_index(kind.into());
            let previous = Span { start: before.0, order: before.1, ..Span::ZERO };
            let sequence = if flags & Span::SEQUENCED == 0 { 0 } else { numbers.1 };
            let lane = LaneId::from_index(3);
            let shape = ShapeId::unpack(numbers.2);
            let span = Span { lane, start, duration, kind, order, correlation, sequence, shape, flags };
            let mut bytes = Vec::new();
            span.encode(&previous, &mut bytes);
            prop_assert_eq!(Span::decode(&previous, 3, &mut bytes.as_slice()), Some(span));

            let previous = Link { start: before.0, order: before.1, ..Link::ZERO };
            let (stream, phase, step) =
                (StreamId::unpack(small.0), CategoryId::unpack(small.1), StepId::unpack(small.2));
            let lane = LaneId::from_index(numbers.0.into());
            let scope = ScopeId::unpack(numbers.2);
            let flags = flags | Link::SCOPED;
            let link = Link {
                correlation, order, start, duration, kind, stream, phase, step, lane, scope, sequence, shape, flags,
            };
            bytes.clear();
            link.encode(&previous, &mut bytes);
            prop_assert!(bytes.len() <= crate::sort::MAX_ENCODED);
            prop_assert_eq!(Link::decode(&previous, 0, &mut bytes.as_slice()), Some(link));
        }

        #[test]
        fn points_survive_packing(
            time in any::<i64>(), now in any::<(i64, u32, u32, u32, u64)>(), flags in 0_u8..4,
            calls in any::<(Option<i64>, Option<i64>)>(), is_call in any::<bool>(), same in any::<bool>(),
        ) {
            let (duration, whole, kept, stream, order) = now;
            let (kind, stream) = (KindId::from_index(whole as usize >> 1), StreamId::unpack(stream));
            let call_hta = if same { calls.0 } else { calls.1 };
            let what = if is_call {
                What::Calls { whole, hta: kept }
            } else {
                What::Device(Device { duration, kind, flags, kept, call: calls.0, call_hta, starts_hta: kept })
            };
            let point = StreamPoint { time, stream, order, what };
            let mut bytes = Vec::new();
            point.encode(&StreamPoint::ZERO, &mut bytes);
            prop_assert!(bytes.len() <= crate::sort::MAX_ENCODED);
            prop_assert_eq!(StreamPoint::decode(&StreamPoint::ZERO, 0, &mut bytes.as_slice()), Some(point));
        }
    }
}
