//! The runs, datasets and traces below the folders that were named.

use knockout_base::error::{Error, Result};
use knockout_report::units::counted;
use knockout_train::run::{RunList, RunSummary};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Folders below a folder that are searched for datasets and traces.
const DEPTH: usize = 4;
/// Entries of folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
/// Traces that are listed.
const MOST_TRACES: usize = 1_000;
/// Ending of packed models.
const PACKED: &str = "knockout";
/// Files with names like those of traces that this program writes.
const OWN_DOCUMENTS: [&str; 3] = ["profile.json", "report.json", "manifest.json"];

/// The runs, datasets and traces that were found.
#[derive(Debug)]
pub(crate) struct Catalog {
    folders: Vec<PathBuf>,
    /// Runs first, then datasets.
    sources: Vec<Source>,
    pub(crate) traces: Vec<PathBuf>,
}

/// A run or a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Name in addresses and on pages.
    pub(crate) label: String,
    pub(crate) kind: SourceKind,
}

/// Where a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// Folder of a run, or a packed one.
    Run(PathBuf),
    /// Folder of a dataset.
    Dataset(PathBuf),
}

impl Catalog {
    /// Searches folders. A folder may be that of one run or dataset, and a file a trace.
    pub(crate) fn find(folders: &[PathBuf]) -> Result<Self> {
        let mut catalog = Self { folders: folders.to_vec(), sources: Vec::new(), traces: Vec::new() };
        let (mut datasets, mut packed) = (Vec::new(), Vec::new());
        for folder in folders {
            let metadata =
                folder.metadata().map_err(|error| Error::io("could not be opened", folder, error))?;
            if metadata.is_file() {
                if is_packed(folder) {
                    packed.push(folder.clone());
                } else {
                    catalog.traces.push(folder.clone());
                }
                continue;
            }
            let mut left = MOST_ENTRIES;
            search(folder, DEPTH, &mut left, &mut |found| match found {
                Found::Dataset(folder) => datasets.push(folder),
                Found::Packed(file) => packed.push(file),
                Found::Trace(file) if catalog.traces.len() < MOST_TRACES => catalog.traces.push(file),
                Found::Trace(_) => {}
            });
        }
        let mut runs = catalog.runs()?;
        // The best first: it is shown where none is chosen.
        let best = |run: &RunSummary| -run.best_pearson.unwrap_or(f64::NEG_INFINITY);
        runs.sort_by(|a, b| best(a).total_cmp(&best(b)).then_with(|| a.folder.cmp(&b.folder)));
        for run in runs.into_iter().map(|run| run.folder).chain(packed) {
            catalog.add(SourceKind::Run(run));
        }
        for folder in datasets {
            catalog.add(SourceKind::Dataset(folder));
        }
        if catalog.sources.is_empty() && catalog.traces.is_empty() {
            let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            return Err(Error::request(format!(
                "no run, dataset or trace in {}; name the folder of your runs, or begin with `knockout demo`",
                names.join(", ")
            )));
        }
        Ok(catalog)
    }

    fn add(&mut self, kind: SourceKind) {
        let (SourceKind::Run(folder) | SourceKind::Dataset(folder)) = &kind;
        let label = self.label(folder);
        if self.sources.iter().all(|source| source.label != label) {
            self.sources.push(Source { label, kind });
        }
    }

    /// Returns the name of a folder or file: relative to the only folder that was named, otherwise as it is.
    pub(crate) fn label(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.root()).ok().filter(|inside| !inside.as_os_str().is_empty());
        inside.unwrap_or(path).display().to_string()
    }

    /// Returns the only folder that was named, or an empty path.
    pub(crate) fn root(&self) -> &Path {
        match &self.folders[..] {
            [only] => only,
            _ => Path::new(""),
        }
    }

    /// Returns the runs as they are now.
    pub(crate) fn runs(&self) -> Result<Vec<RunSummary>> {
        let mut runs = Vec::new();
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            runs.extend(RunList::find(folder)?.runs);
        }
        runs.sort_by(|a, b| a.folder.cmp(&b.folder));
        runs.dedup_by(|a, b| a.folder == b.folder);
        Ok(runs)
    }

    /// Returns the source of a label, or the first one where the label is empty. A run may have begun since the search.
    pub(crate) fn source(&self, label: &str) -> Option<Source> {
        if label.is_empty() {
            return self.first().cloned();
        }
        let known = self.sources.iter().find(|source| source.label == label).cloned();
        known.or_else(|| {
            let run = self.runs().ok()?.into_iter().find(|run| self.label(&run.folder) == label)?;
            Some(Source { label: label.to_owned(), kind: SourceKind::Run(run.folder) })
        })
    }

    /// Returns the source that is shown where none is chosen.
    pub(crate) fn first(&self) -> Option<&Source> {
        self.sources.first()
    }

    /// Returns the runs and datasets.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the folders that were named, for a heading.
    pub(crate) fn title(&self) -> String {
        // A folder such as `.` has a name elsewhere.
        let whole = |folder: &PathBuf| match folder.file_name() {
            Some(_) => folder.clone(),
            None => folder.canonicalize().unwrap_or_else(|_| folder.clone()),
        };
        let names: Vec<String> =
            self.folders.iter().map(|folder| whole(folder).display().to_string()).collect();
        names.join(", ")
    }

    pub(crate) fn summary(&self) -> String {
        let is_run = |source: &&Source| matches!(source.kind, SourceKind::Run(_));
        let runs = self.sources.iter().filter(is_run).count();
        let datasets = self.sources.len() - runs;
        let traces = counted(self.traces.len(), "trace");
        format!("{}, {}, {traces}", counted(runs, "run"), counted(datasets, "dataset"))
    }
}

/// Returns whether a file has the ending of a packed model.
fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == PACKED)
}

/// Bytes of a document that are searched for the name of its events.
const HEAD: u64 = 1 << 18;

/// Returns whether a file may be a trace: its beginning names events. Packed files are judged by their names.
fn is_trace(path: &Path, name: &str) -> bool {
    if !name.to_ascii_lowercase().ends_with(".json") {
        return true;
    }
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let text = String::from_utf8_lossy(&head);
    let is_list_of_events =
        text.trim_start_matches('\u{feff}').trim_start().starts_with('[') && text.contains("\"ph\"");
    read.is_ok() && (is_list_of_events || text.contains("\"traceEvents\""))
}

/// A find of the search.
enum Found {
    Dataset(PathBuf),
    Packed(PathBuf),
    Trace(PathBuf),
}

/// Finds datasets, packed models and traces; folders that cannot be read and links are left out.
fn search(folder: &Path, depth: usize, left: &mut usize, add: &mut dyn FnMut(Found)) {
    if ["dataset.toml", "samples.parquet", "genes.parquet"].iter().all(|name| folder.join(name).is_file()) {
        add(Found::Dataset(folder.to_owned()));
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().take(*left).collect();
    *left -= entries.len();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // Hidden folders are half-written or not the user's own; checkpoints have no traces.
            if depth > 0 && !name.starts_with('.') && name != "checkpoints" {
                search(&entry.path(), depth - 1, left, add);
            }
        } else if kind.is_file() && is_packed(&entry.path()) {
            add(Found::Packed(entry.path()));
        } else if kind.is_file()
            && knockout_trace::is_trace_name(&name)
            && !OWN_DOCUMENTS.contains(&name.to_ascii_lowercase().as_str())
            && is_trace(&entry.path(), &name)
        {
            add(Found::Trace(entry.path()));
        }
    }
}
