//! Several processes that want the same output: one gets it, the others exit 2 and change nothing.
#![cfg(all(feature = "lab", target_os = "linux"))]

use crate::support::Home;
use std::process::Output;

/// Runs the same command four times at once and returns how many lost.
fn race(home: &Home, line: &str) -> usize {
    let children: Vec<_> = (0..4).map(|_| home.start(line)).collect();
    let ends: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let winners = ends.iter().filter(|end| end.status.success()).count();
    assert!(winners >= 1, "{line}: no process succeeded");
    for end in ends.iter().filter(|end| !end.status.success()) {
        assert_eq!(end.status.code(), Some(2), "{line}: {}", String::from_utf8_lossy(&end.stderr));
    }
    ends.len() - winners
}

#[test]
fn one_of_several_writers_makes_a_dataset() {
    let home = Home::empty();
    assert_eq!(race(&home, "data synth set --preset tiny -q"), 3);
    home.ok("data verify set -q");
    assert_eq!(home.names("."), ["set"], "no hidden file stays");
}

const TRAIN: &str = "train tiny --model dango --batch 200 --max-steps 12 -q model.width=8";

#[test]
fn one_of_several_processes_starts_a_run() {
    assert_eq!(race(&Home::with_tiny(), &format!("{TRAIN} --out run")), 3);
}

#[test]
fn a_run_resumed_by_several_processes_is_that_of_one() {
    let home = Home::with_tiny();
    for run in ["raced", "alone"] {
        home.ok(&format!("{TRAIN} --out {run}"));
    }
    // A process that comes after the end finds nothing to do, so the number of losers is open.
    race(&home, "train --resume raced --max-steps 24 -q");
    home.ok("train --resume alone --max-steps 24 -q");
    let lines = |run: &str| {
        let text = home.read(&format!("{run}/metrics.jsonl"));
        text.lines().map(|line| line.split(",\"times\":").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("raced"), lines("alone"));
}

#[test]
fn several_writers_leave_an_intact_store() {
    let home = Home::with_tiny();
    race(&home, "data precompute tiny --masks -q");
    home.ok("data verify tiny -q");
    home.ok("data bench tiny --processor saved-masks --samples 20");
}
