//! Outputs replace outputs of their kind and nothing else; verdicts survive a reader that goes away.

#![cfg(feature = "lab")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use support::run_in as run;

const TRACE: &str =
    r#"{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":1,"dur":5}]}"#;

fn traces(folder: &Path) {
    for name in ["a.json", "b.json"] {
        fs::write(folder.join(name), TRACE).unwrap();
    }
}

#[test]
fn an_output_never_replaces_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    traces(at);
    fs::hard_link(at.join("a.json"), at.join("also-a.json")).unwrap();
    for args in [
        &["trace", "analyze", "--html", "a.json", "b.json", "a.json"][..],
        &["trace", "analyze", "a.json", "--html", "also-a.json", "--force"],
        &["trace", "analyze", "a.json", "--collapsed", "a.json", "--force"],
        &["trace", "compare", "a.json", "b.json", "--html", "b.json", "--force"],
        &["trace", "convert", "a.json", "b.json", "a.json", "--force"],
    ] {
        run(at, args).fails(2, &["is an input of this command"]);
    }
    // What the issue's shell made of `--html a*.json`.
    run(at, &["trace", "analyze", "--html", "a.json", "b.json"]).fails(2, &["a.json exists", "--force"]);
    for name in ["a.json", "b.json"] {
        assert_eq!(fs::read_to_string(at.join(name)).unwrap(), TRACE, "{name}");
    }
}

#[test]
fn only_an_output_of_the_same_kind_is_replaced_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    traces(at);
    fs::write(at.join("notes.txt"), "precious").unwrap();
    run(at, &["trace", "analyze", "a.json", "--html", "notes.txt"])
        .fails(2, &["notes.txt exists", "--force"]);
    run(at, &["trace", "analyze", "a.json", "--collapsed", "notes.txt"])
        .fails(2, &["notes.txt exists", "--force"]);
    run(at, &["trace", "analyze", "a.json", "--html", "."]).fails(2, &["is"]);
    assert_eq!(fs::read_to_string(at.join("notes.txt")).unwrap(), "precious");
    // Once and again: its own pages and stacks it may replace.
    for _ in 0..2 {
        run(at, &["trace", "analyze", "a.json", "--html", "page.html", "--collapsed", "stacks.txt", "-q"])
            .ok();
    }
    run(at, &["trace", "analyze", "a.json", "--collapsed", "page.html"]).fails(2, &["--force"]);
    run(at, &["trace", "analyze", "a.json", "--html", "x", "--collapsed", "x"]).fails(2, &["the same file"]);
    run(at, &["trace", "analyze", "a.json", "--html", "notes.txt", "--force", "-q"]).ok();
    assert!(fs::read_to_string(at.join("notes.txt")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn files_of_datasets_and_runs_are_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    traces(at);
    run(at, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
    for file in ["tiny/samples.parquet", "tiny/networks/physical.parquet", "tiny/dataset.toml"] {
        let args = ["trace", "analyze", "a.json", "--html", file, "--force"];
        run(at, &args).fails(2, &["is a file of a dataset or a run"]);
    }
    run(at, &["profile", "tiny", "--model", "dango", "--html", "tiny/samples.parquet", "--force"])
        .fails(2, &["is a file of a dataset or a run"]);
    run(at, &["data", "verify", "tiny", "-q"]).ok();
}

#[cfg(unix)]
#[test]
fn devices_are_written_to() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    traces(at);
    run(at, &["trace", "analyze", "a.json", "--html", "/dev/null", "-q"]).ok();
    run(at, &["trace", "convert", "a.json", "/dev/null", "-q"]).ok();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    run(at, &["trace", "analyze", "a.json", "--html", "/dev/full", "-q"]).fails(1, &["/dev/full"]);
}

/// `… | head` closes its end: the verdict is the exit code all the same.
#[test]
fn a_reader_that_goes_away_changes_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cut.json"), &TRACE[..TRACE.len() - 1]).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("knockout"))
        .current_dir(folder.path())
        .args(["trace", "analyze", "cut.json", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

#[test]
fn absurd_sizes_are_refused_before_they_are_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &["-q", "--threads", "5000", "data", "synth", "tiny", "--preset", "tiny"]).ok();
    let train = |setting: &str, words: &[&str]| {
        for model in ["dango", "hetero"] {
            run(at, &["train", "tiny", "--model", model, "--max-steps", "1", "-q", setting]).fails(2, words);
        }
    };
    train("model.width=1000000", &["needs about", "available"]);
    train("model.width=9223372036854775807", &["model.width", "1048576"]);
    train("loader.depth=1000000000", &["loader.depth", "4096"]);
    train("batch=9223372036854775807", &["batch", "2147483647"]);
    let physical = "{name=\"physical\",lambda=1.0}";
    let twice = format!("model.networks=[{physical},{physical}]");
    run(at, &["train", "tiny", "--model", "dango", &twice]).fails(2, &["twice"]);
    for key in ["synth.metabolism.reactions", "synth.screen.samples", "synth.screen.query_pairs"] {
        let setting = format!("{key}=9223372036854775807");
        run(at, &["data", "synth", "other", "--preset", "tiny", &setting]).fails(2, &[&key[6..]]);
    }
    assert!(!at.join("runs").exists() && !at.join("other").exists());
}
