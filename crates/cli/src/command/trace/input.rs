//! Opens traces and reports damaged ones.

use crate::exit::{DATA, PARTIAL};
use crate::failure::{Failure, FailureContext as _, Result, request_error};
use crate::ui::{Ui, Unit};
use clap::Args;
use indicatif::ProgressBar;
use knockout_base::files::{Entry, EntryKind, Folder};
use knockout_trace::{ReadOptions, ReadOutcome, Sink};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Treatment of damaged traces.
#[derive(Debug, Args)]
pub(crate) struct DamageArgs {
    /// Refuse damaged traces instead of using their readable part
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Reads a trace into a sink; `-` is standard input.
pub(crate) fn read(path: &Path, damage: &DamageArgs, sink: &mut dyn Sink, ui: &Ui) -> Result<ReadOutcome> {
    let (source, len): (Box<dyn Read + Send>, u64) = if path == Path::new("-") {
        (Box::new(io::stdin()), 0)
    } else {
        let file = open(path)?;
        let len = file.metadata().map_or(0, |metadata| metadata.len());
        (Box::new(file), len)
    };
    let bar = (len >= SHOW_PROGRESS_BYTES).then(|| ui.progress("reading", len, Unit::Bytes));
    let source = ProgressReader { source, bar: bar.clone() };
    let outcome = knockout_trace::read(source, options(), sink);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let outcome = outcome.with_context(|| format!("could not read the trace {}", path.display()))?;
    if damage.strict && outcome.is_rescued() {
        refuse_damaged(&[(path.to_owned(), damage_of(&outcome))])?;
    }
    Ok(outcome)
}

/// With `--strict`: refuses damaged files, each with what is wrong with it.
pub(crate) fn refuse_damaged(rescued: &[(PathBuf, String)]) -> Result<()> {
    let files: Vec<String> =
        rescued.iter().map(|(path, what)| format!("{} is damaged: {what}", path.display())).collect();
    if files.is_empty() {
        return Ok(());
    }
    Err(Failure::verdict(DATA, format!("{}; without --strict the rest is used", files.join("; "))))
}

/// Smaller files are read before a bar could be looked at.
const SHOW_PROGRESS_BYTES: u64 = 64 << 20;

/// Advances the progress bar by the bytes read.
struct ProgressReader {
    source: Box<dyn Read + Send>,
    bar: Option<ProgressBar>,
}

impl Read for ProgressReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer)?;
        if let Some(bar) = &self.bar {
            bar.inc(got as u64);
        }
        Ok(got)
    }
}

fn open(path: &Path) -> Result<File> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(request_error(format!("{} does not exist", path.display())));
        }
        other => other.with_context(|| format!("could not open {}", path.display()))?,
    };
    let is_folder = file.metadata().is_ok_and(|metadata| metadata.is_dir());
    if is_folder {
        let advice = "name the trace files in it";
        return Err(request_error(format!("{} is a folder; {advice}", path.display())));
    }
    Ok(file)
}

/// The traces that are named: files as they are, folders by the traces in them and in the folders below. Whether a folder was named.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, bool)> {
    let (mut files, mut has_folder) = (Vec::new(), false);
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        has_folder = true;
        let before = files.len();
        add_traces(&Folder::at(path), &mut files, FOLDER_DEPTH)?;
        if files.len() == before {
            return Err(request_error(format!(
                "no traces in {}: no file there ends in .json or .json.gz (.zst, .xz, .bz2, .zip)",
                path.display()
            )));
        }
    }
    Ok((files, has_folder))
}

/// Folders below a folder that are searched for traces.
const FOLDER_DEPTH: usize = 2;

/// Adds the traces in a folder that may come from somebody else: a link, a pipe or a device of such a name is refused.
fn add_traces(folder: &Folder, files: &mut Vec<PathBuf>, depth: usize) -> knockout_base::error::Result<()> {
    for Entry { name, kind } in folder.entries()? {
        match kind {
            EntryKind::Folder if depth > 0 => add_traces(&folder.below(&name), files, depth - 1)?,
            EntryKind::Folder => {}
            _ if !is_trace_name(&name.to_string_lossy()) => {}
            EntryKind::File => files.push(folder.path().join(name)),
            EntryKind::Link | EntryKind::Special => drop(folder.open_file(name)?),
        }
    }
    Ok(())
}

/// Names of files that this program writes beside traces.
const OWN_DOCUMENTS: [&str; 3] = ["profile.json", "report.json", "manifest.json"];

fn is_trace_name(name: &str) -> bool {
    knockout_trace::is_trace_name(name) && !OWN_DOCUMENTS.contains(&name.to_ascii_lowercase().as_str())
}

/// As many threads as the program was given.
pub(crate) fn options() -> ReadOptions {
    let threads = NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN);
    ReadOptions { threads, ..ReadOptions::default() }
}

/// The damage of an outcome in one line.
pub(crate) fn damage_of(outcome: &ReadOutcome) -> String {
    let damage = outcome.skipped.iter().map(ToString::to_string);
    let damage = damage.chain(outcome.damage.iter().map(ToString::to_string));
    let irregularities = outcome.irregularities.iter().map(ToString::to_string);
    damage.chain(irregularities).collect::<Vec<_>>().join("; ")
}

/// Returns the failure of a partial result, if any file was damaged.
pub(crate) fn partial_verdict(rescued: &[(PathBuf, String)]) -> Result<()> {
    if rescued.is_empty() {
        return Ok(());
    }
    let files: Vec<String> =
        rescued.iter().map(|(path, what)| format!("{}: {what}", path.display())).collect();
    let message = format!("partial result from damaged input: {}", files.join("; "));
    Err(Failure::verdict(PARTIAL, message))
}
