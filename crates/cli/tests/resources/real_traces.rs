//! `knockout trace analyze` over real and awkward traces: the figures and outcomes that lie beside them.
//!
//! Ignored where `Resource::Traces` is missing.

use crate::support::{Ran, run_in};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn document_of(output: &Ran) -> Value {
    serde_json::from_str(&output.stdout).expect("one JSON document on standard output")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn close(ours: &Value, theirs: &Value) -> bool {
    let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
    (ours - theirs).abs() <= (theirs.abs() * 1e-9).max(0.001_000_1)
}

pub(crate) fn reference_figures_of_real_traces_are_those_expected(traces: &Path) {
    let mut checked = 0;
    for path in files(traces) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(expected) = fs::read(traces.join(format!("expected/{name}.json"))) else { continue };
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let output =
            run_in(traces, &["trace", "analyze", "--rules", "reference", "--json", path.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
        let document = document_of(&output);
        for key in [
            "events",
            "events_by_ph",
            "complete_events",
            "complete_with_positive_dur",
            "complete_with_zero_dur",
            "complete_with_negative_dur",
            "complete_without_usable_times",
        ] {
            assert_eq!(document[key], expected[key], "{name}: {key}");
        }
        assert!(close(&document["naive_sum_us"], &expected["naive_sum_us"]), "{name}");
        assert!(close(&document["span_us"], &expected["wall_span_us"]), "{name}");
        for (ours, theirs) in
            [("categories", "reference_categories_naive"), ("event_categories", "event_cat_naive")]
        {
            let rows = document[ours].as_array().unwrap();
            assert_eq!(rows.len(), expected[theirs].as_object().unwrap().len(), "{name}: {ours}");
            for row in rows {
                let expected = &expected[theirs][row["name"].as_str().unwrap()];
                assert_eq!(row["count"], expected["events"], "{name}: {row}");
                assert!(close(&row["us"], &expected["sum_us"]), "{name}: {row}");
            }
        }
        let operations = document["operations"].as_array().unwrap();
        assert_eq!(operations.len() as u64, expected["distinct_names"].as_u64().unwrap(), "{name}");
        for (row, expected) in operations.iter().zip(expected["top10_naive"].as_array().unwrap()) {
            assert_eq!((&row["name"], &row["count"]), (&expected["name"], &expected["events"]), "{name}");
            assert!(close(&row["total_us"], &expected["sum_us"]), "{name}: {row}");
        }
        checked += 1;
    }
    assert!(checked > 0);
}

/// How a run of the program reads in the words of the expected outcomes.
fn outcome_of(output: &Ran) -> &'static str {
    match output.code {
        0 => "ok",
        6 => "recovered",
        3 => "error",
        code => panic!("exit code {code}: {}", output.stderr),
    }
}

pub(crate) fn every_awkward_trace_gives_an_accepted_outcome(traces: &Path) {
    for path in files(&traces.join("awkward")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let expected = read_json(&traces.join(format!("expected/awkward/{name}.json")));
        for rules in ["reference", "default"] {
            let output =
                run_in(traces, &["trace", "analyze", "--rules", rules, "--json", path.to_str().unwrap()]);
            let outcome = outcome_of(&output);
            let accepted = expected["accept"].as_array().unwrap().iter().any(|accept| {
                accept["outcome"] == outcome
                    && if outcome == "error" {
                        let kind = accept["error_kind"].as_str().unwrap();
                        let word = if kind == "not_a_trace" {
                            "not a trace"
                        } else {
                            kind.split('_').next().unwrap()
                        };
                        output.stdout.is_empty() && output.stderr.contains(word)
                    } else {
                        let document = document_of(&output);
                        let warnings = document["warnings"].to_string();
                        let figures = &accept["figures"];
                        accept["warning"].as_str().is_none_or(|warning| warnings.contains(warning))
                            && document["events"] == figures["events"]
                            && (rules == "default" || reference_figures_agree(&document, figures))
                    }
            });
            assert!(
                accepted,
                "{name} with {rules}: {outcome}\n{}\n{}\nexpected {}",
                output.stdout, output.stderr, expected["accept"]
            );
        }
    }
}

fn reference_figures_agree(document: &Value, figures: &Value) -> bool {
    let positive = &figures["complete_with_positive_dur"];
    (positive.is_null() || document["complete_with_positive_dur"] == *positive)
        && (figures["naive_sum_us"].is_null() || close(&document["naive_sum_us"], &figures["naive_sum_us"]))
}

/// Every line of output that the guide's example quotes is in the report of its trace, up to white space and what it cuts off.
pub(crate) fn the_example_of_the_guide_is_what_the_program_prints(traces: &Path) {
    let guide = include_str!("../../../../docs/trace.md");
    let (_, example) = guide.split_once("## From a trace to the answer\n").unwrap();
    let (example, _) = example.split_once("\n## ").unwrap();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = tempfile::tempdir().unwrap();
    let (mut printed, mut quoted) = (String::new(), 0);
    for line in example.lines().filter_map(|line| line.strip_prefix("    ")) {
        if let Some(command) = line.strip_prefix("knockout trace analyze ") {
            let (file, options) = command.split_once(' ').unwrap();
            let file = traces.join("jobs").join(file);
            let mut all = vec!["trace", "analyze", file.to_str().unwrap()];
            all.extend(options.split(' '));
            let ran = run_in(folder.path(), &all).ok();
            printed = ran.stdout.lines().map(|line| words(line) + "\n").collect();
        } else if !line.starts_with("knockout ") {
            quoted += 1;
            assert!(printed.contains(words(line).trim_end_matches("; …")), "{line}");
        }
    }
    assert!(quoted >= 8, "{quoted}");
}
