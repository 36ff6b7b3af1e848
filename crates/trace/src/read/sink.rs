//! The receiver of a file's events.

use crate::format::event::{ArgSet, TraceEvent};

/// Receives the events of one file, in file order, on one thread at a time.
pub trait Sink: Send {
    /// The `args` fields to read; called once, before the first event.
    fn wants(&self) -> ArgSet {
        ArgSet::NONE
    }

    /// One event. Called in file order whatever the number of threads.
    fn event(&mut self, event: &TraceEvent<'_>);
}
