//! Traces that knockout records itself: their analysis finds the phases, the steps and the threads as they were.

use knockout_analyze::{
    Analysis, Collector, Counted, FileFindings, Options, Rules, TraceComparison, TraceWarning,
};
use knockout_trace::meter::{Gauge, LoadTimes, Meter, Schedule, StepPhase};
use knockout_trace::{BACKGROUND, Clock, FakeClock, ReadOptions, Recorder, RecorderOptions, TraceFile, read};
use serde_json::{Map, Value};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn analyze(path: &Path) -> FileFindings {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(File::open(path).unwrap(), ReadOptions::default(), &mut collector).unwrap();
    assert!(!outcome.is_rescued(), "{outcome:?}");
    collector.finish("recorded", &outcome).unwrap()
}

/// A run of which the last two steps are in the window.
fn record(folder: &Path, model: &str) -> FileFindings {
    let clock = Arc::new(FakeClock::new());
    let options =
        RecorderOptions { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..RecorderOptions::default() };
    let recorder = Recorder::new(options);
    let conditions =
        [("batch", "28"), ("model", model)].map(|(key, value)| (key.to_owned(), Value::from(value)));
    let file = TraceFile::create(folder, &recorder, Map::from_iter(conditions)).unwrap();
    let schedule = Schedule::Window { wait: 1, warmup: 1, active: 2, repeat: 1 };
    schedule.check(4).unwrap();
    let mut meter = Meter::new(&recorder, schedule).with_trace(file);
    for _ in 0..4 {
        let waiting = recorder.span(StepPhase::Wait);
        std::thread::scope(|scope| {
            let worker = || {
                let _fetch = recorder.span_in(BACKGROUND, StepPhase::Process);
                clock.advance(7 * MS);
            };
            scope.spawn(worker);
        });
        waiting.end();
        recorder.counter(Gauge::Rss.name(), 1 << 20);
        meter.load(LoadTimes {
            waited: 7 * MS,
            process: 7 * MS,
            is_background: true,
            ..LoadTimes::default()
        });
        meter.time(StepPhase::Forward, || {
            let _layer = recorder.span(StepPhase::Forward.part("sage1")).shape(&[28, 64]).bytes(7168);
            clock.advance(20 * MS);
        });
        meter.time(StepPhase::Loss, || clock.advance(3 * MS));
        meter.time(StepPhase::Backward, || {
            let _again = recorder.span(StepPhase::Forward.part("again"));
            clock.advance(40 * MS);
        });
        meter.time(StepPhase::Clip, || clock.advance(MS));
        meter.time(StepPhase::Optimiser, || clock.advance(5 * MS));
        meter.time(StepPhase::Validation, || {
            let _forward = recorder.span(StepPhase::Forward);
            clock.advance(11 * MS);
        });
        clock.advance(2 * MS);
        meter.end_step(28).unwrap();
    }
    let (log, written) = meter.finish().unwrap();
    assert_eq!(log.steps.len(), 2);
    analyze(&written.unwrap().path)
}

#[test]
fn a_recorded_trace_is_analysed_by_its_own_phases() {
    let folder = tempfile::tempdir().unwrap();
    let found = record(folder.path(), "dango");
    let names: Vec<&str> = found.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["ProfilerStep#2", "ProfilerStep#3"]);
    for step in &found.steps {
        assert_eq!(step.us, 89_000.0);
        let of = |name: &str| step.host.iter().find(|row| row.name == name).map_or(0.0, |row| row.us);
        assert_eq!(of("data loading"), 7_000.0);
        assert_eq!(of("loading in the background"), 7_000.0, "told apart from the step's own time");
        assert_eq!(of("forward"), 20_000.0);
        assert_eq!(of("loss"), 3_000.0);
        assert_eq!(of("backward"), 40_000.0, "forward inside backward is recomputation");
        assert_eq!(of("optimiser"), 6_000.0);
        assert_eq!(of("validation"), 11_000.0, "forward inside validation is no training");
        assert_eq!(of("unattributed"), 2_000.0);
    }
    let layer = found.operations.iter().find(|op| op.name == "forward/sage1").unwrap();
    assert_eq!((layer.self_us, layer.count), (40_000.0, 2));
    assert_eq!(found.conditions["model"], "dango");
    assert_eq!(found.conditions["batch"], "28");
    assert_eq!(found.memory[0].max_total_allocated, Some(1 << 20));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn recorded_traces_of_different_runs_are_not_comparable() {
    let folder = tempfile::tempdir().unwrap();
    let analysis = |model| Analysis::of(vec![record(folder.path(), model)]);
    let (dango, again, hetero) = (analysis("dango"), analysis("dango"), analysis("hetero"));
    assert!(TraceComparison::of(&dango, &again).comparable);
    let unlike = TraceComparison::of(&dango, &hetero);
    assert!(!unlike.comparable && unlike.differences[0].what == "model", "{:?}", unlike.differences);
}

#[test]
fn dropped_records_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(RecorderOptions { most_records: 16, ..RecorderOptions::default() });
    let file = TraceFile::create(folder.path(), &recorder, Map::new()).unwrap();
    for _ in 0..20 {
        recorder.span("x").end();
    }
    let written = file.finish().unwrap();
    assert_eq!((written.records, written.dropped), (16, 4));
    let found = analyze(&written.path);
    let dropped = TraceWarning::Counted(Counted::RecordsDropped, 4);
    assert!(found.warnings.contains(&dropped), "{:?}", found.warnings);
}
