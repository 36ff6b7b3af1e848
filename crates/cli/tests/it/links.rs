//! Symbolic links inside folders that knockout writes: refused, and never written through.

#![cfg(all(feature = "lab", unix))]

use crate::support::{content, run_in as run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const DANGO: [&str; 8] = ["-q", "train", "tiny", "--model", "dango", "model.width=8", "--batch", "200"];

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
    fs::create_dir(folder.join("mine")).unwrap();
    fs::write(folder.join("mine/notes.txt"), "precious").unwrap();
}

/// Puts a link to `target`, relative to `folder`, in place of `name`; expects `command` to refuse it and to leave the target alone.
fn refuses(folder: &Path, name: &str, target: &str, command: &[&str]) {
    let path = folder.join(name);
    if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.ok();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(folder.join(target), &path).unwrap();
    run(folder, command)
        .fails(3, &[&format!("{name} is a symbolic link; knockout does not write through links inside ")]);
    let kept = [("notes.txt".into(), b"precious".to_vec())];
    assert_eq!(content(&folder.join("mine")), kept, "{name} was followed");
    assert!(path.is_symlink(), "{name} was replaced");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_run_is_not_written_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    run(folder, &[&DANGO[..], &["--epochs", "1", "--out", "run"]].concat()).ok();
    let resume = ["-q", "train", "--resume", "run"];
    refuses(folder, "run/predictions-test.parquet", "mine/notes.txt", &["-q", "evaluate", "run"]);
    refuses(folder, "run/log.txt", "mine/notes.txt", &resume);
    refuses(folder, "run/report.html", "mine/notes.txt", &resume);
    refuses(folder, "run/checkpoints", "mine", &resume);
    // Without a checkpoint the metrics begin anew, and what the file has is cut off.
    fs::create_dir(folder.join("run/checkpoints")).unwrap();
    refuses(folder, "run/metrics.jsonl", "mine/notes.txt", &resume);
    // The folder that a user names may be a link.
    symlink("run", folder.join("link")).unwrap();
    run(folder, &["-q", "train", "--resume", "link"]).ok();
}

#[test]
fn the_stack_kept_in_a_run_is_not_written_through_a_link() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    run(folder, &[&DANGO[..], &["--max-steps", "1", "--out", "run"]].concat()).ok();
    let evaluate = ["-q", "evaluate", "run", "--resamples", "20"];
    run(folder, &evaluate).ok();
    let names = content(&folder.join("run")).into_iter().map(|(path, _)| path.display().to_string());
    let stack = names.into_iter().find(|name| name.starts_with("stack-")).unwrap();
    refuses(folder, &format!("run/{stack}"), "mine/notes.txt", &evaluate);
}

#[test]
fn the_state_of_solving_is_not_written_through_a_link() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    let train = ["-q", "train", "tiny", "--model", "low-rank", "residuals.folds=2", "--out", "run"];
    run(folder, &train).ok();
    // As if it had been killed before its end.
    fs::remove_dir_all(folder.join("run/checkpoints")).unwrap();
    fs::create_dir(folder.join("run/checkpoints")).unwrap();
    let resume = ["-q", "train", "--resume", "run"];
    refuses(folder, "run/solving", "mine", &resume);
    refuses(folder, "run/solving/fold-1.tensors", "mine/notes.txt", &resume);
}

#[test]
fn predictions_are_not_written_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    run(folder, &[&DANGO[..], &["--max-steps", "1", "--out", "run"]].concat()).ok();
    let predict = ["-q", "predict", "run", "--pairs", "--full", "--top", "3", "--csv", "--out", "out"];
    run(folder, &predict).ok();
    for name in ["out/predictions.csv", "out/top.csv"] {
        refuses(folder, name, "mine/notes.txt", &predict);
    }
    refuses(folder, "out/predictions", "mine", &predict);
}

#[test]
fn a_benchmark_is_not_written_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    let benchmark = [
        "-q",
        "benchmark",
        "tiny",
        "--split",
        "random",
        "--models",
        "additive-ridge",
        "--resamples",
        "20",
        "--out",
        "out",
    ];
    run(folder, &benchmark).ok();
    for name in ["out/table.md", "out/table.json", "out/report.html"] {
        refuses(folder, name, "mine/notes.txt", &benchmark);
    }
    for name in ["out/tiny/random-0", "out/tiny"] {
        refuses(folder, name, "mine", &benchmark);
    }
}

#[test]
fn a_sweep_is_not_written_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    let sweep = [
        "-q",
        "sweep",
        "tiny",
        "--model",
        "dango",
        "model.width=4",
        "epochs=1",
        "--budget",
        "1s",
        "--out",
        "out",
    ];
    refuses(folder, "out/report.html", "mine/notes.txt", &sweep);
}

#[test]
fn a_store_is_not_written_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    let precompute = ["-q", "data", "precompute", "tiny", "--indices"];
    refuses(folder, "tiny/saved-indices/lock.mdb", "mine/notes.txt", &precompute);
    fs::remove_dir(folder.join("tiny/saved-indices")).unwrap();
    refuses(folder, "tiny/saved-indices", "mine", &precompute);
}
