//! `knockout compare` of profiles: exit codes, refusals, documents. The profiles are made here with a fake clock.

use crate::support::{Home, texts};
use knockout_analyze::profile::experiment::{Experiment, ExperimentPlan};
use knockout_analyze::profile::{Conditions, Measured, RunProfile};
use knockout_trace::meter::{Meter, Schedule, StepPhase};
use knockout_trace::{Clock, FakeClock, Recorder};
use serde_json::json;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// Returns a profile whose forward pass takes so many milliseconds, and its loss one.
fn profile(forward_ms: u64, steps: usize, change: fn(&mut Conditions)) -> String {
    let clock = Arc::new(FakeClock::new());
    let mut meter =
        Meter::with_clock(&Recorder::off(), Schedule::WholeRun, Arc::clone(&clock) as Arc<dyn Clock>);
    for _ in 0..steps {
        meter.time(StepPhase::Forward, || clock.advance(Duration::from_millis(forward_ms)));
        meter.time(StepPhase::Loss, || clock.advance(Duration::from_millis(1)));
        meter.end_step(10).unwrap();
    }
    let mut conditions = Conditions {
        data: "abc".to_owned(),
        batch: 10,
        model: "dango".to_owned(),
        mode: "full".to_owned(),
        machine: "a fake one".to_owned(),
        ..Conditions::default()
    };
    change(&mut conditions);
    serde_json::to_string_pretty(&RunProfile::of(&meter.finish().unwrap().0, conditions).unwrap()).unwrap()
}

/// Returns a folder with the profiles `a.json` and `b.json`.
fn pair(a: &str, b: &str) -> Home {
    let home = Home::empty();
    home.write("a.json", a);
    home.write("b.json", b);
    home
}

/// A step of 10 ms against one of 15 ms.
fn slower() -> Home {
    pair(&profile(9, 5, |_| {}), &profile(14, 5, |_| {}))
}

#[test]
fn like_profiles_have_ratios() {
    let home = slower();
    let found = home.json("compare a.json b.json --json");
    assert_eq!((&found["schema"], &found["comparable"]), (&1.into(), &true.into()));
    assert_eq!(found["differences"], json!([]));
    let row = &found["rows"][0];
    let figures = ["a", "b", "ratio", "low", "high"].map(|key| row[key].as_f64().unwrap());
    assert_eq!((row["name"].as_str(), figures), (Some("step"), [1000.0, 1500.0, 1.5, 1.5, 1.5]));
    let parts = ["Conditions are equal", "Per sample", "Per iteration", "forward", "1.500 (1.500 to 1.500)"];
    home.ok("compare a.json b.json").prints(&parts);
}

#[test]
fn a_step_slower_than_allowed_is_5() {
    let home = slower();
    let words = "1.500 times as long (at least 1.500, allowed 1.1)";
    home.fails("compare a.json b.json --fail-above 1.10", 5, &[words]);
    home.ok("compare a.json b.json --fail-above 1.5");
    home.fails("compare a.json b.json --fail-above NaN", 2, &[]);
}

/// Profiles of two datasets.
fn unlike() -> Home {
    pair(&profile(9, 5, |_| {}), &profile(9, 5, |conditions| "def".clone_into(&mut conditions.data)))
}

#[test]
fn unlike_profiles_are_7_and_have_no_ratio() {
    let home = unlike();
    let found = home.fails("compare a.json b.json --json", 7, &["differ in data"]).document();
    assert_eq!((&found["comparable"], &found["rows"]), (&false.into(), &json!([])));
    assert_eq!(found["differences"][0]["what"], "data");
    let text = home.run("compare a.json b.json").prints(&["No ratio", "--vary data"]).stdout;
    assert!(!text.contains("Per sample"), "{text}");
}

#[test]
fn a_declared_difference_is_compared() {
    let home = unlike();
    home.ok("compare a.json b.json --vary data,batch").prints(&["intended"]);
    home.fails("compare a.json b.json --vary dataset", 2, &["\"dataset\" is not a condition"]);
}

#[test]
fn too_few_steps_are_7_for_the_gate() {
    let home = pair(&profile(9, 1, |_| {}), &profile(9, 5, |_| {}));
    home.ok("compare a.json b.json");
    home.fails("compare a.json b.json --fail-above 1.10", 7, &["too few steps"]);
}

#[test]
fn files_that_are_not_profiles_are_3() {
    let good = profile(9, 5, |_| {});
    for (bad, words) in [
        (&good[..good.len() / 2], "not a whole JSON document"),
        (&good.replace("\"schema\": 1", "\"schema\": 9"), "its schema is 9, this program reads 1"),
        ("{\"schema\": 1, \"events\": 3}", "not what `knockout profile --json` writes"),
        ("{\"schema\": 1, \"kind\": \"profile\"}", "missing field"),
    ] {
        let ran = pair(&good, bad).fails("compare a.json b.json", 3, &[words]);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn the_folder_of_a_run_is_read() {
    let good = profile(9, 5, |_| {});
    let home = pair(&good, &good);
    let compare = "compare a.json run";
    home.fails(compare, 2, &["does not exist"]);
    fs::create_dir(home.path("run")).unwrap();
    home.fails(compare, 2, &["is not the folder of a run or an experiment"]);
    home.write("run/config.toml", "");
    home.fails(compare, 3, &["did not finish, or was not measured"]);
    home.write("run/profile.json", &good);
    home.ok(compare);
}

/// Returns the document of an experiment of three rounds: full steps of two models, and the first also in its own batch of 100.
fn experiment(hetero_ms: u64, change: fn(&mut Conditions)) -> String {
    let measured = |model: &str, forward_ms: u64, batch: u64| {
        let mut profile: RunProfile = serde_json::from_str(&profile(forward_ms, 5, |_| {})).unwrap();
        model.clone_into(&mut profile.conditions.model);
        profile.conditions.batch = batch;
        profile.batch = batch;
        profile.per_step.samples.fill(batch);
        change(&mut profile.conditions);
        profile
    };
    let cells = vec![measured("dango", 9, 10), measured("hetero", hetero_ms, 10), measured("dango", 19, 100)];
    let plan = ExperimentPlan {
        dataset: "fake".to_owned(),
        rounds: 5,
        steps: 1,
        measured: Some(Measured { began: "2026-11-19T04:14:03Z".to_owned(), took_s: 75.0 }),
        ..ExperimentPlan::default()
    };
    let experiment = Experiment::of(plan, cells, Vec::new()).unwrap();
    serde_json::to_string(&knockout_report::experiment_json(&experiment)).unwrap()
}

#[test]
fn experiments_are_compared_cell_by_cell() {
    let home = pair(&experiment(29, |_| {}), &experiment(59, |_| {}));
    let found = home.json("compare a.json b.json --json");
    let names = ["dango full", "hetero full", "dango full, batch 100"];
    assert_eq!((texts(&found["rows"], "name"), &found["comparable"]), (names.to_vec(), &true.into()));
    // Forward and 1 ms of loss, by 10 and by 100 samples.
    for (row, figures) in found["rows"].as_array().unwrap().iter().zip([
        [1000.0, 1000.0, 1.0, 1.0, 1.0],
        [3000.0, 6000.0, 2.0, 2.0, 2.0],
        [200.0, 200.0, 1.0, 1.0, 1.0],
    ]) {
        assert_eq!(["a", "b", "ratio", "low", "high"].map(|key| row[key].as_f64().unwrap()), figures);
    }
    let models = &found["model_ratios"];
    assert_eq!(texts(models, "name"), ["hetero full / dango full"]);
    assert_eq!((&models[0]["a"]["median"], &models[0]["b"]["median"]), (&3.0.into(), &6.0.into()));
    home.ok("compare a.json b.json --html page.html").prints(&[
        "hetero full: 6.000 ms per sample in b and 3.000 ms in a, 100.0 % more (2.00 to 2.00 times): slower",
        "a.json, 5 rounds; 2026-11-19 04:14:03 UTC, took 75 s",
        "Models within each experiment",
    ]);
    assert!(home.read("page.html").contains("b.json against a.json"));
    home.fails("compare a.json b.json --fail-above 1.5", 5, &["hetero full: ", "2.000 times as long"]);
    home.ok("compare b.json a.json --fail-above 1.5");
    fs::create_dir(home.path("e")).unwrap();
    home.write("e/report.json", experiment(29, |_| {}));
    home.ok("compare e b.json").prints(&["e, 5 rounds"]);
}

#[test]
fn unlike_experiments_are_7_and_their_own_ratios_remain() {
    let home =
        pair(&experiment(29, |_| {}), &experiment(59, |conditions| "def".clone_into(&mut conditions.data)));
    let found =
        home.fails("compare a.json b.json --json", 7, &["cells of the same name differ in data"]).document();
    assert_eq!(
        (&found["comparable"], &found["rows"], &found["unlike"]),
        (&false.into(), &json!([]), &json!(["data"]))
    );
    assert_eq!(found["differences"].as_array().unwrap().len(), 1, "once for all cells");
    assert_eq!(found["model_ratios"][0]["b"]["median"], 6.0);
    home.ok("compare a.json b.json --vary data").prints(&["intended"]);
    home.fails("compare a.json b.json --vary dataset", 2, &["\"dataset\" is not a condition"]);
}

#[test]
fn experiments_without_a_common_cell_and_damaged_ones_are_refused() {
    let good = experiment(29, |_| {});
    let home = pair(&good, &experiment(29, |conditions| "data".clone_into(&mut conditions.mode)));
    home.fails("compare a.json b.json", 2, &["no cell in common", "dango full", "dango data"]);
    for (bad, code, words) in [
        (good.replace("\"rounds\":5", "\"rounds\":7"), 3, "has not 7 rounds of 1 steps"),
        (good.replacen("\"schema\":1", "\"schema\":9", 1), 3, "its schema is 9"),
        (profile(9, 5, |_| {}), 2, "is an experiment and b.json a run"),
    ] {
        pair(&good, &bad).fails("compare a.json b.json", code, &[words]);
    }
    fs::create_dir(home.path("e")).unwrap();
    home.write("e/report.json", &good[..good.len() / 2]);
    home.fails("compare e a.json", 3, &["not a whole JSON document"]);
    home.write("e/report.json", "{\"kind\": \"sweep\"}");
    home.fails("compare e a.json", 3, &["its kind is \"sweep\""]);
}

#[test]
fn the_page_is_one_file_with_the_figures_in_it() {
    let home = slower();
    home.ok("compare a.json b.json --html page.html");
    let text = home.read("page.html");
    for part in ["Per sample", "b.json against a.json", ">forward<"] {
        assert!(text.contains(part), "{part}");
    }
}

#[cfg(feature = "lab")]
#[test]
fn presets_of_unlike_networks_are_not_comparable() {
    let home = Home::with_tiny();
    for preset in ["073", "083"] {
        let measure = "profile tiny --model hetero --mode data --steps 1 --no-trace";
        home.ok(&format!("{measure} --experiment {preset} --out {preset}"));
    }
    let found = home.fails("compare 073 083 --json", 7, &[]).document();
    assert_eq!(found["comparable"], false);
    let difference = &found["differences"][0];
    assert_eq!(difference["what"], "model.networks", "{found}");
    assert!(difference["b"].as_str().unwrap().contains("string12_0_coexpression"), "{difference}");
}

#[test]
fn traces_are_3_with_the_command_for_traces() {
    let trace = r#"{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}"#;
    for bytes in [trace.as_bytes(), br#"[{"ph": "X", "ts": 1}]"#, b"\x1f\x8b\x08\x00"] {
        let home = Home::empty();
        home.write("a.json.gz", bytes);
        home.fails("compare a.json.gz a.json.gz", 3, &["knockout trace compare A B"]);
    }
}
