//! Traces in the folder, and the report of one or of the ranks beside each other.

use super::answer::Problem;
use super::shared::{MADE_BY, empty_page};
use crate::explorer::{Explorer, TraceReport};
use crate::query::{Query, address};
use knockout_analyze::{Analysis, Collector, FileFindings, Options, Rules, jobs};
use knockout_base::error::{Error, Result};
use knockout_report::page::{Column, Page, Section, Table, TableCell};
use knockout_report::{Overview, analysis_page, trace_warnings};
use knockout_trace::ReadOptions;
use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// Rows of the table before it is expanded.
const SHOWN: usize = 20;
/// Files of one report.
const MOST_FILES: usize = 256;

pub(super) fn page(explorer: &Explorer) -> Page {
    let mut page = empty_page("Traces", explorer.catalog.title());
    if explorer.catalog.traces.is_empty() {
        page.warnings.push("There are no traces in this folder; `knockout profile` records some.".to_owned());
    } else {
        page.sections.push(section(explorer));
    }
    page
}

/// Returns the table of traces, those in one folder together.
pub(super) fn section(explorer: &Explorer) -> Section {
    let traces = &explorer.catalog.traces;
    let mut folders: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
    for (index, file) in traces.iter().enumerate() {
        folders.entry(file.parent().unwrap_or(Path::new(""))).or_default().push(index);
    }
    let mut table = Table::new([Column::text("trace"), Column::number("size"), Column::text("together")]);
    for (folder, files) in folders {
        for (place, &index) in files.iter().enumerate() {
            let file = &traces[index];
            let bytes = file.metadata().map_or(0, |metadata| metadata.len());
            let number = index.to_string();
            let together = (place == 0 && files.len() > 1).then(|| {
                let label = explorer.catalog.label(folder);
                TableCell::from("all of this folder").linked(address("trace", &[("folder", &label)]))
            });
            table.row([
                TableCell::from(explorer.catalog.label(file)).linked(address("trace", &[("file", &number)])),
                TableCell::number(knockout_report::units::bytes(bytes), bytes as f64),
                together.unwrap_or_default(),
            ]);
        }
    }
    Section::new("traces", "Traces").with(table.id("trace-list").limited(SHOWN, SHOWN))
}

/// Returns the report of one trace, or of those in one folder.
pub(super) fn report(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let traces = &explorer.catalog.traces;
    let missing = |what: &str| {
        Problem::missing(format!("there is no such {what}"))
            .with_links([("all traces".to_owned(), "traces".to_owned())])
    };
    let files: Vec<&PathBuf> = if query.has("folder") {
        let folder = query.get("folder");
        let is_in =
            |file: &&PathBuf| file.parent().is_some_and(|parent| explorer.catalog.label(parent) == folder);
        traces.iter().filter(is_in).take(MOST_FILES).collect()
    } else {
        let index: Option<usize> = query.get("file").parse().ok();
        index.and_then(|index| traces.get(index)).into_iter().collect()
    };
    if files.is_empty() {
        return Err(missing(if query.has("folder") { "folder of traces" } else { "trace" }));
    }
    let stamp = |file: &&PathBuf| {
        let metadata = file.metadata().ok();
        let length = metadata.as_ref().map_or(0, std::fs::Metadata::len);
        ((*file).clone(), length, metadata.and_then(|metadata| metadata.modified().ok()))
    };
    let stamps: Vec<_> = files.iter().map(stamp).collect();
    if let Some(report) = explorer.report(&stamps) {
        return Ok((*report.page).clone());
    }
    let _alone = explorer.heavy();
    if let Some(report) = explorer.report(&stamps) {
        return Ok((*report.page).clone());
    }
    let page = analyze(explorer, &files)?;
    explorer.keep(TraceReport { files: stamps, page: Arc::new(page.clone()) });
    Ok(page)
}

fn analyze(explorer: &Explorer, files: &[&PathBuf]) -> Result<Page, Problem> {
    let rules = Rules::default_rules()?;
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    for file in files {
        match findings(file, &explorer.catalog.label(file), &rules) {
            Ok(one) => found.push(one),
            Err(error) if files.len() > 1 => left_out.push(format!("left out: {error}")),
            Err(error) => return Err(error.into()),
        }
    }
    let mut page = if found.is_empty() {
        return Err(Problem::missing("there is no trace among these files"));
    } else if jobs(&found).len() > 1 {
        overview(explorer, &found)
    } else {
        let analysis = Analysis::of(found);
        let mut page = analysis_page(&analysis);
        if page.warnings.is_empty() {
            page.warnings = trace_warnings(&analysis);
        }
        page
    };
    page.warnings.extend(left_out);
    MADE_BY.clone_into(&mut page.made_by);
    Ok(page)
}

/// Traces that do not belong together, a line each: nothing is summed.
fn overview(explorer: &Explorer, found: &[FileFindings]) -> Page {
    let columns = [
        Column::text("trace"),
        Column::number("steps"),
        Column::number("median step (ms)"),
        Column::number("first to last event (ms)"),
    ];
    let index =
        |label: &str| explorer.catalog.traces.iter().position(|file| explorer.catalog.label(file) == label);
    let milliseconds = |us: f64| TableCell::number(format!("{:.3}", us / 1e3), us);
    let rows = Overview::of(found).traces.into_iter().map(|trace| {
        let number = index(&trace.file).map(|index| index.to_string()).unwrap_or_default();
        [
            TableCell::from(&trace.file[..]).linked(address("trace", &[("file", &number)])),
            TableCell::number(trace.steps.to_string(), trace.steps as f64),
            trace.step_us.map_or_else(|| "–".into(), milliseconds),
            milliseconds(trace.span_us),
        ]
    });
    let mut page = empty_page("Traces of several jobs", "");
    page.findings.push("These traces do not belong together, so nothing is summed.".to_owned());
    page.sections.push(Section::new("traces", "").with(Table::new(columns).with_rows(rows)));
    page
}

fn findings(file: &Path, label: &str, rules: &Rules) -> Result<FileFindings> {
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut collector = Collector::new(rules, &Options { threads: threads.get(), ..Options::default() });
    let source = File::open(file).map_err(|error| Error::io("could not be opened", file, error))?;
    let options = ReadOptions { threads, ..ReadOptions::default() };
    let outcome = knockout_trace::read(source, options, &mut collector)
        .map_err(|error| Error::wrap(format!("could not read the trace {label}"), error))?;
    collector
        .finish(label, &outcome)
        .map_err(|error| Error::wrap(format!("could not analyse the trace {label}"), error))
}
