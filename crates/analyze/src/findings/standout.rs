//! What stands out in a trace. Values only: the sentences are written in `knockout-report`. When nothing stands out there are
//! none.

use crate::findings::FileFindings;
use knockout_base::stats::{median, share};

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const GRAPH: f64 = 0.10;
const EXPOSED: f64 = 0.10;
const IDLE: f64 = 0.20;
const COPIES: f64 = 0.10;
const UNATTRIBUTED: f64 = 0.30;
const SLOW_STEP: f64 = 1.5;
const BOUND: f64 = 0.50;

/// Something that stands out in a trace. Shares are fractions, times microseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Standout {
    /// A category of host work takes more than its part of a step.
    HostCategory {
        /// Stable name for scripts.
        about: &'static str,
        /// Name of the category.
        category: &'static str,
        /// Its share: median over the steps, or of the host's busy time without steps.
        share: f64,
        /// Number of steps; 0 without any.
        steps: usize,
        /// Share below which it would not be named.
        limit: f64,
    },
    /// Communication that no computation hides.
    ExposedCommunication {
        /// Share of the device's time.
        share: f64,
        /// Time of that communication in microseconds.
        us: f64,
        /// The device's time in microseconds.
        of_us: f64,
        /// Share of communication that is hidden.
        hidden: f64,
    },
    /// An idle device.
    DeviceIdle {
        /// Share of its time.
        share: f64,
        /// Idle time in microseconds.
        us: f64,
        /// The device's time in microseconds.
        of_us: f64,
        /// Share of the streams' gaps that end with a late launch; `None` without gaps.
        host_limited: Option<f64>,
    },
    /// Copies and fills of device memory.
    MemoryCopies {
        /// Share of the device's busy time.
        share: f64,
        /// Time of copies and fills in microseconds.
        us: f64,
        /// The device's busy time.
        of_us: f64,
    },
    /// The device is the limit.
    DeviceBound {
        /// Share of the host's busy time spent waiting.
        share: f64,
        /// Share of its time in which the device is busy.
        device_busy: f64,
    },
    /// A step that takes much longer than the median.
    SlowStep {
        /// Name of the step.
        name: String,
        /// Length of the step in microseconds.
        us: f64,
        /// Median length of a step in microseconds.
        median_us: f64,
        /// Number of steps.
        steps: usize,
        /// Length by the median.
        ratio: f64,
    },
    /// Host time without any operator inside it.
    Unattributed {
        /// Share of the host's busy time.
        share: f64,
        /// Time without an operator in microseconds.
        us: f64,
        /// Of it, at most this is waiting for autograd's own threads, where neither a span nor the steps say so; 0 without any.
        autograd_us: f64,
    },
    /// A rank that makes the others wait.
    Straggler {
        /// Rank, or the file where none is named.
        source: Source,
        /// The other rank, where there are two; else the median of all is what it is compared with.
        against: Option<Source>,
        /// Whether times are of computation; else of a median step.
        is_compute: bool,
        /// The rank's time in microseconds.
        us: f64,
        /// Median over the ranks; of two, the other's.
        median_us: f64,
        /// How much longer, as a fraction of the median.
        excess: f64,
        /// How much more in a step; `None` without steps that all ranks have. No wait: what the others do meanwhile is not known.
        step_us: Option<f64>,
        /// Steps in which it is the slowest by more than one per cent.
        slowest_in: usize,
        /// Steps that all ranks have.
        steps: usize,
    },
}

/// The rank, or the file without one, that something was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Rank in the process group.
    Rank(i64),
    /// File as it was named.
    File(String),
}

impl Source {
    pub(crate) fn of(rank: Option<i64>, file: &str) -> Self {
        rank.map_or_else(|| Self::File(file.to_owned()), Self::Rank)
    }
}

/// Something found in one of several files; the source is `None` where there is one file only, or for all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// Where it was found.
    pub source: Option<Source>,
    /// The finding.
    pub what: T,
}

impl Standout {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::HostCategory { about, .. } => about,
            Self::ExposedCommunication { .. } => "exposed_communication",
            Self::DeviceIdle { .. } => "device_idle",
            Self::MemoryCopies { .. } => "memory_copies",
            Self::DeviceBound { .. } => "device_bound",
            Self::SlowStep { .. } => "slow_step",
            Self::Unattributed { .. } => "unattributed",
            Self::Straggler { .. } => "straggler",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::HostCategory { share, .. }
            | Self::ExposedCommunication { share, .. }
            | Self::DeviceIdle { share, .. }
            | Self::MemoryCopies { share, .. }
            | Self::DeviceBound { share, .. }
            | Self::Unattributed { share, .. } => *share,
            Self::SlowStep { ratio, .. } => ratio - 1.0,
            Self::Straggler { excess, .. } => *excess,
        }
    }
}

/// Returns what stands out in one file, the strongest first.
pub(crate) fn of_file(findings: &FileFindings) -> Vec<Standout> {
    let mut out: Vec<Standout> = [
        host_category(findings, "data loading", "data_loading", DATA),
        host_category(findings, "graph processing", "graph_processing", GRAPH),
        exposed_communication(findings),
        idle(findings),
        copies(findings),
        device_bound(findings),
        slow_steps(findings),
        unattributed(findings),
    ]
    .into_iter()
    .flatten()
    .collect();
    out.sort_by(|a, b| b.figure().total_cmp(&a.figure()));
    out
}

fn host_category(
    findings: &FileFindings,
    category: &'static str,
    about: &'static str,
    limit: f64,
) -> Option<Standout> {
    let of_step = |step: &crate::StepFindings| {
        let own = step.host.iter().find(|row| row.name == category).map_or(0.0, |row| row.us);
        share(own, step.us)
    };
    let shares: Vec<f64> = findings.steps.iter().map(of_step).collect();
    let whole = || findings.share_of_phase(category);
    let share = median(&shares).or_else(whole)?;
    (share > limit).then_some(Standout::HostCategory { about, category, share, steps: shares.len(), limit })
}

fn exposed_communication(findings: &FileFindings) -> Option<Standout> {
    let times = &findings.gpu.as_ref()?.times;
    let us = times.communication_us - times.comm_comp_overlap_us;
    let (of_us, hidden) = (times.kernel_time_us, times.overlap.unwrap_or(0.0));
    let share = share(us, of_us);
    (share > EXPOSED).then_some(Standout::ExposedCommunication { share, us, of_us, hidden })
}

fn idle(findings: &FileFindings) -> Option<Standout> {
    let gpu = findings.gpu.as_ref()?;
    let (us, of_us) = (gpu.times.idle_us, gpu.times.kernel_time_us);
    let idle = share(us, of_us);
    let sum = |cause: fn(&crate::IdleStream) -> f64| gpu.idle_per_stream.values().map(cause).sum::<f64>();
    let (host, all) = (sum(|stream| stream.host_wait_us), sum(|stream| stream.idle_us));
    let host_limited = (all > 0.0).then(|| share(host, all));
    (idle > IDLE).then_some(Standout::DeviceIdle { share: idle, us, of_us, host_limited })
}

fn copies(findings: &FileFindings) -> Option<Standout> {
    let times = &findings.gpu.as_ref()?.times;
    let (us, of_us) = (times.memory_us, times.busy_us);
    let share = share(us, of_us);
    (share > COPIES).then_some(Standout::MemoryCopies { share, us, of_us })
}

fn device_bound(findings: &FileFindings) -> Option<Standout> {
    let times = &findings.gpu.as_ref()?.times;
    let row = findings.categories.iter().find(|row| row.name == "waiting for the device")?;
    let device_busy = share(times.busy_us, times.kernel_time_us);
    (row.share_of_side > BOUND / 2.0 && device_busy > 1.0 - IDLE)
        .then_some(Standout::DeviceBound { share: row.share_of_side, device_busy })
}

fn slow_steps(findings: &FileFindings) -> Option<Standout> {
    let summary = findings.step_summary.as_ref().filter(|summary| summary.count >= 3)?;
    let ratio = share(summary.max_us, summary.median_us);
    let name = summary.slowest.first()?;
    (ratio > SLOW_STEP).then(|| Standout::SlowStep {
        name: name.clone(),
        us: summary.max_us,
        median_us: summary.median_us,
        steps: summary.count,
        ratio,
    })
}

fn unattributed(findings: &FileFindings) -> Option<Standout> {
    let row = findings.categories.iter().find(|row| row.name == super::UNATTRIBUTED && !row.device)?;
    let share = row.share_of_work.unwrap_or(row.share_of_side);
    // Waiting that is known is no part of it.
    let us = row.us - findings.autograd_wait_unnamed_us;
    let is_known = findings.waits().iter().any(|(_, us)| *us > 0.0);
    let autograd_us = if is_known { 0.0 } else { findings.autograd_threads_us.min(us) };
    (share > UNATTRIBUTED).then_some(Standout::Unattributed { share, us, autograd_us })
}
