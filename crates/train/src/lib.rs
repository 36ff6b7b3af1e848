//! Training, evaluation and baselines.
//!
//! The crate knows what is fitted to which part of a dataset and how good it is; it never prints.

pub mod baseline;
pub mod checkpoint;
pub mod config;
pub mod evaluation;
mod exact;
pub mod fit;
pub mod loader;
pub mod machine;
pub mod metrics;
pub mod predictions;
pub mod predictor;
pub mod run;
pub mod schedule;
mod shards;
pub mod step;
pub mod stores;
pub mod switches;
mod workers;

pub use workers::workers;
