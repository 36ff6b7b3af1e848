//! The device figures as values. Microseconds, since they are documents.

use super::share::TimeShare;
use knockout_base::stats::share;
use serde::Serialize;
use std::collections::BTreeMap;

/// Busy and idle time of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DeviceTimes {
    /// End of the last minus start of the first device event.
    pub kernel_time_us: f64,
    /// Kernel time in which no device event runs.
    pub idle_us: f64,
    /// Union of all device events.
    pub busy_us: f64,
    /// Union of the computing ones.
    pub compute_us: f64,
    /// Busy, but not computing.
    pub non_compute_us: f64,
    /// Union of the communicating ones.
    pub communication_us: f64,
    /// Union of copies and fills.
    pub memory_us: f64,
    /// Communication and computation both run.
    pub comm_comp_overlap_us: f64,
    /// That, in per cent of communication, two decimals; `None` without communication.
    pub comm_comp_overlap_pct: Option<f64>,
    /// The overlap as a fraction, unrounded.
    pub overlap: Option<f64>,
}

impl DeviceTimes {
    /// Adds another rank's times.
    pub(crate) fn add(&mut self, rank: &Self) {
        self.kernel_time_us += rank.kernel_time_us;
        self.idle_us += rank.idle_us;
        self.busy_us += rank.busy_us;
        self.compute_us += rank.compute_us;
        self.non_compute_us += rank.non_compute_us;
        self.communication_us += rank.communication_us;
        self.memory_us += rank.memory_us;
        self.comm_comp_overlap_us += rank.comm_comp_overlap_us;
        self.overlap =
            (self.communication_us > 0.0).then(|| share(self.comm_comp_overlap_us, self.communication_us));
        self.comm_comp_overlap_pct = self.overlap.map(|overlap| (overlap * 10_000.0).round() / 100.0);
    }
}

/// Device figures over the whole trace, exact.
#[derive(Debug, Clone, Serialize)]
pub struct Gpu {
    /// Busy and idle time.
    #[serde(flatten)]
    pub times: DeviceTimes,
    /// Device events.
    pub device_events: u64,
    /// Number and plain sum by type.
    pub by_type: BTreeMap<&'static str, KernelType>,
    /// Idle time of each stream by cause; keys `device:stream`.
    pub idle_per_stream: BTreeMap<String, IdleStream>,
    /// Launch calls and their device events.
    pub launch: LaunchFigures,
    /// Device events without a launch call in the file.
    pub device_events_without_launch_call: u64,
    /// Length of the queue of each stream.
    pub queue_length: BTreeMap<String, QueueFigures>,
    /// Sum of device time by the phase of the step that launched it, largest first.
    pub by_phase: Vec<TimeShare>,
}

impl Gpu {
    /// Device events whose call is in the file but is not a known launch call; launch figures exclude them.
    pub fn launched_by_other_calls(&self) -> u64 {
        self.device_events.saturating_sub(self.launch.rows + self.device_events_without_launch_call)
    }
}

/// Device figures by the rule of HTA 0.5.0.
#[derive(Debug, Clone, Serialize)]
pub struct GpuHta {
    /// The last step was left out.
    pub trimmed: bool,
    /// Distinct step names.
    pub profiler_step_names: usize,
    /// Host rows from here on were dropped.
    pub cut_at_us: Option<f64>,
    /// Times were rounded inwards to whole microseconds.
    pub fractional_times_rounded: bool,
    /// Rows that were kept.
    pub rows_kept: u64,
    /// Of these, with a stream.
    pub device_rows: u64,
    /// Busy and idle time.
    #[serde(flatten)]
    pub times: DeviceTimes,
    /// Idle time by cause; keys are stream numbers.
    pub idle_per_stream: BTreeMap<i64, IdleStream>,
    /// Launch calls and their device events.
    pub launch: LaunchFigures,
    /// Length of the queue of each stream.
    pub queue_length: BTreeMap<i64, QueueFigures>,
}

/// Device events of one type.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq)]
pub struct KernelType {
    /// Number of events of the type.
    pub events: u64,
    /// Sum of their durations in microseconds.
    pub sum_us: f64,
}

/// Idle time of one stream.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq)]
pub struct IdleStream {
    /// Number of device events on the stream.
    pub events: u64,
    /// The launch call of the next event came too late.
    pub host_wait_us: f64,
    /// A gap below 30 microseconds that the host did not cause.
    pub kernel_wait_us: f64,
    /// Longer gaps that the host did not cause.
    pub other_us: f64,
    /// Sum of all gaps in microseconds.
    pub idle_us: f64,
    /// Number of gaps by cause: host, kernel, other.
    pub gaps: [u64; 3],
    /// Neighbours that start together (HTA's rule only).
    pub equal_starts: u64,
}

/// Launch calls and their device events.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq)]
pub struct LaunchFigures {
    /// Number of pairs of a launch call and a device event.
    pub rows: u64,
    /// Sum of the calls' durations.
    pub cpu_us: f64,
    /// Sum of the device events' durations.
    pub gpu_us: f64,
    /// Sum of the times from end of call to start on the device, none below 0.
    pub delay_us: f64,
}

impl LaunchFigures {
    /// From the end of a call to the start of its device work, mean over launches.
    pub fn mean_delay_us(&self) -> f64 {
        share(self.delay_us, self.rows as f64)
    }

    /// Adds another rank's launches.
    pub(crate) fn add(&mut self, rank: &Self) {
        self.rows += rank.rows;
        self.cpu_us += rank.cpu_us;
        self.gpu_us += rank.gpu_us;
        self.delay_us += rank.delay_us;
    }
}

/// How many launched events wait on one stream.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq)]
pub struct QueueFigures {
    /// Changes of the length.
    pub points: u64,
    /// Mean over the changes.
    pub mean: f64,
    /// Largest length.
    pub max: i64,
    /// Smallest length.
    pub min: i64,
    /// Mean over time; `None` when no time passes.
    pub mean_over_time: Option<f64>,
    /// The mean if device starts came before calls of the same instant; `None` without such instants.
    pub mean_if_starts_first_at_ties: Option<f64>,
}
