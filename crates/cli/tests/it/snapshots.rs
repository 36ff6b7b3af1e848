//! Texts of commands that the program itself renders; texts and pages of measurements have theirs in `crates/report`.
//!
//! `INSTA_UPDATE=always cargo test -p knockout --test it snapshots` writes them again. Figures of trained models are left out: they
//! depend on the instruction set.

#![cfg(feature = "lab")]

use crate::support::Home;
use insta::assert_snapshot;
use knockout_testdata::redact::{figures, volatile};

/// Prints in a folder with a dataset and the runs `runs/dango-0` and `runs/dango-1`.
fn printed(line: &str) -> String {
    let home = Home::with_runs(&["seed-0", "seed-1"]);
    std::fs::create_dir(home.path("runs")).unwrap();
    for seed in 0..2 {
        std::fs::rename(home.path(&format!("seed-{seed}")), home.path(&format!("runs/dango-{seed}")))
            .unwrap();
    }
    home.ok(line).stdout
}

#[test]
fn data_show() {
    assert_snapshot!("data-show", volatile(&printed("data show tiny")));
    assert_snapshot!("data-show-gene", volatile(&printed("data show tiny --gene ARC1")));
}

#[test]
fn data_delete() {
    assert_snapshot!("data-delete", volatile(&printed("data delete tiny ARC1 ZAL002C")));
}

#[test]
fn evaluate() {
    assert_snapshot!("evaluate", figures(&printed("evaluate runs/dango-0 --resamples 50 -q")));
}

#[test]
fn runs() {
    assert_snapshot!("runs", figures(&printed("runs runs")));
}

#[test]
fn compare_of_trained_runs() {
    assert_snapshot!("compare-trained", figures(&printed("compare runs/dango-0 runs/dango-1")));
}
