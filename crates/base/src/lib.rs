//! Foundations of knockout: errors, files, memory limits, configuration, random numbers, statistics and safe text.
//!
//! Every other crate depends on this one. It depends on no other crate of knockout.
//!
//! | module | content |
//! |---|---|
//! | [`error`] | the error of the program, whose class decides the exit code |
//! | [`files`] | files and folders that are complete or absent |
//! | [`memory`] | memory of the machine, and refusal of requests that exceed it |
//! | [`config`] | defaults in a struct, changes as `a.b=value` |
//! | [`random`] | random numbers that are the same on every machine |
//! | [`text`] | control characters of others made visible |
//! | [`stats`] | quantiles, intervals, correlations, bootstrap |
//!
//! ```
//! use knockout_base::random::Rng;
//! use knockout_base::stats::median;
//!
//! // Each purpose has its own stream: a new purpose never shifts the numbers of another.
//! let mut rng = Rng::new(7, "example");
//! let draws: Vec<f64> = (0..101).map(|_| rng.unit()).collect();
//! assert!((0.3..0.7).contains(&median(&draws).unwrap()));
//! ```

pub mod config;
pub mod error;
pub mod files;
pub mod memory;
pub mod random;
pub mod stats;
pub mod text;
pub mod unpack;
