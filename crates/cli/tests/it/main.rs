//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod annotations;
mod bounds;
mod compare;
mod data;
mod evaluate;
mod experiment;
mod features;
mod first_day;
mod generated;
mod hetero;
mod import;
mod links;
mod logs;
mod outputs;
mod places;
mod precompute;
mod predict;
mod profile;
mod screen_alone;
mod snapshots;
mod support;
mod trace;
mod train;
