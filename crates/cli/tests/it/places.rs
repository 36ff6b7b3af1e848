//! Places that are awkward: paths that are not UTF-8, and places that several processes want at once. One of them gets it, the others
//! exit 2 and change nothing.
#![cfg(target_os = "linux")]

use crate::support::run_in;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knockout");

/// A name that no text has.
fn odd() -> &'static OsStr {
    OsStr::from_bytes(b"d\xFF\xFE")
}

fn run(folder: &Path, args: &[&OsStr]) -> Output {
    Command::new(PROGRAM).current_dir(folder).args(args).output().unwrap()
}

fn words<'a>(before: &[&'a str], path: &'a OsStr, behind: &[&'a str]) -> Vec<&'a OsStr> {
    let text = |words: &[&'a str]| words.iter().map(|word| OsStr::new(*word)).collect::<Vec<_>>();
    [text(before), vec![path], text(behind)].concat()
}

#[test]
fn a_dataset_may_lie_where_no_text_leads() {
    let folder = tempfile::tempdir().unwrap();
    let ok = |before: &[&str], behind: &[&str]| {
        let output = run(folder.path(), &words(before, odd(), behind));
        assert!(output.status.success(), "{before:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    ok(&["data", "synth"], &["--preset", "tiny", "-q"]);
    ok(&["data", "verify"], &["-q"]);
    ok(&["data", "show"], &["--json"]);
    ok(&["data", "split"], &["--out", "split.parquet", "-q"]);
    ok(&["data", "precompute"], &["--masks", "-q"]);
    assert!(folder.path().join(odd()).join("dataset.toml").is_file());
    // A run writes down where its dataset is, in text: better refused than lost.
    let run = run(
        folder.path(),
        &words(&["train"], odd(), &["--model", "dango", "--max-steps", "1", "--out", "run"]),
    );
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        run.status.code() == Some(2) && said.contains("is not UTF-8") && said.contains("rename it"),
        "{said}"
    );
    assert!(!folder.path().join("run").exists());
}

/// Runs the same command several times at once; gives how many lost.
fn race(folder: &Path, args: &[&str]) -> usize {
    let start = |_| {
        let mut command = Command::new(PROGRAM);
        command.current_dir(folder).args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    let ends: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let winners = ends.iter().filter(|end| end.status.success()).count();
    assert!(winners >= 1, "{args:?}: nobody won");
    for end in ends.iter().filter(|end| !end.status.success()) {
        assert_eq!(end.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&end.stderr));
    }
    ends.len() - winners
}

fn nothing_hidden(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.as_bytes().starts_with(b"."), "{} stays", name.display());
    }
}

#[test]
fn losers_of_a_race_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(race(at, &["data", "synth", "set", "--preset", "tiny", "-q"]), 3, "one dataset, one maker");
    run_in(at, &["data", "verify", "set", "-q"]).ok();
    nothing_hidden(at);
    let train = [
        "train",
        "set",
        "--model",
        "dango",
        "--batch",
        "200",
        "--max-steps",
        "12",
        "-q",
        "model.width=8",
        "--out",
    ];
    assert_eq!(race(at, &[&train[..], &["run"]].concat()), 3, "one run, one beginner");
    // Who comes after the end finds nothing to do: only who comes meanwhile loses.
    race(at, &["train", "--resume", "run", "--max-steps", "24", "-q"]);
    run_in(at, &[&train[..], &["alone"]].concat()).ok();
    run_in(at, &["train", "--resume", "alone", "--max-steps", "24", "-q"]).ok();
    let last = |run: &str| {
        let lines = std::fs::read_to_string(at.join(run).join("metrics.jsonl")).unwrap();
        lines.lines().map(|line| line.split(",\"times\":").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(last("run"), last("alone"), "what the winners trained is what one alone trains");
    race(at, &["data", "precompute", "set", "--masks", "-q"]);
    run_in(at, &["data", "verify", "set", "-q"]).ok();
}
