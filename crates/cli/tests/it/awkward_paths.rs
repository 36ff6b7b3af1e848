//! Paths that are not UTF-8.
#![cfg(all(feature = "lab", target_os = "linux"))]

use crate::support::{Home, Ran};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Runs a command with a dataset folder whose name is not UTF-8 between the words.
fn run(home: &Home, before: &str, after: &str) -> Ran {
    let mut command = home.command(before);
    command.arg(OsStr::from_bytes(b"d\xFF\xFE")).args(after.split(' '));
    Ran::new(before, command.output().unwrap())
}

#[test]
fn commands_of_a_dataset_take_a_path_that_is_not_utf8() {
    let home = Home::empty();
    for (before, after) in [
        ("data synth", "--preset tiny -q"),
        ("data verify", "-q"),
        ("data show", "--json"),
        ("data split", "--out split.parquet -q"),
        ("data precompute", "--masks -q"),
    ] {
        run(&home, before, after).ok();
    }
}

#[test]
fn a_run_refuses_a_dataset_whose_path_it_cannot_record() {
    let home = Home::empty();
    run(&home, "data synth", "--preset tiny -q").ok();
    run(&home, "train", "--model dango --max-steps 1 --out run").fails(2, &["is not UTF-8", "rename it"]);
    assert!(!home.exists("run"));
}
