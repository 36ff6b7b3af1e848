//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod browser;
#[path = "../it/fixtures/mod.rs"]
mod fixtures;

use knockout_testdata::Resource;

knockout_testdata::tests!(
    Resource::Browser =>
        browser::the_page_works_in_a_browser,
        browser::experiment_page::the_page_of_an_experiment_works_in_a_browser,
        browser::run_page::the_page_of_a_run_works_in_a_browser,
        browser::run_page::a_run_without_a_trace_has_a_page_without_one
);
