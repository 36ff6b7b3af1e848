//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod full_golden_set;

use knockout_testdata::Resource;

knockout_testdata::tests!(
    Resource::Golden =>
        full_golden_set::has_cases_of_every_family
);
