//! Datasets, runs and profiles that commit 592d949 wrote, before the crates were folded, still open and give the same figures.
//!
//! The folder `written_before` was made with `KNOCKOUT_ISA=portable`; report pages and event files were left out.
#![cfg(feature = "lab")]

use crate::support::{Home, Ran, copy};
use std::path::Path;

/// Runs with the test Pearson correlation and mean squared error that the old program printed.
const RUNS: [(&str, f64, f64); 5] = [
    ("dango", 0.332_429_705, 0.004_259_931),
    ("hetero", -0.000_858_211, 0.014_186_853),
    ("hetero-supcr", -0.005_683_612, 0.013_943_572),
    ("transformer", 0.441_500_741, 0.004_210_309),
    ("stack", 0.360_708_239, 0.003_783_298),
];

/// Returns a copy of the folder, because evaluating and resuming write into it.
fn home() -> Home {
    let home = Home::empty();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/written_before"), &home.path("."));
    home
}

fn run(home: &Home, line: &str) -> Ran {
    home.run_with(line, ("KNOCKOUT_ISA", "portable"))
}

#[test]
fn an_old_dataset_is_intact() {
    let home = home();
    run(&home, "data verify tiny").ok();
    assert_eq!(run(&home, "data show tiny --json").json()["samples"]["count"], 300);
}

#[test]
fn old_runs_evaluate_to_the_same_figures() {
    let home = home();
    for (name, pearson, mse) in RUNS {
        let document = run(&home, &format!("evaluate {name} --data tiny --json")).json();
        let row = &document["rows"][0];
        let near = |key: &str, old: f64| (row[key].as_f64().unwrap() - old).abs() < 1e-6;
        assert!(near("pearson", pearson) && near("mse", mse), "{name}: {row}");
    }
}

#[test]
fn an_old_run_resumes_to_the_same_bits() {
    let home = home();
    run(&home, "train --resume dango --data tiny --epochs 2").ok();
    assert_eq!(home.weights("dango"), "fc1d2a1f46f96737e9e75e89300df6fc8ac397fb063761dfeff3ef85834c6499");
}

#[test]
fn an_old_profile_compares_with_itself() {
    run(&home(), "compare profile profile --json").json();
}
