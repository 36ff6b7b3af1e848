//! `knockout trace convert`: a trace made smaller, repaired or merged, for Perfetto and other viewers.

use super::input::{self, DamageArgs};
use crate::failure::{FailureContext as _, Result, request_error};
use crate::output::{self, ForceArg, OutputKind};
use crate::ui::Ui;
use clap::Args;
use flate2::{Compression, write::GzEncoder};
use knockout_base::files::PendingFile;
use knockout_report::units::{count, counted};
use knockout_trace::{
    CONVERTED, Document, EventType, ReadOutcome, Selection, Selector, Sink, Symbol, TraceEvent, TraceWriter,
    field_range, repair,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

/// Make a trace smaller, repair it, or merge the traces of several ranks
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace convert huge.json small.json.gz --min-duration 10
  knockout trace convert run.json.gz kernels.json --category kernel --category gpu_memcpy
  knockout trace convert rank*.json.gz both.json.gz --rank 0 --rank 1 --from 100 --to 250")]
pub(crate) struct ConvertArgs {
    /// Traces to read, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Trace to write; packed if the name ends in .gz
    #[arg(required = true, value_name = "OUT")]
    output: PathBuf,
    /// Keep what ends at this time or later, in milliseconds after the first event
    #[arg(long, value_name = "MS")]
    from: Option<f64>,
    /// Keep events that start before this time, in milliseconds after the first event
    #[arg(long, value_name = "MS")]
    to: Option<f64>,
    /// Keep only traces of this rank (`distributedInfo`); may be repeated
    #[arg(long, value_name = "N")]
    rank: Vec<i64>,
    /// Keep only events of this category (`cat`, in any case); may be repeated
    #[arg(long, value_name = "CAT")]
    category: Vec<String>,
    /// Drop complete events shorter than this, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    min_duration: f64,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    damage: DamageArgs,
}

/// Summary of a conversion.
#[derive(Serialize)]
struct ConversionSummary {
    schema: u32,
    output: String,
    files: usize,
    events_read: u64,
    events_written: u64,
    /// Events whose text was not valid JSON.
    events_repaired: u64,
    rescued: bool,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &ConvertArgs, ui: &Ui) -> Result<()> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(request_error(format!("--from {from} is not before --to {to}; nothing is between them")));
    }
    output::check(
        &args.output,
        OutputKind::Trace,
        &output::paths(&args.inputs),
        ForceArg { force: args.force },
    )?;
    let file = output::create(&args.output)?;
    let is_packed = args.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let (inputs, first_nanos) = choose_inputs(args, ui)?;
    let selection = Selection {
        from_nanos: time(args.from, first_nanos, "--from")?,
        to_nanos: time(args.to, first_nanos, "--to")?,
        categories: args.category.clone(),
        min_duration_nanos: nanos(args.min_duration, 1e3, "--min-duration")?,
    };
    let packing = if is_packed {
        TraceOutput::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
    } else {
        TraceOutput::Plain(file)
    };
    let mut writer = TraceWriter::new(packing).context("could not write the trace")?;
    let mut summary = ConversionSummary {
        schema: 1,
        output: args.output.display().to_string(),
        files: inputs.len(),
        events_read: 0,
        events_written: 0,
        events_repaired: 0,
        rescued: false,
        warnings: Vec::new(),
    };
    let mut rescued = Vec::new();
    let mut document = None;
    let (mut kept, mut present) = (0, BTreeSet::new());
    for (index, path) in inputs.iter().enumerate() {
        let mut copy = Copy {
            selector: Selector::new(&selection),
            writer: &mut writer,
            shift: (inputs.len() > 1).then_some(index as i64),
            repaired: 0,
            kept: 0,
            categories: BTreeSet::new(),
            error: None,
        };
        let outcome = input::read(path, &args.damage, &mut copy, ui)?;
        summary.events_repaired += copy.repaired;
        if let Some(error) = copy.error {
            return Err(error).context("could not write the trace");
        }
        kept += copy.kept;
        present.extend(copy.categories.iter().map(|category| outcome.symbols.text(*category).to_owned()));
        summary.events_read += outcome.events;
        if outcome.is_rescued() {
            let what = input::damage_of(&outcome);
            summary.warnings.push(format!("{}: {what}", path.display()));
            rescued.push((path.clone(), what));
        }
        document.get_or_insert(outcome.document);
    }
    summary.events_written = writer.events();
    summary.rescued = !rescued.is_empty();
    if kept == 0 && summary.events_read > 0 && is_filtered(args) {
        present.remove("");
        let present: Vec<String> = present.into_iter().collect();
        return Err(request_error(format!(
            "nothing is left of {} with these filters; the categories there are: {}",
            counted(summary.events_read, "event"),
            present.join(", ")
        )));
    }
    let document = document.unwrap_or_default();
    let made = how_made(args, &document, &summary);
    // A merged trace has no rank.
    let is_kept = |key: &str| key != CONVERTED && (inputs.len() == 1 || key != "distributedInfo");
    let fields = document.fields().filter(|(key, _)| is_kept(key));
    let fields = fields.chain(made.as_ref().map(|made| (CONVERTED, made)));
    let finished =
        writer.finish(fields).and_then(TraceOutput::finish).context("could not write the trace")?;
    finished.commit()?;
    ui.result(
        || {
            let ConversionSummary { events_read, events_written, output, .. } = &summary;
            let (written, read) = (count(*events_written), counted(*events_read, "event"));
            format!("{output}: {written} of {read}\n")
        },
        &summary,
    )?;
    input::partial_verdict(&rescued)
}

fn is_filtered(args: &ConvertArgs) -> bool {
    args.from.is_some() || args.to.is_some() || !args.category.is_empty() || args.min_duration > 0.0
}

/// Metadata of a trace that lacks events, so that it is not taken for a whole one; that of its input stays.
fn how_made(args: &ConvertArgs, document: &Document, summary: &ConversionSummary) -> Option<Value> {
    let before = document.get(CONVERTED).and_then(Value::as_object);
    let mut made = before.cloned().unwrap_or_default();
    let mut note = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            made.insert(key.to_owned(), value);
        }
    };
    note("from_ms", args.from.map(Value::from));
    note("to_ms", args.to.map(Value::from));
    note("category", (!args.category.is_empty()).then(|| args.category.clone().into()));
    note("min_duration_us", (args.min_duration > 0.0).then(|| args.min_duration.into()));
    note("merged", (summary.files > 1).then(|| summary.files.into()));
    note("recovered", summary.rescued.then(|| true.into()));
    (!made.is_empty()).then_some(Value::Object(made))
}

/// Returns the inputs of the requested ranks, and the start of their earliest event where a filter needs it.
fn choose_inputs(args: &ConvertArgs, ui: &Ui) -> Result<(Vec<PathBuf>, Option<i64>)> {
    let needs_time = args.from.is_some() || args.to.is_some();
    if args.rank.is_empty() && !needs_time {
        return Ok((args.inputs.clone(), None));
    }
    if args.inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(request_error("--from, --to and --rank read twice; give a file instead of -"));
    }
    let mut chosen = Vec::new();
    let mut found = Vec::new();
    let mut first_nanos: Option<i64> = None;
    for path in &args.inputs {
        let mut earliest = Earliest::default();
        let outcome: ReadOutcome = input::read(path, &args.damage, &mut earliest, ui)?;
        let rank = outcome.document.rank();
        found.push(rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string()));
        if args.rank.is_empty() || rank.is_some_and(|rank| args.rank.contains(&rank)) {
            chosen.push(path.clone());
            first_nanos = match (first_nanos, earliest.nanos) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    if chosen.is_empty() {
        return Err(request_error(format!("no trace has this rank (ranks: {})", found.join(", "))));
    }
    Ok((chosen, first_nanos))
}

fn time(millis: Option<f64>, first_nanos: Option<i64>, flag: &str) -> Result<Option<i64>> {
    let Some(millis) = millis else { return Ok(None) };
    Ok(Some(first_nanos.unwrap_or(0).saturating_add(nanos(millis, 1e6, flag)?)))
}

fn nanos(value: f64, unit: f64, flag: &str) -> Result<i64> {
    let nanos = (value * unit).round();
    if nanos.is_finite() && nanos.abs() < 9e18 {
        Ok(nanos as i64)
    } else {
        Err(request_error(format!("{flag} {value} is not a usable time")))
    }
}

/// The start of the earliest complete event.
#[derive(Default)]
struct Earliest {
    nanos: Option<i64>,
}

impl Sink for Earliest {
    fn event(&mut self, event: &TraceEvent<'_>) {
        if let Some((start, _)) = event.span() {
            self.nanos = Some(self.nanos.map_or(start, |nanos| nanos.min(start)));
        }
    }
}

/// Copies the events that a selection keeps.
struct Copy<'a, W: Write> {
    selector: Selector<'a>,
    writer: &'a mut TraceWriter<W>,
    /// Of several inputs, which: their process numbers are moved apart.
    shift: Option<i64>,
    repaired: u64,
    /// Events without metadata, which always stays.
    kept: u64,
    categories: BTreeSet<Symbol>,
    error: Option<io::Error>,
}

/// Above any process number in use, so that those of merged traces stay apart.
const PIDS_PER_INPUT: i64 = 10_000_000;

impl<W: Write + Send> Sink for Copy<'_, W> {
    fn event(&mut self, event: &TraceEvent<'_>) {
        self.categories.insert(event.category);
        if self.error.is_some() || !self.selector.keeps(event) {
            return;
        }
        self.kept += u64::from(event.event_type != EventType::METADATA);
        let mut text = repair(event.raw);
        self.repaired += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
        if let Some(input) = self.shift.filter(|input| *input > 0)
            && let Some(range) = field_range(text.as_bytes(), b"pid")
            && let Some(pid) = moved_pid(&text[range.clone()], input)
        {
            text.to_mut().replace_range(range, &pid);
        }
        self.error = self.writer.raw(&text).err();
    }
}

/// Returns the process of an input after the first: a number of its own range, or a text with the input's index.
fn moved_pid(pid: &str, input: i64) -> Option<String> {
    if let Ok(number) = pid.parse::<i64>() {
        return Some(input.checked_mul(PIDS_PER_INPUT)?.checked_add(number)?.to_string());
    }
    let text: String = serde_json::from_str(pid).ok()?;
    serde_json::to_string(&format!("{text} ({input})")).ok()
}

enum TraceOutput {
    Plain(PendingFile),
    Gzip(Box<GzEncoder<PendingFile>>),
}

impl TraceOutput {
    fn finish(self) -> io::Result<PendingFile> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl Write for TraceOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}
