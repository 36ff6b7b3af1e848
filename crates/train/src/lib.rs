//! Training, evaluation and baselines.
//!
//! The crate knows what is fitted to which part of a dataset and how good it is; it never prints.

pub mod baseline;
pub mod bootstrap;
pub mod evaluation;
pub mod metrics;
pub mod predictions;
mod ranks;
