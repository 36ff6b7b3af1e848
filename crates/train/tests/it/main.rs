//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod base_runs;
mod checkpoint;
mod example;
mod fit;
mod guards;
mod home;
mod interruptions;
mod loader;
mod loader_memory;
mod oracle;
mod ranges;
mod ranks;
mod replay;
mod stored;
mod switches;
mod toy_model;
