//! `train`, `evaluate RUN` and `profile` from the command line, on the tiny yeast.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

const SMALL: [&str; 4] = ["model.width=16", "--batch", "100", "-q"];

fn train(folder: &Path, out: &str, more: &[&str]) -> Value {
    let args: Vec<&str> = ["train", "tiny", "--model", "dango", "--json", "--out", out]
        .into_iter()
        .chain(SMALL)
        .chain(more.iter().copied())
        .collect();
    run(folder, &args).json()
}

#[test]
fn a_run_is_whole_and_can_be_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let trained = train(folder.path(), "run", &["--epochs", "2"]);
    assert_eq!((trained["step"].as_u64(), trained["epoch"].as_u64()), (Some(32), Some(1)));
    assert!(trained["val"]["pearson"].is_number() && trained["weights_hash"].is_string());
    let names = [
        "config.toml",
        "overrides.txt",
        "manifest.json",
        "metrics.jsonl",
        "checkpoints",
        "log.txt",
        "split.parquet",
        "report.html",
    ];
    for name in names {
        assert!(folder.path().join("run").join(name).exists(), "{name}");
    }
    let lines = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["weights_hash"], trained["weights_hash"]);

    let evaluated = run(folder.path(), &["evaluate", "run", "--json", "-q"]).json();
    let rows: Vec<&str> =
        evaluated["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(rows, ["run", "stack", "additive-ridge"]);
    // The file it left can be evaluated by itself, with the same figures.
    let again =
        run(folder.path(), &["evaluate", "--predictions", "run/predictions-test.parquet", "--json", "-q"])
            .json();
    assert_eq!(again["rows"][0]["pearson"], evaluated["rows"][0]["pearson"]);
}

#[test]
fn several_seeds_have_a_spread_and_an_ensemble() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for seed in ["1", "2", "3"] {
        train(folder.path(), &format!("seed-{seed}"), &["--epochs", "2", "--seed", seed]);
    }
    let runs = ["evaluate", "seed-1", "seed-2", "seed-3", "--resamples", "100"];
    let shown = run(folder.path(), &[&runs[..], &["--json", "-q"]].concat()).json();
    let rows = shown["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seed-1", "seed-2", "seed-3", "ensemble", "stack", "additive-ridge"]);

    let spread = shown["spread"].as_array().unwrap();
    let metrics: Vec<&str> = spread.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["pearson", "spearman", "mse", "rmse", "mae"]);
    for of in spread {
        assert_eq!((&of["name"], &of["over"]), (&"dango".into(), &"weights".into()));
        assert_eq!(of["seeds"], serde_json::json!([1, 2, 3]));
        let values: Vec<f64> =
            rows[..3].iter().map(|row| row[of["metric"].as_str().unwrap()].as_f64().unwrap()).collect();
        assert_eq!(of["values"], serde_json::json!(values));
        let mean = values.iter().sum::<f64>() / 3.0;
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        let [low, high] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick).unwrap());
        for (key, expected) in [("mean", mean), ("sd", sd), ("low", low), ("high", high)] {
            let found = of[key].as_f64().unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{key}: {found} {expected}");
        }
        assert!(sd > 0.0, "another seed gives another model: {of}");
    }
    // The error of a mean is below the mean of the errors.
    assert!(rows[3]["mse"].as_f64().unwrap() < spread[2]["mean"].as_f64().unwrap());
    let pairs: Vec<(&str, &str)> = (shown["comparisons"].as_array().unwrap().iter())
        .map(|pair| (pair["name"].as_str().unwrap(), pair["against"].as_str().unwrap()))
        .collect();
    let expected =
        ["seed-1", "seed-2", "seed-3", "ensemble"].map(|name| [(name, "stack"), (name, "additive-ridge")]);
    assert_eq!(pairs, expected.as_flattened());

    let text = run(folder.path(), &runs).ok().stdout;
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("spread of").contains("mean") && line("ensemble ").contains('['), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("dango ")).count(), 5, "{text}");

    // Alone, a run has neither.
    let alone = run(folder.path(), &["evaluate", "seed-1", "--json", "-q", "--resamples", "100"]).json();
    assert!(alone.get("spread").is_none());
    assert_eq!(alone["rows"], serde_json::json!([rows[0], rows[4], rows[5]]));
}

#[test]
fn runs_that_differ_in_more_than_the_seed_are_not_averaged() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    run(folder.path(), &["-q", "data", "synth", "other", "--preset", "tiny", "--seed", "9"]).ok();
    let one = ["--max-steps", "1", "--epochs", "1"];
    let make = |out: &str, more: &[&str]| {
        train(folder.path(), out, &[&one[..], more].concat());
    };
    make("first", &["--seed", "1"]);
    make("wide", &["--seed", "2", "model.width=32", "model.heads=2"]);
    make("split", &["--seed", "2", "split.seed=7", "--split", "gene-disjoint"]);
    make("again", &["--seed", "1", "run.checkpoint_every=3.0"]);
    train(folder.path(), "longer", &["--seed", "2", "--epochs", "2", "loader.depth=2"]);
    let hetero =
        ["train", "tiny", "--model", "hetero", "--out", "hetero", "--seed", "2", "-q", "model.layers=1"];
    run(folder.path(), &[&hetero[..], &["model.width=8"], &one].concat()).ok();
    let elsewhere = ["train", "other", "--model", "dango", "--out", "elsewhere", "--seed", "2"];
    run(folder.path(), &[&elsewhere[..], &SMALL, &one].concat()).ok();

    for (other, words) in [
        ("split", "split.scheme (\"random\" against \"gene-disjoint\"), split.seed (0 against 7)"),
        ("elsewhere", "dataset ("),
    ] {
        let refused = run(folder.path(), &["evaluate", "first", other]);
        let said = format!("first and {other} cannot be compared record by record: they differ in ");
        refused.fails(7, &[said.as_str(), words]);
        assert!(!folder.path().join("first/predictions-test.parquet").exists(), "refused before any work");
    }
    run(folder.path(), &["evaluate", "first", "again"]).fails(7, &["the same seed, 1"]);
    // Unlike runs of one dataset and split stand side by side, and are compared record by record.
    for other in ["wide", "hetero"] {
        let both = run(folder.path(), &["evaluate", "first", other, "--json", "-q", "--resamples", "50"]);
        let both = both.json();
        assert!(both.get("spread").is_none(), "{both}");
        let names: Vec<&Value> = both["rows"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["first", other, "stack", "additive-ridge"]);
        let first = &both["comparisons"][0];
        assert_eq!((&first["name"], &first["against"]), (&"first".into(), &other.into()));
    }
    // Length, saving and loading do not make another configuration; unlike lengths are mentioned.
    let ran = run(folder.path(), &["evaluate", "first", "longer", "--state", "last"]).ok();
    assert!(ran.stderr.contains("unlike numbers of epochs: first 1, longer 2"), "{}", ran.stderr);
}

#[test]
fn a_killed_run_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let steps = ["--max-steps", "300", "--epochs", "50"];
    let whole = train(folder.path(), "whole", &steps);
    let mut args = vec!["train", "tiny", "--model", "dango", "--out", "killed", "run.checkpoint_every=0"];
    args.extend(SMALL.into_iter().chain(steps));
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("knockout"))
        .current_dir(folder.path())
        .args(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoints = folder.path().join("killed/checkpoints");
    let deadline = Instant::now() + Duration::from_mins(1);
    // Killed after some steps, in the middle of whatever it is doing.
    while Instant::now() < deadline {
        let newest =
            fs::read_dir(&checkpoints).into_iter().flatten().flatten().map(|entry| entry.file_name()).max();
        if newest.is_some_and(|name| &*name.to_string_lossy() >= "last-000007") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = run(folder.path(), &["train", "--resume", "killed", "--json", "-q"]).json();
    assert_eq!(resumed["step"], 300);
    assert_eq!(resumed["weights_hash"], whole["weights_hash"]);
    let lines = fs::read_to_string(folder.path().join("killed/metrics.jsonl")).unwrap();
    let epochs: Vec<u64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["epoch"].as_u64().unwrap())
        .collect();
    assert!(epochs.is_sorted_by(|a, b| a < b), "no epoch twice: {epochs:?}");
}

#[cfg(unix)]
#[test]
fn a_signal_saves_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let mut args = vec!["train", "tiny", "--model", "dango", "--out", "run", "--epochs", "100000"];
    args.extend(&SMALL[..3]);
    let child = Command::new(assert_cmd::cargo::cargo_bin!("knockout"))
        .current_dir(folder.path())
        .args(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let metrics = folder.path().join("run/metrics.jsonl");
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline && fs::metadata(&metrics).map_or(0, |found| found.len()) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    assert!(String::from_utf8_lossy(&output.stderr).contains("knockout train --resume run"));
    // Nothing is predicted for the page of a run that was stopped: for a large model that takes minutes.
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("Stopped before its end") && page.contains("validation Pearson"));
    assert!(!page.contains("Validation part, last state"));
    run(folder.path(), &["train", "--resume", "run", "--max-time", "0s", "-q"]).fails(8, &["--resume run"]);
}

#[test]
fn a_diverging_run_has_its_own_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let args =
        ["train", "tiny", "--model", "dango", "-q", "optimiser.learning_rate=1e30", "optimiser.clip_norm=0"];
    run(folder.path(), &args).fails(4, &["diverged", "is not finite"]);
}

#[test]
fn bad_requests_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let refused = |args: &[&str], expected: &str| {
        run(folder.path(), args).fails(2, &[expected]);
    };
    refused(
        &["train", "tiny", "--model", "dango", "optimiser.learning_rte=1"],
        "did you mean \"optimiser.learning_rate\"",
    );
    refused(
        &["train", "tiny", "--model", "dango", "model.networks=[{name=\"telepathy\",lambda=1.0}]"],
        "no network \"telepathy\"",
    );
    refused(&["train", "tiny", "--model", "dango", "model.networks=[]"], "no network is configured");
    refused(&["train", "tiny", "--model", "dango", "model.heads=3"], "model.width");
    refused(&["train", "tiny", "--model", "dango", "split.val=0.0"], "val");
    refused(&["train", "--resume", "nowhere"], "not a run directory");
    refused(&["evaluate", "nowhere"], "not a run directory");
    refused(&["profile", "tiny", "--model", "dango", "--steps", "10", "--wait", "20", "--active", "5"], "25");
    assert!(!folder.path().join("runs").exists(), "a refused run leaves nothing behind");
    train(folder.path(), "run", &["--epochs", "1"]);
    refused(&["train", "tiny", "--model", "dango", "--out", "run"], "exists already");
    refused(&["train", "--resume", "run", "model.width=32"], "width");
}

#[test]
fn a_models_configuration_can_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let shown = run(
        folder.path(),
        &["config", "show", "--model", "dango", "--data", "tiny", "model.width=32", "--json"],
    )
    .json();
    assert_eq!((&shown["model"]["name"], &shown["model"]["width"]), (&"dango".into(), &32.into()));
    assert!(
        shown["model"]["networks"].as_array().unwrap().iter().all(|network| network["lambda"].is_number())
    );
    run(folder.path(), &["config", "show", "--model", "dango"]).fails(2, &["--data"]);
}

#[test]
fn a_damaged_checkpoint_offers_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    train(folder.path(), "run", &["--epochs", "3"]);
    let checkpoints = folder.path().join("run/checkpoints");
    let newest = fs::read_dir(&checkpoints)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("last-")))
        .max()
        .unwrap();
    let weights = newest.join("weights.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&weights, bytes).unwrap();
    run(folder.path(), &["train", "--resume", "run", "--epochs", "4"]).fails(3, &["damaged", "last-000002"]);
}

#[test]
fn a_profile_adds_up_and_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (mode, phases) in [("data", 0), ("full", 5)] {
        let out = format!("p-{mode}");
        let args = [
            "profile", "tiny", "--model", "dango", "--mode", mode, "--steps", "4", "--json", "-q", "--out",
            &out,
        ];
        let profile = run(folder.path(), &args).json();
        assert_eq!(profile["steps"], 4);
        let rows = profile["phases"].as_array().unwrap();
        let sum: f64 = rows.iter().map(|row| row["wall_s"].as_f64().unwrap()).sum();
        let step = profile["wall_s_per_step"].as_f64().unwrap();
        assert!((sum - step).abs() <= 0.01 * step, "{sum} {step}");
        let named = ["forward", "loss", "backward", "clip", "optimiser"];
        assert_eq!(
            rows.iter().filter(|row| named.contains(&row["name"].as_str().unwrap())).count(),
            phases,
            "{mode}"
        );
    }
    run(folder.path(), &["trace", "analyze", "p-full/trace.json.gz", "-q"]).ok();
    run(folder.path(), &["compare", "p-data", "p-full", "-q"]).fails(7, &["mode"]);
    run(folder.path(), &["compare", "p-data", "p-full", "--vary", "mode", "-q"]).ok();
}
