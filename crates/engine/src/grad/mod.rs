//! Reverse-mode differentiation: a short tape over coarse operations, parameters, `AdamW`, gradient checks.
//!
//! The module depends on neither models nor genes; an operation is a name, an output and a backward function. A whole
//! layer is one operation, so a training step has about fifty of them and the overhead of the tape is negligible.

mod adamw;
mod check;
mod gradients;
mod parameters;
mod tape;
mod var;

pub use adamw::{AdamW, AdamWConfig, Moments, clip_factor};
pub use check::{Mismatch, evaluate_loss, gradient_check};
pub use gradients::Gradients;
pub use parameters::{Parameter, Parameters};
pub use tape::{BackwardStep, ObservedOperation, Observer, OutputShape, Pass, Tape, Values};
pub use var::Var;
