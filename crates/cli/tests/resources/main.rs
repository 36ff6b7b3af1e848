//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod real_traces;
#[path = "../it/support/mod.rs"]
mod support;

use knockout_testdata::Resource;

knockout_testdata::tests!(
    Resource::Traces =>
        real_traces::reference_figures_of_real_traces_are_those_expected,
        real_traces::every_awkward_trace_gives_an_accepted_outcome
);
