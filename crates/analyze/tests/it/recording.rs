//! Recordings made here, in the format of PyTorch's profiler. Times are microseconds.

use std::fmt::Write as _;

/// A recording of one process with one device.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    events: String,
    correlation: u32,
}

/// Number of the process, and of its main thread.
const PROCESS: i64 = 100;

impl Recording {
    fn event(&mut self, cat: &str, name: &str, lane: (i64, i64), (start, length): (i64, i64), args: &str) {
        let comma = if self.events.is_empty() { "" } else { ",\n" };
        let (pid, tid) = lane;
        write!(
            self.events,
            r#"{comma}{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{start},"dur":{length},"args":{{{args}}}}}"#
        )
        .unwrap();
    }

    /// Adds a span of the main thread.
    pub(crate) fn host(&mut self, cat: &str, name: &str, start: i64, length: i64) {
        self.on_thread(PROCESS, cat, name, start, length);
    }

    /// Adds a span of a thread.
    pub(crate) fn on_thread(&mut self, thread: i64, cat: &str, name: &str, start: i64, length: i64) {
        self.event(cat, name, (PROCESS, thread), (start, length), "");
    }

    /// Adds work of the profiler on its buffers.
    pub(crate) fn overhead(&mut self, name: &str, start: i64, length: i64) {
        self.event("overhead", name, (-1, 0), (start, length), "");
    }

    /// Adds a kernel of stream 7, and a call of 3 microseconds that launches it.
    pub(crate) fn kernel(&mut self, name: &str, call: i64, start: i64, length: i64) {
        self.kernel_on(7, name, call, start, length);
    }

    /// Adds a kernel of a stream, and a call of 3 microseconds that launches it.
    pub(crate) fn kernel_on(&mut self, stream: i64, name: &str, call: i64, start: i64, length: i64) {
        self.launched(("cudaLaunchKernel", "kernel", name), stream, (call, 3), (start, length));
    }

    /// Adds a copy, and the call that blocks until it is done.
    pub(crate) fn copy(&mut self, name: &str, call: (i64, i64), device: (i64, i64)) {
        self.launched(("cudaMemcpyAsync", "gpu_memcpy", name), 7, call, device);
    }

    fn launched(
        &mut self,
        (by, cat, name): (&str, &str, &str),
        stream: i64,
        call: (i64, i64),
        device: (i64, i64),
    ) {
        self.correlation += 1;
        let number = self.correlation;
        self.event("cuda_runtime", by, (PROCESS, PROCESS), call, &format!(r#""correlation":{number}"#));
        let args = format!(r#""device":0,"stream":{stream},"correlation":{number}"#);
        self.event(cat, name, (0, stream), device, &args);
    }

    /// Returns the recording as a trace.
    pub(crate) fn to_json(&self) -> String {
        format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, self.events)
    }
}
