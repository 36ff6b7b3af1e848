//! Every figure of `expected/*.json` beside the shared traces, reproduced.
//!
//! Ignored where `Resource::Traces` is missing.

use crate::common::{Check, analyze};
use knockout_analyze::{Analysis, TraceComparison};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn whole_file(trace: &Path, check: &mut Check, expected: &Value) {
    let findings = analyze(trace, 2);
    let actual = serde_json::to_value(&findings).unwrap();
    for key in [
        "events",
        "events_by_ph",
        "complete_events",
        "complete_with_positive_dur",
        "complete_with_zero_dur",
        "complete_with_negative_dur",
        "complete_without_usable_times",
        "naive_sum_us",
        "distinct_names",
        "rank",
        "world_size",
    ] {
        check.same(key, &expected[key], &actual[key]);
    }
    check.same("wall_span_us", &expected["wall_span_us"], &actual["span_us"]);
    check.same(
        "wall_span_without_trace_cat_us",
        &expected["wall_span_without_trace_cat_us"],
        &actual["span_without_trace_cat_us"],
    );
    check.same("lanes_self_sum_us", &expected["lanes_self_sum_us"], &actual["self_us"]);
    for (cat, row) in expected["event_cat_naive"].as_object().unwrap() {
        let own = findings.event_cats.iter().find(|own| &own.name == cat).unwrap();
        check.same(&format!("cat {cat}"), &row["events"], &own.events.into());
        check.same(&format!("cat {cat}"), &row["sum_us"], &own.sum_us.into());
    }
    lanes(&actual, check, expected);
    operations(&findings, check, expected);
    steps(&actual, check, expected);
    memory(&findings, check, expected);
    check.same(
        "gpu is there",
        &expected["gpu"]["whole"].is_object().into(),
        &actual["gpu"].is_object().into(),
    );
    if expected["gpu"]["whole"].is_object() {
        let mut whole = expected["gpu"]["whole"].clone();
        if trace.ends_with(ALL_REDUCE) {
            with_all_reduce(&mut whole);
        }
        device(&actual["gpu"], check, &whole, "whole");
    }
    check.same(
        "hta is there",
        &expected["gpu"]["hta_rule"].is_object().into(),
        &actual["gpu_hta"].is_object().into(),
    );
    if expected["gpu"]["hta_rule"].is_object() {
        device(&actual["gpu_hta"], check, &expected["gpu"]["hta_rule"], "hta_rule");
    }
    let parts: f64 = findings.categories.iter().map(|row| row.us).sum();
    check.same("categories sum to own time", &actual["self_us"], &parts.into());
    for (side, is_device) in [("host_us", false), ("device_us", true)] {
        let rows = findings.categories.iter().filter(|row| row.device == is_device);
        check.same(side, &rows.map(|row| row.us).sum::<f64>().into(), &actual[side]);
    }
    let phases: f64 = findings.phases.iter().map(|row| row.us).sum();
    check.same("phases sum to the host's time", &actual["host_us"], &phases.into());
}

/// The trace in which 73 kernels of PyTorch's own all-reduce communicate. The expected figures know kernels of NCCL alone.
const ALL_REDUCE: &str = "b200_eager.json.gz";

/// Figures with these kernels as communication, counted by a script of its own.
fn with_all_reduce(whole: &mut Value) {
    for (figure, us) in
        [("communication_us", 2141.501), ("compute_us", 8652.137), ("non_compute_us", 2944.345)]
    {
        whole[figure] = us.into();
    }
    whole["by_type"]["COMMUNICATION"] = serde_json::json!({"events": 74, "sum_us": 2141.501});
    whole["by_type"]["COMPUTATION"] = serde_json::json!({"events": 694, "sum_us": 8721.415});
}

fn lanes(actual: &Value, check: &mut Check, expected: &Value) {
    let own = actual["lanes"].as_array().unwrap();
    let theirs = expected["lanes"].as_array().unwrap();
    check.same("number of lanes", &theirs.len().into(), &own.len().into());
    for lane in theirs {
        let what = format!("lane {}:{}", lane["pid"], lane["tid"]);
        let Some(found) = own.iter().find(|own| own["pid"] == lane["pid"] && own["tid"] == lane["tid"])
        else {
            check.fail(&format!("{what} is missing"));
            continue;
        };
        for key in ["events", "naive_sum_us", "overlapping_not_nested", "device_lane", "device_work_us"] {
            check.same(&format!("{what} {key}"), &lane[key], &found[key]);
        }
        check.same(&format!("{what} self"), &lane["self_sum_us"], &found["self_us"]);
        check.same(&format!("{what} busy"), &lane["self_sum_us"], &found["busy_us"]);
    }
}

fn operations(findings: &knockout_analyze::FileFindings, check: &mut Check, expected: &Value) {
    for (place, row) in expected["top10_self"].as_array().unwrap().iter().enumerate() {
        let own = &findings.operations[place];
        check.same(&format!("operation {place}"), &row["name"], &own.name.as_str().into());
        check.same(&format!("operation {place} self"), &row["self_us"], &own.self_us.into());
        check.same(&format!("operation {place} count"), &row["events"], &own.count.into());
    }
    for row in expected["top10_naive"].as_array().unwrap() {
        let Some(own) = findings.operations.iter().find(|own| row["name"] == own.name.as_str()) else {
            continue;
        };
        check.same(&format!("sum of {}", own.name), &row["sum_us"], &own.sum_us.into());
    }
}

fn steps(actual: &Value, check: &mut Check, expected: &Value) {
    for (theirs, own) in [("profiler_steps", "steps"), ("profiler_steps_gpu", "steps_gpu")] {
        let (theirs, own) = (expected[theirs].as_array().unwrap(), actual[own].as_array().unwrap());
        check.same("number of steps", &theirs.len().into(), &own.len().into());
        for (theirs, own) in theirs.iter().zip(own) {
            check.same("step name", &theirs["name"], &own["name"]);
            check.same("step length", &theirs["dur_us"], &own["us"]);
            check.same("step start", &theirs["start_after_first_event_us"], &own["start_us"]);
        }
    }
}

fn memory(findings: &knockout_analyze::FileFindings, check: &mut Check, expected: &Value) {
    let theirs = expected["memory_events"].as_object().unwrap();
    check.same("memory devices", &theirs.len().into(), &findings.memory.len().into());
    for (device, row) in theirs {
        let own = findings.memory.iter().find(|own| &own.device == device).unwrap();
        let own = serde_json::to_value(own).unwrap();
        for key in ["events", "max_total_allocated", "max_total_reserved", "sum_bytes"] {
            check.same(&format!("memory {device} {key}"), &row[key], &own[key]);
        }
    }
}

/// Every key of the expected device figures, wherever it is nested.
fn device(actual: &Value, check: &mut Check, expected: &Value, rule: &str) {
    for (key, theirs) in expected.as_object().unwrap() {
        let what = format!("{rule} {key}");
        match key.as_str() {
            "idle_per_stream" | "queue_length" => {
                check.same(
                    &what,
                    &theirs.as_object().unwrap().len().into(),
                    &actual[key].as_object().unwrap().len().into(),
                );
                for (stream, row) in theirs.as_object().unwrap() {
                    for (figure, value) in row.as_object().unwrap() {
                        let own = &actual[key][stream][figure];
                        if figure == "gaps" {
                            for (index, cause) in ["host_wait", "kernel_wait", "other"].iter().enumerate() {
                                check.same(
                                    &format!("{what} {stream} gaps {cause}"),
                                    &value[cause],
                                    &own[index],
                                );
                            }
                        } else {
                            check.same(&format!("{what} {stream} {figure}"), value, own);
                        }
                    }
                }
            }
            "launch" => {
                for (figure, value) in theirs.as_object().unwrap() {
                    let own = if figure == "device_events_without_launch_call" {
                        &actual[figure]
                    } else {
                        &actual["launch"][figure]
                    };
                    check.same(&format!("{what} {figure}"), value, own);
                }
            }
            "by_type" => {
                for (kind, row) in theirs.as_object().unwrap() {
                    for (figure, value) in row.as_object().unwrap() {
                        check.same(
                            &format!("{what} {kind} {figure}"),
                            value,
                            &actual["by_type"][kind][figure],
                        );
                    }
                }
            }
            _ => check.same(&what, theirs, &actual[key]),
        }
    }
}

pub(crate) fn all_expected_figures_are_reproduced(traces: &Path) {
    let mut names: Vec<String> = std::fs::read_dir(traces)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.trim_end_matches(".gz").ends_with("json"))
        .collect();
    names.sort();
    let mut check = Check::default();
    for name in &names {
        let path = traces.join("expected").join(format!("{name}.json"));
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        check.enter(name);
        whole_file(&traces.join(name), &mut check, &serde_json::from_str(&text).unwrap());
    }
    check.done(2000);
}

pub(crate) fn what_the_generator_put_in_comes_out(traces: &Path) {
    let text = std::fs::read_to_string(traces.join("expected/gen_100k.truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&text).unwrap();
    let findings = analyze(&traces.join("gen_100k.json.gz"), 2);
    assert_eq!(serde_json::to_value(&findings.events_by_ph).unwrap(), truth["events_by_ph"]);
    let steps: Vec<f64> = findings.steps.iter().map(|step| step.us).collect();
    assert_eq!(serde_json::to_value(steps).unwrap(), truth["step_wall_us"]);
    let mut by_name: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (key, row) in truth["count_and_sum_dur_us"].as_object().unwrap() {
        let sums = by_name.entry(key.split_once('|').unwrap().1).or_default();
        sums.0 += row[0].as_u64().unwrap();
        sums.1 += row[1].as_f64().unwrap();
    }
    assert_eq!(findings.operations.len(), by_name.len());
    for operation in &findings.operations {
        let (count, sum) = by_name[operation.name.as_str()];
        assert_eq!(operation.count, count, "{}", operation.name);
        assert!((operation.sum_us - sum).abs() < 0.001, "{}", operation.name);
    }
}

pub(crate) fn the_findings_do_not_depend_on_the_number_of_threads(traces: &Path) {
    for name in ["hta_diff_test.json.gz", "h100_bert.json.gz", "gen_100k.json.gz"] {
        let one = serde_json::to_string(&analyze(&traces.join(name), 1)).unwrap();
        for threads in [2, 7] {
            assert_eq!(
                one,
                serde_json::to_string(&analyze(&traces.join(name), threads)).unwrap(),
                "{name}, {threads} threads"
            );
        }
    }
}

pub(crate) fn the_expected_comparison_is_reproduced(traces: &Path) {
    let text = std::fs::read_to_string(traces.join("expected/compare_control_vs_test.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let one = |name: &str| Analysis::of(vec![analyze(&traces.join(name), 2)]);
    let (a, b) = (one("hta_diff_control.json.gz"), one("hta_diff_test.json.gz"));
    let comparison = TraceComparison::of(&a, &b);
    let actual = serde_json::to_value(comparison.first_step.as_ref().unwrap()).unwrap();
    let mut check = Check::default();
    check.same("iterations", &expected["iterations_control"], &actual["iterations_control"]);
    check.same("iterations", &expected["iterations_test"], &actual["iterations_test"]);
    for (side, tables) in expected["by_device"].as_object().unwrap() {
        let own = &actual["by_device"][side];
        check.same(&format!("{side} ops"), &tables["ops"], &own["ops"]);
        for table in ["names", "short_names"] {
            for (figure, value) in tables[table].as_object().unwrap() {
                if figure != "top" {
                    check.same(&format!("{side} {table} {figure}"), value, &own[table][figure]);
                }
            }
            for (place, row) in tables[table]["top"].as_array().unwrap().iter().enumerate() {
                for (figure, value) in row.as_object().unwrap() {
                    check.same(
                        &format!("{side} {table} top {place} {figure}"),
                        value,
                        &own[table]["top"][place][figure],
                    );
                }
            }
        }
    }
    check.done(600);
    assert!(!comparison.comparable, "world size and device differ");
    let differs = |what: &str| comparison.differences.iter().any(|difference| difference.what == what);
    assert!(differs("world_size") && differs("device"));
    // Six unsteady steps a side: the rank interval of 1.49 begins at 1.06. Resampling them said more than six steps can.
    assert!(!comparison.slower_than(1.05).is_empty(), "{:?}", comparison.rows[0]);
    assert!(TraceComparison::of(&a, &a).slower_than(1.0).is_empty());
    assert!(TraceComparison::of(&a, &a).comparable);
}

pub(crate) fn two_ranks_stand_beside_each_other(traces: &Path) {
    let text = std::fs::read_to_string(traces.join("expected/two_ranks_hta.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let ranks = ["hta_rank1.json.gz", "hta_rank0.json.gz"].map(|name| analyze(&traces.join(name), 2));
    let analysis = Analysis::of(ranks.into());
    let ranks = serde_json::to_value(&analysis.ranks).unwrap();
    let stragglers = serde_json::to_value(&analysis.stragglers).unwrap();
    let mut check = Check::default();
    for (place, rank) in expected["ranks"].as_array().unwrap().iter().enumerate() {
        let own = &ranks[place];
        check.same("rank", &rank["rank"], &own["rank"]);
        check.same("events", &rank["events"], &own["events"]);
        for (rule, key) in [("whole", "gpu"), ("hta_rule", "gpu_hta")] {
            for (figure, value) in rank[rule].as_object().unwrap() {
                check.same(&format!("rank {place} {rule} {figure}"), value, &own[key][figure]);
            }
        }
    }
    for (place, step) in expected["steps"].as_array().unwrap().iter().enumerate() {
        let own = &stragglers["steps"][place];
        check.same("step", &step["name"], &own["name"]);
        check.same("slowest rank", &step["slowest_rank"], &own["slowest_rank"]);
        check.same("spread", &step["spread_us"], &own["spread_us"]);
        check.same("lengths", &step["dur_us"][0], &own["us"][0]);
        check.same("lengths", &step["dur_us"][1], &own["us"][1]);
    }
    check.done(30);
    let events: u64 = analysis.ranks.iter().map(|rank| rank.events).sum();
    assert_eq!(analysis.events, events);
}

/// Compares the milliseconds of a category in each step with those that timers inside the recorded program measured.
fn near_timers(findings: &knockout_analyze::FileFindings, category: &str, timers: [Option<f64>; 4]) {
    assert_eq!(findings.steps.len(), timers.len());
    for (place, (step, timer)) in findings.steps.iter().zip(timers).enumerate() {
        let Some(timer) = timer else { continue };
        let own = step.host.iter().find(|row| row.name == category).map_or(0.0, |row| row.us / 1000.0);
        // In the first step, 4 ms lie between the timer's start and the first span of the optimiser.
        let tolerance = if place == 0 { 5.0 } else { 1.0 };
        assert!((own - timer).abs() < tolerance, "{category} in {}: {own} ms, timer {timer} ms", step.name);
    }
}

pub(crate) fn manual_optimisation_has_the_phases_that_timers_measured(traces: &Path) {
    let findings = analyze(&traces.join("jobs/lightning_manual.json.gz"), 2);
    near_timers(&findings, "forward", [9.2, 9.8, 4.8, 9.9].map(Some));
    near_timers(&findings, "backward", [16.9, 16.7, 16.3, 17.9].map(Some));
    near_timers(&findings, "optimiser", [110.9, 119.9, 137.5, 111.5].map(Some));
    let loading = findings.categories.iter().find(|row| row.name == "data loading").unwrap();
    assert!((loading.us / 1000.0 - 90.0).abs() < 2.0, "{} us", loading.us);
    assert_eq!(findings.categories[0].name, "optimiser");
}

pub(crate) fn automatic_optimisation_has_the_phases_that_timers_measured(traces: &Path) {
    let findings = analyze(&traces.join("jobs/lightning_auto.json.gz"), 2);
    near_timers(&findings, "forward", [14.0, 15.0, 6.2, 15.8].map(Some));
    // A step of the profiler ends between forward and backward: the second has the backward of the first timer.
    near_timers(&findings, "backward", [None, Some(17.6), Some(20.9), Some(10.6)]);
}

/// What a file gave: `error`, or `ok` and `recovered` with findings.
fn outcome_of(path: &std::path::Path) -> (&'static str, Option<knockout_analyze::FileFindings>, String) {
    let rules = knockout_analyze::Rules::default_rules().unwrap();
    let mut collector = knockout_analyze::Collector::new(&rules, &knockout_analyze::Options::default());
    let file = std::fs::File::open(path).unwrap();
    match knockout_trace::read(file, knockout_trace::ReadOptions::default(), &mut collector) {
        Err(error) => ("error", None, error.to_string()),
        Ok(outcome) => {
            let kind = if outcome.is_rescued() { "recovered" } else { "ok" };
            (kind, Some(collector.finish("awkward", &outcome).unwrap()), String::new())
        }
    }
}

fn awkward_figures(findings: &knockout_analyze::FileFindings, figures: &Value) -> Vec<String> {
    let actual = serde_json::to_value(findings).unwrap();
    let mut check = Check::default();
    let own = |name: &str| findings.operations.iter().find(|op| op.name == name);
    for (key, value) in figures.as_object().into_iter().flatten() {
        match key.as_str() {
            "wall_span_us" => check.same(key, value, &actual["span_us"]),
            "lanes_self_sum_us" => check.same(key, value, &actual["self_us"]),
            "overlapping_not_nested" => {
                let clipped: u64 = findings.lanes.iter().map(|lane| lane.overlapping_not_nested).sum();
                check.same(key, value, &clipped.into());
            }
            "self_us" => {
                for (name, us) in value.as_object().unwrap() {
                    check.same(&format!("own time of {name}"), us, &own(name).map(|op| op.self_us).into());
                }
            }
            "top10_naive" => {
                for row in value.as_array().unwrap() {
                    let name = row["name"].as_str().unwrap();
                    check.same(
                        &format!("sum of {name:?}"),
                        &row["sum_us"],
                        &own(name).map(|op| op.sum_us).into(),
                    );
                    check.same(
                        &format!("count of {name:?}"),
                        &row["events"],
                        &own(name).map(|op| op.count).into(),
                    );
                }
            }
            _ => check.same(key, value, &actual[key]),
        }
    }
    check.wrong()
}

pub(crate) fn every_awkward_file_gives_an_accepted_outcome(traces: &Path) {
    let mut files: Vec<_> =
        std::fs::read_dir(traces.join("awkward")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut faults = Vec::new();
    for path in &files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(traces.join(format!("expected/awkward/{name}.json"))).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let (outcome, findings, message) = outcome_of(path);
        let why_not: Vec<String> = expected["accept"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|accept| {
                if accept["outcome"] != outcome {
                    return Some(format!("outcome {outcome} {message}, not {}", accept["outcome"]));
                }
                let Some(findings) = &findings else { return None };
                if let Some(warning) = accept["warning"].as_str()
                    && !findings.warnings.iter().any(|found| found.code().contains(warning))
                {
                    return Some(format!("no warning {warning} among {:?}", findings.warnings));
                }
                let wrong = awkward_figures(findings, &accept["figures"]);
                (!wrong.is_empty()).then(|| wrong.join("; "))
            })
            .collect();
        if why_not.len() == expected["accept"].as_array().unwrap().len() {
            faults.push(format!("{name}: {}", why_not.join(" | ")));
        }
    }
    assert!(files.len() > 20 && faults.is_empty(), "{}", faults.join("\n"));
}
