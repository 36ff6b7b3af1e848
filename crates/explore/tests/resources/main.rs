//! Tests of programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod browser;
#[path = "../support/mod.rs"]
mod support;

use knockout_testdata::Resource;

knockout_testdata::tests!(Resource::Browser => browser::every_view_works_in_a_browser);
