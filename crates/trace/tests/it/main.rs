//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod hostile;
mod meter;
mod oracle;
mod packed;
mod replay;
mod skipped;
