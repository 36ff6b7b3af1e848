//! Many runs in one folder: every model on every split, and sweeps over settings.
//!
//! The module decides which runs are trained, in which order and within which budget of CPU time, stores their results,
//! and resumes after an interruption. Results are values; it never prints.

pub mod benchmark;
pub mod sweep;
mod trial;

pub use trial::{Stop, Trained, TrialEnd, TrialProgress};
