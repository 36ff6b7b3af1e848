//! Symbolic links inside folders that knockout writes are refused and never written through.

#![cfg(all(feature = "lab", unix))]

use crate::support::Home;
use std::fs;
use std::os::unix::fs::symlink;

/// Adds files of the user that a link could lead to.
fn with_notes(home: Home) -> Home {
    fs::create_dir(home.path("mine")).unwrap();
    home.write("mine/notes.txt", "precious");
    home
}

/// Puts a link to `target` in place of `name`; expects the command to refuse it and to leave the target alone.
fn refuses(home: &Home, name: &str, target: &str, command: &str) {
    let path = home.path(name);
    if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.ok();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(home.path(target), &path).unwrap();
    let words = format!("{name} is a symbolic link; knockout does not follow links inside ");
    home.fails(command, 3, &[&words]);
    assert_eq!(home.content("mine"), [("notes.txt".into(), b"precious".to_vec())], "{name} was followed");
    assert!(path.is_symlink(), "{name} was replaced");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_run_is_not_written_through_links() {
    let home = with_notes(Home::with_runs(&["seed-0"]));
    let resume = "-q train --resume seed-0";
    refuses(&home, "seed-0/predictions-test.parquet", "mine/notes.txt", "-q evaluate seed-0");
    refuses(&home, "seed-0/log.txt", "mine/notes.txt", resume);
    refuses(&home, "seed-0/report.html", "mine/notes.txt", resume);
    refuses(&home, "seed-0/checkpoints", "mine", resume);
    // Without a checkpoint the metrics begin anew, and what the file has is cut off.
    fs::create_dir(home.path("seed-0/checkpoints")).unwrap();
    refuses(&home, "seed-0/metrics.jsonl", "mine/notes.txt", resume);
}

#[test]
fn the_folder_that_a_user_names_may_be_a_link() {
    let home = Home::with_runs(&["seed-0"]);
    symlink("seed-0", home.path("link")).unwrap();
    home.ok("-q train --resume link");
}

#[test]
fn the_stack_kept_in_a_run_is_not_written_through_a_link() {
    let home = with_notes(Home::with_runs(&["seed-0"]));
    let evaluate = "-q evaluate seed-0 --resamples 20";
    home.ok(evaluate);
    let stack = home.names("seed-0").into_iter().find(|name| name.starts_with("stack-")).unwrap();
    refuses(&home, &format!("seed-0/{stack}"), "mine/notes.txt", evaluate);
}

#[test]
fn the_state_of_solving_is_not_written_through_a_link() {
    let home = with_notes(Home::with_tiny());
    home.ok("-q train tiny --model low-rank residuals.folds=2 --out run");
    // As if it had been killed before its end.
    fs::remove_dir_all(home.path("run/checkpoints")).unwrap();
    fs::create_dir(home.path("run/checkpoints")).unwrap();
    refuses(&home, "run/solving", "mine", "-q train --resume run");
    refuses(&home, "run/solving/fold-1.tensors", "mine/notes.txt", "-q train --resume run");
}

#[test]
fn predictions_are_not_written_through_links() {
    let home = with_notes(Home::with_runs(&["seed-0"]));
    let predict = "-q predict seed-0 --pairs --full --top 3 --csv --out out";
    home.ok(predict);
    for name in ["out/predictions.csv", "out/top.csv"] {
        refuses(&home, name, "mine/notes.txt", predict);
    }
    refuses(&home, "out/predictions", "mine", predict);
}

#[test]
fn a_benchmark_is_not_written_through_links() {
    let home = with_notes(Home::with_tiny());
    let benchmark = "-q benchmark tiny --split random --models additive-ridge --resamples 20 --out out";
    home.ok(benchmark);
    for name in ["out/table.md", "out/table.json", "out/report.html"] {
        refuses(&home, name, "mine/notes.txt", benchmark);
    }
    for name in ["out/tiny/random-0", "out/tiny"] {
        refuses(&home, name, "mine", benchmark);
    }
}

#[test]
fn a_sweep_is_not_written_through_links() {
    let home = with_notes(Home::with_tiny());
    let sweep = "-q sweep tiny --model dango model.width=4 epochs=1 --budget 1s --out out";
    refuses(&home, "out/report.html", "mine/notes.txt", sweep);
}

#[test]
fn a_store_is_not_written_through_links() {
    let home = with_notes(Home::with_tiny());
    let precompute = "-q data precompute tiny --indices";
    refuses(&home, "tiny/saved-indices/lock.mdb", "mine/notes.txt", precompute);
    fs::remove_dir(home.path("tiny/saved-indices")).unwrap();
    refuses(&home, "tiny/saved-indices", "mine", precompute);
}
