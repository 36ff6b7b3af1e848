//! `knockout data precompute` as a user runs it: foretold, resumable, and nothing lost.
#![cfg(feature = "lab")]

use crate::support::run_in;
use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn tiny(folder: &Path, name: &str, samples: &str, seed: &str) {
    let args = ["data", "synth", name, "--preset", "tiny", "--samples", samples, "--seed", seed];
    // More query pairs than the preset has, so that there can be more samples.
    let args = [&args[..], &["synth.screen.query_pairs=250"]].concat();
    run_in(folder, &args).ok();
}

fn start(folder: &Path, args: &[&str]) -> Child {
    Command::new(cargo_bin!("knockout"))
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn length_of(store: &Path) -> u64 {
    fs::metadata(store.join("data.mdb")).map_or(0, |metadata| metadata.len())
}

/// Waits until the store is longer than it was, or the program has ended.
fn wait_for_growth(child: &mut Child, store: &Path, before: u64) {
    let started = Instant::now();
    while length_of(store) <= before
        && child.try_wait().unwrap().is_none()
        && started.elapsed().as_secs() < 60
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn stores_are_foretold_made_and_measured_beside_the_others() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "500", "0");
    let bench = ["data", "bench", "set", "--batch", "7", "--samples", "20", "--threads", "1"];
    let left_out = run_in(folder.path(), &bench).ok().stderr;
    for word in
        ["saved-masks is left out", "saved-indices is left out", "precompute set --masks --samples 20"]
    {
        assert!(left_out.contains(word), "{word:?} is not in {left_out}");
    }

    let dry = run_in(folder.path(), &["data", "precompute", "set", "--masks", "--dry-run"]).ok();
    for word in ["bit masks of 500 samples will take", "are free; about", "measured on"] {
        assert!(dry.stderr.contains(word), "{word:?} is not in {}", dry.stderr);
    }
    assert!(!folder.path().join("set/saved-masks").exists());

    let made = run_in(folder.path(), &["data", "precompute", "set", "--masks", "--json"]).json();
    assert_eq!(
        (&made["samples"], &made["done"], &made["complete"]),
        (&500.into(), &500.into(), &true.into())
    );
    let ratio = made["bytes"].as_f64().unwrap() / made["estimated_bytes"].as_f64().unwrap();
    assert!((0.7..1.1).contains(&ratio), "{made}");
    assert!(made["estimated_seconds"].as_f64().unwrap() > 0.0);
    let again = run_in(folder.path(), &["data", "precompute", "set", "--masks"]).ok().stdout;
    assert!(again.contains("is complete already"), "{again}");

    run_in(folder.path(), &["data", "precompute", "set", "--indices", "--samples", "20"]).ok();
    let bytes = ["data", "precompute", "set", "--masks", "--bytes", "--samples", "20", "--out", "byte-masks"];
    run_in(folder.path(), &bytes).ok();
    let measured = run_in(folder.path(), &[&bench[..], &["--json"]].concat()).json();
    let rows = measured["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["processor"].as_str().unwrap()).collect();
    let all =
        ["perturbation", "mask", "resident-mask", "saved-indices", "saved-masks", "subgraph", "neighborhood"];
    assert_eq!(names, all);
    assert_eq!(rows[1]["bytes_per_sample"], rows[4]["bytes_per_sample"]);
    let named = [&bench[..], &["--processor", "saved-masks", "--store", "byte-masks", "--json"]].concat();
    assert_eq!(run_in(folder.path(), &named).json()["rows"].as_array().unwrap().len(), 1);
    run_in(folder.path(), &["data", "verify", "set"]).ok();
}

#[test]
fn kill_9_at_any_moment_leaves_a_store_that_goes_on_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "20000", "0");
    for what in ["--masks", "--indices"] {
        let whole = ["data", "precompute", "set", what, "--out", "whole", "--json"];
        let whole = run_in(folder.path(), &whole).json();
        let args = ["data", "precompute", "set", what, "--out", "killed", "-q"];
        let (mut killed, mut in_the_middle, mut done) = (0, 0, 0);
        while done < 20_000 && killed < 24 {
            let before = length_of(&folder.path().join("killed"));
            let mut child = start(folder.path(), &args);
            // Some are killed before they write, the others at all distances behind a transaction.
            if killed % 4 > 0 {
                wait_for_growth(&mut child, &folder.path().join("killed"), before);
            }
            std::thread::sleep(Duration::from_micros(killed * 1_700 % 23_000));
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            let look = ["data", "precompute", "set", what, "--out", "killed", "--dry-run", "--json"];
            let now = run_in(folder.path(), &look).json()["done"].as_u64().unwrap();
            assert!(now >= done, "{done} samples were stored and {now} are left");
            in_the_middle += u64::from(now > done && now < 20_000);
            done = now;
        }
        println!("{what}: killed {killed} times, {in_the_middle} of them in the middle, up to sample {done}");
        assert!(in_the_middle > 0, "no run was killed in the middle");
        let args = ["data", "precompute", "set", what, "--out", "killed", "--json"];
        let resumed = run_in(folder.path(), &args).json();
        assert_eq!(resumed["complete"], true);
        assert_eq!(resumed["content_hash"], whole["content_hash"]);
        let bench =
            ["data", "bench", "set", "--processor", "saved-masks", "--store", "killed", "--samples", "20000"];
        if what == "--masks" {
            // Every value is read and its checksum verified.
            run_in(folder.path(), &bench).ok();
        }
        for name in ["whole", "killed"] {
            fs::remove_dir_all(folder.path().join(name)).unwrap();
        }
    }
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["set"], "what killed probes left is gone");
}

#[test]
fn ctrl_c_saves_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "30000", "0");
    let store = folder.path().join("set/saved-masks");
    let args = ["data", "precompute", "set", "--masks", "--json"];
    let mut child = Command::new(cargo_bin!("knockout"))
        .args(args)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_growth(&mut child, &store, 100_000);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(8), "{message}");
    assert!(message.contains("run the same command again to resume"), "{message}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["complete"], false);
    run_in(folder.path(), &["data", "bench", "set", "--processor", "saved-masks"])
        .fails(2, &["it is unfinished", "again to resume"]);
    let resumed = run_in(folder.path(), &args).json();
    assert_eq!(resumed["done_before"], said["done"]);
    assert_eq!(resumed["complete"], true);
}

/// The hash of the weights after the last epoch of a run.
fn weights_of(run: &Path) -> String {
    let lines = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    last["weights_hash"].as_str().unwrap().to_owned()
}

#[test]
fn runs_read_stores_and_become_the_same() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "300", "0");
    let run = |args: &[&str]| run_in(folder.path(), args);
    run(&["-q", "data", "precompute", "set", "--indices"]).ok();
    run(&["-q", "data", "precompute", "set", "--masks", "--out", "elsewhere"]).ok();
    let train = |out: &str, keys: &[&str]| {
        let args = ["train", "set", "--model=dango", "--max-steps", "4", "--batch", "50", "-q", "--out", out];
        run(&[&args, keys].concat()).ok();
        weights_of(&folder.path().join(out))
    };
    let plain = train("plain", &[]);
    assert_eq!(train("indices", &["loader.processor=saved-indices", "loader.threads=2"]), plain);
    assert_eq!(train("masks", &["loader.processor=saved-masks", "loader.store=elsewhere"]), plain);
    // Gone on with by another processor, and by the same one.
    run(&["-q", "train", "--resume", "indices", "--max-steps", "8"]).ok();
    run(&["-q", "train", "--resume", "plain", "--max-steps", "8", "loader.processor=saved-indices"]).ok();
    assert_eq!(weights_of(&folder.path().join("indices")), weights_of(&folder.path().join("plain")));

    let masks = ["loader.processor=saved-masks", "loader.store=elsewhere"];
    let profile =
        ["profile", "set", "--model=hetero", "--steps=2", "--batch=4", "--json", "model.route=edge-mask"];
    assert_eq!(run(&[&profile[..], &masks].concat()).json()["conditions"]["processor"], "saved-masks");
    let experiment =
        ["experiment", "set", "--models=dango", "--rounds=1", "--batch=50", "--json", "--ablate", "-q"];
    let found = run(&[&experiment[..], &masks, &["--out", "own"]].concat()).json();
    assert_eq!(found["cells"][0]["profile"]["conditions"]["processor"], "saved-masks");
    let both =
        run(&[&experiment[..], &["--processors", "perturbation,saved-indices", "--out", "both"]].concat());
    assert_eq!(both.json()["cells"].as_array().unwrap().len(), 9);
}

#[test]
fn a_store_that_a_run_cannot_read_is_refused_before_its_first_step() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "300", "0");
    tiny(folder.path(), "other", "300", "1");
    let refused = |keys: &[&str], code: i32, words: &[&str]| {
        let train = ["train", "set", "--model=dango", "--out", "run"];
        let profile = ["profile", "set", "--model=dango", "--steps=1"];
        let experiment = ["experiment", "set", "--models=dango", "--rounds=1", "--out", "run"];
        for command in [&train[..], &profile, &experiment] {
            run_in(folder.path(), &[command, keys].concat()).fails(code, words);
            assert!(!folder.path().join("run").exists());
        }
    };
    let masks = "loader.processor=saved-masks";
    refused(&[masks], 2, &["data precompute set --masks`", "set/saved-masks", "there is no store"]);
    refused(&[masks, "loader.store=far"], 2, &["data precompute set --masks --out far", "there is no store"]);
    let store = |args: &[&str]| run_in(folder.path(), &[&["-q", "data", "precompute"], args].concat()).ok();
    store(&["set", "--masks", "--samples", "20", "--out", "few"]);
    refused(
        &[masks, "loader.store=few"],
        2,
        &["it has 20 samples", "not among them", "data precompute set --masks"],
    );
    store(&["other", "--masks", "--out", "of-other"]);
    refused(&[masks, "loader.store=of-other"], 3, &["of-other", "another graph", "hash"]);
    store(&["set", "--indices", "--out", "indices"]);
    refused(&[masks, "loader.store=indices"], 2, &["it holds indices", "saved-masks does not read"]);
    let processors = "saved-indices,saved-masks";
    run_in(folder.path(), &["experiment", "set", "--processors", processors, "loader.store=indices"])
        .fails(2, &["it holds indices", "saved-masks does not read"]);
}

#[test]
fn everything_wrong_is_named_and_classed() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "set", "300", "0");
    tiny(folder.path(), "other", "300", "1");
    let run = |args: &[&str]| run_in(folder.path(), &[&["data"], args].concat());
    run(&["precompute", "set"]).fails(2, &["--indices", "--masks"]);
    run(&["precompute", "set", "--indices", "--masks"]).fails(2, &["cannot be used with"]);
    run(&["precompute", "set", "--indices", "--bytes"]).fails(2, &["--bytes"]);
    run(&["precompute", "nowhere", "--masks"]).fails(2, &["nowhere", "no such folder"]);
    run(&["precompute", "set", "--masks", "--samples", "0"]).fails(2, &["at least 1"]);
    run(&["precompute", "set", "--masks", "--samples", "301"]).fails(2, &["301", "300"]);
    run(&["precompute", "set", "--masks", "--out", "other/genes.parquet/c"])
        .fails(2, &["other/genes.parquet"]);
    run(&["precompute", "set", "--masks", "--out", "other"]).fails(2, &["other", "has other files"]);
    run(&["bench", "set", "--processor", "saved-masks"])
        .fails(2, &["set/saved-masks", "there is no store", "knockout data precompute"]);
    assert!(!folder.path().join("set/saved-masks").exists());

    run(&["precompute", "set", "--masks", "--samples", "100"]).ok();
    run(&["precompute", "set", "--masks"]).fails(2, &["another choice of samples", "100", "--out"]);
    run(&["precompute", "set", "--masks", "--bytes", "--samples", "100"])
        .fails(2, &["bit masks", "byte masks"]);
    run(&["bench", "set", "--processor", "saved-masks", "--samples", "200"])
        .fails(2, &["it has 100 samples", "not among them"]);
    run(&["bench", "other", "--processor", "saved-masks", "--store", "set/saved-masks", "--samples", "50"])
        .fails(3, &["set/saved-masks", "another graph", "run `knockout data precompute` again"]);
    run(&["precompute", "other", "--masks", "--samples", "100", "--out", "set/saved-masks"])
        .fails(3, &["another graph"]);

    let data = folder.path().join("set/saved-masks/data.mdb");
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..bytes.len() / 2]).unwrap();
    for command in [
        &["bench", "set", "--processor", "saved-masks", "--samples", "50"][..],
        &["precompute", "set", "--masks", "--samples", "100"],
    ] {
        run(command).fails(3, &["set/saved-masks", "cut off", "remove the folder"]);
    }
    fs::write(&data, "this is a text").unwrap();
    run(&["bench", "set", "--processor", "saved-masks"]).fails(3, &["not an LMDB file"]);
}
