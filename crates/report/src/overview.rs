//! Many traces, one line each: what bounds it, its steps, how busy its device is, and its largest part.

use crate::page::{Column, Table};
use crate::sentence::limit_word;
use crate::units::{percent, shortened, time};
use knockout_analyze::{Bound, FileFindings, TraceWarning, jobs};
use serde::Serialize;

const NAME_WIDTH: usize = 48;

/// The document of `trace analyze` over traces that do not belong together.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// Version of this document: 1.
    pub schema: u32,
    /// `overview`.
    pub kind: &'static str,
    /// One line for each trace, in the order of the files.
    pub traces: Vec<TraceLine>,
}

/// One trace.
#[derive(Debug, Clone, Serialize)]
pub struct TraceLine {
    /// The file as it was named.
    pub file: String,
    /// Number of the job that it is a rank of, from 1; `None` for a trace by itself.
    pub job: Option<usize>,
    /// Rank in that job.
    pub rank: Option<i64>,
    /// Bound of the trace.
    pub bound: Bound,
    /// Number of steps.
    pub steps: usize,
    /// Length of the median step; `None` without steps.
    pub step_us: Option<f64>,
    /// From the first to the last event, the profiler's own span included.
    pub span_us: f64,
    /// From the first to the last event without the profiler's own span.
    pub span_without_trace_cat_us: f64,
    /// Only a part of it could be read, or values had to be repaired.
    pub damaged: bool,
}

impl Overview {
    /// The lines of files; nothing is summed.
    pub fn of(files: &[FileFindings]) -> Self {
        let groups = jobs(files);
        let several: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() > 1).collect();
        let line = |(index, file): (usize, &FileFindings)| TraceLine {
            file: file.file.clone(),
            job: several.iter().position(|group| group.contains(&index)).map(|job| job + 1),
            rank: file.rank,
            bound: file.bound.clone(),
            steps: file.steps.len(),
            step_us: file.step_summary.as_ref().map(|summary| summary.median_us),
            span_us: file.span_us,
            span_without_trace_cat_us: file.span_without_trace_cat_us,
            damaged: file.warnings.iter().any(is_damage),
        };
        Self { schema: 1, kind: "overview", traces: files.iter().enumerate().map(line).collect() }
    }
}

fn is_damage(warning: &TraceWarning) -> bool {
    matches!(warning, TraceWarning::Damaged(_) | TraceWarning::Skipped(_) | TraceWarning::Repaired(_))
}

/// Renders the overview as a table.
pub fn overview_text(overview: &Overview) -> String {
    let has_jobs = overview.traces.iter().any(|trace| trace.job.is_some());
    let columns = [
        Column::text("trace"),
        Column::text("job"),
        Column::text("bound by"),
        Column::number("steps"),
        Column::number("median step"),
        Column::number("whole"),
        Column::number("device busy"),
        Column::text("largest part"),
    ];
    let mut table = Table::new(columns);
    for trace in &overview.traces {
        let job = match (trace.job, trace.rank) {
            (Some(job), Some(rank)) => format!("{job}, rank {rank}"),
            (Some(job), None) => job.to_string(),
            _ => "-".to_owned(),
        };
        let part = |(name, share): &(String, f64)| format!("{} {}", shortened(name, 28), percent(*share));
        let largest = trace.bound.largest.as_ref().or(trace.bound.operation.as_ref());
        table.row([
            shortened(&trace.file, NAME_WIDTH) + if trace.damaged { " (damaged)" } else { "" },
            job,
            limit_word(trace.bound.limit).to_owned(),
            trace.steps.to_string(),
            trace.step_us.map_or_else(|| "-".to_owned(), time),
            time(trace.span_without_trace_cat_us),
            trace.bound.device_busy.map_or_else(|| "-".to_owned(), percent),
            largest.map_or_else(|| "-".to_owned(), part),
        ]);
    }
    table.to_text()
        + if has_jobs {
            "\ntraces of one job are ranks of one world size with the same steps at the same time: name them alone to see them together\n"
        } else {
            "\nthese are not ranks of one job, so nothing is summed; name one of them to see where its time went\n"
        }
}
