//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bottlenecks;
mod critical;
mod experiment;
mod jobs;
mod modules;
mod planted_traces;
mod producers;
mod recorded;
mod recording;
mod reference;
mod runs;
mod shapes;
