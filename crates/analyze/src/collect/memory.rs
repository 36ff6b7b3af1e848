//! The memory events of a trace: peaks per device, and a timeline of bounded size whatever the number of events.

use serde::Serialize;
use std::collections::BTreeMap;

/// A timeline never has more bins than this.
const MAX_BINS: usize = 1024;

/// One device's memory, from `[memory]` instants.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryDevice {
    /// `Device Type:Device Id`; type 0 is the host, 1 CUDA.
    pub device: String,
    /// Number of memory events.
    pub events: u64,
    /// Largest `Total Allocated`.
    pub max_total_allocated: Option<i64>,
    /// Largest `Total Reserved`.
    pub max_total_reserved: Option<i64>,
    /// Sum of `Bytes`: positive when more was taken than given back.
    pub sum_bytes: i64,
    /// Largest `Total Allocated` in each interval that has an event.
    pub timeline: Vec<MemoryPoint>,
}

/// One interval of a memory timeline.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
pub struct MemoryPoint {
    /// Start, in microseconds after the trace's first event.
    pub at_us: f64,
    /// Largest `Total Allocated` in the interval.
    pub allocated: i64,
}

/// Collects memory events in any order.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    devices: BTreeMap<String, DeviceMemory>,
}

#[derive(Debug, Default)]
struct DeviceMemory {
    events: u64,
    max_allocated: Option<i64>,
    max_reserved: Option<i64>,
    sum_bytes: i64,
    bins: PeakBins,
}

/// Largest value per interval; the interval doubles until all fit, so the result does not depend on the order.
#[derive(Debug)]
struct PeakBins {
    shift: u32,
    most: BTreeMap<i64, i64>,
}

impl Default for PeakBins {
    fn default() -> Self {
        Self { shift: 10, most: BTreeMap::new() }
    }
}

/// The fields of one memory event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryEvent {
    pub(crate) at: Option<i64>,
    pub(crate) bytes: i64,
    pub(crate) allocated: Option<i64>,
    pub(crate) reserved: Option<i64>,
}

impl Memory {
    pub(crate) fn add(&mut self, device: &str, change: MemoryEvent) {
        if !self.devices.contains_key(device) {
            self.devices.insert(device.to_owned(), DeviceMemory::default());
        }
        let Some(entry) = self.devices.get_mut(device) else { return };
        entry.events += 1;
        entry.sum_bytes = entry.sum_bytes.saturating_add(change.bytes);
        entry.max_allocated = entry.max_allocated.max(change.allocated);
        entry.max_reserved = entry.max_reserved.max(change.reserved);
        if let (Some(at), Some(allocated)) = (change.at, change.allocated) {
            entry.bins.add(at, allocated);
        }
    }

    /// The findings; `origin` is the trace's first instant.
    pub(crate) fn finish(self, origin: i64) -> Vec<MemoryDevice> {
        self.devices
            .into_iter()
            .map(|(device, entry)| MemoryDevice {
                device,
                events: entry.events,
                max_total_allocated: entry.max_allocated,
                max_total_reserved: entry.max_reserved,
                sum_bytes: entry.sum_bytes,
                timeline: entry.bins.points(origin),
            })
            .collect()
    }
}

impl PeakBins {
    fn add(&mut self, at: i64, value: i64) {
        let bin = at >> self.shift;
        if let Some(most) = self.most.get_mut(&bin) {
            *most = (*most).max(value);
            return;
        }
        self.most.insert(bin, value);
        while self.most.len() > MAX_BINS || self.width() > MAX_BINS as i64 {
            let finer = std::mem::take(&mut self.most);
            self.shift += 1;
            for (bin, value) in finer {
                let most = self.most.entry(bin >> 1).or_insert(value);
                *most = (*most).max(value);
            }
        }
    }

    fn width(&self) -> i64 {
        match (self.most.first_key_value(), self.most.last_key_value()) {
            (Some((first, _)), Some((last, _))) => last - first + 1,
            _ => 0,
        }
    }

    fn points(&self, origin: i64) -> Vec<MemoryPoint> {
        self.most
            .iter()
            .map(|(bin, &allocated)| MemoryPoint {
                at_us: knockout_base::stats::us((bin << self.shift).saturating_sub(origin)),
                allocated,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeline_is_bounded_and_does_not_depend_on_the_order() {
        let changes: Vec<MemoryEvent> = (0..50_000_i64)
            .map(|i| MemoryEvent { at: Some(i * 7919), bytes: 1, allocated: Some(i % 977), reserved: None })
            .collect();
        let run = |changes: &mut dyn Iterator<Item = &MemoryEvent>| {
            let mut memory = Memory::default();
            changes.for_each(|change| memory.add("1:0", *change));
            memory.finish(0)
        };
        let (forth, back) = (run(&mut changes.iter()), run(&mut changes.iter().rev()));
        assert_eq!(forth[0].timeline, back[0].timeline);
        assert!(forth[0].timeline.len() <= MAX_BINS && forth[0].timeline.len() > MAX_BINS / 4);
        assert_eq!(
            (forth[0].events, forth[0].max_total_allocated, forth[0].sum_bytes),
            (50_000, Some(976), 50_000)
        );
        assert_eq!(forth[0].max_total_reserved, None);
    }
}
