//! Outputs replace outputs of their kind and nothing else; verdicts survive a reader that goes away.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Whatever a command writes, it makes the folders that it lies in, as `mkdir -p` does.
#[test]
fn folders_above_an_output_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    traces(at);
    let set = "sets/yeast/tiny";
    run(at, &["-q", "data", "synth", set, "--preset", "tiny"]).ok();
    fs::write(at.join("screen.tsv"), "gene_a\tgene_b\tscore\nA\tB\t0.5\nA\tC\t-0.5\n").unwrap();
    let dango = ["--model", "dango", "model.width=8", "--batch", "200"];
    let train = [&["train", set], &dango[..], &["--max-steps", "1", "--out", "a/b/run"]].concat();
    let profile =
        [&["profile", set], &dango[..], &["--steps", "1", "--no-trace", "--out", "c/d/profile"]].concat();
    let experiment =
        ["experiment", set, "--models", "dango", "--modes", "data", "--rounds", "1", "--steps", "1"];
    let experiment =
        [&experiment[..], &["--warmup", "0", "--batch", "50", "--out", "e/f/experiment"]].concat();
    let bench = ["benchmark", set, "--split", "random", "--models", "additive-ridge", "--resamples", "20"];
    let sweep = ["sweep", set, "--model", "dango", "model.width=4,8", "epochs=1", "--budget", "10s"];
    for (command, made) in [
        (&["data", "import", "g/h/set", "--screen", "screen.tsv"][..], "g/h/set/dataset.toml"),
        (&["data", "split", set, "--out", "i/j/split.parquet"], "i/j/split.parquet"),
        (&["data", "precompute", set, "--indices", "--samples", "20", "--out", "k/l/store"], "k/l/store"),
        (&["baseline", set, "--resamples", "20", "--out", "m/n/ladder"], "m/n/ladder/stack.parquet"),
        (&train, "a/b/run/manifest.json"),
        (&profile, "c/d/profile/profile.json"),
        (&experiment, "e/f/experiment/report.json"),
        (&[&bench[..], &["--out", "o/p/bench"]].concat(), "o/p/bench/table.json"),
        (&[&sweep[..], &["--out", "q/r/sweep"]].concat(), "q/r/sweep/report.html"),
        (&["runs", "a", "--html", "s/t/runs.html"], "s/t/runs.html"),
        (
            &["predict", "a/b/run", "--pairs", "--top", "2", "--out", "u/v/hits", "--html", "w/x/hits.html"],
            "w/x/hits.html",
        ),
        (
            &["trace", "analyze", "a.json", "--html", "y/z/page.html", "--collapsed", "1/2/stacks.txt"],
            "1/2/stacks.txt",
        ),
        (&["trace", "compare", "a.json", "b.json", "--html", "3/4/page.html"], "3/4/page.html"),
        (&["trace", "convert", "a.json", "5/6/b.json.gz"], "5/6/b.json.gz"),
        (&["man", "--out", "7/8"], "7/8/knockout.1"),
    ] {
        run(at, &[command, &["-q"]].concat()).ok();
        assert!(at.join(made).exists(), "{command:?} made no {made}");
    }
    // A file in the way stays, and is named.
    run(at, &["data", "synth", "a.json/b/set", "--preset", "tiny"]).fails(2, &["a.json", "not a folder"]);
    run(at, &["trace", "analyze", "b.json", "--html", "a.json/page.html"])
        .fails(2, &["a.json", "not a folder"]);
    assert_eq!(fs::read_to_string(at.join("a.json")).unwrap(), TRACE);
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
