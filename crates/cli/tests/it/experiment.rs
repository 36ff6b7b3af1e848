//! `experiment` from the command line, on the tiny yeast: what it writes, that it adds up, and what it refuses.

#![cfg(feature = "lab")]

use crate::support::{run_in as run, run_with};
use serde_json::Value;
use std::fs;
use std::path::Path;

const SMALL: [&str; 9] =
    ["experiment", "tiny", "--models=dango", "--rounds", "3", "--batch", "100", "model.width=16", "-q"];

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().collect()
}

#[test]
fn an_experiment_is_whole_and_its_cells_are_runs() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    // The tiny yeast has one STRING channel; a second network gives the switches something to switch off.
    let networks =
        "model.networks=[{name=\"physical\",lambda=1.0},{name=\"string12_0_coexpression\",lambda=0.1}]";
    let found = run(folder.path(), &with(&["--ablate", "--out", "e", "--json", networks])).json();
    let out = folder.path().join("e");
    let written: Value = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(written, found);
    for name in ["report.html", "report.txt", "summary.md", "dango-full-recorded/trace.json.gz"] {
        assert!(out.join(name).exists(), "{name}");
    }
    let cells = found["cells"].as_array().unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["dango data", "dango forward", "dango backward", "dango full", "dango full, recorded"]
    );
    for cell in cells {
        assert_eq!(cell["profile"]["steps"], 12);
        assert_eq!(cell["rounds"].as_array().unwrap().len(), 3);
        // Every cell took the same batches, and its phases sum to its steps.
        assert_eq!(cell["profile"]["per_step"]["samples"], cells[0]["profile"]["per_step"]["samples"]);
        let phases = cell["profile"]["phases"].as_array().unwrap();
        let sum: f64 = phases.iter().map(|row| row["wall_s"].as_f64().unwrap()).sum();
        let step = cell["profile"]["wall_s_per_step"].as_f64().unwrap();
        assert!((sum - step).abs() <= 0.01 * step, "{sum} {step}");
    }
    let parts = found["decomposition"][0]["components"].as_array().unwrap();
    assert_eq!(parts.len(), 5);
    assert!(parts.iter().all(|part| part["disagreement_s"]["low"].is_number()));
    // Every switch of the notes was measured or says why not.
    let ablation = &found["ablation"][0];
    let tried: Vec<&str> =
        ablation["tried"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in
        ["one network", "no reconstruction loss", "gradients of 4 batches accumulated", "larger batch"]
    {
        assert!(tried.contains(&name), "{name}: {tried:?}");
    }
    let others = ablation["not_applicable"].as_array().unwrap();
    assert!(others.iter().any(|row| row[0] == "STRING channels merged" && row[1] != ""), "{others:?}");
    assert_eq!(tried.len() + others.len(), 19);
    assert!(fs::read_to_string(out.join("report.txt")).unwrap().contains("OPTIONS TRIED"));

    // A cell's folder is a run's.
    run(folder.path(), &["compare", "e/dango-forward", "e/dango-full", "--vary", "mode", "-q"]).ok();
    run(folder.path(), &["compare", "e/dango-forward", "e/dango-full", "-q"]).fails(7, &["mode"]);
    run(folder.path(), &["compare", "e/report.json", "e/dango-full"])
        .fails(3, &["its kind is \"experiment\""]);
    run(folder.path(), &["trace", "analyze", "e/dango-full-recorded/trace.json.gz", "-q"]).ok();
    run(folder.path(), &with(&["--out", "e"])).fails(2, &["choose another name or remove it first"]);
}

/// A sleep in one phase of real runs is found in its part, by phases and by differences of modes.
#[test]
fn a_delay_is_found_in_its_part_by_both_ways() {
    const DELAY_S: f64 = 0.030;
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (phase, part) in [
        ("process", "data pipeline"),
        ("loss", "forward and loss"),
        ("backward", "backward"),
        ("clip", "clip and optimiser"),
    ] {
        let delay = [("KNOCKOUT_TEST_DELAY", format!("{phase}:30"))];
        let found = run_with(folder.path(), &with(&["--out", phase, "--json"]), &delay).json();
        let parts = found["decomposition"][0]["components"].as_array().unwrap();
        let largest = |key: &str| {
            let median = |row: &Value| row[key]["median"].as_f64().unwrap();
            let most = parts.iter().max_by(|a, b| median(a).total_cmp(&median(b))).unwrap();
            (most["name"].as_str().unwrap().to_owned(), median(most))
        };
        let by_phases = largest("by_phases_s");
        assert_eq!(by_phases.0, part);
        assert!(by_phases.1 >= DELAY_S, "a sleep is never shorter: {by_phases:?}");
        assert_eq!(largest("by_difference_s").0, part, "{parts:#?}");
    }
}

#[test]
fn processors_are_cells_too() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let args = with(&["--processors", "perturbation,mask", "--out", "e", "--json"]);
    let found = run(folder.path(), &args).json();
    assert_eq!(found["cells"].as_array().unwrap().len(), 9);
    let ratios = found["ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), 4);
    assert!(ratios.iter().all(|ratio| ratio["vary"] == "processor"));
    assert_eq!(ratios[0]["b"], "dango data, mask");
    assert!(folder.path().join("e/dango-data-mask/profile.json").exists());
}

#[test]
fn bad_requests_say_what_to_do_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    run(folder.path(), &with(&["--models", "dnago"])).fails(2, &["dnago", "dango"]);
    run(folder.path(), &with(&["--processors", "masks"])).fails(2, &["masks", "resident-mask"]);
    run(folder.path(), &with(&["model.widht=8"])).fails(2, &["model.widht", "model.width"]);
    run(folder.path(), &with(&["loader.processor=masks"])).fails(2, &["masks", "resident-mask"]);
    run(folder.path(), &with(&["loader.processor=saved-masks"]))
        .fails(2, &["data precompute tiny --masks", "tiny/saved-masks", "there is no store"]);
    run(folder.path(), &with(&["--rounds", "0"])).fails(2, &["--rounds"]);
    run(folder.path(), &["experiment", "nowhere"]).fails(2, &["nowhere"]);
    assert!(!folder.path().join("runs").exists());
}

/// Ctrl-C ends the round, and what was measured until then is a whole report.
#[cfg(unix)]
#[test]
fn an_interrupted_experiment_reports_the_rounds_it_took() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
    let rounds = ["--rounds", "100000", "--steps", "1", "--batch", "50", "--modes", "data,forward", "-q"];
    let mut experiment = std::process::Command::new(env!("CARGO_BIN_EXE_knockout"))
        .args([&["experiment", "tiny", "--models", "dango", "--out", "out", "--json"], &rounds[..]].concat())
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for the signal to be listened for: folders are made before.
    while !folder.path().join("out").is_dir() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    let id = experiment.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(experiment.wait().unwrap().code(), Some(8));
    let report = std::fs::read_to_string(folder.path().join("out/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let taken = report["plan"]["rounds"].as_u64().unwrap_or_else(|| panic!("{report}"));
    assert!((1..100_000).contains(&taken), "{taken}");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn ranks_are_refused_by_a_program_without_them() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    run(folder.path(), &with(&["--ranks", "1,2", "--out", "e"]))
        .fails(2, &["built without MPI", "cargo build --release --features mpi"]);
    assert!(!folder.path().join("e").exists());
}
