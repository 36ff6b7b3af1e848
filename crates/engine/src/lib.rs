//! The numerical engine: CPU kernels ([`kernel`]), and the tape, parameters and optimiser on top of them ([`grad`]).
//!
//! The crate knows neither genes nor models. Results do not depend on the number of threads.

pub mod grad;
pub mod kernel;
