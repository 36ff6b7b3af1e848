//! Records become a trace file: gzipped Chrome JSON that Perfetto, `chrome://tracing` and this crate's reader open.
//!
//! The only module of this crate that writes files; they are complete or absent.

use super::buffer::{Record, RecordedEvent, Sizes};
use super::{RESIDENT_BYTES, Recorder, Shared};
use crate::write::{TraceSpan, TraceWriter};
use flate2::Compression;
use flate2::write::GzEncoder;
use knockout_base::error::{Error, Result};
use knockout_base::files::PendingFile;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Summary of a finished trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Path of the trace.
    pub path: PathBuf,
    /// Spans and counters in it.
    pub records: u64,
    /// Records lost because memory for them ran out; report it if it is not 0.
    pub dropped: u64,
}

/// Returns the file name of a trace in its run's folder: one file per process.
fn trace_file_name(rank: usize, world: usize) -> String {
    if world > 1 { format!("trace.rank{rank}.json.gz") } else { "trace.json.gz".to_owned() }
}

/// A trace being written. It takes its name when it is [finished](TraceFile::finish); dropped before, it is removed.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    shared: Arc<Shared>,
    writer: TraceWriter<GzEncoder<PendingFile>>,
    conditions: Map<String, Value>,
    records: u64,
    last_rss: u64,
}

impl TraceFile {
    /// Begins the trace of a recorder in a folder, so that a bad path fails before the work is done. The conditions are
    /// texts, numbers and truth values by name, by which a reader can compare the trace with another.
    pub fn create(folder: &Path, recorder: &Recorder, conditions: Map<String, Value>) -> Result<Self> {
        let world = recorder.shared.as_ref().map_or((0, 1), |shared| (shared.rank, shared.world));
        let path = folder.join(trace_file_name(world.0, world.1));
        let Some(shared) = recorder.shared.clone() else { return Err(at(&path)("the recorder is off")) };
        let out = GzEncoder::new(PendingFile::create(&path).map_err(at(&path))?, Compression::fast());
        let writer = TraceWriter::new(out).map_err(at(&path))?;
        Ok(Self { path, shared, writer, conditions, records: 0, last_rss: 0 })
    }

    /// Returns the path of the trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends records that were drained from the recorder, in the order in which they began.
    ///
    /// Of two that began and ended together, the one that was recorded later encloses the other and comes first: that is
    /// how readers tell.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        let mut ordered: Vec<&Record> = records.iter().rev().collect();
        ordered.sort_by_key(|record| (record.start_nanos, Reverse(record.duration_nanos())));
        ordered.into_iter().try_for_each(|record| self.record(record)).map_err(at(&self.path))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let pid = self.shared.rank as i64;
        let tid = i64::from(record.thread);
        self.records += 1;
        match &record.event {
            RecordedEvent::Span { name, category, duration_nanos, sizes } => {
                let args = sizes.as_deref().map(arguments).unwrap_or_default();
                self.writer.span(&TraceSpan {
                    name: &name.to_string(),
                    category,
                    pid,
                    tid,
                    start_nanos: record.start_nanos as i64,
                    duration_nanos: *duration_nanos as i64,
                    args: &args,
                })
            }
            RecordedEvent::Counter { name, value } => {
                if *name == RESIDENT_BYTES {
                    self.memory(pid, tid, record.start_nanos, *value)?;
                }
                self.writer.counter(name, pid, record.start_nanos as i64, *value)
            }
        }
    }

    /// Writes resident memory as other profilers do, so that analyses of memory find it.
    fn memory(&mut self, pid: i64, tid: i64, at_nanos: u64, bytes: u64) -> io::Result<()> {
        let change = bytes as i64 - self.last_rss as i64;
        self.last_rss = bytes;
        let args = [
            ("Device Type", Value::from(0)),
            ("Device Id", Value::from(-1)),
            ("Bytes", Value::from(change)),
            ("Total Allocated", Value::from(bytes)),
        ];
        self.writer.instant("[memory]", pid, tid, at_nanos as i64, &args)
    }

    /// Writes the remaining records and gives the file its name.
    ///
    /// A crash at any moment leaves the complete trace or none; after `Ok`, a power cut leaves it.
    pub fn finish(mut self) -> Result<Written> {
        self.append(&self.shared.buffers.drain())?;
        let dropped = self.shared.buffers.dropped();
        let path = self.path.clone();
        let records = self.records;
        let file = self.end(dropped).map_err(at(&path))?;
        file.commit().map_err(at(&path))?;
        Ok(Written { path, records, dropped })
    }

    fn end(mut self, dropped: u64) -> io::Result<PendingFile> {
        let (rank, world) = (self.shared.rank, self.shared.world);
        let pid = rank as i64;
        self.writer.label("process_name", pid, 0, &format!("knockout, rank {rank} of {world}"))?;
        for (tid, name) in self.shared.buffers.thread_names().iter().enumerate() {
            self.writer.label("thread_name", pid, tid as i64, name)?;
        }
        let fields = [
            ("schemaVersion", json!(1)),
            ("displayTimeUnit", json!("ms")),
            ("baseTimeNanoseconds", json!(self.shared.clock.epoch_nanos())),
            ("distributedInfo", json!({"backend": "knockout", "rank": rank, "world_size": world})),
            ("conditions", Value::Object(std::mem::take(&mut self.conditions))),
            ("droppedRecords", json!(dropped)),
        ];
        self.writer.finish(fields.iter().map(|(key, value)| (*key, value)))?.finish()
    }
}

/// Returns the error of a trace that could not be written; there is no file then.
fn at<E: Into<Box<dyn std::error::Error + Send + Sync>>>(path: &Path) -> impl FnOnce(E) -> Error + '_ {
    move |cause| Error::failure(format!("could not write the trace {}", path.display())).caused_by(cause)
}

/// Returns sizes under the names that other profilers use.
fn arguments(sizes: &Sizes) -> Vec<(&'static str, Value)> {
    let bytes = sizes.bytes.map(|bytes| ("bytes", Value::from(bytes)));
    let shapes = (!sizes.shapes.is_empty()).then(|| ("Input Dims", json!(sizes.shapes)));
    let output = (!sizes.output.is_empty()).then(|| ("Output Dims", json!([sizes.output])));
    bytes.into_iter().chain(shapes).chain(output).collect()
}
