//! The state of the device at every instant of a trace, packed: a million kernels take a few megabytes.
//!
//! Each lane of the device gives its busy time in order ([`BusyTime`]). Merged, they are a [`DeviceStates`], which host lanes walk along
//! with a [`StateCursor`].

use crate::collect::kind::{DeviceWork, Kind};
use crate::sort::{put, put_signed, take, take_signed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// State of the device at an instant. Of several streams the first in this order decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeviceState {
    Computing,
    Communicating,
    /// Only copies, fills or other events run.
    Copying,
    /// Nothing runs, and the profiler works on its buffers.
    Profiling,
    Idle,
}

impl DeviceState {
    const BUSY: [Self; 4] = [Self::Computing, Self::Communicating, Self::Copying, Self::Profiling];

    /// Returns the state in which an event of this kind puts the device; `None` for an event of the host.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        match kind.work {
            _ if kind.is(Kind::OVERHEAD) => Some(Self::Profiling),
            _ if !kind.is(Kind::DEVICE) => None,
            DeviceWork::Computation => Some(Self::Computing),
            DeviceWork::Communication => Some(Self::Communicating),
            DeviceWork::Memory | DeviceWork::Other => Some(Self::Copying),
        }
    }
}

/// A stretch of time in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StateInterval {
    from: i64,
    to: i64,
    state: DeviceState,
}

/// Stretches by start, packed.
#[derive(Debug, Default, Clone)]
struct PackedIntervals {
    bytes: Vec<u8>,
    last: i64,
}

impl PackedIntervals {
    fn push(&mut self, stretch: StateInterval) {
        put_signed(&mut self.bytes, stretch.from.wrapping_sub(self.last));
        put(&mut self.bytes, stretch.to.wrapping_sub(stretch.from) as u64);
        self.bytes.push(stretch.state as u8);
        self.last = stretch.from;
    }
}

/// Takes the next stretch off packed bytes; `last` is the start of the one before.
fn unpack(input: &mut &[u8], last: &mut i64) -> Option<StateInterval> {
    let from = last.wrapping_add(take_signed(input)?);
    let to = from.wrapping_add(take(input)? as i64);
    let (&state, rest) = input.split_first()?;
    *input = rest;
    *last = from;
    DeviceState::BUSY.get(usize::from(state)).map(|&state| StateInterval { from, to, state })
}

/// Busy time of one lane.
#[derive(Debug, Default)]
pub(crate) struct BusyTime {
    packed: PackedIntervals,
    open: Option<StateInterval>,
}

impl BusyTime {
    /// Adds an event; events come by start.
    pub(crate) fn add(&mut self, state: DeviceState, from: i64, to: i64) {
        match &mut self.open {
            Some(open) if open.state == state && from <= open.to => open.to = open.to.max(to),
            open => {
                if let Some(before) = open.replace(StateInterval { from, to, state }) {
                    self.packed.push(before);
                }
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if let Some(open) = self.open {
            self.packed.push(open);
        }
        self.packed.bytes
    }
}

/// The state of the device at every instant.
#[derive(Debug, Default)]
pub(crate) struct DeviceStates {
    packed: PackedIntervals,
    /// Nanoseconds by state, in the order of [`DeviceState`]; none for the last.
    busy_nanos: [i64; 4],
}

impl DeviceStates {
    /// Merges the busy time of all lanes.
    pub(crate) fn of(lanes: impl IntoIterator<Item = BusyTime>) -> Self {
        let lanes: Vec<Vec<u8>> = lanes.into_iter().map(BusyTime::finish).collect();
        let mut inputs: Vec<(&[u8], i64)> = lanes.iter().map(|bytes| (bytes.as_slice(), 0)).collect();
        let mut heads: BinaryHeap<Reverse<(StateInterval, usize)>> = BinaryHeap::new();
        for (lane, (input, last)) in inputs.iter_mut().enumerate() {
            heads.extend(unpack(input, last).map(|stretch| Reverse((stretch, lane))));
        }
        let mut merged = Self::default();
        // About as many bytes as the lanes have together; growing would leave gaps in the heap.
        merged.packed.bytes.reserve(lanes.iter().map(Vec::len).sum());
        // Ends of what runs, by state, and the instant up to which states are known.
        let (mut until, mut now) = ([i64::MIN; 4], i64::MIN);
        while let Some(Reverse((stretch, lane))) = heads.pop() {
            merged.fill(&until, now, stretch.from);
            now = now.max(stretch.from);
            if let Some(end) = until.get_mut(stretch.state as usize) {
                *end = (*end).max(stretch.to);
            }
            let next = inputs.get_mut(lane).and_then(|(input, last)| unpack(input, last));
            heads.extend(next.map(|stretch| Reverse((stretch, lane))));
        }
        merged.fill(&until, now, i64::MAX);
        merged
    }

    /// Appends the states from `now` to `limit`, of work that ends at `until`.
    fn fill(&mut self, until: &[i64; 4], mut now: i64, limit: i64) {
        while now < limit {
            let runs = DeviceState::BUSY.into_iter().zip(until).find(|(_, end)| **end > now);
            let Some((state, &end)) = runs else { return };
            let to = end.min(limit);
            self.packed.push(StateInterval { from: now, to, state });
            if let Some(sum) = self.busy_nanos.get_mut(state as usize) {
                *sum = sum.saturating_add(to.saturating_sub(now));
            }
            now = to;
        }
    }

    /// Returns the nanoseconds in a state other than idle.
    pub(crate) fn nanos(&self, state: DeviceState) -> i64 {
        self.busy_nanos.get(state as usize).copied().unwrap_or(0)
    }

    /// Returns a cursor at the beginning of time.
    pub(crate) fn cursor(&self) -> StateCursor<'_> {
        let mut cursor = StateCursor {
            input: &self.packed.bytes,
            last: 0,
            next: None,
            from: i64::MIN,
            to: i64::MIN,
            state: DeviceState::Idle,
        };
        cursor.next = unpack(&mut cursor.input, &mut cursor.last);
        cursor
    }
}

/// The stretch of one state that time is in.
#[derive(Debug)]
pub(crate) struct StateCursor<'a> {
    input: &'a [u8],
    last: i64,
    next: Option<StateInterval>,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) state: DeviceState,
}

impl StateCursor<'_> {
    /// Moves to the stretch that contains `time`, which never goes back.
    #[inline]
    pub(crate) fn move_to(&mut self, time: i64) {
        while self.to <= time && self.to < i64::MAX {
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.from = self.to;
        match self.next {
            Some(next) if next.from <= self.to => {
                (self.to, self.state) = (next.to, next.state);
                self.next = unpack(&mut self.input, &mut self.last);
            }
            next => (self.to, self.state) = (next.map_or(i64::MAX, |next| next.from), DeviceState::Idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against looking at every instant.
        #[test]
        fn every_instant_has_the_state_of_running_work(
            list in proptest::collection::vec((0_usize..3, 0_usize..4, -50_i64..80, 1_i64..30), 0..24)
        ) {
            let mut sorted = list.clone();
            sorted.sort_by_key(|&(_, _, start, _)| start);
            let mut lanes = [BusyTime::default(), BusyTime::default(), BusyTime::default()];
            for &(lane, state, start, length) in &sorted {
                lanes[lane].add(DeviceState::BUSY[state], start, start + length);
            }
            let states = DeviceStates::of(lanes);
            let mut cursor = states.cursor();
            let mut counted = [0; 4];
            for time in -60..120 {
                cursor.move_to(time);
                prop_assert!(cursor.from <= time && time < cursor.to);
                let runs = |state: usize| {
                    list.iter().any(|&(_, own, start, length)| own == state && start <= time && time < start + length)
                };
                let wanted = (0..4).find(|&state| runs(state)).map_or(DeviceState::Idle, |state| DeviceState::BUSY[state]);
                prop_assert_eq!(cursor.state, wanted, "at {}", time);
                if let Some(count) = counted.get_mut(wanted as usize) { *count += 1; }
            }
            prop_assert_eq!(DeviceState::BUSY.map(|state| states.nanos(state)), counted);
        }
    }
}
