//! Measurements over whole runs: profiling and experiments ([`measure`]), benchmarks and sweeps ([`trials`]).
//!
//! | request | result | content |
//! |---|---|---|
//! | [`measure::Profiling`] | [`measure::ProfilingOutcome`] | the time of each phase of training steps, and the recorded trace |
//! | [`measure::ExperimentRequest`] | [`measure::ExperimentOutcome`] | models, modes and switches, interleaved on the same batches |
//! | [`trials::benchmark::BenchmarkRequest`] | [`trials::benchmark::BenchmarkOutcome`] | every model on every split, beside the baselines |
//! | [`trials::sweep::SweepRequest`] | [`trials::sweep::SweepOutcome`] | settings of a model, by successive halving on the validation part |
//!
//! A request names its dataset, models, budget and folder. The crate decides what is measured or trained, in which order and for how
//! long. Benchmarks and sweeps write into a folder and resume from it: the same request after an interruption repeats nothing. Results are
//! values, which `knockout-report` turns into pages; the crate never prints.
//!
//! ```
//! use knockout_bench::trials::sweep::{Axis, SweepRequest, run};
//! use knockout_models::{MODELS, ModelEntry};
//! use knockout_sources::synth;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let home = tempfile::tempdir()?;
//! let preset = synth::SynthConfig::preset("tiny").unwrap();
//! let mut dataset = synth::synthesise(&preset, 3, "tiny", "example", &|_| ())?;
//! dataset.write(&home.path().join("tiny"), &|_| ())?;
//!
//! let request = SweepRequest {
//!     dataset: home.path().join("tiny"),
//!     model: ModelEntry::find("dango", MODELS)?,
//!     axes: vec!["model.width=8,16".parse::<Axis>()?, "max_steps=2".parse::<Axis>()?],
//!     budget: Duration::from_secs(60),
//!     keep_one_of: 2,
//!     out: home.path().join("sweep"),
//!     version: "0.1.0".to_owned(),
//!     commit: String::new(),
//! };
//! let is_stopped: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(|| false);
//! let outcome = run(&request, &is_stopped, &mut |_| ())?;
//! assert_eq!(outcome.sweep.candidates.len(), 2);
//! assert!(outcome.sweep.chosen.is_some());
//! # Ok(())
//! # }
//! ```

pub mod measure;
pub mod trials;
