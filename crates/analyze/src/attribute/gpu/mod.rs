//! Device figures: idle, compute and communication time, idle gaps by cause, launches and queues.
//!
//! Twice: over the whole trace exactly, and by HTA's rule so that the two can be compared. `join` finds each device
//! event's launch call, `sweep` goes over the device events by time.

mod join;
mod queue;
mod sweep;

pub(crate) use join::{Join, Joined, LaunchSums};
pub(crate) use queue::StreamQueue;
pub(crate) use sweep::{Busy, DeviceSpan, StreamTime, SweepInput, Swept};
