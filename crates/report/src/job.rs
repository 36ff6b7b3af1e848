//! The ranks of a job on a page: who arrives last, who waits, and how fast the collectives are.

use crate::page::{Chart, Column, HeatMap, Plot, Section, Series, Table, TableCell};
use crate::sentence::{MOST_APART, cause_of, job_notes};
use crate::units::{bytes, count, counted, time};
use knockout_analyze::{
    Analysis, CollectiveKind, CollectiveSummary, FileFindings, FindingSource, Job, JobRank, TraceFinding,
};
use std::borrow::Cow;

/// Rows of long tables in text and in HTML before it is expanded.
const TEXT_ROWS: usize = 12;
const HTML_ROWS: usize = 20;
/// Ranks that the chart of arrivals draws: those that arrive latest.
const MOST_CURVES: usize = 12;
/// Cells of the heat map: more steps become too narrow to see.
const MOST_STEPS: usize = 400;

/// Returns the section of the job; `None` for one file, or where no collective was matched.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let job = analysis.job.as_ref()?;
    let notes = job_notes(job);
    if job.collectives == 0 && notes.is_empty() {
        return None;
    }
    let title = format!(
        "Job: {} over {}, {} from first to last",
        counted(job.collectives, "collective"),
        counted(job.ranks.len(), "rank"),
        time(job.span_us)
    );
    let mut section = Section::new("job", title).note(
        "A rank arrives at a collective when its kernel starts, and waits until the last rank has arrived. \
         The transfer is from the last arrival to the first end.",
    );
    if job.collectives > 0 {
        section = section.with(ranks(job)).with(operations(job));
        if job.steps.iter().any(|step| step.wait_us.iter().any(|us| *us > 0.0)) {
            section = section.with(heat_map(job));
        }
    }
    Some(if notes.is_empty() { section } else { section.with(notes) })
}

/// Returns the ranks whose timelines, stacks and device figures are shown: all of a small job; of a large one the rank that the finding
/// names, and the first rank with each cause.
pub(crate) fn detailed(analysis: &Analysis) -> Vec<&FileFindings> {
    if analysis.ranks.len() <= MOST_APART {
        return analysis.ranks.iter().collect();
    }
    let named: Vec<&FindingSource> = analysis
        .findings
        .iter()
        .filter_map(|found| match &found.what {
            TraceFinding::LastToArrive { source, .. } | TraceFinding::Straggler { source, .. } => {
                Some(source)
            }
            _ => None,
        })
        .collect();
    let is_named = |file: &FileFindings| named.contains(&&FindingSource::of(file.rank, &file.file));
    let mut causes: Vec<String> = Vec::new();
    let mut is_first = |file: &FileFindings| {
        let cause = cause_of(file);
        let is_new = !causes.contains(&cause);
        if is_new {
            causes.push(cause);
        }
        is_new
    };
    let mut places = MOST_APART.saturating_sub(analysis.ranks.iter().filter(|file| is_named(file)).count());
    let is_shown = |file: &&FileFindings| {
        let is_first = is_first(file) && places > 0;
        let is_named = is_named(file);
        places -= usize::from(is_first && !is_named);
        is_first || is_named
    };
    analysis.ranks.iter().filter(is_shown).collect()
}

/// Adds to a note which ranks are shown, where some are not.
pub(crate) fn with_detailed<'n>(analysis: &Analysis, note: &'n str) -> Cow<'n, str> {
    let shown = detailed(analysis);
    if shown.len() == analysis.ranks.len() {
        return Cow::Borrowed(note);
    }
    let names: Vec<String> = shown
        .iter()
        .map(|file| file.rank.map_or_else(|| file.file.clone(), |rank| rank.to_string()))
        .collect();
    let space = if note.is_empty() { "" } else { " " };
    Cow::Owned(format!(
        "{note}{space}Timelines, stacks and device figures are shown of rank {}: the first rank with each cause, and the rank that the \
         others wait for. `knockout trace analyze FILE` shows those of another rank.",
        names.join(", ")
    ))
}

fn rank_name(row: &JobRank, index: usize) -> String {
    row.rank.map_or_else(|| format!("file {}", index + 1), |rank| format!("rank {rank}"))
}

fn ranks(job: &Job) -> Table {
    let columns = ["last in", "waits", "others wait for it", "clock ahead by", "spread"];
    let columns = [Column::text("rank")].into_iter().chain(columns.map(Column::number));
    let mut ranks: Vec<(usize, &JobRank)> = job.ranks.iter().enumerate().collect();
    if ranks.len() > MOST_APART {
        // The first rows answer the question; the sort is stable.
        ranks.sort_by_key(|(_, row)| std::cmp::Reverse(row.last_in));
    }
    let rows = ranks.into_iter().map(|(index, row)| {
        let clock = |value: fn(&knockout_analyze::ClockOffset) -> f64| {
            row.clock
                .as_ref()
                .map_or_else(|| "-".into(), |clock| TableCell::number(time(value(clock)), value(clock)))
        };
        [
            TableCell::from(rank_name(row, index)),
            TableCell::number(count(row.last_in), row.last_in as f64),
            TableCell::number(time(row.wait_us), row.wait_us),
            TableCell::number(time(row.others_waited_us), row.others_waited_us),
            clock(|clock| clock.us),
            clock(|clock| clock.spread_us),
        ]
    });
    Table::new(columns).id("job-ranks").limited(TEXT_ROWS, HTML_ROWS).with_rows(rows)
}

fn operation_name(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce => "all-reduce",
        CollectiveKind::AllGather => "all-gather",
        CollectiveKind::ReduceScatter => "reduce-scatter",
        CollectiveKind::AllToAll => "all-to-all",
        CollectiveKind::Broadcast => "broadcast",
        CollectiveKind::Reduce => "reduce",
        CollectiveKind::Barrier => "barrier",
        CollectiveKind::Exchange => "send and receive",
        CollectiveKind::PointToPoint => "point to point",
        CollectiveKind::Other => "other",
    }
}

fn operations(job: &Job) -> Table {
    let columns =
        ["ranks", "size", "count", "waiting, all ranks", "median transfer", "algorithm GB/s", "bus GB/s"];
    let columns =
        [Column::text("collective"), Column::text("group")].into_iter().chain(columns.map(Column::number));
    let rows = job.operations.iter().map(|row: &CollectiveSummary| {
        let dash = || TableCell::from("-");
        let rate = |value: Option<f64>| {
            value.map_or_else(dash, |rate| TableCell::number(format!("{rate:.2}"), rate))
        };
        [
            TableCell::from(operation_name(row.operation)),
            if row.group.is_empty() { dash() } else { TableCell::from(&row.group[..]) },
            TableCell::number(count(row.group_size), row.group_size as f64),
            row.bytes.map_or_else(dash, |size| TableCell::number(bytes(size), size as f64)),
            TableCell::number(count(row.count), row.count as f64),
            TableCell::number(time(row.wait_us), row.wait_us),
            TableCell::number(time(row.transfer_us), row.transfer_us),
            rate(row.algorithm_gb_s),
            rate(row.bus_gb_s),
        ]
    });
    Table::new(columns)
        .id("job-collectives")
        .titled("Collectives")
        .limited(TEXT_ROWS, HTML_ROWS)
        .with_rows(rows)
}

/// Waiting by rank and step.
fn heat_map(job: &Job) -> HeatMap {
    let steps = || job.steps.iter().take(MOST_STEPS);
    let values = |index: usize| steps().map(move |step| step.wait_us.get(index).copied().unwrap_or(0.0));
    let left = job.steps.len().saturating_sub(MOST_STEPS);
    let more = if left > 0 { format!(" {} later steps are not shown.", count(left)) } else { String::new() };
    HeatMap {
        caption: format!(
            "Waiting of each rank in each step; darker is longer. The rank that the others wait for is the light row.{more}"
        ),
        rows: job.ranks.iter().enumerate().map(|(index, row)| rank_name(row, index)).collect(),
        columns: steps().map(|step| step.name.clone()).collect(),
        values: (0..job.ranks.len()).map(|index| values(index).collect()).collect(),
        texts: (0..job.ranks.len()).map(|index| values(index).map(time).collect()).collect(),
    }
}

/// Returns the chart of arrivals: how long after the first rank each rank arrives at each collective.
pub(crate) fn arrivals(analysis: &Analysis) -> Option<Plot> {
    let job = analysis.job.as_ref().filter(|job| !job.longest.is_empty())?;
    let mean = |index: usize| {
        let all = job.longest.iter().filter_map(|found| found.arrival_us.get(index).copied().flatten());
        all.sum::<f64>() / job.longest.len() as f64
    };
    let mut latest: Vec<usize> = (0..job.ranks.len()).collect();
    latest.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    let left = latest.len().saturating_sub(MOST_CURVES);
    latest.truncate(MOST_CURVES);
    latest.sort_unstable();
    let series = latest.into_iter().filter_map(|index| {
        let points = job.longest.iter().enumerate().map(|(number, found)| {
            let arrival = found.arrival_us.get(index).copied().flatten();
            ((number + 1) as f64, arrival.map_or(f64::NAN, |us| us / 1000.0))
        });
        Some(Series {
            name: rank_name(job.ranks.get(index)?, index),
            points: points.collect(),
            ..Series::default()
        })
    });
    let more =
        if left > 0 { format!("; {left} ranks that arrive earlier are not drawn") } else { String::new() };
    Some(Plot::Chart(Chart {
        title: format!("Arrival after the first rank, ms{more}"),
        across: "collective".to_owned(),
        counts_whole: true,
        series: series.collect(),
        ..Chart::default()
    }))
}
