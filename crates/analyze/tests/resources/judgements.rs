//! Every shared trace is answered as it was judged by hand.

use crate::common::analyze;
use knockout_analyze::{FileFindings, Limit, Rules};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Judgements {
    trace: Vec<Judgement>,
}

/// Shares are per cent of the steps, or of the trace without steps.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judgement {
    file: String,
    limit: String,
    compute: f64,
    communication: f64,
    idle: f64,
    #[serde(default)]
    names: String,
    #[serde(rename = "why")]
    _why: String,
}

/// Returns where an answer differs from the judgement.
fn differences(judged: &Judgement, found: &FileFindings) -> Vec<String> {
    let bound = &found.bound;
    let mut wrong = Vec::new();
    let limit = serde_json::to_value(bound.limit).unwrap();
    if limit != judged.limit.as_str() {
        wrong.push(format!("{limit} instead of {}", judged.limit));
    }
    let total_us = bound.parts.total_us();
    let idle = 1.0 - bound.device_busy.unwrap_or(0.0);
    for (what, wanted, own) in [
        ("computing", judged.compute, bound.parts.compute_us / total_us),
        ("communicating", judged.communication, bound.parts.communication_us / total_us),
        ("idle", judged.idle, idle),
    ] {
        // Communication on the host is not device time, and the script does not count it.
        let is_host = what == "communicating"
            && own > wanted / 100.0
            && found.gpu.as_ref().is_none_or(|gpu| gpu.times.communication_us == 0.0);
        let tolerance = if what == "communicating" { 3.0 } else { 0.15 };
        if !is_host && (100.0 * own - wanted).abs() > tolerance {
            wrong.push(format!("{what} {:.2} % instead of {wanted} %", 100.0 * own));
        }
    }
    let named: Vec<&(String, f64)> =
        [&bound.largest, &bound.module, &bound.operation].into_iter().flatten().collect();
    if !judged.names.is_empty() && !named.iter().any(|(name, _)| name.contains(&judged.names)) {
        wrong.push(format!("{named:?} do not name {}", judged.names));
    }
    wrong.extend(
        named.iter().filter(|(_, share)| *share < 0.05).map(|named| format!("{named:?} is below 5 %")),
    );
    let lengths: f64 = found.steps.iter().map(|step| step.us).sum();
    if !found.steps.is_empty() && (lengths - total_us).abs() > 0.01 {
        wrong.push(format!("parts sum to {total_us} instead of {lengths}"));
    }
    for step in found.steps.iter().filter(|step| (step.parts.total_us() - step.us).abs() > 0.01) {
        wrong.push(format!("parts of {} sum to {} instead of {}", step.name, step.parts.total_us(), step.us));
    }
    wrong.iter().map(|difference| format!("{}: {difference}", judged.file)).collect()
}

pub(crate) fn every_trace_is_answered_as_judged(traces: &Path) {
    let judgements: Judgements = toml::from_str(include_str!("judgements.toml")).unwrap();
    assert!(judgements.trace.len() >= 36);
    let differs = |judged: &Judgement| differences(judged, &analyze(&traces.join(&judged.file), 2));
    let wrong: Vec<String> = judgements.trace.iter().flat_map(differs).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) fn communication_of_twelve_libraries_is_counted(traces: &Path) {
    let found = analyze(&traces.join("jobs/planted_collectives.json.gz"), 2);
    let times = found.gpu.as_ref().unwrap().times;
    assert_eq!(
        (times.compute_us, times.communication_us, times.comm_comp_overlap_us),
        (120_000.0, 120_000.0, 60_000.0)
    );
    let in_table = found.categories.iter().filter(|row| row.device && row.name == "communication");
    assert_eq!(in_table.map(|row| row.us).sum::<f64>(), 120_000.0);
    assert_eq!(found.bound.limit, Limit::Communication);
    assert_eq!(Rules::default_rules().unwrap().name(), "default.toml");
}

pub(crate) fn steps_of_2021_have_no_operators_outside_any_phase(traces: &Path) {
    let found = analyze(&traces.join("kineto2021_resnet50_nw0.json.gz"), 2);
    let of = |name: &str| found.categories.iter().find(|row| row.name == name).map_or(0.0, |row| row.us);
    let steps: f64 = found
        .operations
        .iter()
        .filter(|row| row.name.starts_with("ProfilerStep"))
        .map(|row| row.self_us)
        .sum();
    assert!(steps > 250_000.0, "{steps}");
    assert!(of("unattributed") >= steps, "{} of {steps}", of("unattributed"));
    assert!(of("operators outside any phase") < 130_000.0, "{}", of("operators outside any phase"));
}

pub(crate) fn a_step_cut_by_the_recording_is_named(traces: &Path) {
    let codes = |name: &str| -> Vec<String> {
        let found = analyze(&traces.join(name), 2);
        found
            .warnings
            .iter()
            .filter(|warning| warning.code() == "step_cut")
            .map(|warning| format!("{warning:?}"))
            .collect()
    };
    assert_eq!(codes("jobs/lightning_auto.json.gz"), ["StepCut(\"ProfilerStep#3\", 81909.876)"]);
    assert_eq!(codes("jobs/lightning_manual.json.gz"), Vec::<String>::new());
}
