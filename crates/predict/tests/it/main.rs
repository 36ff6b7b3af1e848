//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod baselines;
mod planted_screens;
mod predict;
mod predictions;
mod trust;
