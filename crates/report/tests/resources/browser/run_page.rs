//! The page of a measured run: phases, steps, memory, layers, flame graph and another run beside it.

use super::{DARK, Tried};
use knockout_analyze::profile::{Conditions, RunComparison, RunProfile};
use knockout_analyze::{Analysis, Collector, Options, Rules};
use knockout_trace::meter::{Gauge, Meter, Schedule, StepPhase};
use knockout_trace::{Clock, FakeClock, ReadOptions, Recorder, RecorderOptions, TraceFile, read};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const HOSTILE: &str = "</script><script>alert(1)</script>";

/// Four steps: a forward of so many milliseconds with one layer in it, a backward of 30 and 2 in no phase.
fn measured(forward_ms: u64) -> (RunProfile, Analysis) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FakeClock::new());
    let options =
        RecorderOptions { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..RecorderOptions::default() };
    let recorder = Recorder::new(options);
    let conditions = Conditions {
        model: HOSTILE.to_owned(),
        mode: "full".to_owned(),
        batch: 10,
        threads: 1,
        ..Conditions::default()
    };
    let file = TraceFile::create(folder.path(), &recorder, conditions.to_map()).unwrap();
    let mut meter = Meter::new(&recorder, Schedule::WholeRun).with_memory().with_trace(file);
    for _ in 0..4 {
        meter.time(StepPhase::Forward, || {
            let _layer = recorder.span(StepPhase::Forward.part("sage1"));
            clock.advance(Duration::from_millis(forward_ms));
        });
        meter.time(StepPhase::Backward, || clock.advance(Duration::from_millis(30)));
        clock.advance(Duration::from_millis(2));
        meter.gauge(Gauge::Pool, 3 << 20);
        meter.end_step(10).unwrap();
    }
    let (log, written) = meter.finish().unwrap();
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let trace = std::fs::File::open(written.unwrap().path).unwrap();
    let outcome = read(trace, ReadOptions::default(), &mut collector).unwrap();
    let analysis = Analysis::of(vec![collector.finish("trace", &outcome).unwrap()]).with_steps_added_up();
    (RunProfile::of(&log, conditions).unwrap(), analysis)
}

pub(crate) fn the_page_of_a_run_works_in_a_browser(browser: &Path) {
    let (before, _) = measured(8);
    let (profile, recorded) = measured(16);
    let comparison = RunComparison::of(("before", &before), ("this run", &profile), &[]).unwrap();
    let page = knockout_report::run_html(&profile, Some(&recorded), Some(&comparison));
    assert!(!page.contains("alert(1)</script>"));
    let tried = Tried::new(browser, page, include_str!("run.js"));
    let seen = tried.seen("1200,1400", &[]);
    assert_eq!(seen["error"], Value::Null, "{seen:#}");
    assert_eq!((&seen["ready"], &seen["print"]), (&json!("yes"), &json!(true)));
    let mut sections = vec!["summary", "warnings", "phases", "steps"];
    if profile.peak_rss_bytes.is_some() {
        // Only Linux tells how much memory a process has.
        sections.push("memory");
        assert!(seen["memory"].as_u64().unwrap() > 1, "the curve is drawn: {seen:#}");
    }
    sections.extend(["parts", "flame", "comparison", "comparison-changes", "comparison-samples"]);
    sections.extend(["comparison-iterations", "conditions"]);
    assert_eq!(seen["sections"], json!(sections), "{seen:#}");
    assert_eq!(
        seen["phases"],
        json!([
            ["forward", "", "16.000 ms", "33.3 %", "1.600 ms"],
            ["backward", "", "30.000 ms", "62.5 %", "3.000 ms"],
            ["untracked", "", "2.000 ms", "4.2 %", "200.000 µs"],
        ])
    );
    assert_eq!(seen["widths"][1], "100%");
    assert_eq!(seen["parts"], json!(["forward/sage1"]));
    assert_eq!(
        seen["step"],
        "step 0: 48.000 ms, of which backward 30.000 ms, forward 16.000 ms, untracked 2.000 ms."
    );
    assert!(seen["strip"].as_u64().unwrap() > 3, "{seen:#}");
    let flame: Vec<&str> = seen["flame"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(flame[1..], ["steps", "backward", "forward", "forward/sage1"], "all steps as one");
    assert_eq!(seen["zoomed"], "↑ backward");
    assert_eq!(seen["overflow"], false);
    let phone = tried.seen("500,900", &[]);
    assert_eq!((&phone["error"], &phone["overflow"]), (&Value::Null, &json!(false)), "also on a phone");
    let dark = tried.seen("1200,1400", &[DARK]);
    assert_eq!((&dark["error"], &dark["paper"]), (&Value::Null, &json!("rgb(20, 23, 29)")));
    tried.keep("run");
}

pub(crate) fn a_run_without_a_trace_has_a_page_without_one(browser: &Path) {
    let (mut profile, _) = measured(8);
    profile.per_step.rss_bytes.clear();
    let page = knockout_report::run_html(&profile, None, None);
    let tried = Tried::new(browser, page, include_str!("run.js"));
    let seen = tried.seen("1200,1400", &[]);
    // The script looks for the flame graph that is not there: nothing before it may have failed.
    let sections = seen["sections"].as_array().unwrap();
    assert!(!sections.contains(&json!("flame")) && seen["memory"] == 0, "{seen:#}");
    assert!(sections.contains(&json!("conditions")), "{seen:#}");
}
