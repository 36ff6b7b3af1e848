//! Measuring training: the profile of one configuration, and experiments that alternate between many.
//!
//! The module sets measurements up, runs the steps of `knockout-train` and gives the measured steps to `knockout-analyze`, which
//! interprets the figures. It never prints; a callback is called after every step.

mod bandwidth;
mod conditions;
mod experiment;
pub mod memory;
mod perf;
mod profiling;
mod ranks;

pub use bandwidth::peak_read_bytes_per_s;
pub use conditions::{Recording, Stopwatch, Subject};
pub use experiment::{
    AblationScope, ExperimentOutcome, ExperimentRequest, ExperimentRunner, WorldRound, assembled,
    has_no_time_for_another,
};
pub use profiling::{Profiling, ProfilingOutcome, Sampling};
