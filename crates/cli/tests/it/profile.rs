//! `profile` from the command line, on the tiny yeast: its page, its folder, a run beside it, and delays put into phases.

#![cfg(feature = "lab")]

use crate::support;
use crate::support::run_in as run;
use serde_json::Value;
use std::fs;
use std::path::Path;

const PROFILE: [&str; 10] =
    ["profile", "tiny", "--model", "dango", "--steps", "4", "--batch", "100", "model.width=16", "-q"];

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    PROFILE.iter().chain(more).copied().collect()
}

/// The document inside a page.
fn drawn(page: &str) -> Value {
    let start = page.find("id=\"data\">").unwrap() + 10;
    serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap()
}

#[test]
fn a_batch_that_the_training_part_cannot_fill_is_said() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let args = [
        "profile",
        "tiny",
        "--model",
        "dango",
        "--steps",
        "1",
        "--no-trace",
        "--batch",
        "16384",
        "model.width=16",
    ];
    let said = run(folder.path(), &args).ok().stderr;
    assert!(said.contains("samples, so that is the batch that was measured, not 16,384"), "{said}");
    // Nor is a larger one a switch worth trying.
    let args = [
        "experiment",
        "tiny",
        "--models",
        "dango",
        "--ablate",
        "--rounds",
        "1",
        "--steps",
        "1",
        "--batch",
        "16384",
    ];
    let found = run(folder.path(), &[&args[..], &["--out", "e", "--json", "model.width=16"]].concat()).json();
    let others = found["ablation"][0]["not_applicable"].as_array().unwrap();
    let reason = others.iter().find(|row| row[0] == "larger batch").unwrap()[1].as_str().unwrap();
    assert!(reason.starts_with("one batch holds the whole training part"), "{reason}");
}

#[test]
fn the_page_of_a_run_holds_its_figures_and_its_spans() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let profile = run(folder.path(), &with(&["--out", "a", "--html", "a.html", "--json"])).json();
    let page = fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert_eq!(page, fs::read_to_string(folder.path().join("a/report.html")).unwrap());
    let pictures = drawn(&page);
    let picture = |kind: &str| {
        let found = pictures.as_array().unwrap().iter().find(|picture| picture["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}"))["data"].clone()
    };
    let steps = picture("steps");
    assert_eq!(steps["steps"].as_array().unwrap().len(), 4);
    let names = |rows: &Value| -> Vec<String> {
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&steps["categories"]), names(&profile["phases"]));
    let flame = picture("flame");
    let flame = flame["names"].as_array().unwrap();
    for name in ["steps", "backward", "forward/sage1"] {
        assert!(flame.iter().any(|have| have == name), "{name}: {flame:?}");
    }
    // The buffers of the engine are counted, in the document and in the trace.
    assert!(profile["pool_bytes"].as_u64().unwrap() > 0);
    assert_eq!(profile["per_step"]["pool_bytes"].as_array().unwrap().len(), 4);
    run(folder.path(), &["trace", "convert", "a/trace.json.gz", "plain.json", "-q"]).ok();
    let trace = fs::read_to_string(folder.path().join("plain.json")).unwrap();
    assert!(trace.contains("pool bytes") && trace.contains("rss bytes"));

    // Another run beside it: equal conditions have ratios, others are named and have none.
    let text = run(folder.path(), &with(&["--html", "b.html", "--against", "a"])).ok().stdout;
    assert!(text.contains("Conditions are equal") && text.contains("Per sample"), "{text}");
    let beside = fs::read_to_string(folder.path().join("b.html")).unwrap();
    assert!(beside.contains("id=\"comparison-samples\"") && beside.contains("a: a · b: "), "{text}");
    assert!(beside.contains("id=\"flame\""), "the page has spans although no folder keeps them");
    let text = run(folder.path(), &with(&["--against", "a", "--no-trace"])).ok().stdout;
    assert!(text.contains("No ratio") && text.contains("profiler"), "{text}");
    run(folder.path(), &with(&["--against", "nowhere"])).fails(2, &["nowhere does not exist"]);
    run(folder.path(), &with(&["--out", "a"])).fails(2, &["choose another name or remove it first"]);
}

/// A sleep in one phase of a real run is found in that phase, and nowhere else.
#[test]
fn a_delay_in_any_phase_is_found_in_that_phase() {
    const DELAY_S: f64 = 0.025;
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let plain = run(folder.path(), &with(&["--json"])).json();
    for phase in
        ["fetch", "process", "collate", "wait", "forward", "loss", "backward", "clip", "optimiser", "logging"]
    {
        let delay = [("KNOCKOUT_TEST_DELAY", format!("{phase}:25"))];
        let slow = support::run_with(folder.path(), &with(&["--json"]), &delay).json();
        let seconds = |run: &Value, name: &str| {
            let row = run["phases"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
            row.map_or(0.0, |row| row["wall_s"].as_f64().unwrap())
        };
        assert!(seconds(&slow, phase) >= DELAY_S, "{phase}: {slow:#}");
        let longest =
            slow["verdict"].as_array().unwrap().iter().find(|v| v["about"] == "longest_phase").unwrap();
        assert!(longest["text"].as_str().unwrap().starts_with(&format!("{phase} takes ")), "{longest}");
        let grown = slow["phases"].as_array().unwrap().iter().map(|row| {
            let name = row["name"].as_str().unwrap();
            (name, seconds(&slow, name) - seconds(&plain, name))
        });
        let most = grown.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(most.0, phase);
        // Phases sum to the step, by how they are counted.
        let steps = slow["per_step"]["wall_nanos"].as_array().unwrap();
        for (step, wall) in steps.iter().enumerate() {
            let phases = slow["per_step"]["phases"].as_object().unwrap();
            let sum: u64 = phases.values().map(|all| all[step].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), wall.as_u64(), "step {step}");
        }
    }
}
