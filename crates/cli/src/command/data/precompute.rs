//! `knockout data precompute`: masks or indices of all samples, kept on disk.

use crate::exit::INTERRUPTED;
use crate::failure::{Failure, Result, request_error};
use crate::interrupt::Interrupt;
use crate::ui::{Ui, Unit};
use clap::{ArgGroup, Args};
use knockout_base::files::Folder;
use knockout_data::batch::{Origin, Probe, StoreEstimate, StoreHeader, StoreWriter, StoredForm};
use knockout_data::screen::{Dataset, subset};
use knockout_report::units::{bytes, count, counted, duration};
use knockout_train::stores::usual_folder;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Compute the masks or the removed positions of all samples beforehand and keep them in LMDB
///
/// For the processors saved-indices and saved-masks, which exist for comparison: the gene indices of a sample hold the same
/// in a few bytes. The command first estimates the size of the store and the time (on a few samples, written to the same
/// disk), and refuses if the disk is too small. After an interruption, even kill -9, the same command resumes.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
#[command(
    group(ArgGroup::new("what").required(true).args(["indices", "masks"])),
    after_help = "EXAMPLES:
  knockout data precompute yeast --masks --dry-run                  how large, how long?
  knockout data precompute yeast --indices                          into yeast/saved-indices
  knockout data precompute yeast --masks --samples 1000             into yeast/saved-masks, as bits
  knockout data precompute yeast --masks --bytes --samples 1000 --out /scratch/byte-masks
  knockout data bench yeast --processor saved-masks --samples 1000"
)]
pub(crate) struct PrecomputeArgs {
    /// The dataset folder
    dir: PathBuf,
    /// Store the positions that each deletion removes
    #[arg(long)]
    indices: bool,
    /// Store a flag for every gene, edge, reaction and metabolic entry
    #[arg(long)]
    masks: bool,
    /// Store one byte per flag instead of one bit, as the Python system did: eight times the size
    #[arg(long, requires = "masks", conflicts_with = "indices")]
    bytes: bool,
    /// How many samples, drawn as `data bench` draws them; all if not given
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// The seed that chooses them
    #[arg(long, value_name = "S", default_value_t = 42, requires = "samples")]
    seed: u64,
    /// The folder of the store; DIR/saved-indices or DIR/saved-masks if not given. LMDB needs a local disk
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the estimate and stop
    #[arg(long)]
    dry_run: bool,
}

/// Free bytes that a probe needs where the store does not fit: more than it ever writes.
const PROBE_ROOM: u64 = 2 << 30;

#[derive(Serialize)]
struct Stored<'a> {
    schema: u32,
    path: &'a Path,
    form: StoredForm,
    /// Samples chosen, stored before this run, and stored after it.
    samples: usize,
    done_before: usize,
    done: usize,
    complete: bool,
    estimated_bytes: u64,
    estimated_seconds: Option<f64>,
    free_bytes: u64,
    bytes: Option<u64>,
    seconds: Option<f64>,
    graph_hash: Option<String>,
    samples_hash: Option<String>,
    content_hash: Option<String>,
}

pub(crate) fn run(args: &PrecomputeArgs, ui: &Ui) -> Result<()> {
    if args.samples == Some(0) {
        return Err(request_error("--samples must be at least 1"));
    }
    let dataset = super::open(&args.dir)?;
    let rows = rows_of(args, &dataset)?;
    let form = match (args.indices, args.bytes) {
        (true, _) => StoredForm::Indices,
        (false, false) => StoredForm::Bits,
        (false, true) => StoredForm::Bytes,
    };
    let folder = match &args.out {
        Some(folder) => Folder::at(folder),
        None => usual_folder(&args.dir, form.kind()),
    };
    let path = folder.path();
    let origin = Origin::of(&dataset);
    let before = StoreWriter::look(&folder, origin, form, &rows)?;
    let done = before.as_ref().map_or(0, |header| header.done);
    let estimate = StoreEstimate::of(origin, form, &rows);
    let mut stored = Stored {
        schema: 1,
        path,
        form,
        samples: rows.len(),
        done_before: done,
        done,
        complete: done == rows.len(),
        estimated_bytes: estimate.bytes,
        estimated_seconds: None,
        free_bytes: knockout_data::batch::free_bytes(path)?,
        bytes: None,
        seconds: None,
        graph_hash: None,
        samples_hash: None,
        content_hash: None,
    };
    if let Some(header) = before.filter(StoreHeader::is_complete) {
        stored.describe(&header);
        let text = || format!("{} is complete already: {}\n", path.display(), what(form, rows.len()));
        return ui.result(text, &stored);
    }
    let room = estimate.check_room(path, done);
    // Even where there is no room, how long it would take is worth knowing; but the probe must not fill the disk.
    let probe = match &room {
        Err(_) if stored.free_bytes < PROBE_ROOM => None,
        _ => Some(Probe::run(path, origin, form, &rows)?),
    };
    let measured = probe.map(|probe| (probe.time_for(rows.len() - done), probe.samples));
    stored.estimated_seconds = measured.map(|(time, _)| time.as_secs_f64());
    ui.note(&foretold(&stored, measured));
    room?;
    if args.dry_run {
        return ui.result(|| "nothing was stored: --dry-run\n".to_owned(), &stored);
    }
    let interrupt = Interrupt::install()?;
    let mut writer = StoreWriter::open(&folder, origin, form, &rows)?;
    let bar = ui.progress("storing", rows.len() as u64, Unit::Items);
    bar.set_position(done as u64);
    bar.reset_eta();
    let started = Instant::now();
    while !writer.header().is_complete() && !interrupt.is_asked() {
        bar.inc(writer.step()? as u64);
    }
    bar.finish_and_clear();
    stored.seconds = Some(started.elapsed().as_secs_f64());
    stored.bytes = Some(writer.disk_bytes());
    stored.describe(writer.header());
    ui.result(|| text(&stored, &args.dir), &stored)?;
    if stored.complete {
        return Ok(());
    }
    let (done, samples) = (count(stored.done), counted(stored.samples, "sample"));
    let message = format!(
        "stopped after {done} of {samples}, which are safe; run the same command again to resume there"
    );
    Err(Failure::verdict(INTERRUPTED, message))
}

impl Stored<'_> {
    fn describe(&mut self, header: &StoreHeader) {
        self.done = header.done;
        self.complete = header.is_complete();
        self.graph_hash = Some(header.cell.clone());
        self.samples_hash = Some(header.samples.clone());
        self.content_hash = Some(header.content.clone());
    }
}

fn rows_of(args: &PrecomputeArgs, dataset: &Dataset) -> Result<Vec<u32>> {
    match args.samples {
        Some(count) => {
            subset(&dataset.samples, dataset.cell.genes(), args.seed, count).map_err(Failure::from)
        }
        None => Ok((0..dataset.samples.len() as u32).collect()),
    }
}

fn what(form: StoredForm, samples: usize) -> String {
    format!("{} of {}", form.name(), counted(samples, "sample"))
}

/// Formats the estimate.
fn foretold(stored: &Stored<'_>, measured: Option<(Duration, usize)>) -> String {
    let per_sample = stored.estimated_bytes / stored.samples.max(1) as u64;
    let mut text = format!(
        "{} will take {} in {} ({} each); {} are free",
        what(stored.form, stored.samples),
        bytes(stored.estimated_bytes),
        stored.path.display(),
        bytes(per_sample),
        bytes(stored.free_bytes),
    );
    if stored.done_before > 0 {
        text = format!("{text}; {} are stored already", count(stored.done_before));
    }
    if let Some((time, probed)) = measured {
        text = format!("{text}; about {}, measured on {}", duration(time), counted(probed, "sample"));
    }
    text
}

fn text(stored: &Stored<'_>, dataset: &Path) -> String {
    let now = stored.done - stored.done_before;
    format!(
        "stored {} in {}: {} on disk, {} in {}\nmeasure it with `knockout data bench {} --processor {} --store {}`\n",
        what(stored.form, stored.done),
        stored.path.display(),
        bytes(stored.bytes.unwrap_or_default()),
        counted(now, "sample"),
        duration(Duration::from_secs_f64(stored.seconds.unwrap_or_default())),
        dataset.display(),
        stored.form.kind().name(),
        stored.path.display(),
    )
}
