//! Communication events of the device, to match the collectives of several ranks.

use crate::collect::arg_value::ArgValueKey;
use crate::collect::id::KindId;
use knockout_trace::{ArgKey, TraceEvent};

/// Communication events beyond this number are counted and not kept.
const MAX_EVENTS: usize = 1 << 18;

/// One communication event of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CollectiveEvent {
    pub(crate) kind: KindId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// `Collective name`
    pub(crate) name: Option<ArgValueKey>,
    /// `Process Group Name`
    pub(crate) group: Option<ArgValueKey>,
    pub(crate) dtype: Option<ArgValueKey>,
    pub(crate) elements_in: Option<i64>,
    pub(crate) elements_out: Option<i64>,
    pub(crate) group_size: Option<i64>,
    /// Number in the group.
    pub(crate) sequence: Option<i64>,
}

/// Communication events of one file.
#[derive(Debug, Default)]
pub(crate) struct CollectiveEvents {
    pub(crate) events: Vec<CollectiveEvent>,
    pub(crate) left_out: u64,
}

impl CollectiveEvents {
    pub(crate) fn push(&mut self, event: &TraceEvent<'_>, kind: KindId, start: i64, duration: i64) {
        if self.events.len() >= MAX_EVENTS {
            self.left_out += 1;
            return;
        }
        let key = |key| event.args.get(key).map(ArgValueKey::from);
        let number = |key| event.args.number(key, event.symbols);
        self.events.push(CollectiveEvent {
            kind,
            start,
            end: start.saturating_add(duration),
            name: key(ArgKey::CollectiveName),
            group: key(ArgKey::ProcessGroupName),
            dtype: key(ArgKey::Dtype),
            elements_in: number(ArgKey::InMsgNelems),
            elements_out: number(ArgKey::OutMsgNelems),
            group_size: number(ArgKey::GroupSize),
            sequence: number(ArgKey::CollectiveSequence),
        });
    }
}
