//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bombs;
mod dataset;
mod deletion;
mod equality;
mod golden;
mod rows;
mod split;
mod support;
mod tables;
