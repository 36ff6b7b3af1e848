//! Programs whose critical path is known, run by a small model of a host thread and streams that writes the trace.

use knockout_analyze::{Collector, CriticalPath, FileFindings, Options, Rules};
use knockout_trace::{ReadOptions, read};
use std::collections::BTreeMap;

/// Time of a call into the driver, and from a call to the earliest start on the device, in microseconds.
const CALL: i64 = 5;
const LATENCY: i64 = 10;

/// A host thread that launches work on streams. Every method advances the host's clock as the real call does.
#[derive(Default)]
struct Program {
    now: i64,
    correlation: i64,
    events: Vec<String>,
    /// End of the last work of each stream.
    streams: BTreeMap<i64, i64>,
    /// Whether the waits are written as `cuda_sync` events.
    records_waits: bool,
}

/// A point in a stream's work: stream, end of the work before it, correlation of the call that recorded it.
#[derive(Clone, Copy)]
struct Marker(i64, i64, i64);

impl Program {
    fn span(&mut self, cat: &str, name: &str, lane: (i64, i64), time: (i64, i64), args: &str) {
        let ((pid, tid), (start, end)) = (lane, time);
        self.events.push(format!(
            "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{start},\"dur\":{},\"args\":{{{args}}}}}",
            end - start
        ));
    }

    fn host(&mut self, cat: &str, name: &str, until: i64, args: &str) {
        let start = std::mem::replace(&mut self.now, until);
        self.span(cat, name, (1, 1), (start, until), args);
    }

    fn work(&mut self, name: &str, us: i64) {
        self.host("cpu_op", name, self.now + us, "");
    }

    fn call(&mut self, name: &str, until: i64) -> i64 {
        self.correlation += 1;
        self.host("cuda_runtime", name, until, &format!("\"correlation\":{}", self.correlation));
        self.correlation
    }

    fn device(&mut self, cat: &str, name: &str, stream: i64, correlation: i64, called: i64, us: i64) -> i64 {
        let start = self.streams.get(&stream).copied().unwrap_or(0).max(called + LATENCY);
        let args = format!("\"stream\":{stream},\"device\":0,\"correlation\":{correlation}");
        self.span(cat, name, (0, stream), (start, start + us), &args);
        self.streams.insert(stream, start + us);
        start + us
    }

    fn launch(&mut self, name: &str, stream: i64, us: i64) {
        let called = self.now;
        let correlation = self.call("cudaLaunchKernel", called + CALL);
        self.device("kernel", name, stream, correlation, called, us);
    }

    /// A launch that returns when the work before it has ended.
    fn blocking_launch(&mut self, name: &str, stream: i64, us: i64) {
        let called = self.now;
        let free = self.streams.get(&stream).copied().unwrap_or(0).max(called + CALL);
        let correlation = self.call("cudaLaunchKernel", free + CALL);
        self.device("kernel", name, stream, correlation, called, us);
    }

    /// A copy that returns when it has ended.
    fn blocking_copy(&mut self, name: &str, stream: i64, us: i64) {
        let (called, free) = (self.now, self.streams.get(&stream).copied().unwrap_or(0));
        let correlation = self.call("hipMemcpyWithStream", free.max(called + LATENCY) + us + CALL);
        self.device("gpu_memcpy", name, stream, correlation, called, us);
    }

    fn record(&mut self, stream: i64) -> Marker {
        let correlation = self.call("cudaEventRecord", self.now + 1);
        Marker(stream, self.streams.get(&stream).copied().unwrap_or(0), correlation)
    }

    fn stream_waits(&mut self, stream: i64, Marker(on, end, recorded): Marker) {
        let at = self.now;
        let correlation = self.call("cudaStreamWaitEvent", at + 1);
        let last = self.streams.entry(stream).or_default();
        *last = (*last).max(end);
        if self.records_waits {
            let args = format!(
                "\"stream\":{stream},\"device\":0,\"correlation\":{correlation},\"wait_on_stream\":{on},\"wait_on_cuda_event_record_corr_id\":{recorded}"
            );
            self.span("cuda_sync", "Stream Wait Event", (0, stream), (at, at + 1), &args);
        }
    }

    fn synchronize(&mut self, name: &str, streams: &[i64]) {
        let at = self.now;
        let end = streams.iter().filter_map(|stream| self.streams.get(stream)).copied().max();
        let until = end.unwrap_or(0).max(at) + CALL;
        let correlation = self.call(name, until);
        if self.records_waits
            && let [stream] = streams
        {
            let args = format!("\"stream\":{stream},\"device\":0,\"correlation\":{correlation}");
            self.span("cuda_sync", "Stream Sync", (0, *stream), (at, until), &args);
        }
    }

    /// Ends the step and returns its path by operation, after checking that the parts sum to the step.
    fn path(mut self) -> BTreeMap<String, f64> {
        let end = self.now;
        self.span("user_annotation", "ProfilerStep#1", (1, 1), (0, end), "");
        let path = findings(&format!("{{\"traceEvents\":[{}]}}", self.events.join(","))).critical_path;
        let CriticalPath { us, parts, operations, .. } = path.unwrap();
        assert_eq!(us, end as f64);
        let sum = |rows: &[knockout_analyze::TimeShare]| rows.iter().map(|row| row.us).sum::<f64>();
        assert_eq!((sum(&parts), sum(&operations)), (us, us), "{parts:?} {operations:?}");
        operations.into_iter().map(|row| (row.name, row.us)).collect()
    }
}

fn findings(text: &str) -> FileFindings {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    collector.finish("made here", &outcome).unwrap()
}

fn assert_path(path: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    for (name, us) in expected {
        assert_eq!(path.get(*name).copied().unwrap_or(0.0), *us, "{name}: {path:?}");
    }
}

const NCCL: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// A stream that waits for another, with the wait recorded and without: backward, all-reduce, optimiser.
#[test]
fn a_collective_that_the_optimiser_waits_for_is_on_the_path() {
    for records_waits in [true, false] {
        let mut program = Program { records_waits, ..Program::default() };
        program.work("load", 300);
        program.launch("backward", 7, 1000);
        let computed = program.record(7);
        program.stream_waits(20, computed);
        program.launch(NCCL, 20, 5000);
        let reduced = program.record(20);
        // More work on the first stream, short enough to be hidden.
        program.launch("metrics", 7, 400);
        program.stream_waits(7, reduced);
        program.launch("adam", 7, 200);
        program.synchronize("cudaDeviceSynchronize", &[7, 20]);
        let path = program.path();
        let sync = "cudaDeviceSynchronize";
        let expected = [
            ("load", 300.0),
            ("backward", 1000.0),
            (NCCL, 5000.0),
            ("adam", 200.0),
            ("metrics", 0.0),
            (sync, 5.0),
        ];
        assert_path(&path, &expected);
        assert_path(&path, &[("from launch to device", LATENCY as f64)]);
    }
}

/// The event was recorded before a second collective was launched: only the first one is waited for. The times alone cannot tell,
/// since the second one ends at about the same time.
#[test]
fn a_recorded_wait_is_for_the_work_before_the_record_call() {
    let mut program = Program { records_waits: true, ..Program::default() };
    program.launch("first", 20, 3000);
    let first = program.record(20);
    program.launch("second", 21, 3008);
    program.stream_waits(7, first);
    program.launch("adam", 7, 100);
    program.synchronize("cudaStreamSynchronize", &[7]);
    assert_path(&program.path(), &[("first", 3000.0), ("second", 0.0), ("adam", 100.0)]);
}

/// A stream is synchronised while another one ends later, but before the call returns to the path.
#[test]
fn the_synchronised_stream_is_followed_where_it_is_recorded() {
    let mut program = Program { records_waits: true, ..Program::default() };
    program.launch("waited for", 7, 2000);
    program.launch("beside", 9, 1998);
    program.synchronize("cudaStreamSynchronize", &[7]);
    assert_path(&program.path(), &[("waited for", 2000.0), ("beside", 0.0)]);
}

#[test]
fn a_copy_that_blocks_for_601_ms_is_the_device_s_time() {
    let mut program = Program::default();
    program.work("prepare", 1000);
    program.launch("attention", 0, 601_000);
    program.blocking_copy("Memcpy DtoH (Device -> Host)", 0, 4);
    program.work("log", 50);
    let path = program.path();
    assert_path(
        &path,
        &[("prepare", 1000.0), ("attention", 601_000.0), ("Memcpy DtoH (Device -> Host)", 4.0)],
    );
    assert_path(&path, &[("hipMemcpyWithStream", CALL as f64), ("log", 50.0)]);
}

#[test]
fn launches_that_block_because_the_stream_is_full_wait_for_the_device() {
    let mut program = Program::default();
    program.launch("gemm", 7, 400);
    for _ in 0..10 {
        program.blocking_launch("gemm", 7, 400);
    }
    let path = program.path();
    // The last launch returns when the tenth kernel has ended; the step ends with it.
    assert_path(&path, &[("gemm", 10.0 * 400.0), ("cudaLaunchKernel", CALL as f64)]);
}

#[test]
fn launches_that_take_long_with_an_idle_device_are_the_host_s() {
    let mut program = Program::default();
    for _ in 0..10 {
        program.launch("small", 7, 20);
        // A module is loaded.
        let called = program.now;
        let correlation = program.call("cudaLaunchKernel", called + 500);
        program.device("kernel", "small", 7, correlation, called + 490, 20);
    }
    program.synchronize("cudaDeviceSynchronize", &[7]);
    let path = program.path();
    assert!(path["cudaLaunchKernel"] > 4900.0, "{path:?}");
}
