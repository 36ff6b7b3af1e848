//! The findings of one file, as values. Times in microseconds, shares as fractions, lists largest first.

use super::bound::{Bound, Limit, TimeParts};
use super::collective::CollectiveTable;
use super::device::{Gpu, GpuHta};
use super::finding::TraceFinding;
use super::modules::ModuleRow;
use super::shapes::ShapeRow;
use super::share::TimeShare;
use super::warning::TraceWarning;
use crate::collect::memory::MemoryDevice;
use crate::collect::rules::{Category, Role};
use knockout_base::stats::{is_slow, median, quantile, share};
use serde::Serialize;
use std::collections::BTreeMap;

/// Findings of one file, that is, of one rank.
#[derive(Debug, Clone, Serialize)]
pub struct FileFindings {
    /// The file as it was named.
    pub file: String,
    /// `distributedInfo.rank`.
    pub rank: Option<i64>,
    /// `distributedInfo.world_size`.
    pub world_size: Option<i64>,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Conditions under which the trace was recorded; compared before two traces are.
    pub conditions: BTreeMap<String, String>,
    /// Objects in the list of events.
    pub events: u64,
    /// Number of these objects by `ph`.
    pub events_by_ph: BTreeMap<String, u64>,
    /// Events with `ph` `X`.
    pub complete_events: u64,
    /// Of these, with a positive duration (begin/end pairs included).
    pub complete_with_positive_dur: u64,
    /// With a duration of zero.
    pub complete_with_zero_dur: u64,
    /// With a negative one.
    pub complete_with_negative_dur: u64,
    /// Without usable times.
    pub complete_without_usable_times: u64,
    /// Sum of all durations, nested ones counted again.
    pub naive_sum_us: f64,
    /// Latest end minus earliest start.
    pub span_us: f64,
    /// Latest end minus earliest start, without the profiler's own span.
    pub span_without_trace_cat_us: f64,
    /// Distinct names.
    pub distinct_names: usize,
    /// By the `cat` field: number and naive sum.
    pub event_cats: Vec<EventCat>,
    /// Sum of self time over all lanes: what the categories are parts of.
    pub self_us: f64,
    /// Self time in categories of the host.
    pub host_us: f64,
    /// Self time in categories of the device.
    pub device_us: f64,
    /// Part of the host's backward time in which the calling thread waits for autograd's own threads. It is counted in the
    /// categories, since it is that thread's time, but it is not work.
    pub autograd_wait_us: f64,
    /// Such waiting of the thread with the steps without a span, counted as unattributed. 0 where `autograd_wait_us` is not.
    pub autograd_wait_unnamed_us: f64,
    /// Time in which autograd's own threads are busy.
    pub autograd_threads_us: f64,
    /// First start and last end on the trace's own clock, in nanoseconds.
    #[serde(skip)]
    pub window_nanos: Option<(i64, i64)>,
    /// First start and last end without the profiler's own spans.
    #[serde(skip)]
    pub work_window_nanos: Option<(i64, i64)>,
    /// Where the time went; the parts sum to `self_us`.
    pub categories: Vec<CategoryShare>,
    /// Host time by the phase around it; the parts sum to `host_us`.
    pub phases: Vec<TimeShare>,
    /// By name, largest self time first.
    pub operations: Vec<Operation>,
    /// Python functions, with the native time below each and not below a deeper one.
    pub python: Vec<PythonFunction>,
    /// Modules and annotations as a tree; rows come before those inside them.
    pub module_tree: Vec<ModuleRow>,
    /// Operators by the shapes of their inputs.
    #[serde(skip)]
    pub shapes: Vec<ShapeRow>,
    /// Threads and streams.
    pub lanes: Vec<LaneFindings>,
    /// Profiler steps by start.
    pub steps: Vec<StepFindings>,
    /// Profiler steps as drawn on the device.
    pub steps_gpu: Vec<StepSpan>,
    /// The steps together; `None` without steps.
    pub step_summary: Option<StepSummary>,
    /// Device figures over the whole trace; `None` without device events.
    pub gpu: Option<Gpu>,
    /// Device figures by HTA's rule.
    pub gpu_hta: Option<GpuHta>,
    /// Memory by device.
    pub memory: Vec<MemoryDevice>,
    /// Critical path of the slowest step; `None` without steps.
    pub critical_path: Option<CriticalPath>,
    /// Communication on the device, for matching with other ranks.
    #[serde(skip)]
    pub collectives: CollectiveTable,
    /// The bound of the steps.
    #[serde(skip)]
    pub bound: Bound,
    /// Other findings, the strongest first.
    #[serde(skip)]
    pub findings: Vec<TraceFinding>,
    /// Reasons to distrust the figures.
    #[serde(skip)]
    pub warnings: Vec<TraceWarning>,
    /// Bytes of packed events that did not fit into memory.
    pub spilled_bytes: u64,
    /// For pictures; not part of the document.
    #[serde(skip)]
    pub picture: Picture,
    /// Rows of the first step, for comparing.
    #[serde(skip)]
    pub first_step: FirstStepRows,
}

impl FileFindings {
    /// Returns the time that shares of modules are of: the steps, or the whole file without steps.
    pub(crate) fn shared_us(&self) -> f64 {
        if self.steps.is_empty() {
            self.span_without_trace_cat_us
        } else {
            self.steps.iter().map(|step| step.us).sum()
        }
    }

    /// Whether the trace was cut off or broken, so that events are missing that it had.
    pub fn is_cut(&self) -> bool {
        self.warnings
            .iter()
            .any(|warning| matches!(warning, TraceWarning::Damaged(_) | TraceWarning::Skipped(_)))
    }

    /// Time of the host's categories in which a thread waits for autograd's own.
    pub(crate) fn waits(&self) -> [(Role, f64); 2] {
        [(Role::Backward, self.autograd_wait_us), (Role::Unattributed, self.autograd_wait_unnamed_us)]
    }

    /// Returns the role of a category; [`Role::Work`] for a name that is not a category.
    pub fn role_of(&self, category: &str) -> Role {
        let categories = &self.picture.categories;
        categories.iter().find(|row| row.name == category).map_or(Role::Work, |row| row.role)
    }

    /// Returns the time of the categories of a role in a list; `None` without any.
    pub(crate) fn us_of(&self, list: &[TimeShare], role: Role) -> Option<f64> {
        list.iter().filter(|row| self.role_of(&row.name) == role).map(|row| row.us).reduce(|a, b| a + b)
    }

    /// Share of a phase of the host's time, threads that sleep left out; `None` where there is no such phase.
    pub(crate) fn share_of_phase(&self, role: Role) -> Option<f64> {
        let works = self.categories.iter().filter(|row| !row.device && !row.is_asleep());
        let work_us: f64 =
            works.map(|row| row.us).sum::<f64>() - self.waits().iter().map(|(_, us)| us).sum::<f64>();
        self.us_of(&self.phases, role).map(|us| share(us, work_us))
    }
}

/// A category's part of all self time.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct CategoryShare {
    /// Name of the category in the rules.
    pub name: String,
    /// Self time over all lanes.
    pub us: f64,
    /// Of the self time of all lanes.
    pub share: f64,
    /// Whether it is work on the device.
    pub device: bool,
    /// Of the self time of its side, host or device.
    pub share_of_side: f64,
    /// Share of the work of its side. Python threads that sleep, and spans drawn over device work with
    /// nothing under them, have none. Waiting for autograd's threads is not work.
    pub share_of_work: Option<f64>,
    /// Role of the category in the rules.
    #[serde(skip)]
    pub role: Role,
}

impl CategoryShare {
    /// Creates the row of a category, without its shares.
    pub(crate) fn new(name: &str, device: bool, role: Role, us: f64) -> Self {
        Self { name: name.to_owned(), us, share: 0.0, device, share_of_side: 0.0, share_of_work: None, role }
    }

    /// Sets the shares of all categories; largest first. `waits` is the time of the host's categories of a role that is not work.
    pub(crate) fn with_shares(mut rows: Vec<Self>, waits: &[(Role, f64)]) -> Vec<Self> {
        let sum = |is_in: &dyn Fn(&Self) -> bool| {
            rows.iter().filter(|row| is_in(row)).map(|row| row.us).sum::<f64>()
        };
        let all = sum(&|_| true);
        let side = [false, true].map(|wanted| sum(&|row| row.device == wanted));
        let work = [false, true].map(|wanted| {
            let all = sum(&|row| row.device == wanted && !row.role.is_asleep());
            if wanted { all } else { all - waits.iter().map(|(_, us)| us).sum::<f64>() }
        });
        // Several categories of a role share its waits by their time.
        let of_role = waits.iter().map(|&(role, us)| (role, us, sum(&|row| !row.device && row.role == role)));
        let of_role: Vec<(Role, f64, f64)> = of_role.collect();
        let waited = |row: &Self| -> f64 {
            let own = of_role.iter().filter(|(role, ..)| !row.device && *role == row.role);
            own.map(|(_, waits, all)| waits * share(row.us, *all)).sum()
        };
        let of = |[host, device]: [f64; 2], is_device: bool| if is_device { device } else { host };
        for row in &mut rows {
            row.share = share(row.us, all);
            row.share_of_side = share(row.us, of(side, row.device));
            row.share_of_work =
                (!row.role.is_asleep()).then(|| share(row.us - waited(row), of(work, row.device)));
        }
        rows.sort_by(|a, b| {
            b.us.total_cmp(&a.us).then_with(|| (&a.name, a.device).cmp(&(&b.name, b.device)))
        });
        rows
    }

    /// Whether nothing is done in it.
    pub fn is_asleep(&self) -> bool {
        self.share_of_work.is_none()
    }
}

/// Events of one `cat`.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct EventCat {
    /// Value of the `cat` field.
    pub name: String,
    /// Number of events with this `cat`.
    pub events: u64,
    /// Sum of their durations in microseconds.
    pub sum_us: f64,
}

/// All events of one name.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Operation {
    /// Name of the events.
    pub name: String,
    /// The category most of its self time belongs to.
    pub category: String,
    /// Self time in microseconds.
    pub self_us: f64,
    /// Time inside it; where it is inside itself, only the outer one counts.
    pub total_us: f64,
    /// Sum of durations, as simple reports print it.
    pub sum_us: f64,
    /// Number of events of that name.
    pub count: u64,
    /// Self time per category it was found in, largest first.
    pub by_category: Vec<OperationPart>,
}

/// An operation's part in one category.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct OperationPart {
    /// Name of the category.
    pub category: String,
    /// Accelerator work.
    pub device: bool,
    /// Self time in the category, in microseconds.
    pub self_us: f64,
    /// Number of events in the category.
    pub count: u64,
}

/// A Python function.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct PythonFunction {
    /// `file(line): function`, as the profiler writes it.
    pub name: String,
    /// Its self time and that of native operations called from it.
    pub us: f64,
    /// Of the host time.
    pub share: f64,
    /// Of the host time in which no thread sleeps in its call stack; `None` for a function that only sleeps.
    pub share_of_awake: Option<f64>,
    /// Of `us`, the interpreter's own part.
    pub python_us: f64,
    /// Number of calls.
    pub count: u64,
}

/// One thread or stream.
#[derive(Debug, Clone, Serialize)]
pub struct LaneFindings {
    /// As in the trace.
    pub pid: serde_json::Value,
    /// As in the trace.
    pub tid: serde_json::Value,
    /// `thread_name` and process label, where the trace has them.
    pub name: String,
    /// Its rank, among several.
    pub rank: Option<i64>,
    /// It holds device work.
    pub device_lane: bool,
    /// Events of positive duration.
    pub events: u64,
    /// Length of the union of its events.
    pub busy_us: f64,
    /// Sum of self times; equal to `busy_us`.
    pub self_us: f64,
    /// First start to last end, minus busy.
    pub idle_us: f64,
    /// Busy time in which it does nothing.
    #[serde(skip)]
    pub asleep_us: f64,
    /// Sum of durations.
    pub naive_sum_us: f64,
    /// Events that begin inside another but end after it; they were clipped.
    pub overlapping_not_nested: u64,
    /// Union of the device events alone.
    pub device_work_us: Option<f64>,
    /// Where its time went.
    pub categories: Vec<TimeShare>,
}

impl LaneFindings {
    /// Busy and idle time, where time in which it has an event and does nothing is idle.
    pub fn work_and_rest_us(&self) -> (f64, f64) {
        (self.busy_us - self.asleep_us, self.idle_us + self.asleep_us)
    }
}

/// A step's name, length and start.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct StepSpan {
    /// `ProfilerStep#…`
    pub name: String,
    /// Time in microseconds.
    pub us: f64,
    /// Start after the first event of the trace.
    pub start_us: f64,
}

/// One profiler step.
#[derive(Debug, Clone, Serialize)]
pub struct StepFindings {
    /// `ProfilerStep#…`
    pub name: String,
    /// Time in microseconds.
    pub us: f64,
    /// Start after the first event of the trace.
    pub start_us: f64,
    /// Self time of host lanes inside it, by category.
    pub host: Vec<TimeShare>,
    /// Device time launched from it, by category; the share is of the step's length.
    pub device: Vec<TimeShare>,
    /// Parts of its time.
    pub parts: TimeParts,
    /// The cause that takes most of it.
    pub limit: Limit,
    /// Among the slowest: longer than the median by more than the spread explains.
    pub slow: bool,
    /// The recording began or ended inside of spans of the step, so these are missing and its phases are incomplete.
    pub is_cut: bool,
}

/// All steps together.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct StepSummary {
    /// Number of steps.
    pub count: usize,
    /// Median length in microseconds.
    pub median_us: f64,
    /// A quarter is shorter.
    pub low_us: f64,
    /// A quarter is longer.
    pub high_us: f64,
    /// Length of the shortest step in microseconds.
    pub min_us: f64,
    /// Length of the longest step in microseconds.
    pub max_us: f64,
    /// The three longest, longest first.
    pub slowest: Vec<String>,
}

impl StepSummary {
    /// Summarises steps and marks the slow ones; `None` without steps.
    pub(crate) fn of(steps: &mut [StepFindings]) -> Option<Self> {
        let all: Vec<f64> = steps.iter().map(|step| step.us).collect();
        let middle = median(&all)?;
        for step in steps.iter_mut() {
            step.slow = is_slow(step.us, middle);
        }
        let mut by_length: Vec<&StepFindings> = steps.iter().collect();
        by_length.sort_by(|a, b| b.us.total_cmp(&a.us));
        Some(Self {
            count: all.len(),
            median_us: middle,
            low_us: quantile(&all, 0.25)?,
            high_us: quantile(&all, 0.75)?,
            min_us: quantile(&all, 0.0)?,
            max_us: quantile(&all, 1.0)?,
            slowest: by_length.iter().take(3).map(|step| step.name.clone()).collect(),
        })
    }
}

/// The critical path of a step, from its end back to its start.
#[derive(Debug, Clone, Serialize)]
pub struct CriticalPath {
    /// Name of the step: `ProfilerStep#…`.
    pub step: String,
    /// Rank that it is of, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
    /// Length of the step in microseconds.
    pub us: f64,
    /// Parts of the path by category; they sum to `us`.
    pub parts: Vec<TimeShare>,
    /// The operations with the longest time on the path.
    pub operations: Vec<TimeShare>,
}

/// The values behind the HTML picture and the collapsed stacks; bounded.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    /// Categories by number.
    pub categories: Vec<Category>,
    /// Length of one interval of the timelines.
    pub bin_us: f64,
    /// Number of intervals.
    pub bins: usize,
    /// One per lane, busiest first; few.
    pub timelines: Vec<LanePicture>,
    /// Lanes that were left out because there are so many.
    pub lanes_left_out: usize,
    /// Call trees.
    pub stacks: Vec<LaneStacks>,
    /// Names by number, for the stacks.
    pub names: Vec<String>,
}

/// A lane's timeline.
#[derive(Debug, Clone)]
pub struct LanePicture {
    /// Label beside it.
    pub label: String,
    /// Whether it is a stream of a device.
    pub device: bool,
    /// Interval number and (category, part of the interval in 1/1000).
    pub bins: Vec<(u32, Vec<(u8, u16)>)>,
}

/// A lane's call tree.
#[derive(Debug, Clone)]
pub struct LaneStacks {
    /// Name of the lane.
    pub label: String,
    /// Parents come before children.
    pub nodes: Vec<StackNode>,
}

/// One node of a call tree.
#[derive(Debug, Clone, Copy)]
pub struct StackNode {
    /// Number of the parent.
    pub parent: Option<u32>,
    /// Number of the name.
    pub name: u32,
    /// Number of the category.
    pub category: u8,
    /// Self time.
    pub self_nanos: i64,
    /// Self time and that of everything below.
    pub below_nanos: i64,
    /// How often it was entered.
    pub count: u64,
}

/// Rows of the first profiler step by name: host and device, number and time by HTA's clock.
#[derive(Debug, Clone, Default)]
pub struct FirstStepRows {
    /// Step numbers in the file.
    pub iterations: Vec<i64>,
    /// Counts and times by event name.
    pub rows: BTreeMap<String, FirstStepRow>,
    /// Steps of the file.
    pub step_count: usize,
    /// Self time by name and zero-based step, in microseconds, of the steps that have any; for spreads.
    pub by_step: BTreeMap<String, Vec<(u32, f64)>>,
}

/// One name in the first step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FirstStepRow {
    /// Number of host rows.
    pub host_count: u64,
    /// Time of the host rows in microseconds.
    pub host_us: f64,
    /// Number of device rows.
    pub device_count: u64,
    /// Time of the device rows in microseconds.
    pub device_us: f64,
}
