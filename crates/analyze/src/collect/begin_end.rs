//! `B` and `E` events become spans: an `E` closes the span begun last on its lane.

use knockout_trace::{EventType, LaneId, Symbol, TraceEvent};

/// Begin and end events as they come, in any order.
#[derive(Debug, Default)]
pub(crate) struct BeginEnd {
    marks: Vec<BeginEndEvent>,
}

#[derive(Debug, Clone, Copy)]
struct BeginEndEvent {
    lane: LaneId,
    at: Option<i64>,
    order: u64,
    name: Symbol,
    category: Symbol,
    begins: bool,
}

/// A span made of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) lane: LaneId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) order: u64,
    pub(crate) name: Symbol,
    pub(crate) category: Symbol,
}

impl BeginEnd {
    pub(crate) fn add(&mut self, event: &TraceEvent<'_>) {
        self.marks.push(BeginEndEvent {
            lane: event.lane,
            at: event.start_nanos,
            order: event.index,
            name: event.name,
            category: event.category,
            begins: event.event_type == EventType::BEGIN,
        });
    }

    /// The spans, and how many events found no partner.
    pub(crate) fn pairs(mut self) -> (Vec<Pair>, u64) {
        self.marks.sort_by_key(|mark| (mark.lane, mark.at, mark.order));
        let mut pairs = Vec::new();
        let mut unmatched = 0;
        for lane in self.marks.chunk_by(|a, b| a.lane == b.lane) {
            let mut open: Vec<BeginEndEvent> = Vec::new();
            for mark in lane {
                match (mark.at, mark.begins) {
                    (None, _) => unmatched += 1,
                    (Some(_), true) => open.push(*mark),
                    (Some(end), false) => match open.pop() {
                        Some(BeginEndEvent { at: Some(start), order, name, category, .. }) => {
                            pairs.push(Pair { lane: mark.lane, start, end, order, name, category });
                        }
                        _ => unmatched += 1,
                    },
                }
            }
            unmatched += open.len() as u64;
        }
        (pairs, unmatched)
    }
}
