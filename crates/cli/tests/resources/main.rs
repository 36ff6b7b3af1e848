//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "lab")]
mod perf;
mod real_traces;
#[cfg(feature = "lab")]
mod real_tutorial;
#[path = "../it/support/mod.rs"]
mod support;

use knockout_testdata::Resource;

#[cfg(feature = "lab")]
knockout_testdata::tests!(
    Resource::Traces =>
        real_traces::reference_figures_of_real_traces_are_those_expected,
        real_traces::every_awkward_trace_gives_an_accepted_outcome,
        real_traces::the_example_of_the_guide_is_what_the_program_prints;
    Resource::Data => real_tutorial::the_tutorial_works_on_a_real_screen;
    Resource::Perf =>
        perf::functions_of_every_phase_are_sampled,
        perf::an_event_that_counts_something_else_is_not_used_for_reads_from_memory,
        perf::samples_become_collapsed_stacks_without_a_folder
);

#[cfg(not(feature = "lab"))]
knockout_testdata::tests!(
    Resource::Traces =>
        real_traces::reference_figures_of_real_traces_are_those_expected,
        real_traces::every_awkward_trace_gives_an_accepted_outcome,
        real_traces::the_example_of_the_guide_is_what_the_program_prints
);
