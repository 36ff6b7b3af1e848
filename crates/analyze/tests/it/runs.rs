//! Runs measured with a clock that obeys: a delay put into a phase is found there, to the nanosecond, and unlike runs
//! are not compared.

use knockout_analyze::profile::{
    Conditions, RunComparison, RunComparisonWarning, RunFinding, RunProfile, RunQuantity,
};
use knockout_trace::meter::{LoadTimes, Meter, RunLength, Schedule, StepLog, StepPhase};
use knockout_trace::{Clock, FakeClock, Recorder};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const BATCH: usize = 10;

fn conditions() -> Conditions {
    Conditions {
        data: "abc".to_owned(),
        records: 1000,
        batch: BATCH as u64,
        threads: 1,
        world: 1,
        precision: "f32".to_owned(),
        model: "dango".to_owned(),
        mode: "full".to_owned(),
        processor: "perturbation".to_owned(),
        commit: "0123".to_owned(),
        machine: "a fake one".to_owned(),
        ..Conditions::default()
    }
}

/// A run of 6 steps in which every phase takes 10 ms, one of them `delay` longer, and 1 ms is in none.
fn measured(slow: Option<StepPhase>, delay: Duration) -> StepLog {
    let clock = Arc::new(FakeClock::new());
    let schedule = Schedule::Window { wait: 1, warmup: 1, active: 6, repeat: 1 };
    schedule.check(RunLength::Steps(8)).unwrap();
    let mut meter = Meter::with_clock(&Recorder::off(), schedule, Arc::clone(&clock) as Arc<dyn Clock>);
    for _ in 0..8 {
        for phase in StepPhase::ALL {
            let extra = if slow == Some(phase) { delay } else { Duration::ZERO };
            meter.time(phase, || clock.advance(10 * MS + extra));
        }
        clock.advance(MS);
        meter.end_step(BATCH).unwrap();
    }
    meter.finish().unwrap().0
}

fn profile(slow: Option<StepPhase>, delay: Duration) -> RunProfile {
    RunProfile::of(&measured(slow, delay), conditions()).unwrap()
}

fn compare(a: &RunProfile, b: &RunProfile, vary: &[&str]) -> RunComparison {
    let vary: Vec<String> = vary.iter().map(|name| (*name).to_owned()).collect();
    RunComparison::of(("a", a), ("b", b), &vary).unwrap()
}

#[test]
fn one_long_step_does_not_name_the_longest_phase() {
    let clock = Arc::new(FakeClock::new());
    let schedule = Schedule::Window { wait: 0, warmup: 0, active: 6, repeat: 1 };
    let mut meter = Meter::with_clock(&Recorder::off(), schedule, Arc::clone(&clock) as Arc<dyn Clock>);
    for step in 0..6 {
        meter.time(StepPhase::Forward, || clock.advance(30 * MS));
        meter.time(StepPhase::Backward, || clock.advance(10 * MS));
        clock.advance(if step == 3 { 10_000 * MS } else { Duration::ZERO });
        meter.end_step(BATCH).unwrap();
    }
    let found = RunProfile::of(&meter.finish().unwrap().0, conditions()).unwrap();
    let longest = found.findings.iter().find(|found| found.about() == "longest_phase").unwrap();
    let wanted = RunFinding::LongestPhase {
        phase: StepPhase::Forward.name().to_owned(),
        share: 0.75,
        of_median: true,
    };
    assert_eq!(*longest, wanted);
    assert!(found.warnings.iter().any(|warning| warning.code() == "uneven"), "{:?}", found.warnings);
}

#[test]
fn phases_sum_to_the_wall_and_the_rest_has_a_name() {
    let found = profile(None, Duration::ZERO);
    assert_eq!((found.steps, found.warmed, found.skipped, found.samples), (6, 1, 1, 60));
    assert!((found.wall_s_per_step - 0.141).abs() < 1e-12);
    assert!((found.wall_s_per_sample - 0.0141).abs() < 1e-12);
    let sum: f64 = found.phases.iter().map(|row| row.wall_s).sum();
    assert!((sum / found.wall_s_per_step - 1.0).abs() < 1e-9, "{sum}");
    let last = found.phases.last().unwrap();
    assert_eq!(last.name, "untracked");
    assert!((last.wall_s - 0.001).abs() < 1e-12);
    assert_eq!(found.phases.len(), StepPhase::COUNT + 1);
}

#[test]
fn a_delay_in_any_phase_is_found_in_that_phase_exactly() {
    let plain = profile(None, Duration::ZERO);
    for slow in StepPhase::ALL {
        let slower = profile(Some(slow), 5 * MS);
        let longest = slower.findings.iter().find(|found| found.about() == "longest_phase").unwrap();
        assert!(
            matches!(longest, RunFinding::LongestPhase { phase, share, .. } if phase == slow.name() && (share - 15.0 / 146.0).abs() < 1e-9),
            "{longest:?}"
        );
        let found = compare(&plain, &slower, &[]);
        assert!(found.comparable && found.differences.is_empty());
        let step = found.step().unwrap();
        assert!((step.ratio.unwrap() - 146.0 / 141.0).abs() < 1e-12);
        assert!((step.b - step.a - 500.0).abs() < 1e-9, "microseconds per sample: {step:?}");
        assert_eq!((step.low, step.high), (step.ratio, step.ratio), "steps without spread");
        let moved: Vec<&str> = found
            .rows
            .iter()
            .filter(|row| row.about == RunQuantity::Phase && row.ratio != Some(1.0))
            .map(|row| row.name.as_str())
            .collect();
        assert_eq!(moved, [slow.name()]);
        let phase = found.rows.iter().find(|row| row.name == slow.name()).unwrap();
        assert!((phase.ratio.unwrap() - 1.5).abs() < 1e-12, "{phase:?}");
        let iteration = found.iterations.iter().find(|row| row.name == "step").unwrap();
        assert!((iteration.b - iteration.a - 5000.0).abs() < 1e-9);
    }
}

#[test]
fn different_conditions_have_no_ratio_unless_declared() {
    let a = profile(None, Duration::ZERO);
    let mut b = profile(None, Duration::ZERO);
    b.conditions.commit = "4567".to_owned();
    let found = compare(&a, &b, &[]);
    assert!(found.comparable && found.differences.len() == 1, "another commit is what comparisons are for");
    b.conditions.model = "hetero".to_owned();
    b.conditions.profiler = true;
    b.conditions.settings.insert("model.layers".to_owned(), "2".to_owned());
    let found = compare(&a, &b, &[]);
    assert!(!found.comparable && found.rows.is_empty() && found.iterations.is_empty());
    assert_eq!(found.unlike, ["model", "profiler", "model.layers"]);
    let found = compare(&a, &b, &["model", "profiler"]);
    assert!(!found.comparable);
    assert_eq!((found.unlike.len(), found.varied.len()), (1, 2));
    let found = compare(&a, &b, &["model", "profiler", "model.layers"]);
    assert!(found.comparable && !found.rows.is_empty());
    let error = RunComparison::of(("a", &a), ("b", &b), &["modell".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("\"modell\"") && error.contains("batch"), "{error}");
}

#[test]
fn batches_of_different_size_are_compared_by_sample() {
    let a = profile(None, Duration::ZERO);
    let mut log = measured(None, Duration::ZERO);
    log.steps.iter_mut().for_each(|step| step.samples *= 2);
    let b = RunProfile::of(&log, Conditions { batch: 20, ..conditions() }).unwrap();
    let found = compare(&a, &b, &["batch"]);
    assert!((found.step().unwrap().ratio.unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(found.iterations[0].ratio, Some(1.0));
}

#[test]
fn spread_over_steps_widens_the_interval_and_few_steps_have_a_range() {
    let mut log = measured(None, Duration::ZERO);
    for (place, step) in log.steps.iter_mut().enumerate() {
        step.wall_nanos += place as u64 * 10_000_000;
    }
    let noisy = RunProfile::of(&log, conditions()).unwrap();
    let found = compare(&profile(None, Duration::ZERO), &noisy, &[]);
    let step = found.step().unwrap();
    let (low, ratio, high) = (step.low.unwrap(), step.ratio.unwrap(), step.high.unwrap());
    assert!(low < ratio && ratio < high, "{step:?}");
    log.steps.truncate(2);
    let short = RunProfile::of(&log, conditions()).unwrap();
    let found = compare(&short, &noisy, &[]);
    let step = found.step().unwrap();
    let range = |run: &RunProfile| {
        let steps = run.per_step.wall_nanos.iter().map(|nanos| *nanos as f64);
        (steps.clone().fold(f64::MAX, f64::min), steps.fold(0.0, f64::max))
    };
    let ((min_a, max_a), (min_b, max_b)) = (range(&short), range(&noisy));
    assert!(!step.is_interval());
    assert!((step.low.unwrap() - min_b / max_a).abs() < 1e-9, "the range seen: {step:?}");
    assert!((step.high.unwrap() - max_b / min_a).abs() < 1e-9, "the range seen: {step:?}");
    assert!(found.warnings.contains(&RunComparisonWarning::NoInterval(2)), "{:?}", found.warnings);
}

#[test]
fn work_ahead_of_time_is_beside_the_step_and_waiting_inside() {
    let clock = Arc::new(FakeClock::new());
    let mut meter =
        Meter::with_clock(&Recorder::off(), Schedule::WholeRun, Arc::clone(&clock) as Arc<dyn Clock>);
    for _ in 0..5 {
        clock.rest(4 * MS);
        let times =
            LoadTimes { waited: 4 * MS, process: 30 * MS, is_background: true, ..LoadTimes::default() };
        meter.load(times);
        meter.time(StepPhase::Forward, || clock.advance(6 * MS));
        meter.end_step(BATCH).unwrap();
    }
    let found = RunProfile::of(&meter.finish().unwrap().0, conditions()).unwrap();
    let names: Vec<&str> = found.phases.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["wait", "forward", "untracked"]);
    assert!((found.background[0].share - 3.0).abs() < 1e-9);
    let data = found.findings.iter().find(|found| found.about() == "data").unwrap();
    assert!((data.figure() - 0.4).abs() < 1e-9, "{data:?}");
    assert!(
        matches!(data, RunFinding::Data { background: Some(times), .. } if (times - 3.0).abs() < 1e-9),
        "{data:?}"
    );
}

#[test]
fn the_document_is_read_back_and_other_documents_are_refused() {
    let found = profile(Some(StepPhase::Loss), MS);
    let text = serde_json::to_string(&found).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    for key in [
        "schema",
        "model",
        "mode",
        "batch",
        "threads",
        "steps",
        "wall_s_per_step",
        "cpu_s_per_step",
        "samples_per_s",
        "peak_rss_bytes",
    ] {
        assert!(value.get(key).is_some(), "{key}");
    }
    for key in ["name", "wall_s", "share"] {
        assert!(value["phases"][0].get(key).is_some(), "{key}");
    }
    let again = RunProfile::from_json("x", text.as_bytes()).unwrap();
    assert_eq!((&again.per_step, &again.conditions), (&found.per_step, &found.conditions));
    let refusal = |text: &str| RunProfile::from_json("x.json", text.as_bytes()).unwrap_err().to_string();
    let with = |key: &str, to: Value| {
        let mut changed = value.clone();
        changed[key] = to;
        changed.to_string()
    };
    assert!(refusal(&text[..text.len() / 2]).contains("x.json: it is not a whole JSON document"));
    assert!(refusal("[]").contains("not an object"));
    assert!(refusal("{}").contains("it has no kind"));
    assert!(refusal(&with("kind", json!("analysis"))).contains("its kind is \"analysis\""));
    assert!(refusal(&with("schema", json!(7))).contains("its schema is 7, this program reads 1"));
    assert!(refusal(&with("schema", Value::Null)).contains("its schema is null"));
    assert!(refusal(&with("conditions", json!({}))).contains("does not match its schema"));
    assert!(refusal(&with("steps", json!(99))).contains("99 steps, but times of 6"));
    let mut uneven = value.clone();
    uneven["per_step"]["phases"]["loss"] = json!([1]);
    assert!(refusal(&uneven.to_string()).contains("loss has another number of steps"));
    let mut empty = value.clone();
    empty["per_step"]["samples"] = json!([0, 1, 1, 1, 1, 1]);
    assert!(refusal(&empty.to_string()).contains("a step without samples"));
}

#[test]
fn matrix_products_have_a_rate_and_a_share_of_the_multipliers() {
    let mut log = measured(None, Duration::ZERO);
    for step in &mut log.steps {
        step.flop[StepPhase::Backward as usize] = 30_000_000;
    }
    let found = RunProfile::of(&log, conditions()).unwrap();
    assert_eq!(found.phases.iter().filter(|row| row.products.is_some()).count(), 1);
    let backward =
        |run: &RunProfile| run.phases.iter().find(|row| row.name == "backward").unwrap().products.unwrap();
    // 30 million operations in 10 ms.
    assert_eq!((backward(&found).flop, backward(&found).share_of_peak), (3e7, None));
    assert!((backward(&found).flop_per_s - 3e9).abs() < 1.0);
    let found = found.with_peak(Some(12e9));
    assert_eq!(found.peak_flop_per_s, Some(12e9));
    assert!((backward(&found).share_of_peak.unwrap() - 0.25).abs() < 1e-9);
    let again = RunProfile::from_json("x", &serde_json::to_vec(&found).unwrap()).unwrap();
    assert_eq!(again, found);
    let none = profile(None, Duration::ZERO).with_peak(Some(12e9));
    assert!(none.phases.iter().all(|row| row.products.is_none()));
}

#[test]
fn a_run_without_a_measured_step_is_an_error() {
    let log = StepLog { warmed: 2, skipped: 3, ..StepLog::default() };
    let error = RunProfile::of(&log, conditions()).unwrap_err().to_string();
    assert!(error.contains("2 steps of warm-up, 3 outside"), "{error}");
}

#[test]
fn rounds_that_are_joined_are_the_run_they_are_parts_of() {
    let mut log = measured(None, Duration::ZERO);
    for (place, step) in log.steps.iter_mut().enumerate() {
        step.number = place as u64;
        step.cpu_nanos = 1000 + place as u64;
        step.background[StepPhase::Process as usize] = 77 * place as u64;
        step.rss_bytes[StepPhase::Loss as usize] = 500 - place as u64;
        step.pool_bytes = 10 * place as u64;
        step.flop[StepPhase::Forward as usize] = 7 * place as u64;
    }
    let whole = RunProfile::of(&log, conditions()).unwrap();
    let part = |steps: std::ops::Range<usize>, warmed, skipped| {
        let part = StepLog { steps: log.steps[steps].to_vec(), warmed, skipped, ..StepLog::default() };
        // Through its document, as between processes.
        let text = serde_json::to_vec(&RunProfile::of(&part, conditions()).unwrap()).unwrap();
        RunProfile::from_json("part", &text).unwrap()
    };
    let rounds = [part(0..2, log.warmed, 0), part(2..3, 0, log.skipped), part(3..6, 0, 0)];
    assert_eq!(RunProfile::joined(&rounds).unwrap(), whole);
    let mut unlike = rounds.to_vec();
    unlike[2].conditions.threads = 9;
    let refused = RunProfile::joined(&unlike).unwrap_err();
    assert!(refused.to_string().contains("differ in threads"), "{refused}");
    assert!(RunProfile::joined(&[]).unwrap_err().to_string().contains("no step was measured"));
}
