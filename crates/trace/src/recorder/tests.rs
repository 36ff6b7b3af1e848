//! The public interface of the recorder: kept and dropped records, and the content of the file.

use super::*;
use serde_json::Map;
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
        let _step = recorder.span(SpanName::Numbered("ProfilerStep#", 3));
        clock.advance(MS);
        let forward = recorder.span("forward").shape(&[28, 64]).shape(&[64]).output(&[28, 32]).bytes(12);
        clock.advance(2 * MS);
        forward.end();
        clock.advance(MS);
    }
    let records = recorder.drain();
    assert_eq!(spans(&records), [("forward".to_owned(), 1, 2), ("ProfilerStep#3".to_owned(), 0, 4)]);
    let RecordedEvent::Span { sizes: Some(sizes), .. } = &records[0].event else { panic!("{records:?}") };
    assert_eq!(
        **sizes,
        Sizes { bytes: Some(12), shapes: vec![vec![28, 64], vec![64]], output: vec![28, 32] }
    );
    assert!(recorder.drain().is_empty(), "drained once");
}

#[test]
fn off_and_skipping_record_nothing_and_warming_up_keeps_nothing() {
    let off = Recorder::off();
    off.span("x").shape(&[1]).bytes(1).end();
    off.counter(RESIDENT_BYTES, 1);
    assert!(!off.is_recording() && off.drain().is_empty());
    let (_, recorder) = fake();
    recorder.set_state(RecordState::Skip);
    recorder.span("skipped").end();
    recorder.set_state(RecordState::Warm);
    let across = recorder.span("begun while warming up");
    recorder.set_state(RecordState::Record);
    across.end();
    let last = recorder.span("recorded");
    recorder.set_state(RecordState::Skip);
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
fn draining_while_others_record_is_exact() {
    let recorder = Recorder::new(RecorderOptions::default());
    let total = 20_000;
    let mut got = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let recorder = recorder.clone();
                scope.spawn(move || (0..total).for_each(|at| recorder.counter("queue depth", at)))
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
fn two_recorders_on_one_thread_are_separate() {
    let (one, two) = (Recorder::new(RecorderOptions::default()), Recorder::new(RecorderOptions::default()));
    let outer = one.span("one");
    two.span("two").end();
    outer.end();
    let names =
        |recorder: &Recorder| spans(&recorder.drain()).into_iter().map(|span| span.0).collect::<Vec<_>>();
    assert_eq!((names(&one), names(&two)), (vec!["one".to_owned()], vec!["two".to_owned()]));
}

#[test]
fn a_trace_that_is_not_finished_leaves_no_file_and_a_bad_folder_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(RecorderOptions::default());
    drop(TraceFile::create(folder.path(), &recorder, Map::new()).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let error = TraceFile::create(&file, &recorder, Map::new()).unwrap_err();
    assert!(error.message().starts_with("could not write the trace"), "{error}");
    let off = TraceFile::create(folder.path(), &Recorder::off(), Map::new()).unwrap_err();
    assert!(knockout_base::error::chain(&off).ends_with("the recorder is off"), "{off}");
}

#[test]
fn the_clock_is_the_monotonic_one_of_the_system() {
    let reading = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let clock = SystemClock::new();
    let before = reading();
    let now = clock.monotonic_nanos() + clock.now_nanos();
    assert!((before..=reading()).contains(&now));
}

#[cfg(target_os = "linux")]
#[test]
fn threads_are_known_by_the_number_of_the_system() {
    let (_, recorder) = fake();
    let record = |recorder: &Recorder| {
        recorder.span("x").end();
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        (own.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap(), recorder.thread().unwrap())
    };
    let main = record(&recorder);
    let other = std::thread::scope(|scope| scope.spawn(|| record(&recorder)).join().unwrap());
    assert_ne!(main.1, other.1);
    assert_eq!(recorder.os_threads(), [main, other]);
    assert!(Recorder::off().os_threads().is_empty());
}
