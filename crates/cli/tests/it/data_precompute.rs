//! `knockout data precompute`: estimates, interruptions, and stores that are refused.
#![cfg(feature = "lab")]

use crate::support::{Home, Ran, signal, texts};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const BENCH: &str = "data bench tiny --batch 7 --samples 20 --threads 1";

#[test]
fn a_dry_run_estimates_bytes_and_time() {
    let home = Home::with_tiny();
    home.ok("data precompute tiny --masks --dry-run").warns(&[
        "bit masks of 2,000 samples will take",
        "are free; about",
        "measured on",
    ]);
    assert!(!home.exists("tiny/saved-masks"));
}

#[test]
fn a_store_takes_about_the_estimated_bytes() {
    let home = Home::with_tiny();
    let made = home.json("data precompute tiny --masks --json");
    assert_eq!(
        (&made["samples"], &made["done"], &made["complete"]),
        (&2000.into(), &2000.into(), &true.into())
    );
    let ratio = made["bytes"].as_f64().unwrap() / made["estimated_bytes"].as_f64().unwrap();
    assert!((0.7..1.1).contains(&ratio), "{made}");
    assert!(made["estimated_seconds"].as_f64().unwrap() > 0.0);
    home.ok("data precompute tiny --masks").prints(&["is complete already"]);
    home.ok("data verify tiny");
}

#[test]
fn stores_are_measured_beside_the_other_processors() {
    let home = Home::with_tiny();
    home.ok(BENCH).warns(&[
        "saved-masks is left out",
        "saved-indices is left out",
        "there is no store; `knockout data precompute tiny --masks --samples 20",
    ]);
    home.ok("data precompute tiny --masks --samples 20")
        .prints(&["`knockout data bench tiny --processor saved-masks"]);
    home.ok("data precompute tiny --indices --samples 20");
    home.ok("data precompute tiny --masks --bytes --samples 20 --out byte-masks");
    let measured = home.json(&format!("{BENCH} --json"));
    let names =
        ["perturbation", "mask", "resident-mask", "saved-indices", "saved-masks", "subgraph", "neighborhood"];
    assert_eq!(texts(&measured["rows"], "processor"), names);
    assert_eq!(measured["rows"][1]["bytes_per_sample"], measured["rows"][4]["bytes_per_sample"]);
    let named = home.json(&format!("{BENCH} --processor saved-masks --store byte-masks --json"));
    assert_eq!(named["rows"].as_array().unwrap().len(), 1);
}

/// Returns a folder with `tiny`, here of so many samples.
fn of_samples(count: u32) -> Home {
    let home = Home::empty();
    // More query pairs than the preset has, so that there can be more samples.
    home.ok(&format!("data synth tiny --preset tiny --samples {count} synth.screen.query_pairs=250"));
    home
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
fn kill_9_leaves_a_store_that_is_resumed_to_the_same_contents() {
    const SAMPLES: u64 = 20_000;
    let home = of_samples(SAMPLES as u32);
    for what in ["--masks", "--indices"] {
        let precompute = |more: &str| home.json(&format!("data precompute tiny {what} --json {more}"));
        let whole = precompute("--out whole");
        let store = home.path("killed");
        let (mut killed, mut in_the_middle, mut done) = (0, 0, 0);
        while done < SAMPLES && killed < 24 {
            let before = length_of(&store);
            let mut child = home.start(&format!("data precompute tiny {what} --out killed -q"));
            // Some are killed before they write, the others at all distances behind a transaction.
            if killed % 4 > 0 {
                wait_for_growth(&mut child, &store, before);
            }
            std::thread::sleep(Duration::from_micros(killed * 1_700 % 23_000));
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            let now = precompute("--out killed --dry-run")["done"].as_u64().unwrap();
            assert!(now >= done, "{done} samples were stored and {now} are left");
            in_the_middle += u64::from(now > done && now < SAMPLES);
            done = now;
        }
        assert!(in_the_middle > 0, "no run was killed in the middle");
        let resumed = precompute("--out killed");
        assert_eq!((&resumed["complete"], &resumed["content_hash"]), (&true.into(), &whole["content_hash"]));
        if what == "--masks" {
            // Every value is read and its checksum verified.
            home.ok(&format!("data bench tiny --processor saved-masks --store killed --samples {SAMPLES}"));
        }
        for name in ["whole", "killed"] {
            fs::remove_dir_all(home.path(name)).unwrap();
        }
    }
    assert_eq!(home.names("."), ["tiny"], "nothing is left of killed processes");
}

#[test]
fn ctrl_c_saves_and_prints_how_to_resume() {
    let home = of_samples(30_000);
    let mut child = home.start("data precompute tiny --masks --json");
    wait_for_growth(&mut child, &home.path("tiny/saved-masks"), 100_000);
    let stopped = signal(child, "-INT").fails(8, &["run the same command again to resume"]).document();
    assert_eq!(stopped["complete"], false);
    let bench = "data bench tiny --processor saved-masks";
    home.fails(bench, 2, &["it is unfinished", "again to resume"]);
    let resumed = home.json("data precompute tiny --masks --json");
    assert_eq!((&resumed["done_before"], &resumed["complete"]), (&stopped["done"], &true.into()));
}

/// Expects commands that read a store to refuse it before their first step.
fn refused(home: &Home, keys: &str, code: i32, words: &[&str]) {
    for command in [
        "train tiny --model=dango --out run",
        "profile tiny --model=dango --steps=1",
        "experiment tiny --models=dango --rounds=1 --out run",
    ] {
        home.fails(&format!("{command} {keys}"), code, words);
        assert!(!home.exists("run"));
    }
}

#[test]
fn a_missing_store_is_2_with_the_command_that_makes_it() {
    let home = Home::with_tiny();
    let masks = "loader.processor=saved-masks";
    let here = ["data precompute tiny --masks`", "tiny/saved-masks", "there is no store"];
    refused(&home, masks, 2, &here);
    let elsewhere = ["data precompute tiny --masks --out far", "there is no store"];
    refused(&home, &format!("{masks} loader.store=far"), 2, &elsewhere);
    home.fails("data bench tiny --processor saved-masks", 2, &here[1..]);
    assert!(!home.exists("tiny/saved-masks"));
}

#[test]
fn a_store_of_too_few_samples_is_2() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --masks --samples 20 --out few");
    let words = ["it has 20 samples", "not among them", "data precompute tiny --masks"];
    refused(&home, "loader.processor=saved-masks loader.store=few", 2, &words);
    home.fails("data bench tiny --processor saved-masks --store few --samples 200", 2, &words[..2]);
}

#[test]
fn a_store_of_another_dataset_is_3() {
    let home = Home::with_tiny();
    home.ok("-q data synth other --preset tiny --seed 1");
    home.ok("-q data precompute other --masks --samples 100 --out of-other");
    refused(
        &home,
        "loader.processor=saved-masks loader.store=of-other",
        3,
        &["of-other", "another graph", "hash"],
    );
    home.fails(
        "data bench tiny --processor saved-masks --store of-other --samples 50",
        3,
        &["of-other", "another graph", "run `knockout data precompute` again"],
    );
    home.fails("data precompute tiny --masks --samples 100 --out of-other", 3, &["another graph"]);
}

#[test]
fn a_store_of_another_kind_is_2() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --indices --out indices");
    let words = ["it holds indices", "saved-masks does not read"];
    refused(&home, "loader.processor=saved-masks loader.store=indices", 2, &words);
    let experiment = "experiment tiny --processors saved-indices,saved-masks loader.store=indices";
    home.fails(experiment, 2, &words);
}

#[test]
fn a_store_of_other_samples_or_width_is_not_continued() {
    let home = Home::with_tiny();
    home.ok("data precompute tiny --masks --samples 100");
    home.fails("data precompute tiny --masks", 2, &["another choice of samples", "100", "--out"]);
    home.fails("data precompute tiny --masks --bytes --samples 100", 2, &["bit masks", "byte masks"]);
}

#[test]
fn a_damaged_store_is_3() {
    let home = Home::with_tiny();
    home.ok("data precompute tiny --masks --samples 100");
    let bytes = fs::read(home.path("tiny/saved-masks/data.mdb")).unwrap();
    home.write("tiny/saved-masks/data.mdb", &bytes[..bytes.len() / 2]);
    for command in
        ["data bench tiny --processor saved-masks --samples 50", "data precompute tiny --masks --samples 100"]
    {
        home.fails(command, 3, &["tiny/saved-masks", "cut off", "remove the folder"]);
    }
    home.write("tiny/saved-masks/data.mdb", "this is a text");
    home.fails("data bench tiny --processor saved-masks", 3, &["not an LMDB file"]);
}

#[test]
fn wrong_requests_are_2() {
    let home = Home::with_tiny();
    home.write("file", "precious");
    let run = |more: &str| -> Ran { home.run(&format!("data precompute {more}")) };
    for (request, words) in [
        ("tiny", ["--indices", "--masks"]),
        ("tiny --indices --masks", ["cannot be", "used with"]),
        ("tiny --indices --bytes", ["--bytes", ""]),
        ("nowhere --masks", ["nowhere", "no such folder"]),
        ("tiny --masks --samples 0", ["at least 1", ""]),
        ("tiny --masks --samples 2001", ["2001", "2000"]),
        ("tiny --masks --out file/c", ["file", ""]),
        ("tiny --masks --out tiny", ["tiny", "has other files"]),
    ] {
        run(request).fails(2, &words);
    }
}

#[test]
fn an_experiment_reads_a_store() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --masks --out masks");
    let measure = "experiment tiny --models=dango --rounds=1 --batch=50 --json --ablate -q --out own";
    let found: Value = home.json(&format!("{measure} loader.processor=saved-masks loader.store=masks"));
    assert_eq!(found["cells"][0]["profile"]["conditions"]["processor"], "saved-masks");
}
