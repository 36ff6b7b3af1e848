//! Selection of the events that a smaller trace keeps. Does no input or output.

use crate::format::event::{EventType, TraceEvent};
use crate::format::lane::LaneId;
use std::collections::HashMap;

/// Field of a trace's document that records how it was made smaller, merged or repaired.
pub const CONVERTED: &str = "knockoutConvert";

/// Events to keep. Metadata (names of processes and threads) is always kept.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Keep events that end at or after this time.
    pub from_nanos: Option<i64>,
    /// Keep events that begin before this time.
    pub to_nanos: Option<i64>,
    /// Keep these categories, compared without regard to case; all if empty.
    pub categories: Vec<String>,
    /// Keep complete events at least this long; events of other kinds have no length and stay.
    pub min_duration_nanos: i64,
}

/// A selection applied to one file: begin and end events are kept or dropped in pairs.
#[derive(Debug)]
pub struct Selector<'a> {
    selection: &'a Selection,
    categories: Vec<String>,
    /// Per lane, whether each open begin was kept.
    open: HashMap<LaneId, Vec<bool>>,
}

impl<'a> Selector<'a> {
    /// Starts at the first event of a file.
    pub fn new(selection: &'a Selection) -> Self {
        let categories = selection.categories.iter().map(|category| category.to_lowercase()).collect();
        Self { selection, categories, open: HashMap::new() }
    }

    /// Returns whether to keep an event; to be called once for each, in file order.
    pub fn keeps(&mut self, event: &TraceEvent<'_>) -> bool {
        match event.event_type {
            EventType::METADATA => true,
            EventType::END => self.open.entry(event.lane).or_default().pop().unwrap_or(false),
            EventType::BEGIN => {
                let keeps = self.matches(event);
                self.open.entry(event.lane).or_default().push(keeps);
                keeps
            }
            _ => self.matches(event),
        }
    }

    fn matches(&self, event: &TraceEvent<'_>) -> bool {
        let Selection { from_nanos, to_nanos, min_duration_nanos, .. } = *self.selection;
        let duration = event.duration_nanos.filter(|_| event.event_type == EventType::COMPLETE);
        if event.event_type == EventType::COMPLETE && duration.unwrap_or(0) < min_duration_nanos {
            return false;
        }
        if from_nanos.is_some() || to_nanos.is_some() {
            let Some(start) = event.start_nanos else { return false };
            // The profiler's own spans reach over the whole recording: in a part of it they would stand alone.
            if event.symbols.text(event.category) == "Trace" {
                return false;
            }
            let end = start.saturating_add(duration.unwrap_or(0).max(0));
            if from_nanos.is_some_and(|from| end < from) || to_nanos.is_some_and(|to| start >= to) {
                return false;
            }
        }
        self.categories.is_empty() || {
            let category = event.symbols.text(event.category).to_lowercase();
            self.categories.contains(&category)
        }
    }
}
