//! `knockout compare` from outside: exit codes, refusals, documents. The runs are made here with a clock that obeys.

use assert_cmd::cargo::cargo_bin_cmd;
use knockout_analyze::profile::{Conditions, RunProfile};
use knockout_trace::meter::{Meter, Schedule, StepPhase};
use knockout_trace::{Clock, FakeClock, Recorder};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

fn compare(args: &[&str]) -> Output {
    cargo_bin_cmd!("knockout").arg("compare").args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A run whose forward takes so many milliseconds, and its loss one.
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

/// Two files in a folder, by their contents.
fn pair(folder: &Path, a: &str, b: &str) -> [String; 2] {
    [("a.json", a), ("b.json", b)].map(|(name, text)| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_str().unwrap().to_owned()
    })
}

#[test]
fn like_runs_have_ratios_and_the_gate_looks_at_the_low_bound() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = pair(folder.path(), &profile(9, 5, |_| {}), &profile(14, 5, |_| {}));
    let output = compare(&[&a, &b, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["schema"], &found["comparable"]), (&Value::from(1), &Value::from(true)));
    assert_eq!(found["differences"], Value::Array(vec![]));
    let row = &found["rows"][0];
    assert_eq!(
        (row["name"].as_str(), row["a"].as_f64(), row["b"].as_f64()),
        (Some("step"), Some(1000.0), Some(1500.0))
    );
    assert_eq!(
        (row["ratio"].as_f64(), row["low"].as_f64(), row["high"].as_f64()),
        (Some(1.5), Some(1.5), Some(1.5))
    );
    let text = stdout(&compare(&[&a, &b]));
    for part in ["Conditions are equal", "Per sample", "Per iteration", "forward", "1.500 (1.500 to 1.500)"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let output = compare(&[&a, &b, "--fail-above", "1.10"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(
        stderr(&output).contains("1.500 times as long (at least 1.500, allowed 1.1)"),
        "{}",
        stderr(&output)
    );
    assert_eq!(compare(&[&a, &b, "--fail-above", "1.5"]).status.code(), Some(0));
    assert_eq!(compare(&[&a, &b, "--fail-above", "NaN"]).status.code(), Some(2));
}

#[test]
fn unlike_runs_have_none_unless_the_difference_is_declared() {
    let folder = tempfile::tempdir().unwrap();
    let other = profile(9, 5, |conditions| conditions.data = "def".to_owned());
    let [a, b] = pair(folder.path(), &profile(9, 5, |_| {}), &other);
    let output = compare(&[&a, &b, "--json"]);
    assert_eq!(output.status.code(), Some(7));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["comparable"], &found["rows"]), (&Value::from(false), &Value::Array(vec![])));
    assert_eq!(found["differences"][0]["what"], "data");
    assert!(stderr(&output).contains("differ in data"), "{}", stderr(&output));
    let text = stdout(&compare(&[&a, &b]));
    assert!(text.contains("No ratio") && text.contains("--vary data"), "{text}");
    assert!(!text.contains("Per sample"), "{text}");
    let output = compare(&[&a, &b, "--vary", "data,batch"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("intended"));
    let output = compare(&[&a, &b, "--vary", "dataset"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("\"dataset\" is not a condition"), "{}", stderr(&output));
}

#[test]
fn too_few_steps_pass_no_gate() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = pair(folder.path(), &profile(9, 1, |_| {}), &profile(9, 5, |_| {}));
    assert_eq!(compare(&[&a, &b]).status.code(), Some(0));
    let output = compare(&[&a, &b, "--fail-above", "1.10"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert!(stderr(&output).contains("too few steps"), "{}", stderr(&output));
}

#[test]
fn bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = profile(9, 5, |_| {});
    let [a, b] = pair(folder.path(), &good, &good);
    let fails = |path: &str, code: i32, part: &str| {
        let output = compare(&[&a, path]);
        assert_eq!(output.status.code(), Some(code), "{path}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{part} in {}", stderr(&output));
        assert!(output.stdout.is_empty());
    };
    let write = |text: &str| fs::write(&b, text).unwrap();
    write(&good[..good.len() / 2]);
    fails(&b, 3, "not a whole JSON document");
    write(&good.replace("\"schema\": 1", "\"schema\": 9"));
    fails(&b, 3, "its schema is 9, this program reads 1");
    write("{\"schema\": 1, \"events\": 3}");
    fails(&b, 3, "not what `knockout profile --json` writes");
    write("{\"schema\": 1, \"kind\": \"profile\"}");
    fails(&b, 3, "missing field");
    let run = folder.path().join("run");
    let run_text = run.to_str().unwrap();
    fails(run_text, 2, "does not exist");
    fs::create_dir(&run).unwrap();
    fails(run_text, 2, "is not the folder of a run");
    fs::write(run.join("config.toml"), "").unwrap();
    fails(run_text, 3, "did not finish, or was not measured");
    fs::write(run.join("profile.json"), &good).unwrap();
    assert_eq!(compare(&[&a, run_text]).status.code(), Some(0));
}

#[test]
fn the_page_is_one_file_with_the_figures_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = pair(folder.path(), &profile(9, 5, |_| {}), &profile(14, 5, |_| {}));
    let page = folder.path().join("page.html");
    let output = compare(&[&a, &b, "--html", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = fs::read_to_string(page).unwrap();
    for part in ["Per sample", "b.json against a.json", ">forward<"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn presets_of_unlike_networks_are_not_comparable() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let knockout = |args: &[&str]| {
        let output = cargo_bin_cmd!("knockout").args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    };
    knockout(&["data", "synth", &path("tiny"), "--preset", "tiny"]);
    let measure =
        ["profile", &path("tiny"), "--model", "hetero", "--mode", "data", "--steps", "1", "--no-trace"];
    for preset in ["073", "083"] {
        knockout(&[&measure[..], &["--experiment", preset, "--out", &path(preset)]].concat());
    }
    let output = compare(&[&path("073"), &path("083"), "--json"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["comparable"], Value::from(false));
    let difference = &found["differences"][0];
    assert_eq!(difference["what"], "model.networks", "{found}");
    assert!(difference["b"].as_str().unwrap().contains("string12_0_coexpression"), "{difference}");
}

#[test]
fn traces_are_sent_to_the_command_for_traces() {
    let folder = tempfile::tempdir().unwrap();
    let trace = r#"{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}"#;
    for bytes in [trace.as_bytes(), br#"[{"ph": "X", "ts": 1}]"#, b"\x1f\x8b\x08\x00"] {
        let path = folder.path().join("a.json.gz");
        fs::write(&path, bytes).unwrap();
        let output = compare(&[path.to_str().unwrap(), path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("knockout trace compare A B"), "{}", stderr(&output));
    }
}
