//! Texts of commands that the program itself renders; texts and pages of measurements have theirs in `crates/report`.
//!
//! `INSTA_UPDATE=always cargo test -p knockout --test it snapshots` writes them again. Figures of trained models are left out: they
//! depend on the instruction set.

#![cfg(feature = "lab")]

use crate::support::Home;

/// Dates, hashes, times and sizes, which change from run to run, and the widths of columns, which follow from them.
const VOLATILE: &[(&str, &str)] = &[
    (r"\b\d{4}-\d{2}-\d{2}\S*", "[date]"),
    (r"\b[0-9a-f]{12,}\b", "[hash]"),
    (r"[+−-]?\b\d[\d.,]*( +)(ns|µs|ms|s|min|h|bytes|KiB|MiB|GiB|CPU|samples/s|it/s)\b", "#$1$2"),
    (r"[-─=]{4,}", "---"),
    (r"(\S) {2,}", "$1  "),
    (r"(?m)^ {8,}", "        "),
    (r"(?m) +$", ""),
];

/// Figures of trained models too: they depend on the instruction set.
const TRAINED: &[(&str, &str)] = &[(r"[+−-]?\b\d[\d,]*\.\d+(e[+-]?\d+)?", "#")];

fn snapshot(name: &str, text: &str, filters: &[(&str, &str)]) {
    let filters = filters.iter().chain(VOLATILE).copied();
    insta::with_settings!({ filters => filters }, { insta::assert_snapshot!(name, text) });
}

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
    snapshot("data-show", &printed("data show tiny"), &[]);
    snapshot("data-show-gene", &printed("data show tiny --gene ARC1"), &[]);
}

#[test]
fn data_delete() {
    snapshot("data-delete", &printed("data delete tiny ARC1 ZAL002C"), &[]);
}

#[test]
fn evaluate() {
    snapshot("evaluate", &printed("evaluate runs/dango-0 --resamples 50 -q"), TRAINED);
}

#[test]
fn runs() {
    snapshot("runs", &printed("runs runs"), TRAINED);
}

#[test]
fn compare_of_trained_runs() {
    snapshot("compare-trained", &printed("compare runs/dango-0 runs/dango-1"), TRAINED);
}
