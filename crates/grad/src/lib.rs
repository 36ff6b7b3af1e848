//! Reverse-mode differentiation: a short tape over coarse operations, parameters, `AdamW`, gradient checks.
//!
//! The crate knows no model and no gene; an operation is a name, an output and a function that passes gradients on.
