//! `knockout train --resume` and runs that moved.

#![cfg(feature = "lab")]

use crate::support::Home;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn a_killed_run_resumes_to_the_same_weights() {
    let home = Home::with_tiny();
    let train = "train tiny --model dango model.width=16 --batch 100 --max-steps 60 --epochs 50 -q";
    home.ok(&format!("{train} --out whole"));
    let mut child = home.start(&format!("{train} --out killed run.checkpoint_every=0"));
    // Killed after some steps, in the middle of whatever it is doing.
    let deadline = Instant::now() + Duration::from_mins(1);
    let newest =
        || fs::read_dir(home.path("killed/checkpoints")).ok()?.flatten().map(|entry| entry.file_name()).max();
    while Instant::now() < deadline && newest().is_none_or(|name| &*name.to_string_lossy() < "last-000007") {}
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(home.json("train --resume killed --json -q")["step"], 60);
    assert_eq!(home.weights("killed"), home.weights("whole"));
    let epochs: Vec<u64> =
        home.metrics("killed").iter().map(|line| line["epoch"].as_u64().unwrap()).collect();
    assert!(epochs.is_sorted_by(|a, b| a < b), "no epoch twice: {epochs:?}");
}

#[test]
fn a_run_that_was_stopped_is_continued_to_more_epochs() {
    let home = Home::with_tiny();
    home.ok("train tiny --model dango --out run model.width=16 --batch 200 --epochs 3 --max-steps 8 -q");
    home.ok("evaluate run --resamples 50").warns(&["predicted by state"]);
    home.ok("train --resume run --max-steps 0 --epochs 4 -q");
    let listed = &home.json("runs . --json")["runs"][0];
    assert_eq!((&listed["epochs"], &listed["epochs_wanted"]), (&4.into(), &4.into()));
}

#[test]
fn resuming_refuses_another_width() {
    Home::with_runs(&["seed-0"]).fails("train --resume seed-0 model.width=32", 2, &["width"]);
}

#[test]
fn resuming_refuses_a_folder_without_a_run() {
    Home::empty().fails("train --resume nowhere", 2, &["not a run directory"]);
}

#[test]
fn a_damaged_checkpoint_is_3_and_names_the_one_before() {
    let home = Home::with_runs(&["seed-0"]);
    let mut names = home.names("seed-0/checkpoints");
    names.retain(|name| name.starts_with("last-"));
    let weights = format!("seed-0/checkpoints/{}/weights.safetensors", names.pop().unwrap());
    let mut bytes = fs::read(home.path(&weights)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    home.write(&weights, bytes);
    home.fails("train --resume seed-0 --epochs 4", 3, &["damaged", &names.pop().unwrap()]);
}

/// A run whose dataset is in another folder now.
fn moved() -> Home {
    let home = Home::with_tiny();
    home.ok("train tiny --model dango --out run model.width=16 --batch 200 --epochs 1 -q");
    fs::create_dir(home.path("elsewhere")).unwrap();
    for name in ["tiny", "run"] {
        fs::rename(home.path(name), home.path("elsewhere").join(name)).unwrap();
    }
    home
}

#[test]
fn a_dataset_that_moved_is_named_with_data() {
    let home = moved();
    for command in ["evaluate elsewhere/run", "train --resume elsewhere/run"] {
        home.fails(command, 2, &["is gone", "--data DIR"]);
    }
    home.fails("train elsewhere/tiny --resume elsewhere/run", 2, &["write --data elsewhere/tiny"]);
    let evaluated = home.json("evaluate elsewhere/run --data elsewhere/tiny --json -q --resamples 50");
    assert_eq!(evaluated["rows"][0]["name"], "run");
    let resumed = home.json("train --resume elsewhere/run --data elsewhere/tiny --epochs 2 --json -q");
    assert_eq!(resumed["epoch"], 1);
}

#[test]
fn another_dataset_is_refused_by_its_contents() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok("-q data synth other --preset tiny --seed 3");
    for command in ["evaluate seed-0", "train --resume seed-0"] {
        home.fails(&format!("{command} --data other"), 2, &["its contents differ"]);
    }
}
