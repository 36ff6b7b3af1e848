//! A test harness whose tests are given the [`Resource`] they need, and are ignored where it is missing.
//!
//! libtest cannot ignore a test at run time, and a test that returns early counts as passed. Targets with `harness = false` that use
//! [`tests!`](crate::tests) take the same arguments, print the same summary and are listed by nextest.

use crate::Resource;
use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use std::process::ExitCode;

/// A test's name and what it does with the resource.
type ResourceTest = (&'static str, fn(&Path));

/// Runs tests with the paths of their resources. Tests of a missing resource are ignored, or fail if `KNOCKOUT_REQUIRE` demands it.
#[expect(clippy::print_stderr, reason = "the reason why tests are ignored must be seen")]
pub fn run(groups: &[(Resource, &[ResourceTest])]) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for &(resource, tests) in groups {
        let located = resource.locate();
        let is_ignored = located.is_err() && !resource.is_required();
        if let (Err(reason), false) = (&located, arguments.list) {
            eprintln!("{reason}");
        }
        trials.extend(tests.iter().map(|&(name, test)| {
            let located = located.clone();
            let run = move || located.map(|path| test(&path)).map_err(Into::into);
            Trial::test(name, run).with_kind(resource.name()).with_ignored_flag(is_ignored)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The `main` of a test target with `harness = false`: `tests!(Resource::Data => one_test, another_test; Resource::Seeds => third)`.
///
/// A test is a function of the path that [`Resource::locate`] returns.
#[macro_export]
macro_rules! tests {
    ($($resource:expr => $($test:path),+);+ $(;)?) => {
        fn main() -> std::process::ExitCode {
            $crate::run(&[$(($resource, &[$((stringify!($test), $test)),+])),+])
        }
    };
}
