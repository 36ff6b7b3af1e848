//! What the commands say that are rendered in the program itself; texts and pages of measurements have theirs in `crates/report`.
//!
//! `INSTA_UPDATE=always cargo test -p knockout --test snapshots` writes them anew. Figures of trained models are left out: they
//! depend on the instruction set.

#![cfg(feature = "lab")]

use crate::support::run_in;
use insta::assert_snapshot;
use knockout_testdata::redact::{figures, volatile};
use std::path::Path;
use std::sync::LazyLock;

/// A dataset and two short runs, made once.
static HOME: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let home = tempfile::tempdir().unwrap();
    say(home.path(), &["-q", "data", "synth", "tiny", "--preset", "tiny"]);
    let train =
        ["-q", "train", "tiny", "--model", "dango", "model.width=16", "--batch", "400", "--epochs", "2"];
    for seed in ["0", "1"] {
        let out = format!("runs/dango-{seed}");
        say(home.path(), &[&train[..], &["--seed", seed, "--out", &out]].concat());
    }
    home
});

fn say(folder: &Path, args: &[&str]) -> String {
    run_in(folder, args).ok().stdout
}

fn said(args: &[&str]) -> String {
    say(HOME.path(), args)
}

#[test]
fn data_show() {
    assert_snapshot!("data-show", volatile(&said(&["data", "show", "tiny"])));
    assert_snapshot!("data-show-gene", volatile(&said(&["data", "show", "tiny", "--gene", "ARC1"])));
}

#[test]
fn data_delete() {
    assert_snapshot!("data-delete", volatile(&said(&["data", "delete", "tiny", "ARC1", "ZAL002C"])));
}

#[test]
fn evaluate() {
    let evaluated = said(&["evaluate", "runs/dango-0", "--resamples", "50", "-q"]);
    assert_snapshot!("evaluate", figures(&evaluated));
}

#[test]
fn runs() {
    assert_snapshot!("runs", figures(&said(&["runs", "runs"])));
}

#[test]
fn compare_of_trained_runs() {
    assert_snapshot!("compare-trained", figures(&said(&["compare", "runs/dango-0", "runs/dango-1"])));
}
