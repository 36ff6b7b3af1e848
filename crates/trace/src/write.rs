//! Writes Chrome traces that Perfetto, `chrome://tracing` and this crate's own reader open. Independent of files.

use serde_json::Value;
use std::io::{self, Write};

/// A trace being written: events one by one, then the document's own fields.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    out: W,
    events: u64,
}

/// A span to write.
#[derive(Clone, Copy, Debug)]
pub struct TraceSpan<'a> {
    /// Name of the operation.
    pub name: &'a str,
    /// Category: the `cat` of the trace.
    pub category: &'a str,
    /// Process id.
    pub pid: i64,
    /// Thread id.
    pub tid: i64,
    /// Start in nanoseconds of the trace's clock.
    pub start_nanos: i64,
    /// Duration in nanoseconds.
    pub duration_nanos: i64,
    /// Arguments, as (name, value).
    pub args: &'a [(&'a str, Value)],
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"traceEvents\": [")?;
        Ok(Self { out, events: 0 })
    }

    /// Events written so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    fn separate(&mut self) -> io::Result<()> {
        self.out.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        Ok(())
    }

    /// Writes an event that is valid JSON already.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.separate()?;
        self.out.write_all(text.as_bytes())
    }

    /// Writes a complete event. Times are written in microseconds with three decimals, so that none is lost.
    pub fn span(&mut self, span: &TraceSpan<'_>) -> io::Result<()> {
        self.separate()?;
        write!(
            self.out,
            "{{\"ph\": \"X\", \"cat\": {}, \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}",
            Value::from(span.category),
            Value::from(span.name),
            span.pid,
            span.tid,
            micros(span.start_nanos),
            micros(span.duration_nanos)
        )?;
        if !span.args.is_empty() {
            self.out.write_all(b", \"args\": ")?;
            self.object(span.args.iter().map(|(key, value)| (*key, value)))?;
        }
        self.out.write_all(b"}")
    }

    /// Writes the value of a counter.
    pub fn counter(&mut self, name: &str, pid: i64, at_nanos: i64, value: u64) -> io::Result<()> {
        self.separate()?;
        let (name, at) = (Value::from(name), micros(at_nanos));
        write!(
            self.out,
            "{{\"ph\": \"C\", \"name\": {name}, \"pid\": {pid}, \"tid\": 0, \"ts\": {at}, \"args\": {{\"value\": {value}}}}}"
        )
    }

    /// Writes an instant.
    pub fn instant(
        &mut self,
        name: &str,
        pid: i64,
        tid: i64,
        at_nanos: i64,
        args: &[(&str, Value)],
    ) -> io::Result<()> {
        self.separate()?;
        let (name, at) = (Value::from(name), micros(at_nanos));
        write!(
            self.out,
            "{{\"ph\": \"i\", \"s\": \"t\", \"name\": {name}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {at}, \"args\": "
        )?;
        self.object(args.iter().map(|(key, value)| (*key, value)))?;
        self.out.write_all(b"}")
    }

    /// Names a process (`process_name`) or a thread (`thread_name`) in the viewer.
    pub fn label(&mut self, what: &str, pid: i64, tid: i64, name: &str) -> io::Result<()> {
        self.separate()?;
        let (what, name) = (Value::from(what), Value::from(name));
        write!(
            self.out,
            "{{\"ph\": \"M\", \"name\": {what}, \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"name\": {name}}}}}"
        )
    }

    fn object<'v>(&mut self, fields: impl Iterator<Item = (&'v str, &'v Value)>) -> io::Result<()> {
        self.out.write_all(b"{")?;
        for (at, (key, value)) in fields.enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(self.out, "{comma}{}: {value}", Value::from(key))?;
        }
        self.out.write_all(b"}")
    }

    /// Ends the trace with the document's own fields and returns the output, not yet flushed.
    pub fn finish<'v>(mut self, fields: impl Iterator<Item = (&'v str, &'v Value)>) -> io::Result<W> {
        self.out.write_all(b"\n]")?;
        for (key, value) in fields {
            write!(self.out, ",\n{}: {value}", Value::from(key))?;
        }
        self.out.write_all(b"}\n")?;
        Ok(self.out)
    }
}

/// Nanoseconds as microseconds, exactly.
fn micros(nanos: i64) -> String {
    let (whole, rest) = (nanos.unsigned_abs() / 1000, nanos.unsigned_abs() % 1000);
    format!("{}{whole}.{rest:03}", if nanos < 0 { "-" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Sink, TraceEvent, read};

    #[derive(Default)]
    struct Keep(Vec<(String, Option<(i64, i64)>)>);
    impl Sink for Keep {
        fn event(&mut self, event: &TraceEvent<'_>) {
            self.0.push((event.symbols.text(event.name).to_owned(), event.span()));
        }
    }

    #[test]
    fn what_is_written_is_read_back_to_the_nanosecond() {
        let mut writer = TraceWriter::new(Vec::new()).unwrap();
        writer.label("process_name", 1, 0, "knockout").unwrap();
        let args = [("samples", Value::from(28))];
        let span = TraceSpan {
            name: "forward \"é\"\n",
            category: "model",
            pid: 1,
            tid: 2,
            start_nanos: 1_712_195_495_519_689_047,
            duration_nanos: 1,
            args: &args,
        };
        writer.span(&span).unwrap();
        writer.span(&TraceSpan { start_nanos: -1, duration_nanos: 2, args: &[], ..span }).unwrap();
        let fields = [("schemaVersion", Value::from(1))];
        let text = writer.finish(fields.iter().map(|(key, value)| (*key, value))).unwrap();
        let mut keep = Keep::default();
        let outcome = read(&text[..], ReadOptions::default(), &mut keep).unwrap();
        assert!(!outcome.is_rescued());
        assert_eq!(outcome.document.get("schemaVersion").and_then(serde_json::Value::as_i64), Some(1));
        assert_eq!(keep.0[1], (span.name.to_owned(), Some((span.start_nanos, span.start_nanos + 1))));
        assert_eq!(keep.0[2].1, Some((-1, 1)));
        serde_json::from_slice::<Value>(&text).unwrap();
    }
}
