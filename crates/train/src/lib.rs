//! Training: configuration, batches, steps, checkpoints and runs.
//!
//! A [`config::Config`] holds every setting. A [`run::Run`] is one iterator of events: it trains a network with a [`fit::Fit`], or
//! drives a solver, and writes metrics and checkpoints into a folder. A [`predictor::Predictor`] predicts from a checkpoint.
//!
//! Modules depend one way: [`loader`] < [`step`] < [`fit`] < [`checkpoint`] < [`predictor`] < [`run`]. The crate never prints.
//!
//! ```
//! use knockout_sources::synth;
//! use knockout_train::config::Config;
//! use knockout_train::run::{Event, Run, RunContext};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let home = tempfile::tempdir()?;
//! let preset = synth::SynthConfig::preset("tiny").unwrap();
//! let mut dataset = synth::synthesise(&preset, 3, "tiny", "example", &|_| ())?;
//! dataset.write(&home.path().join("tiny"), &|_| ())?;
//!
//! let config = Config::of("dango", &dataset.cell, &["model.width=8", "max_steps=2"])?;
//! let context = RunContext::new(home.path().join("tiny"));
//! let mut steps = 0;
//! for event in Run::create(&home.path().join("run"), Arc::new(dataset), config, &context)? {
//!     steps += usize::from(matches!(event?, Event::Step(_)));
//! }
//! assert_eq!(steps, 2);
//! # Ok(())
//! # }
//! ```

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
