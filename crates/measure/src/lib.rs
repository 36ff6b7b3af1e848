//! Measuring training: the profile of one configuration, and experiments in which many take turns.
//!
//! The crate sets measurements up, runs the steps of `knockout-train` and hands the measured steps to `knockout-profile`, which
//! says what the figures mean. It never prints; whoever waits is told of every step.

mod conditions;
mod error;
mod experiment;
pub mod memory;
mod profiling;

pub use conditions::{Recording, Subject};
pub use error::MeasureError;
pub use experiment::{Ablation, Experiment, ExperimentOutcome, ExperimentRequest, FEWEST_ROUNDS};
pub use profiling::{Measured, Profiling};
