//! The recorder from outside: what is kept, what is thrown away, what comes out of the file.

use super::*;
use crate::{Event, ReadOptions, Sink, read};
use serde_json::{Map, Value};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn fake() -> (Arc<FakeClock>, Recorder) {
    let clock = Arc::new(FakeClock::new());
    let options =
        RecorderOptions { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..RecorderOptions::default() };
    (clock, Recorder::new(options))
}

/// (name, start, duration) of the spans, in milliseconds.
fn spans(records: &[Record]) -> Vec<(String, u64, u64)> {
    let span = |record: &Record| match &record.event {
        RecordedEvent::Span { name, duration_nanos, .. } => {
            Some((name.to_string(), record.start_nanos / 1_000_000, duration_nanos / 1_000_000))
        }
        RecordedEvent::Counter { .. } => None,
    };
    records.iter().filter_map(span).collect()
}

#[test]
fn spans_have_the_times_of_the_clock_and_nest() {
    let (clock, recorder) = fake();
    {
        let _step = recorder.step(3);
        clock.advance(MS);
        let forward = recorder.span(StepPhase::Forward).shape(&[28, 64]).shape(&[64]).bytes(12);
        clock.advance(2 * MS);
        forward.end();
        clock.advance(MS);
    }
    let records = recorder.drain();
    assert_eq!(spans(&records), [("forward".to_owned(), 1, 2), ("ProfilerStep#3".to_owned(), 0, 4)]);
    let RecordedEvent::Span { sizes: Some(sizes), .. } = &records[0].event else { panic!("{records:?}") };
    assert_eq!(**sizes, Sizes { bytes: Some(12), shapes: vec![vec![28, 64], vec![64]] });
    assert!(recorder.drain().is_empty(), "drained once");
}

#[test]
fn off_and_skipping_record_nothing_and_warming_up_keeps_nothing() {
    let off = Recorder::off();
    off.span("x").shape(&[1]).bytes(1).end();
    off.counter(Gauge::Rss, 1);
    assert!(!off.is_on() && !off.is_recording() && off.drain().is_empty());
    let (_, recorder) = fake();
    recorder.set_state(StepState::Skip);
    recorder.span("skipped").end();
    recorder.set_state(StepState::Warm);
    let across = recorder.span("begun while warming up");
    recorder.set_state(StepState::Record);
    across.end();
    let last = recorder.span("recorded");
    recorder.set_state(StepState::Skip);
    last.end();
    assert_eq!(spans(&recorder.drain()), [("recorded".to_owned(), 0, 0)]);
}

#[test]
fn records_of_all_threads_arrive_whether_they_live_or_not() {
    let recorder = Recorder::new(RecorderOptions::default());
    let per_thread = 5000;
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (ready, all_ready) = std::sync::mpsc::channel();
    let alive = std::thread::spawn({
        let recorder = recorder.clone();
        move || {
            (0..per_thread).for_each(|_| recorder.span("alive").end());
            ready.send(()).unwrap();
            stopped.recv().ok();
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let recorder = recorder.clone();
            scope.spawn(move || (0..per_thread).for_each(|_| recorder.span("ended").end()));
        }
    });
    all_ready.recv().unwrap();
    let records = recorder.drain();
    assert_eq!((records.len(), recorder.dropped()), (4 * per_thread, 0));
    for thread in 0..4 {
        let starts: Vec<u64> = records
            .iter()
            .filter(|record| record.thread == thread)
            .map(|record| record.start_nanos)
            .collect();
        assert_eq!(starts.len(), per_thread);
        assert!(starts.is_sorted(), "a thread's records come in order");
    }
    drop(stop);
    alive.join().unwrap();
}

#[test]
fn draining_while_others_record_loses_and_doubles_nothing() {
    let recorder = Recorder::new(RecorderOptions::default());
    let total = 20_000;
    let mut got = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let recorder = recorder.clone();
                scope.spawn(move || (0..total).for_each(|at| recorder.counter(Gauge::QueueDepth, at)))
            })
            .collect();
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            got += recorder.drain().len() as u64;
        }
    });
    got += recorder.drain().len() as u64;
    assert_eq!((got, recorder.dropped()), (2 * total, 0));
}

#[test]
fn memory_is_bounded_and_the_loss_is_counted() {
    let recorder = Recorder::new(RecorderOptions { most_records: 192, ..RecorderOptions::default() });
    (0..1000).for_each(|_| recorder.span("x").end());
    assert!(recorder.is_half_full());
    let kept = recorder.drain().len() as u64;
    assert_eq!((kept, recorder.dropped()), (192, 808));
    recorder.span("room again").end();
    assert_eq!(recorder.drain().len(), 1);
}

#[test]
fn threads_that_come_and_go_keep_their_numbers_and_leave_no_memory() {
    let recorder = Recorder::new(RecorderOptions { most_records: 64 * 8, ..RecorderOptions::default() });
    for _ in 0..100 {
        let spawn = |name: &str| {
            let recorder = recorder.clone();
            let work = move || recorder.span("x").end();
            std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap()
        };
        let threads = [spawn("loader 0"), spawn("loader 1")];
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(recorder.drain().len(), 2);
    }
    assert_eq!(recorder.dropped(), 0);
    let names = recorder.shared.as_ref().unwrap().buffers.thread_names();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn two_recorders_on_one_thread_stay_apart() {
    let (one, two) = (Recorder::new(RecorderOptions::default()), Recorder::new(RecorderOptions::default()));
    let outer = one.span("one");
    two.span("two").end();
    outer.end();
    let names =
        |recorder: &Recorder| spans(&recorder.drain()).into_iter().map(|span| span.0).collect::<Vec<_>>();
    assert_eq!((names(&one), names(&two)), (vec!["one".to_owned()], vec!["two".to_owned()]));
}

type Kept = (char, String, Option<(i64, i64)>);

#[derive(Default)]
struct Keep(Vec<Kept>);
impl Sink for Keep {
    fn event(&mut self, event: &Event<'_>) {
        let phase = event.phase.text().chars().next().unwrap_or('?');
        self.0.push((phase, event.symbols.text(event.name).to_owned(), event.span()));
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
        recorder.counter(Gauge::Rss, 4096);
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
fn a_trace_that_is_not_finished_leaves_no_file_and_a_bad_folder_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(RecorderOptions::default());
    drop(TraceFile::create(folder.path(), &recorder, Map::new()).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let absent = folder.path().join("absent");
    assert!(matches!(TraceFile::create(&absent, &recorder, Map::new()), Err(TraceFileError::File(_))));
    let off = TraceFile::create(folder.path(), &Recorder::off(), Map::new()).unwrap_err();
    assert!(off.to_string().contains("the recorder is off"), "{off}");
}

#[test]
fn a_full_memory_is_written_between_steps_and_nothing_is_lost() {
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
            assert_eq!(step.wall_nanos, (10 + 78 + 5) * 1_000_000);
            assert_eq!(step.cpu_nanos, (78 + 5) * 1_000_000);
            assert_eq!(step.phase(StepPhase::Wait), 14_000_000);
            assert_eq!(step.background[StepPhase::Fetch as usize], 40_000_000);
            assert_eq!(step.untracked_nanos(), 5_000_000);
        }
    }
}

#[test]
fn a_batch_made_on_the_spot_is_three_phases_and_a_rest() {
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
