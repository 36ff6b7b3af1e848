//! Measuring training: the profile of one configuration, and experiments in which many take turns.
//!
//! The crate sets measurements up, runs the steps of `knockout-train` and hands the measured steps to `knockout-profile`, which
//! says what the figures mean. It never prints; whoever waits is told of every step.

mod conditions;
mod error;
mod experiment;
pub mod memory;
mod profiling;
mod ranks;

pub use conditions::{Recording, Subject};
pub use error::MeasureError;
pub use experiment::{
    Ablation, Experiment, ExperimentOutcome, ExperimentRequest, FEWEST_ROUNDS, WorldRound, assembled,
    has_no_time_for_another,
};
pub use profiling::{Measured, Profiling};
