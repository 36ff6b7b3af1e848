//! `knockout experiment`: what it writes, that it adds up, and what it refuses.

#![cfg(feature = "lab")]

use crate::support::{Home, signal, texts};
use serde_json::Value;
use std::fs;
use std::time::Duration;

const SMALL: &str = "experiment tiny --models=dango --batch 100 model.width=16 -q --rounds 3";

/// One round of one step.
const ONE: &str = "experiment tiny -q --rounds 1 --steps 1 --warmup 0";

#[test]
fn an_experiment_measures_every_mode_on_the_same_batches() {
    let home = Home::with_tiny();
    let found = home.json(&format!("{SMALL} --out e --json"));
    assert_eq!(home.document("e/report.json"), found);
    for name in ["report.html", "report.txt", "summary.md", "dango-full-recorded/trace.json.gz"] {
        assert!(home.exists(&format!("e/{name}")), "{name}");
    }
    let names = ["dango data", "dango forward", "dango backward", "dango full", "dango full, recorded"];
    assert_eq!(texts(&found["cells"], "name"), names);
    for cell in found["cells"].as_array().unwrap() {
        let profile = &cell["profile"];
        assert_eq!((&profile["steps"], cell["rounds"].as_array().unwrap().len()), (&12.into(), 3));
        assert_eq!(profile["per_step"]["samples"], found["cells"][0]["profile"]["per_step"]["samples"]);
        let phases = profile["phases"].as_array().unwrap();
        let sum: f64 = phases.iter().map(|row| row["wall_s"].as_f64().unwrap()).sum();
        let step = profile["wall_s_per_step"].as_f64().unwrap();
        assert!((sum - step).abs() <= 0.01 * step, "{sum} {step}");
    }
    let parts = found["decomposition"][0]["components"].as_array().unwrap();
    assert_eq!(parts.len(), 5);
    assert!(parts.iter().all(|part| part["disagreement_s"]["low"].is_number()));
    // The folder of a cell is that of a profile.
    home.ok("compare e/dango-forward e/dango-full --vary mode -q");
    home.fails("compare e/dango-forward e/dango-full -q", 7, &["mode"]);
    home.fails(
        "compare e/report.json e/dango-full",
        2,
        &["e/report.json is an experiment and e/dango-full a run"],
    );
    let measured = &found["plan"]["measured"];
    assert!(measured["took_s"].as_f64().unwrap() > 0.0 && measured["began"].as_str().unwrap().ends_with('Z'));
    assert_eq!(found["cells"][0]["profile"]["measured"], *measured);
    assert!(home.read("e/report.txt").contains(" UTC, took "));
    home.ok("trace analyze e/dango-full-recorded/trace.json.gz -q");
    home.fails(&format!("{SMALL} --out e"), 2, &["choose another name or remove it first"]);
}

#[test]
fn every_switch_is_measured_or_has_a_reason() {
    // The tiny yeast has one STRING channel; a second network gives the switches something to switch off.
    let networks =
        r#"'model.networks=[{name="physical",lambda=1.0},{name="string12_0_coexpression",lambda=0.1}]'"#;
    let home = Home::with_tiny();
    let found = home
        .json(&format!("{ONE} --models=dango --batch 100 model.width=16 --ablate --out e --json {networks}"));
    let ablation = &found["ablation"][0];
    let tried = texts(&ablation["tried"], "name");
    for name in
        ["one network", "no reconstruction loss", "gradients of 4 batches accumulated", "larger batch"]
    {
        assert!(tried.contains(&name), "{name}: {tried:?}");
    }
    let others = ablation["not_applicable"].as_array().unwrap();
    assert!(others.iter().any(|row| row[0] == "STRING channels merged" && row[1] != ""), "{others:?}");
    assert_eq!(tried.len() + others.len(), 19);
    assert!(home.read("e/report.txt").contains("OPTIONS TRIED"));
}

#[test]
fn a_batch_of_the_whole_training_part_cannot_be_larger() {
    let found = Home::with_tiny()
        .json(&format!("{ONE} --models=dango model.width=16 --ablate --batch 16384 --out e --json"));
    let others = found["ablation"][0]["not_applicable"].as_array().unwrap();
    let reason = others.iter().find(|row| row[0] == "larger batch").unwrap()[1].as_str().unwrap();
    assert!(reason.starts_with("one batch holds the whole training part"), "{reason}");
}

/// A sleep in one phase of real runs is found in its part, by phases and by differences of modes.
#[test]
fn a_delay_is_found_in_its_part_by_both_ways() {
    const DELAY_S: f64 = 0.030;
    let home = Home::with_tiny();
    for (phase, part) in [
        ("process", "data pipeline"),
        ("loss", "forward and loss"),
        ("backward", "backward"),
        ("clip", "clip and optimiser"),
    ] {
        let delay = format!("{phase}:30");
        let measure = format!("{SMALL} --out {phase} --json");
        let found = home.run_with(&measure, ("KNOCKOUT_TEST_DELAY", &delay)).json();
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
fn processors_are_cells_and_have_ratios() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --indices");
    let processors = "--processors perturbation,saved-indices";
    let found =
        home.json(&format!("{ONE} --models=dango --batch 100 model.width=16 {processors} --out e --json"));
    assert_eq!(found["cells"].as_array().unwrap().len(), 9);
    assert_eq!(texts(&found["ratios"], "vary"), ["processor"; 4]);
    assert_eq!(found["ratios"][0]["b"], "dango data, saved-indices");
    assert!(home.exists("e/dango-data-saved-indices/profile.json"));
}

/// The common batch is that of the model with the smallest one.
#[test]
fn a_model_is_also_measured_in_its_own_batch() {
    let home = Home::with_tiny();
    let hetero = "model.width=8";
    let found = home.json(&format!("{ONE} --models dango,hetero --out e --json {hetero}"));
    assert_eq!(found["cells"].as_array().unwrap().len(), 10);
    let own = found["own_batch"].as_array().unwrap();
    let common = found["cells"][0]["profile"]["batch"].as_u64().unwrap();
    let batch = own[0]["profile"]["batch"].as_u64().unwrap();
    assert_eq!((own.len(), &own[0]["model"], &own[0]["mode"]), (1, &"dango".into(), &"full".into()));
    assert!(batch > common && own[0]["common_batch"] == common, "{batch} {common}");
    assert_eq!(own[0]["profile"]["per_step"]["samples"], serde_json::json!([batch]));
    assert!(home.exists(&format!("e/dango-full-batch-{batch}/profile.json")));
    assert!(home.exists(&format!("e/dango-full-batch-{batch}-recorded/trace.json.gz")));
    let rows = found["model_rows"].as_array().unwrap();
    let batches: Vec<u64> = rows.iter().map(|row| row["batch"].as_u64().unwrap()).collect();
    assert_eq!(batches, [common, common, batch, common]);
    let answer = found["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Per sample, a training step of ") && answer.contains("its own batch"),
        "{answer}"
    );
    for name in ["report.txt", "summary.md", "report.html"] {
        assert!(home.read(&format!("e/{name}")).contains("its own batch"), "{name}");
    }
    // One batch for all: nothing else is measured.
    let found =
        home.json(&format!("{ONE} --models dango,hetero --batch 8 --modes data --out f --json {hetero}"));
    assert_eq!(
        (&found["own_batch"], found["model_rows"].as_array().unwrap().len()),
        (&serde_json::json!([]), 2)
    );
}

#[test]
fn a_preset_chooses_the_models() {
    let home = Home::with_tiny();
    let both = "--preset 086 split.subset=200 model.width=8";
    let found = home.json(&format!("{ONE} --modes data --out both --json {both}"));
    assert_eq!(found["models"], serde_json::json!(["hetero", "dango"]));
    let preset = "--preset 086 --models hetero split.subset=200 model.layers=1 model.width=8";
    let found = home.json(&format!("{ONE} --modes data,forward --out two --json {preset}"));
    assert_eq!(found["models"], serde_json::json!(["hetero"]));
    assert_eq!(texts(&found["cells"], "mode"), ["data", "forward"]);
}

#[test]
fn the_folder_is_named_after_the_dataset_without_spaces() {
    let home = Home::with_tiny();
    fs::rename(home.path("tiny"), home.path("my tiny yeast")).unwrap();
    home.ok(&format!("{} --modes data", ONE.replace("tiny", "'my tiny yeast'")));
    assert!(home.exists("runs/experiment-my-tiny-yeast/report.html"));
}

#[test]
fn wrong_requests_are_2_and_leave_nothing_behind() {
    let home = Home::with_tiny();
    for (more, words) in [
        ("--models dnago", ["dnago", "dango"]),
        ("--processors masks", ["masks", "resident-mask"]),
        ("model.widht=8", ["model.widht", "model.width"]),
        ("loader.processor=masks", ["masks", "resident-mask"]),
    ] {
        home.fails(&format!("{SMALL} {more}"), 2, &words);
    }
    home.fails("experiment tiny --rounds 0", 2, &["--rounds"]);
    home.fails("experiment nowhere", 2, &["nowhere"]);
    assert!(!home.exists("runs"));
    for ranks in ["", " --ranks 1,2"] {
        home.fails(&format!("{SMALL} --max-time 1ns --out e{ranks}"), 2, &["not one round was finished"]);
        assert!(!home.exists("e"), "{ranks}");
    }
    home.fails("profile nowhere --model dango --out p", 2, &["nowhere"]);
    assert!(!home.exists("p"));
}

/// Ctrl-C ends the round, and what was measured until then is a whole report.
#[cfg(unix)]
#[test]
fn an_interrupted_experiment_reports_the_rounds_it_took() {
    let home = Home::with_tiny();
    let rounds = "--rounds 100000 --steps 1 --batch 50 --modes data,forward -q";
    let child = home.start(&format!("experiment tiny --models dango --out out --json {rounds}"));
    // Long enough for the handler of the signal: folders are made before it.
    while !home.exists("out") {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    signal(child, "-INT").ends(8);
    let report = home.document("out/report.json");
    let taken = report["plan"]["rounds"].as_u64().unwrap_or_else(|| panic!("{report}"));
    assert!((1..100_000).contains(&taken), "{taken}");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_launcher_is_refused_by_a_program_without_mpi() {
    let home = Home::with_tiny();
    let words = ["built without MPI", "leave it out for ranks on this machine"];
    home.fails(&format!("{SMALL} --ranks 1,2 --launcher mpirun --out e"), 2, &words);
    assert!(!home.exists("e"));
}
