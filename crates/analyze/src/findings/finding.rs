//! Findings that stand out in a trace. Values only: `knockout-report` writes the
//! sentences.

use serde::Serialize;

/// Work of a rank while the others wait for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delay {
    /// Kind of the cause.
    pub cause: DelayCause,
    /// Microseconds per step that it takes more than the median of the other ranks.
    pub us: f64,
}

/// Kind of a cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "category")]
pub enum DelayCause {
    /// Its step begins later.
    LateStart,
    /// Host time of a category.
    Host(String),
    /// Device time of a category.
    Device(String),
}

/// Something that stands out in a trace. Shares are fractions, times microseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceFinding {
    /// A category of host work takes more than its part of a step.
    HostCategory {
        /// Stable name for scripts.
        about: &'static str,
        /// Name of the category.
        category: String,
        /// Its share: median over the steps, or of the host's busy time without steps.
        share: f64,
        /// Number of steps; 0 without any.
        steps: usize,
        /// Share below which it would not be named.
        limit: f64,
    },
    /// Communication that no computation hides.
    ExposedCommunication {
        /// Share of the steps, or of the trace without steps.
        share: f64,
        /// Time of that communication in microseconds.
        us: f64,
        /// Time of the steps in microseconds.
        of_us: f64,
        /// Share of communication that is hidden.
        hidden: f64,
    },
    /// An idle device.
    DeviceIdle {
        /// Share of the steps, or of the trace without steps.
        share: f64,
        /// Idle time in microseconds.
        us: f64,
        /// Time of the steps in microseconds.
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
        source: FindingSource,
        /// The other rank, where there are two; else the median of all is what it is compared with.
        against: Option<FindingSource>,
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
    /// A rank that arrives last in most collectives of a job.
    LastToArrive {
        /// Rank, or the file where none is named.
        source: FindingSource,
        /// Collectives in which it is the last.
        last_in: usize,
        /// Collectives of the job.
        collectives: usize,
        /// Time per step that another rank waits for it on average; of the whole trace without steps.
        wait_us: f64,
        /// Median length of a step; `None` without steps.
        step_us: Option<f64>,
        /// Cause of the delay; `None` where nothing in the trace explains it.
        delay: Option<Delay>,
    },
}

/// The rank, or the file without one, that something was found in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FindingSource {
    /// Rank in the process group.
    Rank(i64),
    /// File as it was named.
    File(String),
}

impl FindingSource {
    /// Returns the rank, or the file where none is named.
    pub fn of(rank: Option<i64>, file: &str) -> Self {
        rank.map_or_else(|| Self::File(file.to_owned()), Self::Rank)
    }
}

/// Something found in one of several files; the source is `None` where there is one file only, or for all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// Where it was found.
    pub source: Option<FindingSource>,
    /// The finding.
    pub what: T,
}

impl TraceFinding {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::HostCategory { about, .. } => about,
            Self::ExposedCommunication { .. } => "exposed_communication",
            Self::DeviceIdle { .. } => "device_idle",
            Self::MemoryCopies { .. } => "memory_copies",
            Self::SlowStep { .. } => "slow_step",
            Self::Unattributed { .. } => "unattributed",
            Self::Straggler { .. } => "straggler",
            Self::LastToArrive { .. } => "last_to_arrive",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::HostCategory { share, .. }
            | Self::ExposedCommunication { share, .. }
            | Self::DeviceIdle { share, .. }
            | Self::MemoryCopies { share, .. }
            | Self::Unattributed { share, .. } => *share,
            Self::SlowStep { ratio, .. } => ratio - 1.0,
            Self::Straggler { excess, .. } => *excess,
            Self::LastToArrive { last_in, collectives, .. } => *last_in as f64 / (*collectives).max(1) as f64,
        }
    }
}
