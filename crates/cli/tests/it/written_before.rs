//! Datasets, runs and profiles that commit 592d949 wrote, before the crates were folded, still open and give the same figures.
//!
//! The folder `written_before` was made with `KNOCKOUT_ISA=portable`; report pages and event files were left out.
#![cfg(feature = "lab")]

use crate::support::{Ran, run_with};
use std::path::Path;

/// Runs with the test Pearson correlation and mean squared error that the old program printed.
const RUNS: [(&str, f64, f64); 5] = [
    ("dango", 0.332_429_705, 0.004_259_931),
    ("hetero", -0.000_858_211, 0.014_186_853),
    ("hetero-supcr", -0.005_683_612, 0.013_943_572),
    ("transformer", 0.441_500_741, 0.004_210_309),
    ("stack", 0.360_708_239, 0.003_783_298),
];

/// Copies the folder, because evaluating and resuming write into it.
fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if from.is_dir() {
                copy(&from, &to);
            } else {
                std::fs::copy(&from, &to).unwrap();
            }
        }
    }
    let home = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/written_before"), home.path());
    home
}

fn run(home: &Path, args: &[&str]) -> Ran {
    run_with(home, args, &[("KNOCKOUT_ISA", "portable".to_owned())])
}

#[test]
fn an_old_dataset_is_intact() {
    let home = copied();
    run(home.path(), &["data", "verify", "tiny"]).ok();
    assert_eq!(run(home.path(), &["data", "show", "tiny", "--json"]).json()["samples"]["count"], 300);
}

#[test]
fn old_runs_evaluate_to_the_same_figures() {
    let home = copied();
    for (name, pearson, mse) in RUNS {
        let document = run(home.path(), &["evaluate", name, "--data", "tiny", "--json"]).json();
        let row = &document["rows"][0];
        let near = |key: &str, old: f64| (row[key].as_f64().unwrap() - old).abs() < 1e-6;
        assert!(near("pearson", pearson) && near("mse", mse), "{name}: {row}");
    }
}

#[test]
fn an_old_run_resumes_to_the_same_bits() {
    let home = copied();
    run(home.path(), &["train", "--resume", "dango", "--data", "tiny", "--epochs", "2"]).ok();
    let metrics = std::fs::read_to_string(home.path().join("dango/metrics.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    assert_eq!(last["weights_hash"], "fc1d2a1f46f96737e9e75e89300df6fc8ac397fb063761dfeff3ef85834c6499");
}

#[test]
fn an_old_profile_compares_with_itself() {
    let home = copied();
    run(home.path(), &["compare", "profile", "profile", "--json"]).json();
}
