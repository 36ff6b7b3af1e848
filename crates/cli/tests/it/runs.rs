//! `knockout runs`, and `knockout compare` of trained runs.

#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use std::fs;

/// Runs of every state in the folder `runs`.
fn home() -> Home {
    let home = Home::with_runs(&["seed-0", "stack"]);
    fs::create_dir_all(home.path("runs/deeper")).unwrap();
    for (from, to) in [("seed-0", "runs/narrow"), ("stack", "runs/solved")] {
        fs::rename(home.path(from), home.path(to)).unwrap();
    }
    let train = "-q train tiny --model dango --batch 200 --epochs 2";
    home.ok(&format!("{train} --out runs/deeper/wide model.width=32 --seed 1"));
    home.ok(&format!("{train} --out runs/other model.width=16 split.seed=5"));
    for name in ["unknown-model", "empty", "broken", "stopped"] {
        fs::create_dir(home.path(&format!("runs/{name}"))).unwrap();
        for file in ["manifest.json", "config.toml", "metrics.jsonl"] {
            fs::copy(home.path(&format!("runs/narrow/{file}")), home.path(&format!("runs/{name}/{file}")))
                .unwrap();
        }
    }
    let config = home.read("runs/narrow/config.toml");
    let unknown =
        config.replace("name = \"dango\"", "name = \"telepathy\"").replace("epochs = 2", "epochs = 7");
    home.write("runs/unknown-model/config.toml", unknown);
    home.write("runs/empty/metrics.jsonl", "");
    // Stopped in its first epoch: nothing was validated, but there is a checkpoint to resume from.
    home.write("runs/stopped/metrics.jsonl", "");
    fs::create_dir_all(home.path("runs/stopped/checkpoints/last-000001")).unwrap();
    home.write("runs/broken/manifest.json", "{");
    home
}

#[test]
fn all_runs_below_a_folder_are_listed_with_their_states() {
    let home = home();
    let ran = home.ok("runs runs --json --html runs.html").warns(&["left out runs/broken"]);
    let listed = ran.json();
    let names = ["deeper/wide", "empty", "narrow", "other", "solved", "stopped", "unknown-model"];
    assert_eq!(texts(&listed["runs"], "folder"), names.map(|name| format!("runs/{name}")));
    let models = ["dango", "dango", "dango", "dango", "stack", "dango", "telepathy"];
    assert_eq!(texts(&listed["runs"], "model"), models);
    let states = ["done", "empty", "done", "done", "done", "unfinished", "unfinished"];
    assert_eq!(texts(&listed["runs"], "state"), states);
    assert!(listed["runs"][0]["cpu_seconds"].as_f64().unwrap() > 0.0);
    let page = home.read("runs.html");
    for part in ["Validation Pearson", "deeper/wide", "telepathy"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn runs_are_sorted_by_their_best_figure() {
    let home = home();
    let text = home.ok("runs runs --sort best -q").prints(&["are not comparable"]).stdout;
    let best: Vec<f64> = text
        .lines()
        .filter_map(|line| {
            let has_four_decimals =
                |word: &&str| word.split_once('.').is_some_and(|(_, after)| after.len() == 4);
            line.split_whitespace().find(has_four_decimals)?.parse().ok()
        })
        .collect();
    assert!(best.len() == 5 && best.is_sorted_by(|a, b| a >= b), "{text}");
}

#[test]
fn two_trained_runs_are_compared_by_their_settings() {
    let home = home();
    let compared = home.json("compare runs/narrow runs/deeper/wide --json");
    assert_eq!((&compared["kind"], &compared["comparable"]), (&"trained".into(), &true.into()));
    assert_eq!(texts(&compared["settings"], "key"), ["model.width", "seed"]);
    home.ok("compare runs/narrow runs/deeper/wide")
        .prints(&["best validation Pearson, by", "next: knockout evaluate"]);
}

#[test]
fn runs_on_different_records_are_not_comparable() {
    let home = home();
    home.fails("compare runs/narrow runs/other", 7, &["different records"]);
    home.fails("compare runs/narrow runs/other --fail-above 1.1", 2, &["these were trained"]);
}

#[test]
fn a_folder_that_is_missing_is_2() {
    Home::empty().fails("runs nowhere", 2, &["nowhere is not a folder"]);
}

#[test]
fn a_comparison_names_the_folder_that_is_missing_or_of_another_kind() {
    let home = Home::with_runs(&["stack"]);
    home.fails("compare stack nowhere", 2, &["nowhere does not exist"]);
    fs::create_dir(home.path("empty")).unwrap();
    home.fails("compare empty stack", 2, &["stack was trained and empty was not"]);
}
