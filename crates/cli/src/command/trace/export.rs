//! `knockout trace export`: every event as rows of Parquet files, for DuckDB, polars and others.

use super::findings::{self, Rescued};
use super::input::{self, DamageArgs};
use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::Ui;
use clap::Args;
use knockout_analyze::export::{DeviceRow, SpanRow, Tables};
use knockout_analyze::{CollectiveRow, Collector, Options};
use knockout_base::files::{Folder, StagedFolder};
use knockout_data::table::Columns;
use knockout_report::units::counted;
use knockout_trace::{ArgSet, ReadOutcome, Sink, TraceEvent, field_range};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Rows of a file: a table with more has several, and no more are in memory.
const FILE_ROWS: usize = 1 << 19;
/// Code of a word that is missing.
const MISSING: u32 = u32::MAX;

/// Write the events, spans, kernels and collectives of traces as Parquet files
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace export rank0.json.gz --out tables
  knockout trace export rank*.json.gz --out tables --rules mine.toml")]
pub(crate) struct ExportArgs {
    /// Traces, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder to make; it must not exist. A table of many rows has several files: read `spans-*.parquet`
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How events become categories: `default` or a TOML file
    #[arg(long, value_name = "RULES", default_value = "default")]
    rules: String,
    #[command(flatten)]
    damage: DamageArgs,
}

/// Summary of an export.
#[derive(Serialize)]
struct Summary {
    schema: u32,
    output: String,
    files: usize,
    /// Rows by table.
    rows: BTreeMap<&'static str, u64>,
}

pub(crate) fn run(args: &ExportArgs, ui: &Ui) -> Result<()> {
    let rules = findings::rules(&args.rules)?;
    if args.out.symlink_metadata().is_ok() {
        return Err(request_error(format!("{} exists; name a folder to make", args.out.display())));
    }
    let (files, _) = input::expand(&args.files)?;
    let staged = StagedFolder::create(Folder::at(&args.out))?;
    let mut writer = Writer::new(&staged);
    let mut rescued = Rescued::default();
    for path in &files {
        let options = Options { threads: rayon::current_num_threads(), ..Options::default() };
        let mut sink =
            EventSink { collector: Collector::new(&rules, &options), writer: &mut writer, failure: Ok(()) };
        let outcome = input::read(path, &args.damage, &mut sink, ui)?;
        let EventSink { collector, failure, .. } = sink;
        failure?;
        rescued.note(path, &outcome);
        writer.next_file(&path.display().to_string(), &outcome)?;
        collector
            .export(&outcome, &mut writer)
            .with_context(|| format!("could not export the trace {}", path.display()))?;
    }
    let rows = writer.finish()?;
    staged.commit()?;
    let summary = Summary { schema: 1, output: args.out.display().to_string(), files: files.len(), rows };
    ui.result(
        || {
            let rows =
                |(table, rows): (&&str, &u64)| counted(*rows, table.strip_suffix('s').unwrap_or(table));
            let rows: Vec<String> = summary.rows.iter().map(rows).collect();
            format!("{}: {}\n", summary.output, rows.join(", "))
        },
        &summary,
    )?;
    input::partial_verdict(&rescued.files)
}

/// Words as codes.
#[derive(Default)]
struct Words {
    codes: Vec<u32>,
    list: Vec<String>,
    ids: HashMap<String, u32>,
}

impl Words {
    fn push(&mut self, word: Option<&str>) {
        let Some(word) = word else { return self.codes.push(MISSING) };
        let next = self.list.len() as u32;
        let code = self.ids.get(word).copied().unwrap_or(next);
        if code == next {
            self.ids.insert(word.to_owned(), code);
            self.list.push(word.to_owned());
        }
        self.codes.push(code);
    }

    fn code(&self, row: usize) -> Option<u32> {
        self.codes.get(row).copied().filter(|code| *code != MISSING)
    }
}

/// One column.
enum Values {
    Words(Words),
    U32(Vec<Option<u32>>),
    F64(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

/// One value.
enum Value<'v> {
    Word(Option<&'v str>),
    U32(Option<u32>),
    F64(Option<f64>),
    Text(Option<String>),
}

/// Rows of a table that are not yet written.
struct Table {
    name: &'static str,
    columns: Vec<(&'static str, Values)>,
    rows: usize,
    /// Rows written before.
    written: u64,
    files: usize,
}

impl Table {
    fn new(name: &'static str) -> Self {
        Self { name, columns: Vec::new(), rows: 0, written: 0, files: 0 }
    }

    fn push<const N: usize>(
        &mut self,
        folder: &Folder,
        row: [(&'static str, Value<'_>); N],
    ) -> knockout_base::error::Result<()> {
        if self.columns.is_empty() {
            let empty = |value: &Value<'_>| match value {
                Value::Word(_) => Values::Words(Words::default()),
                Value::U32(_) => Values::U32(Vec::new()),
                Value::F64(_) => Values::F64(Vec::new()),
                Value::Text(_) => Values::Text(Vec::new()),
            };
            self.columns = row.iter().map(|(name, value)| (*name, empty(value))).collect();
        }
        for ((_, column), (_, value)) in self.columns.iter_mut().zip(row) {
            match (column, value) {
                (Values::Words(words), Value::Word(word)) => words.push(word),
                (Values::U32(list), Value::U32(value)) => list.push(value),
                (Values::F64(list), Value::F64(value)) => list.push(value),
                (Values::Text(list), Value::Text(value)) => list.push(value),
                _ => {}
            }
        }
        self.rows += 1;
        if self.rows >= FILE_ROWS { self.flush(folder) } else { Ok(()) }
    }

    /// Writes a file of the rows so far.
    fn flush(&mut self, folder: &Folder) -> knockout_base::error::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let words: Vec<Vec<&str>> = columns
            .iter()
            .map(|(_, values)| match values {
                Values::Words(words) => words.list.iter().map(String::as_str).collect(),
                _ => Vec::new(),
            })
            .collect();
        let mut table = Columns::new(self.rows);
        for ((name, values), words) in columns.iter().zip(&words) {
            table = match values {
                Values::Words(codes) => table.optional_coded(name, words, |row| codes.code(row)),
                Values::U32(list) => table.optional_u32s(name, |row| list.get(row).copied().flatten()),
                Values::F64(list) => table.optional_f64s(name, |row| list.get(row).copied().flatten()),
                Values::Text(list) => table.optional_texts(name, |row| list.get(row)?.as_deref()),
            };
        }
        let name = format!("{}-{:04}.parquet", self.name, self.files);
        folder.write_new(name, table.encode()?)?;
        self.written += self.rows as u64;
        (self.rows, self.files) = (0, self.files + 1);
        Ok(())
    }
}

/// Writes the tables. Times are microseconds after the first event of the first file.
struct Writer<'f> {
    folder: &'f Folder,
    origin: Option<i64>,
    /// Files whose events are written.
    files: u32,
    events: Table,
    spans: Table,
    kernels: Table,
    collectives: Table,
    names: Table,
}

impl<'f> Writer<'f> {
    fn new(folder: &'f Folder) -> Self {
        let [events, spans, kernels, collectives, names] =
            ["events", "spans", "kernels", "collectives", "files"].map(Table::new);
        Self { folder, origin: None, files: 0, events, spans, kernels, collectives, names }
    }

    fn us(&self, nanos: i64) -> f64 {
        (nanos - self.origin.unwrap_or(0)) as f64 / 1e3
    }

    /// Writes the row of a file that was read; rows of spans, kernels and collectives that follow are of it.
    fn next_file(&mut self, name: &str, outcome: &ReadOutcome) -> Result<()> {
        let rank = outcome.document.rank().and_then(|rank| u32::try_from(rank).ok());
        let devices = outcome.document.device_names().join(", ");
        let row = [
            ("file", Value::U32(Some(self.files))),
            ("name", Value::Text(Some(name.to_owned()))),
            ("rank", Value::U32(rank)),
            ("devices", Value::Text(Some(devices))),
            ("origin_ns", Value::Text(self.origin.map(|origin| origin.to_string()))),
        ];
        self.names.push(self.folder, row)?;
        self.files += 1;
        Ok(())
    }

    fn event(&mut self, event: &TraceEvent<'_>) -> knockout_base::error::Result<()> {
        if let Some(start) = event.start_nanos {
            self.origin.get_or_insert(start);
        }
        let text = |symbol| event.symbols.text(symbol);
        let lane = event.lanes.get(event.lane);
        let id = |of: fn(knockout_trace::Lane) -> knockout_trace::Id| {
            lane.map(|lane| of(lane).display(event.symbols).to_string())
        };
        let (event_type, pid, tid) = (event.event_type.text(), id(|lane| lane.pid), id(|lane| lane.tid));
        let args = field_range(event.raw, b"args").and_then(|range| event.raw.get(range));
        let row = [
            ("file", Value::U32(Some(self.files))),
            ("event", Value::U32(u32::try_from(event.index).ok())),
            ("ph", Value::Word(Some(&event_type))),
            ("cat", Value::Word(Some(text(event.category)))),
            ("name", Value::Word(Some(text(event.name)))),
            ("pid", Value::Word(pid.as_deref())),
            ("tid", Value::Word(tid.as_deref())),
            ("start_us", Value::F64(event.start_nanos.map(|nanos| self.us(nanos)))),
            ("duration_us", Value::F64(event.duration_nanos.map(|nanos| nanos as f64 / 1e3))),
            ("args", Value::Text(args.map(|args| String::from_utf8_lossy(args).into_owned()))),
        ];
        self.events.push(self.folder, row)
    }

    /// Writes what is left; returns the rows of each table.
    fn finish(mut self) -> Result<BTreeMap<&'static str, u64>> {
        let tables =
            [&mut self.events, &mut self.spans, &mut self.kernels, &mut self.collectives, &mut self.names];
        let mut rows = BTreeMap::new();
        for table in tables {
            table.flush(self.folder)?;
            if table.written > 0 {
                rows.insert(table.name, table.written);
            }
        }
        Ok(rows)
    }
}

impl Tables for Writer<'_> {
    fn span(&mut self, row: &SpanRow<'_>) -> knockout_base::error::Result<()> {
        let whole = |number: u64| u32::try_from(number).ok();
        let cells = [
            ("file", Value::U32(Some(self.files - 1))),
            ("event", Value::U32(whole(row.event))),
            ("parent", Value::U32(row.parent.and_then(whole))),
            ("depth", Value::U32(Some(row.depth))),
            ("is_continued", Value::U32(Some(u32::from(row.is_continued)))),
            ("name", Value::Word(Some(row.name))),
            ("cat", Value::Word(Some(row.cat))),
            ("category", Value::Word(Some(row.category))),
            ("phase", Value::Word(row.phase)),
            ("module", Value::Word(row.module)),
            ("step", Value::Word(row.step)),
            ("pid", Value::Word(Some(&row.pid))),
            ("tid", Value::Word(Some(&row.tid))),
            ("start_us", Value::F64(Some(self.us(row.start_nanos)))),
            ("duration_us", Value::F64(Some(row.duration_nanos as f64 / 1e3))),
            ("self_us", Value::F64(Some(row.self_nanos as f64 / 1e3))),
            ("correlation", Value::F64(row.correlation.map(|number| number as f64))),
            ("input_dims", Value::Word(row.input_dims)),
            ("input_types", Value::Word(row.input_types)),
            ("flop", Value::F64(row.flop)),
            ("bytes", Value::F64(row.bytes)),
        ];
        self.spans.push(self.folder, cells)
    }

    fn kernel(&mut self, row: &DeviceRow<'_>) -> knockout_base::error::Result<()> {
        let cells = [
            ("file", Value::U32(Some(self.files - 1))),
            ("event", Value::U32(u32::try_from(row.event).ok())),
            ("name", Value::Word(Some(row.name))),
            ("cat", Value::Word(Some(row.cat))),
            ("category", Value::Word(Some(row.category))),
            ("work", Value::Word(Some(row.work))),
            ("device", Value::Word(row.device.as_deref())),
            ("stream", Value::Word(row.stream.as_deref())),
            ("start_us", Value::F64(Some(self.us(row.start_nanos)))),
            ("duration_us", Value::F64(Some(row.duration_nanos as f64 / 1e3))),
            ("correlation", Value::F64(row.correlation.map(|number| number as f64))),
        ];
        self.kernels.push(self.folder, cells)
    }

    fn collective(&mut self, row: &CollectiveRow) -> knockout_base::error::Result<()> {
        let operation = serde_json::to_value(row.kind).ok();
        let number = |value: Option<u64>| Value::F64(value.map(|number| number as f64));
        let cells = [
            ("file", Value::U32(Some(self.files - 1))),
            ("operation", Value::Word(operation.as_ref().and_then(|name| name.as_str()))),
            ("group", Value::Word(Some(&row.group))),
            ("group_size", number(row.group_size)),
            ("sequence", Value::F64(row.sequence.map(|number| number as f64))),
            ("start_us", Value::F64(Some(self.us(row.start_nanos)))),
            ("duration_us", Value::F64(Some((row.end_nanos - row.start_nanos) as f64 / 1e3))),
            ("bytes_in", number(row.bytes_in)),
            ("bytes_out", number(row.bytes_out)),
        ];
        self.collectives.push(self.folder, cells)
    }
}

/// Hands every event to the collector, and writes it.
struct EventSink<'w, 'f> {
    collector: Collector,
    writer: &'w mut Writer<'f>,
    failure: knockout_base::error::Result<()>,
}

impl Sink for EventSink<'_, '_> {
    fn wants(&self) -> ArgSet {
        self.collector.wants()
    }

    fn event(&mut self, event: &TraceEvent<'_>) {
        self.collector.event(event);
        if self.failure.is_ok() {
            self.failure = self.writer.event(event);
        }
    }
}
