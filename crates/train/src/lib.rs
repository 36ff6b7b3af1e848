//! Training, evaluation and baselines.
//!
//! The crate knows what is fitted to which part of a dataset and how good it is; it never prints.

pub mod checkpoint;
pub mod config;
mod context;
mod exact;
pub mod fit;
pub mod loader;
pub mod machine;
pub mod metrics;
pub mod predictor;
pub mod run;
pub mod schedule;
pub mod step;
pub mod stores;
pub mod switches;
pub mod tensors;
mod workers;

pub use workers::workers;
