//! Measurements over whole runs: profiling and experiments ([`measure`]), benchmarks and sweeps ([`trials`]).
//!
//! The crate decides what is measured or trained, in which order and for how long. Results are values; it never prints.

pub mod measure;
pub mod trials;
