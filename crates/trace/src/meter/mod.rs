//! The step meter: wall and CPU time, memory and recorded spans of training steps, phase by phase.
//!
//! [`StepPhase`] names the phases of a step, [`Schedule`] selects the steps to measure, and [`Meter`] measures them and returns a
//! [`StepLog`]. Does not depend on models, and on traces only to record spans.

mod phase;
mod schedule;
mod step_meter;

pub use phase::{Gauge, StepPhase};
pub use schedule::{RunLength, Schedule};
pub use step_meter::{LoadTimes, Meter, StepLog, StepTimes};
