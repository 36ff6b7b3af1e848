//! The step meter from outside: which steps are kept, where their time goes, what is in the file.

use knockout_trace::meter::{Gauge, LoadTimes, Meter, Schedule, StepPhase};
use knockout_trace::{
    Clock, FakeClock, ReadOptions, RecordedEvent, Recorder, RecorderOptions, Sink, TraceEvent, TraceFile,
    read,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn fake() -> (Arc<FakeClock>, Recorder) {
    let clock = Arc::new(FakeClock::new());
    let options =
        RecorderOptions { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..RecorderOptions::default() };
    (clock, Recorder::new(options))
}

type Kept = (char, String, Option<(i64, i64)>);

#[derive(Default)]
struct Keep(Vec<Kept>);
impl Sink for Keep {
    fn event(&mut self, event: &TraceEvent<'_>) {
        let event_type = event.event_type.text().chars().next().unwrap_or('?');
        self.0.push((event_type, event.symbols.text(event.name).to_owned(), event.span()));
    }
}

#[test]
fn the_file_is_read_back_to_the_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FakeClock::new());
    let recorder = Recorder::new(RecorderOptions {
        rank: 1,
        world: 2,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..RecorderOptions::default()
    });
    let conditions = Map::from_iter([("batch".to_owned(), Value::from(28))]);
    let file = TraceFile::create(folder.path(), &recorder, conditions).unwrap();
    let mut meter = Meter::new(&recorder, Schedule::WholeRun).with_trace(file);
    for _ in 0..2 {
        meter.time(StepPhase::Forward, || {
            let _layer = recorder.span(StepPhase::Forward.part("sage1")).bytes(7).shape(&[2, 3]);
            clock.advance(Duration::from_nanos(1_001));
        });
        recorder.counter(Gauge::Rss.name(), 4096);
        clock.advance(Duration::from_nanos(1));
        meter.end_step(28).unwrap();
    }
    let (log, written) = meter.finish().unwrap();
    let written = written.unwrap();
    assert_eq!(written.path, folder.path().join("trace.rank1.json.gz"));
    assert_eq!((written.records, written.dropped), (8, 0));
    assert_eq!(log.parts["forward/sage1"], [1_001, 1_001]);
    let mut keep = Keep::default();
    let outcome =
        read(std::fs::File::open(&written.path).unwrap(), ReadOptions::default(), &mut keep).unwrap();
    assert!(!outcome.is_rescued());
    assert_eq!((outcome.document.rank(), outcome.document.world_size()), (Some(1), Some(2)));
    assert_eq!(outcome.document.get("conditions").unwrap()["batch"], 28);
    assert_eq!(outcome.document.get("droppedRecords"), Some(&Value::from(0)));
    let all: Vec<(char, &str)> = keep.0.iter().map(|event| (event.0, event.1.as_str())).collect();
    // The outer of two equal spans first, which is how readers tell them apart.
    let step = |number| {
        [('X', number), ('X', "forward"), ('X', "forward/sage1"), ('i', "[memory]"), ('C', "rss bytes")]
    };
    let labels = [('M', "process_name"), ('M', "thread_name")];
    assert_eq!(all, [&step("ProfilerStep#0")[..], &step("ProfilerStep#1"), &labels].concat());
    assert_eq!(keep.0[7].2, Some((1_002, 2_003)));
}

#[test]
fn full_buffers_are_written_between_steps() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(RecorderOptions { most_records: 1024, ..RecorderOptions::default() });
    let file = TraceFile::create(folder.path(), &recorder, Map::new()).unwrap();
    let mut meter = Meter::new(&recorder, Schedule::WholeRun).with_trace(file);
    for _ in 0..500 {
        for _ in 0..20 {
            meter.time(StepPhase::Forward, || recorder.span(StepPhase::Forward.part("x")).end());
        }
        meter.end_step(1).unwrap();
    }
    let (log, written) = meter.finish().unwrap();
    let written = written.unwrap();
    assert_eq!(written.dropped, 0);
    assert!(written.records > 500 * 41, "{written:?}");
    assert_eq!((log.steps.len(), log.parts["forward/x"].len()), (500, 500));
    assert!(log.steps.iter().any(|step| step.phase(StepPhase::Logging) > 0), "its cost is shown");
}

#[test]
fn the_meter_keeps_the_steps_of_the_window_and_sums_to_the_wall() {
    for recording in [true, false] {
        let (clock, on) = fake();
        let recorder = if recording { on } else { Recorder::off() };
        let schedule = Schedule::Window { wait: 2, warmup: 1, active: 3, repeat: 1 };
        let mut meter = Meter::with_clock(&recorder, schedule, Arc::clone(&clock) as Arc<dyn Clock>);
        for _ in 0..8 {
            clock.rest(10 * MS);
            meter.load(LoadTimes {
                waited: 10 * MS,
                fetch: 40 * MS,
                is_background: true,
                ..LoadTimes::default()
            });
            for (place, phase) in StepPhase::ALL.into_iter().enumerate() {
                meter.time(phase, || clock.advance(MS * (place as u32 + 1)));
            }
            clock.advance(5 * MS);
            meter.end_step(28).unwrap();
        }
        let (log, _) = meter.finish().unwrap();
        assert_eq!((log.skipped, log.warmed), (4, 1));
        assert_eq!(log.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [3, 4, 5]);
        for step in &log.steps {
            assert_eq!(step.wall_nanos, (10 + 105 + 5) * 1_000_000);
            assert_eq!(step.cpu_nanos, (105 + 5) * 1_000_000);
            assert_eq!(step.phase(StepPhase::Wait), 14_000_000);
            assert_eq!(step.background[StepPhase::Fetch as usize], 40_000_000);
            assert_eq!(step.untracked_nanos(), 5_000_000);
        }
    }
}

#[test]
fn a_batch_made_on_this_thread_is_three_phases_and_a_rest() {
    let clock = Arc::new(FakeClock::new());
    let mut meter =
        Meter::with_clock(&Recorder::off(), Schedule::WholeRun, Arc::clone(&clock) as Arc<dyn Clock>);
    clock.advance(10 * MS);
    let times =
        LoadTimes { waited: 10 * MS, fetch: MS, process: 5 * MS, collate: 3 * MS, is_background: false };
    meter.load(times);
    let step = meter.end_step(1).unwrap();
    let millis = |phase| step.phase(phase) / 1_000_000;
    assert_eq!(
        [StepPhase::Fetch, StepPhase::Process, StepPhase::Collate, StepPhase::Wait].map(millis),
        [1, 5, 3, 1]
    );
    clock.advance(100 * MS);
    meter.restart();
    clock.advance(MS);
    let next = meter.end_step(1).unwrap();
    assert_eq!((next.number, next.wall_nanos), (1, 1_000_000));
}

#[test]
fn spans_are_kept_where_wanted_and_operations_belong_to_their_phase() {
    /// The counter of the process.
    static COUNTED: AtomicU64 = AtomicU64::new(5);
    fn counted() -> u64 {
        COUNTED.load(Ordering::Relaxed)
    }
    let (clock, recorder) = fake();
    let schedule = Schedule::Window { wait: 0, warmup: 1, active: 1, repeat: 1 };
    let mut meter = Meter::new(&recorder, schedule).keeping_spans().with_flop(counted);
    for _ in 0..2 {
        meter.time(StepPhase::Forward, || {
            let _layer = recorder.span(StepPhase::Forward.part("sage1"));
            COUNTED.fetch_add(100, Ordering::Relaxed);
            clock.advance(MS);
        });
        // Between the phases.
        COUNTED.fetch_add(1000, Ordering::Relaxed);
        recorder.counter(Gauge::Rss.name(), 4096);
        meter.time(StepPhase::Backward, || COUNTED.fetch_add(7, Ordering::Relaxed));
        meter.end_step(1).unwrap();
    }
    let (log, _) = meter.finish().unwrap();
    let flop = |phase: StepPhase| log.steps[0].flop[phase as usize];
    assert_eq!((flop(StepPhase::Forward), flop(StepPhase::Backward), flop(StepPhase::Loss)), (100, 7, 0));
    let names: Vec<String> = log
        .spans
        .iter()
        .map(|record| match &record.event {
            RecordedEvent::Span { name, .. } => name.to_string(),
            event => panic!("{event:?}"),
        })
        .collect();
    assert_eq!(
        names,
        ["forward/sage1", "forward", "backward", "ProfilerStep#1"],
        "of the measured step alone"
    );
    let (log, _) = Meter::new(&recorder, Schedule::WholeRun).finish().unwrap();
    assert!(log.spans.is_empty());
}
