//! Events of one block as compact records, before their texts have symbols. Independent of sinks.

use crate::format::damage::IrregularityKind;
use crate::format::event::{ArgKey, EventType};
use crate::format::time::Time;
use crate::intern::ByteTable;
use std::collections::HashMap;

/// A text of the block's scanner: a number in its [`Local`] table.
pub(crate) type LocalText = u32;
/// The absent text: the first entry of every [`Local`] table.
pub(crate) const NO_TEXT: LocalText = 0;

/// A `pid` or `tid` whose text has a local number only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LocalId {
    Missing,
    Number(i64),
    Text(LocalText),
    Other(LocalText),
}

/// An `args` value whose text has a local number only.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LocalValue {
    Number(i64),
    Text(LocalText),
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedEvent {
    pub(crate) start: Time,
    pub(crate) duration: Time,
    pub(crate) name: LocalText,
    pub(crate) category: LocalText,
    /// A number in the [`Local`] table of lanes.
    pub(crate) lane: u32,
    /// Where its text stands in the block.
    pub(crate) text_start: u32,
    pub(crate) text_end: u32,
    /// End of its fields in [`ScannedEvents::args`]; they start where those of the record before end.
    pub(crate) args_end: u32,
    pub(crate) event_type: EventType,
}

/// Result of a run of the scanner over one block.
#[derive(Debug, Default)]
pub(crate) struct ScannedEvents {
    pub(crate) records: Vec<ScannedEvent>,
    pub(crate) args: Vec<(ArgKey, LocalValue)>,
    /// Irregularities of whole events, with their offset in the block.
    pub(crate) irregularities: Vec<(IrregularityKind, usize)>,
    pub(crate) not_events: u64,
    pub(crate) fractional_starts: u64,
}

impl ScannedEvents {
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.args.clear();
        self.irregularities.clear();
        self.not_events = 0;
        self.fractional_starts = 0;
    }
}

/// One scanner's own numbering of texts (as they are written, escapes and all) and lanes.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) texts: ByteTable,
    pub(crate) lanes: Vec<(LocalId, LocalId)>,
    lane_numbers: HashMap<(LocalId, LocalId), u32>,
    /// Recent lanes, so that the map is queried only for others.
    recent: [u32; 16],
}

impl Local {
    pub(crate) fn new() -> Self {
        let mut texts = ByteTable::new();
        texts.insert(b"");
        Self { texts, lanes: Vec::new(), lane_numbers: HashMap::new(), recent: [u32::MAX; 16] }
    }

    #[inline]
    pub(crate) fn lane(&mut self, pid: LocalId, tid: LocalId) -> u32 {
        let word = |id: LocalId| match id {
            LocalId::Missing => 0,
            LocalId::Number(number) => number as u64,
            LocalId::Text(text) | LocalId::Other(text) => u64::from(text),
        };
        let slot =
            ((word(pid) ^ word(tid).rotate_left(8)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize;
        let recent = self.recent[slot];
        if self.lanes.get(recent as usize) == Some(&(pid, tid)) {
            return recent;
        }
        let lane = *self.lane_numbers.entry((pid, tid)).or_insert_with(|| {
            self.lanes.push((pid, tid));
            self.lanes.len() as u32 - 1
        });
        self.recent[slot] = lane;
        lane
    }
}
