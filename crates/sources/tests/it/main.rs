//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod alleles;
mod annotations;
mod arbitrary;
mod hostile;
mod laboratory;
mod store;
mod support;
