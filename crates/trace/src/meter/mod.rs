//! The step meter: wall and CPU time, memory and recorded spans of training steps, phase by phase.
//!
//! [`StepPhase`] is the one place where the phases of a step are named; [`Schedule`] says which steps are measured,
//! [`Meter`] measures them and hands out a [`StepLog`]. Knows nothing of models, and of traces only how to record into one.

mod phase;
mod schedule;
mod step_meter;

pub use phase::{Gauge, StepPhase};
pub use schedule::{RunLength, Schedule};
pub use step_meter::{LoadTimes, Meter, StepLog, StepTimes};
