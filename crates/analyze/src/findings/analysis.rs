//! The findings of all files together, which `trace analyze` shows.

use super::device::{DeviceTimes, Gpu, GpuHta, IdleStream, LaunchFigures, QueueFigures};
use super::job::Job;
use super::stragglers::{self, Stragglers};
use crate::collect::memory::MemoryDevice;
use crate::collect::rules::Role;
use crate::findings::finding::{FindingSource, Sourced, TraceFinding};
use crate::findings::share::sum;
use crate::findings::warning::TraceWarning;
use crate::findings::{
    CategoryShare, CriticalPath, FileFindings, LaneFindings, ModuleRow, Operation, OperationPart,
    PythonFunction, Shapes, StepFindings, StepSummary, TimeShare, module_tree, modules, shares,
};
use knockout_base::stats::us;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the document; grows when a key changes its meaning.
pub const SCHEMA: u32 = 1;

/// One file's findings, or several ranks' together. Fields with sentences (ranks, stragglers, findings, warnings) are not serialised here:
/// `knockout-report` makes the document of `--json`.
///
/// With several files times are sums over the ranks, except for steps: a step lasts as long as its slowest rank.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// Name of the rules that assigned the categories.
    pub rules: String,
    /// Labels of the files, in the order they were given.
    pub files: Vec<String>,
    /// Objects in the lists of events.
    pub events: u64,
    /// Events with phase `X`.
    pub complete_events: u64,
    /// Of these, with positive duration.
    pub complete_with_positive_dur: u64,
    /// Sum of durations, nested ones counted again.
    pub naive_sum_us: f64,
    /// Latest end minus earliest start; of several files from the first to the last of all ranks where their clocks overlap.
    pub span_us: f64,
    /// Latest end minus earliest start, without the profiler's own span.
    pub span_without_trace_cat_us: f64,
    /// Self time of all lanes.
    pub self_us: f64,
    /// Self time in categories of the host.
    pub host_us: f64,
    /// Self time in categories of the device.
    pub device_us: f64,
    /// Where the time went; the parts sum to `self_us`.
    pub categories: Vec<CategoryShare>,
    /// Host time by phase.
    pub phases: Vec<TimeShare>,
    /// Operations by name.
    pub operations: Vec<Operation>,
    /// Python functions.
    pub python: Vec<PythonFunction>,
    /// Modules and annotations by name, longest first.
    pub modules: Vec<ModuleRow>,
    /// Modules and annotations as a tree; rows come before those inside them.
    pub module_tree: Vec<ModuleRow>,
    /// Operators by the shapes of their inputs.
    pub shapes: Shapes,
    /// Threads and streams.
    pub lanes: Vec<LaneFindings>,
    /// Profiler steps; of one that several ranks have, the slowest rank's.
    pub steps: Vec<StepFindings>,
    /// Median, quartiles and extremes of the steps; `None` without steps.
    pub step_summary: Option<StepSummary>,
    /// Device figures over the whole trace.
    pub gpu: Option<DeviceSummary>,
    /// Device figures by HTA's rule.
    pub gpu_hta: Option<DeviceSummary>,
    /// Allocator figures by device.
    pub memory: Vec<MemoryDevice>,
    /// Of the slowest step.
    pub critical_path: Option<CriticalPath>,
    /// Collectives over the ranks; `None` for one file.
    pub job: Option<Job>,
    /// Ranks beside each other; `None` for one file.
    #[serde(skip)]
    pub stragglers: Option<Stragglers>,
    /// Findings that stand out.
    #[serde(skip)]
    pub findings: Vec<Sourced<TraceFinding>>,
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<Sourced<TraceWarning>>,
    /// Everything about each file.
    #[serde(skip)]
    pub ranks: Vec<FileFindings>,
}

/// Device figures of one file, or of several ranks summed; what only one rule has is in `ranks`.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct DeviceSummary {
    /// Busy and idle time.
    #[serde(flatten)]
    pub times: DeviceTimes,
    /// Device events.
    pub device_events: u64,
    /// Launch calls and their device events.
    pub launch: LaunchFigures,
    /// Idle time by cause; keys are streams, of several ranks `rank N, stream`.
    pub idle_per_stream: BTreeMap<String, IdleStream>,
    /// Length of each stream's queue.
    pub queue_length: BTreeMap<String, QueueFigures>,
}

impl Analysis {
    /// Puts the findings of all files together, in the order of their ranks.
    pub fn of(mut ranks: Vec<FileFindings>) -> Self {
        ranks.sort_by_key(|rank| rank.rank);
        let job = Job::of(&ranks);
        if let Some(job) = &job {
            job.bind(&mut ranks);
        }
        let ranks = ranks;
        let sum = |value: fn(&FileFindings) -> f64| sum(ranks.iter().map(value));
        let count = |value: fn(&FileFindings) -> u64| ranks.iter().map(value).sum::<u64>();
        let (self_us, host_us, device_us) = (sum(|f| f.self_us), sum(|f| f.host_us), sum(|f| f.device_us));
        let mut stragglers = stragglers::of(&ranks);
        // The last rank to arrive is known: a guess from times of computation would contradict it.
        if let (Some(stragglers), Some(job)) = (&mut stragglers, &job)
            && job.collectives > 0
        {
            stragglers.finding.clone_from(&job.finding);
        }
        let (steps, step_summary) = steps(&ranks);
        let shared_us = sum(FileFindings::shared_us);
        let module_tree = module_tree(ranks.iter().map(|file| &file.module_tree), shared_us);
        let straggler = stragglers.iter().filter_map(|found| found.finding.clone());
        let mut findings: Vec<Sourced<TraceFinding>> =
            straggler.map(|what| Sourced { source: None, what }).collect();
        let mut warnings = Vec::new();
        for rank in &ranks {
            let source = (ranks.len() > 1).then(|| FindingSource::of(rank.rank, &rank.file));
            warnings.extend(sourced(source.as_ref(), &rank.warnings));
            findings.extend(sourced(source.as_ref(), &rank.findings));
        }
        let rules = ranks.first().and_then(|f| f.conditions.get("rules")).cloned().unwrap_or_default();
        Self {
            schema: SCHEMA,
            rules,
            files: ranks.iter().map(|f| f.file.clone()).collect(),
            events: count(|f| f.events),
            complete_events: count(|f| f.complete_events),
            complete_with_positive_dur: count(|f| f.complete_with_positive_dur),
            naive_sum_us: sum(|f| f.naive_sum_us),
            span_us: span(&ranks, |f| f.window_nanos),
            span_without_trace_cat_us: span(&ranks, |f| f.work_window_nanos),
            self_us,
            host_us,
            device_us,
            categories: categories(&ranks),
            phases: phases(&ranks, host_us),
            operations: operations(&ranks),
            python: ranks.first().filter(|_| ranks.len() == 1).map(|f| f.python.clone()).unwrap_or_default(),
            modules: modules(&module_tree, shared_us),
            module_tree,
            shapes: shapes_of(&ranks),
            lanes: ranks.iter().flat_map(|f| f.lanes.iter().cloned()).collect(),
            steps,
            step_summary,
            gpu: device(&ranks, |f| f.gpu.as_ref().map(DeviceSummary::from)),
            gpu_hta: device(&ranks, |f| f.gpu_hta.as_ref().map(DeviceSummary::from)),
            memory: ranks.iter().flat_map(|f| f.memory.iter().cloned()).collect(),
            critical_path: slowest_path(&ranks, job.as_ref()),
            job,
            stragglers,
            findings,
            warnings,
            ranks,
        }
    }

    /// Returns the time in which the devices of all ranks are idle; `None` without a device.
    pub fn device_idle_us(&self) -> Option<f64> {
        self.ranks.iter().filter_map(|rank| rank.bound.device_idle_us()).reduce(|sum, us| sum + us)
    }
}

fn shapes_of(ranks: &[FileFindings]) -> Shapes {
    let device = |file: &FileFindings| {
        file.gpu.as_ref().map(|gpu| gpu.by_type.values().map(|kind| kind.sum_us).sum::<f64>())
    };
    let devices: Vec<&str> = ranks
        .iter()
        .filter_map(|file| file.devices.iter().find(|name| !name.trim().is_empty()))
        .map(String::as_str)
        .collect();
    let device_us = ranks.iter().filter_map(device).reduce(|a, b| a + b);
    Shapes::of(ranks.iter().map(|file| &file.shapes), &devices, device_us)
}

/// From the first to the last event of all files; of files whose times do not overlap, the longest of one.
fn span(ranks: &[FileFindings], window: fn(&FileFindings) -> Option<(i64, i64)>) -> f64 {
    let windows: Vec<(i64, i64)> = ranks.iter().filter_map(window).collect();
    let longest = windows.iter().map(|(first, last)| last - first).max().unwrap_or(0);
    let first = windows.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let last = windows.iter().map(|(_, last)| *last).max().unwrap_or(0);
    let latest_start = windows.iter().map(|(first, _)| *first).max().unwrap_or(0);
    let earliest_end = windows.iter().map(|(_, last)| *last).min().unwrap_or(0);
    us(if latest_start < earliest_end { last - first } else { longest })
}

fn sourced<'a, T: Clone>(
    source: Option<&'a FindingSource>,
    list: &'a [T],
) -> impl Iterator<Item = Sourced<T>> + 'a {
    list.iter().map(move |what| Sourced { source: source.cloned(), what: what.clone() })
}

/// A table with its keys as text.
fn spelt<Key: ToString, Row: Copy>(table: &BTreeMap<Key, Row>) -> BTreeMap<String, Row> {
    table.iter().map(|(key, row)| (key.to_string(), *row)).collect()
}

impl From<&Gpu> for DeviceSummary {
    fn from(gpu: &Gpu) -> Self {
        Self {
            times: gpu.times,
            device_events: gpu.device_events,
            launch: gpu.launch,
            idle_per_stream: gpu.idle_per_stream.clone(),
            queue_length: gpu.queue_length.clone(),
        }
    }
}

impl From<&GpuHta> for DeviceSummary {
    fn from(gpu: &GpuHta) -> Self {
        Self {
            times: gpu.times,
            device_events: gpu.device_rows,
            launch: gpu.launch,
            idle_per_stream: spelt(&gpu.idle_per_stream),
            queue_length: spelt(&gpu.queue_length),
        }
    }
}

/// One rank's figures as they are; several ranks' summed.
fn device(ranks: &[FileFindings], of: fn(&FileFindings) -> Option<DeviceSummary>) -> Option<DeviceSummary> {
    let mut sum: Option<DeviceSummary> = None;
    for (index, file) in ranks.iter().enumerate() {
        let Some(mut rank) = of(file) else { continue };
        if ranks.len() > 1 {
            let name = file.rank.unwrap_or(index as i64);
            rank.idle_per_stream = of_rank(name, rank.idle_per_stream);
            rank.queue_length = of_rank(name, rank.queue_length);
        }
        match &mut sum {
            None => sum = Some(rank),
            Some(sum) => sum.add(rank),
        }
    }
    sum
}

/// A table whose keys also name the rank.
fn of_rank<Row>(rank: i64, table: BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    table.into_iter().map(|(key, row)| (format!("rank {rank}, {key}"), row)).collect()
}

impl DeviceSummary {
    fn add(&mut self, rank: Self) {
        self.times.add(&rank.times);
        self.device_events += rank.device_events;
        self.launch.add(&rank.launch);
        self.idle_per_stream.extend(rank.idle_per_stream);
        self.queue_length.extend(rank.queue_length);
    }
}

fn categories(ranks: &[FileFindings]) -> Vec<CategoryShare> {
    let mut sums: BTreeMap<(&str, bool), CategoryShare> = BTreeMap::new();
    for row in ranks.iter().flat_map(|f| &f.categories) {
        let empty = || CategoryShare::new(&row.name, row.device, row.role, 0.0);
        sums.entry((&row.name, row.device)).or_insert_with(empty).us += row.us;
    }
    let waits: Vec<(Role, f64)> = ranks.iter().flat_map(FileFindings::waits).collect();
    CategoryShare::with_shares(sums.into_values().collect(), &waits)
}

fn phases(ranks: &[FileFindings], whole: f64) -> Vec<TimeShare> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for row in ranks.iter().flat_map(|f| &f.phases) {
        *sums.entry(&row.name).or_default() += row.us;
    }
    shares(sums.into_iter().map(|(name, us)| (name.to_owned(), us)).collect(), whole)
}

fn operations(ranks: &[FileFindings]) -> Vec<Operation> {
    if let [only] = ranks {
        return only.operations.clone();
    }
    let mut sums: BTreeMap<&str, Operation> = BTreeMap::new();
    for row in ranks.iter().flat_map(|f| &f.operations) {
        match sums.get_mut(row.name.as_str()) {
            None => {
                sums.insert(&row.name, row.clone());
            }
            Some(sum) => {
                sum.self_us += row.self_us;
                sum.total_us += row.total_us;
                sum.sum_us += row.sum_us;
                sum.count += row.count;
                for part in &row.by_category {
                    let is_same =
                        |own: &&mut OperationPart| own.category == part.category && own.device == part.device;
                    match sum.by_category.iter_mut().find(is_same) {
                        Some(own) => {
                            own.self_us += part.self_us;
                            own.count += part.count;
                        }
                        None => sum.by_category.push(OperationPart { ..part.clone() }),
                    }
                }
            }
        }
    }
    let mut out: Vec<Operation> = sums.into_values().collect();
    for row in &mut out {
        row.by_category
            .sort_by(|a, b| b.self_us.total_cmp(&a.self_us).then_with(|| a.category.cmp(&b.category)));
        row.category = row.by_category.first().map(|part| part.category.clone()).unwrap_or_default();
    }
    out.sort_by(|a, b| b.self_us.total_cmp(&a.self_us).then_with(|| a.name.cmp(&b.name)));
    out
}

/// Of several ranks, each step of its slowest rank.
fn steps(ranks: &[FileFindings]) -> (Vec<StepFindings>, Option<StepSummary>) {
    if let [only] = ranks {
        return (only.steps.clone(), only.step_summary.clone());
    }
    let mut out: Vec<StepFindings> = Vec::new();
    for step in ranks.iter().flat_map(|f| &f.steps) {
        match out.iter_mut().find(|have| have.name == step.name) {
            Some(have) if have.us < step.us => *have = step.clone(),
            Some(_) => {}
            None => out.push(step.clone()),
        }
    }
    let summary = StepSummary::of(&mut out);
    (out, summary)
}

/// Paths that are shorter than the longest by less than this are as long: ranks leave a step together.
const AS_LONG: f64 = 0.99;

/// Returns the path of the slowest step; of ranks whose steps are equally long, that of the rank that the others wait for, else of the first.
fn slowest_path(ranks: &[FileFindings], job: Option<&Job>) -> Option<CriticalPath> {
    let paths = || ranks.iter().filter_map(|file| Some((file, file.critical_path.as_ref()?)));
    let longest_us = paths().map(|(_, path)| path.us).max_by(f64::total_cmp)?;
    let last = job.and_then(|job| match &job.finding {
        Some(TraceFinding::LastToArrive { source, .. }) => Some(source),
        _ => None,
    });
    let is_last = |file: &FileFindings| last == Some(&FindingSource::of(file.rank, &file.file));
    let last = paths().find(|(file, path)| is_last(file) && path.us >= AS_LONG * longest_us);
    let (file, path) = last.or_else(|| paths().find(|(_, path)| path.us >= longest_us))?;
    Some(CriticalPath { rank: file.rank.filter(|_| ranks.len() > 1), ..path.clone() })
}
