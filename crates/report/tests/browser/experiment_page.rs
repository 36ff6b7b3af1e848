//! An experiment of two models as page, text and summary: all three say what the document says.

use super::{DARK, Tried};
use knockout_meter::{Meter, Schedule, StepPhase};
use knockout_profile::experiment::{Experiment, ExperimentPlan, Switch, SwitchOutcome, SwitchRuns};
use knockout_profile::{Conditions, RunProfile};
use knockout_report::{experiment_html, experiment_markdown, experiment_text};
use knockout_trace::{Clock, FakeClock, Recorder};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Four rounds of one step: phases of these milliseconds, as far as the mode goes.
fn measured(model: &str, mode: &str, profiler: bool, costs: [u64; 4]) -> RunProfile {
    let phases = [StepPhase::Fetch, StepPhase::Forward, StepPhase::Backward, StepPhase::Optimiser];
    let length = ["data", "forward", "backward", "full"].iter().position(|name| *name == mode).unwrap() + 1;
    let clock = Arc::new(FakeClock::new());
    let mut meter =
        Meter::with_clock(&Recorder::off(), Schedule::WholeRun, Arc::clone(&clock) as Arc<dyn Clock>);
    for _ in 0..5 {
        for (phase, ms) in phases.into_iter().zip(costs).take(length) {
            meter.time(phase, || clock.advance(Duration::from_millis(ms)));
        }
        meter.end_step(10).unwrap();
    }
    let conditions = Conditions {
        batch: 10,
        model: model.to_owned(),
        mode: mode.to_owned(),
        processor: "perturbation".to_owned(),
        profiler,
        ..Conditions::default()
    };
    RunProfile::of(&meter.finish().unwrap().0, conditions).unwrap()
}

fn experiment() -> Experiment {
    let plan = ExperimentPlan { dataset: "a|<b>".to_owned(), rounds: 5, steps: 1, warmup: 0 };
    let mut profiles = Vec::new();
    for (model, costs) in [("dango", [1, 10, 20, 1]), ("hetero", [1, 40, 60, 1])] {
        for mode in ["data", "forward", "backward", "full"] {
            profiles.push(measured(model, mode, false, costs));
        }
        profiles.push(measured(model, "full", true, costs));
    }
    let switch = |name: &str, outcome| Switch {
        name: name.to_owned(),
        keys: vec!["model.x=1".to_owned()],
        note: "it sees less".to_owned(),
        outcome,
    };
    let runs = SwitchRuns {
        baseline: measured("dango", "full", false, [1, 10, 20, 1]),
        switches: vec![
            switch(
                "half",
                SwitchOutcome::Measured(Box::new(measured("dango", "full", false, [1, 4, 10, 1]))),
            ),
            switch("gone", SwitchOutcome::NotApplicable("dango has no key model.y".to_owned())),
        ],
    };
    Experiment::of(plan, profiles, vec![runs]).unwrap()
}

#[test]
fn the_page_of_an_experiment_works_in_a_browser() {
    let page = experiment_html(&experiment(), &[]);
    let Some(tried) = Tried::new(page, include_str!("experiment.js")) else { return };
    let seen = tried.seen("1200,1400", &[]);
    assert_eq!((&seen["error"], &seen["ready"]), (&Value::Null, &json!("yes")), "{seen:#}");
    let sections: Vec<&str> = seen["sections"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for section in ["verdicts", "decomposition", "cells", "options-dango", "decisions", "next", "tree-dango"]
    {
        assert!(sections.contains(&section), "{section}: {sections:?}");
    }
    assert!(sections.contains(&"dango-phases") && sections.contains(&"hetero-steps"), "{sections:?}");
    assert_eq!(seen["cells"].as_array().unwrap().len(), 10);
    assert_eq!(seen["ratios"].as_array().unwrap().len(), 4);
    assert_eq!(seen["ratios"][3][0], "hetero full / dango full");
    assert!(seen["ratios"][3][2].as_str().unwrap().starts_with("3.18"), "{seen:#}");
    assert_eq!(seen["parts"].as_array().unwrap().len(), 4);
    // Bars of both ways, of the longest step: 1, 10, 20 and 1 of 102 ms, then hetero's.
    assert_eq!(seen["widths"][0], json!([1, 10, 20, 1]));
    assert_eq!(seen["widths"][0], seen["widths"][1]);
    assert_eq!(seen["widths"][2], json!([1, 39, 59, 1]));
    assert_eq!(seen["options"], json!(["half 2.00 (2.00 to 2.00)"]));
    assert_eq!(seen["overflow"], false);
    let phone = tried.seen("500,900", &[]);
    assert_eq!((&phone["error"], &phone["overflow"]), (&Value::Null, &json!(false)), "also on a phone");
    assert_eq!(tried.seen("1200,1400", &[DARK])["paper"], "rgb(20, 23, 29)");
    tried.keep("experiment");
}

#[test]
fn text_and_summary_say_what_the_document_says() {
    let experiment = experiment();
    let text = experiment_text(&experiment, &[("page".to_owned(), "x/report.html".to_owned())]);
    for part in [
        "DATA: data only",
        "FULL: a full training step",
        "DECOMPOSITION ANALYSIS",
        "INSIGHTS",
        "OPTIONS TRIED",
        "NEXT STEPS BASED ON RESULTS",
        "NOT RUN: process, collate, wait, loss, clip, optimiser, logging",
        "hetero full takes 3.19 (3.19 to 3.19) times as long per sample as dango full",
        "x/report.html",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let summary = experiment_markdown(&experiment);
    for part in [
        "# Experiment on a\\|&lt;b>",
        "## Executive summary",
        "## Time breakdown",
        "├─ model compute                      30.000 ms   93.8 %",
        "│  └─ backward                        20.000 ms   62.5 %",
        "## Decisions",
        "### Models beside each other, per sample",
        "## Options tried, dango",
        "- gone: dango has no key model.y",
        "## Next steps",
    ] {
        assert!(summary.contains(part), "{part:?} is not in\n{summary}");
    }
    // Every table is whole: as many cells in each row as in its head.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = summary.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with('|') && pair[1].starts_with('|')) {
        assert_eq!(cells(pair[0]), cells(pair[1]), "{pair:?}");
    }
}
