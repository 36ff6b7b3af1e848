//! Reverse-mode differentiation: a short tape over coarse operations, parameters, `AdamW`, gradient checks.
//!
//! The crate knows no model and no gene; an operation is a name, an output and a function that passes gradients on. A whole
//! layer is one operation, so a step of training is some fifty of them and the tape costs nothing beside them.

mod adamw;
mod check;
mod gradients;
mod parameters;
mod tape;

pub use adamw::{AdamW, AdamWConfig, Moments, clip_factor};
pub use check::{Mismatch, gradient_check};
pub use gradients::Gradients;
pub use parameters::{Parameter, Parameters};
pub use tape::{Observer, Pass, Step, Tape, Values, Var};
